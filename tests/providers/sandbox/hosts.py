"""Hosts for programs in tests: each answers by what a function is called."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import (
    DEFAULT_LIMITS,
    CallFailure,
    HostReply,
    PendingDecision,
    Program,
    ProgramHost,
    RunResult,
    RunSuspension,
    SandboxFunction,
    SandboxLimits,
)
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

FUNCTIONS = (
    *(SandboxFunction("srv", name) for name in ("echo", "ask", "fail", "hang", "meet", "break_down")),
    SandboxFunction("", "alone", parameters=("x", "y")),
)


class Answers(ProgramHost):
    """`echo` gives back its argument, `ask` needs a person, `fail` raises in the program, `hang` waits until it is
    cancelled, `meet` until as many calls are there as it is told, `break_down` raises here."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, dict[str, Json]]] = []
        self.said: list[str] = []
        self.cancelled = 0
        self.hanging = anyio.Event()
        self._met = 0
        self._all_met = anyio.Event()
        self.most_at_once = 0
        self._now = 0

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        self.calls.append((ordinal, function.name, dict(arguments)))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            return await self._reply(ordinal, function, arguments)
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self._now -= 1

    async def _reply(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        match function.name:
            case "ask":
                return PendingDecision(f"ticket {ordinal}")
            case "fail":
                return CallFailure(str(arguments.get("type", "ValueError")), str(arguments.get("message", "no")))
            case "hang":
                self.hanging.set()
                await anyio.sleep_forever()
            case "meet":
                self._met += 1
                if self._met == arguments["of"]:
                    self._all_met.set()
                await self._all_met.wait()
            case "break_down":
                raise LookupError("the host is broken")
            case _:
                pass
        return arguments.get("x")

    def on_output(self, text: str) -> None:
        self.said.append(text)


def program(code: str) -> Program:
    return Program(code, FUNCTIONS)


@asynccontextmanager
async def opened(workers: int = 8) -> AsyncIterator[MontySandbox]:
    sandbox = MontySandbox(workers=workers)
    try:
        yield sandbox
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()


async def ended(
    sandbox: MontySandbox, code: str, host: Answers | None = None, limits: SandboxLimits = DEFAULT_LIMITS
) -> RunResult:
    with anyio.fail_after(60):
        ran = await sandbox.run(program(code), host or Answers(), limits)
    assert isinstance(ran, RunResult)
    return ran


async def suspended(sandbox: MontySandbox, code: str, host: Answers | None = None) -> RunSuspension:
    with anyio.fail_after(60):
        held = await sandbox.run(program(code), host or Answers())
    assert isinstance(held, RunSuspension)
    return held
