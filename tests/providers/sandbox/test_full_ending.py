"""The sandbox `full` on the gateway's own event loop: programs that end while their calls are under way."""

import anyio
import pytest
from tests.providers.sandbox.answering import ECHO, Answering

from pegboard.ports.sandbox import Program, ProgramFailure, RunResult, SandboxLimits
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

BEGUN = "import asyncio\ntasks = [asyncio.create_task(echo(x)) for x in range(40)]\nawait asyncio.sleep(0)\n"
RAW = """
import json, os, struct
for ordinal in range(1, 51):
    call = json.dumps({'t': 'call', 'n': ordinal, 'f': 0, 'a': {'x': ordinal}}).encode()
    os.write(1, struct.pack('<I', len(call)) + call)
'done'
"""


@pytest.fixture(scope="module", params=[True, False], ids=["uvloop", "asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.mark.behaviour("code.full")
@pytest.mark.parametrize(
    ("code", "ended"),
    [
        (f"{BEGUN}'done'", RunResult("done")),
        (f"{BEGUN}raise ValueError('midway')", RunResult(error=ProgramFailure("ValueError", "midway", 4))),
        (RAW, RunResult("done")),
    ],
    ids=["done", "raised", "raw frames"],
)
async def test_a_program_that_ends_while_calls_are_under_way_keeps_its_end(
    full: FullSandbox, code: str, ended: RunResult
) -> None:
    for _ in range(4):
        with anyio.fail_after(60):
            assert await full.run(Program(code, (ECHO,)), Answering(), SandboxLimits(cpu=20, wall=30)) == ended
