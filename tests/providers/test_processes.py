"""What a server's process gets of ours, and what it does not."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from pegboard.core.server import Stdio
from pegboard.providers.mcp.processes import start, stop

pytestmark = [
    pytest.mark.anyio,
    # Both loops that a gateway may run on: they start processes in ways of their own.
    pytest.mark.parametrize(
        "anyio_backend",
        [
            pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
            pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
        ],
    ),
]

TELL = """
import json, os, sys
def read(descriptor):
    try:
        return os.pread(descriptor, 100, 0).decode()
    except OSError:
        return None
print(json.dumps([read(descriptor) for descriptor in range(3, 256)]), flush=True)
"""


@pytest.mark.behaviour("config.nothing_inherited")
async def test_a_child_cannot_read_what_the_gateway_was_started_with(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("ours alone")
    with secret.open() as opened:
        os.set_inheritable(opened.fileno(), True)
        process = await start(Stdio(sys.executable, ("-c", TELL)))
        assert process.stdout is not None
        said = b""
        with anyio.fail_after(30):
            while not said.endswith(b"\n"):
                said += await process.stdout.receive()
        await stop(process, 5)
    assert "ours alone" not in json.loads(said)
