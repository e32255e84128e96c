"""One way to connect for every test that must hold in each era and over each transport."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.surfaces.mcp.places import DEADLINE, MODES, Connect, place

PLACES = [(where, mode) for where in ("memory", "http", "long", "stdio") for mode in MODES]


@pytest.fixture(params=PLACES, ids=lambda param: f"{param[0]}-{param[1]}")
async def connect(request: pytest.FixtureRequest, anyio_backend: str, tmp_path: Path) -> AsyncIterator[Connect]:
    where, mode = request.param
    with anyio.fail_after(DEADLINE):
        async with place(where, mode, tmp_path / "stderr") as opened:
            yield opened
