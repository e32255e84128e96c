"""Whether a program in `full` computes while it waits for calls, as the host is told of it."""

from collections.abc import Mapping

import anyio
import pytest
from tests.providers.sandbox.answering import ECHO, Answering

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import HostReply, Program, RunResult, SandboxFunction, SandboxLimits
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

COMPUTES = """
import asyncio
waits = asyncio.ensure_future(echo(1))
await asyncio.sleep(0.5)
while True:
    pass
"""


class Told(Answering):
    """Answers a call when the program is told to rest, and notes all that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[bool] = []
        self.rested = anyio.Event()

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        await self.rested.wait()
        return await super().call(ordinal, function, arguments)

    def set_idle(self, is_so: bool) -> None:
        self.heard.append(is_so)
        if is_so:
            self.rested.set()


class Silent(Told):
    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")


@pytest.mark.behaviour("code.clock")
async def test_a_process_that_waits_for_its_calls_is_seen_to_rest(full: FullSandbox) -> None:
    with anyio.fail_after(60):
        assert await full.run(Program("await echo(7)", (ECHO,)), Told(), SandboxLimits(cpu=20, wall=50)) == RunResult(7)


@pytest.mark.behaviour("code.clock")
async def test_a_process_that_computes_while_a_call_is_open_is_seen_to(full: FullSandbox) -> None:
    host = Silent()
    with anyio.fail_after(60):
        done = await full.run(Program(COMPUTES, (ECHO,)), host, SandboxLimits(cpu=2, wall=50))
    assert done.error is not None
    assert done.error.type == "TimeoutError"
    # The last look may find a process that has just been ended.
    while host.heard[-1]:
        host.heard.pop()
    assert host.heard[-3:] == [False, False, False]
