"""The gateway counts the calls of a program itself, whatever its sandbox lets through, and counts on after a wait."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.gateway.programs.programs import place, said, ticket_of

from pegboard.core.json.values import Json
from pegboard.core.model.settings import CodeLimits, CodeSettings, PythonSandbox
from pegboard.ports.sandbox import (
    DEFAULT_LIMITS,
    CallAnswer,
    CallFailure,
    HostReply,
    PendingCall,
    PendingDecision,
    Program,
    ProgramHost,
    ProgramProblem,
    RunResult,
    RunSuspension,
    Sandbox,
    SandboxFunction,
    SandboxLimits,
)

pytestmark = pytest.mark.anyio

MOST = 3
SETTINGS = CodeSettings(limits=CodeLimits(calls=MOST))
NO_MORE = CallFailure("RuntimeError", "This program has made 3 calls, and may make no more. Return what it has found.")
READ = SandboxFunction("files", "read")


@dataclass
class Boundless(Sandbox):
    """Makes as many calls as it likes, and one that a person must decide about where it is told to."""

    asks: bool = False
    replies: list[HostReply] = field(default_factory=list[HostReply])
    name: str = "monty"
    dialect: str = ""

    async def check(self, program: Program, limits: SandboxLimits = DEFAULT_LIMITS) -> tuple[ProgramProblem, ...]:
        return ()

    async def run(
        self, program: Program, host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult | RunSuspension:
        if not self.asks:
            return await self._reads(host, 1, MOST + 2)
        await self._reads(host, 1, MOST - 1)
        waits = await host.call(MOST, SandboxFunction("files", "delete"), {"path": "a"})
        assert isinstance(waits, PendingDecision)
        return RunSuspension(b"state", (PendingCall(MOST, waits.ticket),))

    async def resume(
        self, state: bytes, answers: Mapping[int, CallAnswer], host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult:
        self.replies.extend(answers.values())
        return await self._reads(host, MOST + 1, MOST + 2)

    async def aclose(self) -> None:
        pass

    async def _reads(self, host: ProgramHost, first: int, last: int) -> RunResult:
        for ordinal in range(first, last + 1):
            arguments: dict[str, Json] = {"path": str(ordinal)}
            self.replies.append(await host.call(ordinal, READ, arguments))
        return RunResult("ended")


@pytest.mark.behaviour("programs.limits")
async def test_calls_beyond_the_limit_are_not_made_though_a_sandbox_asks_for_them(tmp_path: Path) -> None:
    sandbox = Boundless()
    async with place(tmp_path, settings=SETTINGS, sandboxes={PythonSandbox.MONTY: sandbox}) as here:
        answer = await here.answers("files.read")
        assert here.called("read") == [{"path": str(n)} for n in (1, 2, 3)]
    assert sandbox.replies == [*(f"what is in {n}" for n in (1, 2, 3)), NO_MORE, NO_MORE]
    assert len(answer["tool_calls"]) == MOST


@pytest.mark.behaviour("programs.limits", "programs.waits_for_a_person")
async def test_calls_are_counted_on_after_a_program_waited(tmp_path: Path) -> None:
    sandbox = Boundless(asks=True)
    async with place(tmp_path, settings=SETTINGS, sandboxes={PythonSandbox.MONTY: sandbox}) as here:
        ticket = ticket_of(await here.runs("files.read, files.delete"))
        await here.decides(ticket)
        answer = said(await here.waits(ticket))
        assert here.called("read") == [{"path": "1"}, {"path": "2"}]
        assert here.called("delete") == [{"path": "a"}]
    assert sandbox.replies == ["what is in 1", "what is in 2", "a is gone", NO_MORE, NO_MORE]
    assert [call["name"] for call in answer["tool_calls"]] == ["files.read", "files.read", "files.delete"]
