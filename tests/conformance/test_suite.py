"""The protocol's own suite, run against real processes: it finds what we know, and nothing else."""

from pathlib import Path

import anyio
import pytest
from tests.conformance.known import known, surprises
from tests.conformance.running import run
from tests.conformance.suite import VERSIONS, Version, command
from tests.conformance.ways import ALONE, HTTP, STDIO

DEADLINE = 240


FIRST, SECOND = VERSIONS


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.behaviour("mcp.out.conformance")
@pytest.mark.parametrize("version", [FIRST, pytest.param(SECOND, marks=pytest.mark.soak)])
async def test_the_suite_finds_nothing_that_we_do_not_know(version: Version, tmp_path: Path) -> None:
    await anyio.to_thread.run_sync(command)
    with anyio.fail_after(DEADLINE):
        found = await run([ALONE, HTTP, STDIO], [version], tmp_path, known())
    surprising = [told for each in found.runs for told in surprises(each.way, each.version, each.short, known())]
    assert surprising == []
