"""One call, start to end: admitted or refused, carried to its provider, recorded."""

from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter
from typing import TypeAlias, assert_never

from pegboard.core.call import (
    Admitted,
    BadArguments,
    Call,
    CallRecord,
    Cancelled,
    Outcome,
    ProviderFailed,
    Refusal,
    ToolIsLocked,
    UnknownTool,
    Validate,
    admit,
)
from pegboard.core.ids import ToolId
from pegboard.core.view import View
from pegboard.ports import Audit, Progress

from .board import Board
from .roster import Roster

Ended: TypeAlias = Outcome | Refusal


@dataclass(frozen=True)
class Caller:
    board: Board
    roster: Roster
    validate: Validate
    audit: Audit

    async def call(self, call: Call, view: View, progress: Progress | None = None) -> Ended:
        started = perf_counter()
        verdict = admit(call, self.board.resolution(view), self.validate)
        ended: Ended = Cancelled()
        try:
            ended = await self._carried(verdict, progress) if isinstance(verdict, Admitted) else verdict
        finally:
            took = timedelta(seconds=perf_counter() - started)
            self.audit.record(CallRecord(call, _tool(verdict), ended, took))
        return ended

    async def _carried(self, admitted: Admitted, progress: Progress | None) -> Outcome:
        source = admitted.tool.id.source
        provider = self.roster.provider(source)
        if provider is None:
            return ProviderFailed(f"{source} is not running", may_have_run=False)
        return await provider.call(admitted, progress)


def _tool(verdict: Admitted | Refusal) -> ToolId | None:
    match verdict:
        case Admitted(tool=tool):
            return tool.id
        case ToolIsLocked(tool) | BadArguments(tool):
            return tool
        case UnknownTool():
            return None
        case _:
            assert_never(verdict)
