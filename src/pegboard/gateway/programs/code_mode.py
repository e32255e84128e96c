"""The code mode service of a gateway. What runs programs is loaded with the first one."""

import json
import logging
import secrets
from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Final

from pegboard.core.calls.call import (
    AdmittedCall,
    CallCancellation,
    CallRecord,
    Outcome,
    ProviderFailure,
    Refusal,
    ToolCall,
    ToolFailure,
)
from pegboard.core.calls.tickets import Ticket
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, CodeSettings, PythonSandbox, python_tool
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.builtins import BuiltinRegistry, builtin_refusal, verdict_on_builtin
from pegboard.gateway.confirmation import Confirmation
from pegboard.gateway.signals import is_cancelling
from pegboard.gateway.ticket_tool import ExecuteCall
from pegboard.ports.audit import Audit
from pegboard.ports.providers import ClientPeer, Clock, Progress
from pegboard.ports.sandbox import Sandbox, SandboxUnavailable
from pegboard.ports.stores import ActiveRuns, RunStore, RunsUnavailable

if TYPE_CHECKING:
    from pegboard.gateway.programs.runs import ProgramRuns


log = logging.getLogger(__name__)

NO_SANDBOX: Final = "This gateway has no sandbox, so it runs no programs. Call the tools one by one."


@dataclass(frozen=True)
class ProgramBackend:
    """What it takes to run programs."""

    sandbox: Callable[[PythonSandbox], Sandbox]
    """One of each kind for all programs. Raises `SandboxUnavailable`."""
    runs: RunStore | None = None
    """Where programs wait for people; without it their calls raise what any caller is told."""
    key: Callable[[], bytes] = secrets.token_bytes
    """What they are signed with meanwhile."""
    active_runs: ActiveRuns | None = None
    """Where it is known that they run, should this gateway be killed."""


class CodeModeService:
    def __init__(
        self,
        board: BoardState,
        carry: ExecuteCall,
        confirmation: Confirmation,
        builtins: BuiltinRegistry,
        audit: Audit,
        clock: Clock,
        backend: ProgramBackend | None,
    ) -> None:
        self.backend: Final = backend
        self._board = board
        self._builtins = builtins
        self._execute_call = carry
        self._confirmation = confirmation
        self._audit = audit
        self._clock = clock
        self._current_tool: CodeSettings | None = None

    @cached_property
    def runs(self) -> "ProgramRuns":
        from pegboard.gateway.programs.calls import CallRoutes
        from pegboard.gateway.programs.runs import ProgramRuns

        assert self.backend is not None, "whoever asks for it has looked whether there are any"
        return ProgramRuns(CallRoutes(self._execute_call, self._board, self._confirmation, self._clock), self.backend)

    def tool(self, found_by: str = "") -> Tool | None:
        """As models are told of it; `found_by` says how functions are found. `None` where no programs are run."""
        if self.backend is None:
            return None
        settings = self._board.policy.declared.code
        try:
            dialect = self.backend.sandbox(settings.python).dialect
        except SandboxUnavailable as error:
            dialect = f"It cannot run anything now: {error}"
        return python_tool(dialect, settings, found_by)

    async def run(
        self, call: ToolCall, view: View, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome | Refusal:
        """A program that comes by another road than a call of the tool on the board. It is recorded like one."""
        started, version = perf_counter(), self._board.policy.decisions.version
        ended: Outcome | Refusal = CallCancellation()
        try:
            ended = await self._execute(call, view, progress, peer)
        except CancelledError:
            if is_cancelling():
                raise
            log.exception("The program of call %s cancelled itself", call.id)
            ended = ProviderFailure("the program broke off", may_have_run=True)
        except Exception:  # a program is supervised here: what breaks under it must not break whoever called
            log.exception("Running the program of call %s failed", call.id)
            ended = ProviderFailure("the program broke off", may_have_run=True)
        finally:
            took = timedelta(seconds=perf_counter() - started)
            self._audit.record(CallRecord(call, PYTHON_ID, ended, took, version))
        return ended

    async def _execute(
        self, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | Refusal:
        if self.backend is None:
            return ToolFailure(
                json.dumps({"content": [{"type": "text", "text": NO_SANDBOX}], "isError": True}).encode()
            )
        return await self.runs.execute(call, view, progress, peer)

    async def resume(
        self, ticket: Ticket, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | Refusal | None:
        """What comes of the program that waits for this ticket; `None` where none does."""
        if self.backend is None or self.backend.runs is None:
            return None
        found = await self.backend.runs.find_waiting(ticket.id, self._clock())
        if found is None:
            return None
        if (tool := self.tool()) is not None:
            # It may have been turned off while the program waited. The program is kept, should it be on again.
            refusal = builtin_refusal(verdict_on_builtin(self._board, self._clock(), tool, view))
            if refusal is not None:
                return refusal
        from pegboard.gateway.programs.calls import CallOrigin
        from pegboard.gateway.programs.resume import resume_run

        return await resume_run(self.runs, self._audit, found, ticket, CallOrigin(found.id, call, view, progress, peer))

    async def is_other_program(self, ticket: str, code: str, call: ToolCall) -> bool:
        """Whether a program of this caller waits for the ticket, and has another text."""
        if self.backend is None or self.backend.runs is None:
            return False
        try:
            found = await self.backend.runs.find_waiting(ticket, self._clock())
        except RunsUnavailable:
            # Nor does it go on then, and whoever asks for that is told why.
            return False
        if found is None:
            return False
        from pegboard.gateway.programs.resume import is_other_program

        return is_other_program(found, self.backend.key(), code, call)

    def apply_policy(self, policy: Policy) -> None:
        """Hang the tool on the board, or take it down, as the file says."""
        settings, listed = policy.declared.code, self._current_tool
        if self.backend is None or settings == listed:
            return
        if settings.is_listed and (tool := self.tool()) is not None:
            self._current_tool = settings
            self._builtins.register(PythonExecution(self, tool))
        elif listed is not None:
            self._current_tool = None
            self._builtins.withdraw(PYTHON_ID.name)


@dataclass(frozen=True)
class PythonExecution:
    """The tool as it hangs on the board. The caller of it is recorded by whoever admitted the call."""

    code: CodeModeService
    tool: Tool

    async def call(
        self, admitted: AdmittedCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | Refusal:
        return await self.code.runs.execute(admitted.call, view, progress, peer)
