"""The calls of a caller, by every way there is: of a tool on the board, of a program, of a presentation's own tool."""

import json
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import Final, TypeAlias

from pegboard.core.calls.call import (
    AdmittedCall,
    Arguments,
    BadArguments,
    CallCancellation,
    CallConfirmation,
    CallRecord,
    LockedToolRefusal,
    Outcome,
    ProviderFailure,
    Refusal,
    ToolCall,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    admit,
)
from pegboard.core.decision.resolve import HiddenTool, OpenTool, Resolution, Verdict, resolve_single
from pegboard.core.decision.visibility import HiddenByLaunchFilter, explain_hidden_clause
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.model.tool import Tool
from pegboard.core.presentations.deferred_tools import SEARCH, TOOLS
from pegboard.gateway.board import BoardState
from pegboard.gateway.builtins import verdict_on_builtin
from pegboard.gateway.caller import CallExecutor
from pegboard.gateway.programs.code_mode import CodeModeService
from pegboard.ports.audit import Audit
from pegboard.ports.providers import ClientPeer, Clock, Progress

PresentationAnswer: TypeAlias = ToolSuccess | BadArguments | UnknownTool | LockedToolRefusal
AnswerCall: TypeAlias = Callable[[], Awaitable[PresentationAnswer]]

_CANCELLED: Final = CallCancellation()


class ToolCalls:
    """What surfaces that serve callers need of a gateway beside its board: every call is admitted and recorded."""

    def __init__(
        self, board: BoardState, executor: CallExecutor, code_mode: CodeModeService, audit: Audit, clock: Clock
    ) -> None:
        self.board: Final = board
        self.clock: Final = clock
        self.call: Final = executor.call
        """Of a tool of the board."""
        self._executor = executor
        self._code_mode = code_mode
        self._audit = audit

    async def answer_and_record(self, call: ToolCall, tool: ToolId | None, answer: AnswerCall) -> PresentationAnswer:
        """The version is that of the policy by which it was asked."""
        started, version = perf_counter(), self.board.policy.decisions.version
        ended: PresentationAnswer | CallCancellation | ProviderFailure = ProviderFailure(
            "the gateway broke off", may_have_run=False
        )
        try:
            ended = given = await answer()
        except CancelledError:
            ended = CallCancellation()
            raise
        finally:
            refused = isinstance(ended, BadArguments | UnknownTool | LockedToolRefusal)
            took = timedelta() if refused else timedelta(seconds=perf_counter() - started)
            self._audit.record(CallRecord(call, tool, ended, took, version))
        return given

    def admit(self, call: ToolCall, resolution: Resolution) -> AdmittedCall | Refusal:
        """What the gate says to a call, without making it."""
        return admit(call, resolution, self._executor.validators.for_call(call), fill=self._executor.fill)

    def verdict_on_search(self, view: View) -> Verdict:
        """On `tool_search`, wherever it is presented."""
        return verdict_on_builtin(self.board, self.clock(), TOOLS[SEARCH], view)

    def program_tool(self, found_by: str = "") -> Tool | None:
        """The tool that runs programs, as models are told of it; `None` where no programs are run."""
        return self._code_mode.tool(found_by)

    async def is_other_program(self, ticket: str, code: str, call: ToolCall) -> bool:
        """Whether a program of this caller waits for the ticket, and has another text."""
        return await self._code_mode.is_other_program(ticket, code, call)

    async def run_program(
        self,
        call: ToolCall,
        view: View,
        progress: Progress | None = None,
        peer: ClientPeer | None = None,
        confirmed: CallConfirmation | None = None,
    ) -> Outcome | Refusal:
        """The call of `python_execution`. Where that is on the board it is a call like any other."""
        resolution = self.board.resolution(view)
        if PYTHON_ID in resolution.names:
            # By whatever name it came: it means this tool and no other.
            call = replace(call, name=resolution.names[PYTHON_ID])
            return await self.call(call, view, progress, peer, confirmed)
        asked = self._admit_program(call, view)
        if isinstance(asked, AdmittedCall) and asked.lacks_confirmation(confirmed):
            yes = await self._executor.confirmation.confirm(asked, peer)
            if isinstance(yes, CallConfirmation):
                return await self._run_after_confirmation(asked, view, progress, peer, yes)
            asked = yes
        if asked is None or isinstance(asked, AdmittedCall):
            return await self._code_mode.run(call, view, progress, peer)
        self._audit.record(CallRecord(call, PYTHON_ID, asked, timedelta(), self.board.policy.decisions.version))
        return asked

    async def _run_after_confirmation(
        self,
        asked: AdmittedCall,
        view: View,
        progress: Progress | None,
        peer: ClientPeer | None,
        yes: CallConfirmation,
    ) -> Outcome | Refusal:
        """Decided again from the top: much may have changed while a person thought."""
        ended: Outcome | Refusal = _CANCELLED
        try:
            ended = await self.run_program(asked.call, view, progress, peer, yes)
        finally:
            await self._executor.confirmation.finish(asked, yes, ended)
        return ended

    def _admit_program(self, call: ToolCall, view: View) -> AdmittedCall | Refusal | ToolFailure | None:
        """`None` where there is no tool to decide about: whoever runs programs says so."""
        verdict = self.verdict_on_programs(view)
        if verdict is None:
            return None
        if isinstance(verdict, HiddenTool):
            return _absence_failure(verdict)
        # Nobody is asked about what cannot run. Otherwise whoever runs the program reads its arguments.
        validate = (
            self._executor.validators.for_call(call)
            if isinstance(verdict, OpenTool) and verdict.confirm
            else _skip_validation
        )
        return admit(call, resolve_single(verdict, call.name, self.board.policy, view), validate)

    def needs_confirmation(self, view: View) -> bool:
        """Whether a person is asked about each program of this caller."""
        verdict = self.verdict_on_programs(view)
        return isinstance(verdict, OpenTool) and verdict.confirm

    def verdict_on_programs(self, view: View) -> Verdict | None:
        """On the tool that runs programs, on the board or not; `None` where this gateway runs none."""
        tool = self._code_mode.tool()
        if tool is None:
            return None
        verdict = verdict_on_builtin(self.board, self.clock(), tool, view)
        # What overrides make of its parameters is for callers who are shown the tool itself.
        return replace(verdict, overridden_tool=None) if isinstance(verdict, OpenTool) else verdict


def _skip_validation(_tool: Tool, _arguments: Arguments) -> tuple[str, ...]:
    return ()


def _absence_failure(absent: HiddenTool) -> ToolFailure:
    removed = absent.reason
    why = str(removed.block) if isinstance(removed, HiddenByLaunchFilter) else explain_hidden_clause(removed)
    text = f"No programs can be run here: {why}."
    return ToolFailure(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
