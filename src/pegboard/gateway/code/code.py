"""Code mode of one gateway, at hand from the start: what runs programs is loaded with the first of them."""

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

from pegboard.core.call import Admitted, Call, CallRecord, Cancelled, Outcome, ProviderFailed, Refusal, ToolFailed
from pegboard.core.code import PYTHON_ID, CodeSettings, Python, python_tool
from pegboard.core.policy import Policy
from pegboard.core.ticket import Ticket
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.gateway.board import Board
from pegboard.gateway.builtin_verdicts import refusal_of_builtin, verdict_on_builtin
from pegboard.gateway.builtins import Builtins
from pegboard.gateway.cancellation import is_meant
from pegboard.gateway.confirmation import Confirmation
from pegboard.gateway.ticket_tool import Carry
from pegboard.ports import Audit, BegunRuns, Clock, Peer, Progress, RunsAway, RunStore
from pegboard.ports.sandbox import Sandbox, SandboxAway

if TYPE_CHECKING:
    from .runs import Runs

log = logging.getLogger(__name__)

NO_SANDBOX: Final = "This gateway has no sandbox, so it runs no programs. Call the tools one by one."


@dataclass(frozen=True)
class Means:
    """What it takes to run programs."""

    sandbox: Callable[[Python], Sandbox]
    """One of each kind for all programs. Raises `SandboxAway`."""
    runs: RunStore | None = None
    """Where programs wait for people; without it their calls raise what any caller is told."""
    key: Callable[[], bytes] = secrets.token_bytes
    """What they are signed with meanwhile."""
    begun: BegunRuns | None = None
    """Where it is known that they run, should this gateway be killed."""


class Code:
    def __init__(
        self,
        board: Board,
        carry: Carry,
        confirmation: Confirmation,
        builtins: Builtins,
        audit: Audit,
        clock: Clock,
        means: Means | None,
    ) -> None:
        self.means: Final = means
        self._board = board
        self._builtins = builtins
        self._carry = carry
        self._confirmation = confirmation
        self._audit = audit
        self._clock = clock
        self._listed: CodeSettings | None = None

    @cached_property
    def runs(self) -> "Runs":
        from .nested import Roads
        from .runs import Runs

        assert self.means is not None, "whoever asks for it has looked whether there are any"
        return Runs(Roads(self._carry, self._board, self._confirmation, self._clock), self.means)

    def tool(self, found_by: str = "") -> Tool | None:
        """As models are told of it; `found_by` says how functions are found. `None` where no programs are run."""
        if self.means is None:
            return None
        settings = self._board.policy.declared.code
        try:
            dialect = self.means.sandbox(settings.python).dialect
        except SandboxAway as error:
            dialect = f"It cannot run anything now: {error}"
        return python_tool(dialect, settings, found_by)

    async def run(
        self, call: Call, view: View, progress: Progress | None = None, peer: Peer | None = None
    ) -> Outcome | Refusal:
        """A program that comes by another road than a call of the tool on the board. It is recorded like one."""
        started, version = perf_counter(), self._board.policy.decided.version
        ended: Outcome | Refusal = Cancelled()
        try:
            ended = await self._ran(call, view, progress, peer)
        except CancelledError:
            if is_meant():
                raise
            log.exception("The program of call %s cancelled itself", call.id)
            ended = ProviderFailed("the program broke off", may_have_run=True)
        except Exception:  # a program is supervised here: what breaks under it must not break whoever called
            log.exception("Running the program of call %s failed", call.id)
            ended = ProviderFailed("the program broke off", may_have_run=True)
        finally:
            took = timedelta(seconds=perf_counter() - started)
            self._audit.record(CallRecord(call, PYTHON_ID, ended, took, version))
        return ended

    async def _ran(self, call: Call, view: View, progress: Progress | None, peer: Peer | None) -> Outcome | Refusal:
        if self.means is None:
            return ToolFailed(json.dumps({"content": [{"type": "text", "text": NO_SANDBOX}], "isError": True}).encode())
        return await self.runs.ran(call, view, progress, peer)

    async def resumed(
        self, ticket: Ticket, call: Call, view: View, progress: Progress | None, peer: Peer | None
    ) -> Outcome | Refusal | None:
        """What comes of the program that waits for this ticket; `None` where none does."""
        if self.means is None or self.means.runs is None:
            return None
        found = await self.means.runs.waiting_for(ticket.id, self._clock())
        if found is None:
            return None
        if (tool := self.tool()) is not None:
            # It may have been turned off while the program waited. The program is kept, should it be on again.
            refusal = refusal_of_builtin(verdict_on_builtin(self._board, self._clock(), tool, view))
            if refusal is not None:
                return refusal
        from .nested import Origin
        from .resuming import resumed

        return await resumed(self.runs, self._audit, found, ticket, Origin(found.id, call, view, progress, peer))

    async def is_another(self, ticket: str, code: str, call: Call) -> bool:
        """Whether a program of this caller waits for the ticket, and has another text."""
        if self.means is None or self.means.runs is None:
            return False
        try:
            found = await self.means.runs.waiting_for(ticket, self._clock())
        except RunsAway:
            # Nor does it go on then, and whoever asks for that is told why.
            return False
        if found is None:
            return False
        from .resuming import is_another

        return is_another(found, self.means.key(), code, call)

    def follow(self, policy: Policy) -> None:
        """Hang the tool on the board, or take it down, as the file says."""
        settings, listed = policy.declared.code, self._listed
        if self.means is None or settings == listed:
            return
        if settings.listed and (tool := self.tool()) is not None:
            self._listed = settings
            self._builtins.register(PythonExecution(self, tool))
        elif listed is not None:
            self._listed = None
            self._builtins.withdraw(PYTHON_ID.name)


@dataclass(frozen=True)
class PythonExecution:
    """The tool as it hangs on the board. The caller of it is recorded by whoever admitted the call."""

    code: Code
    tool: Tool

    async def call(
        self, admitted: Admitted, view: View, progress: Progress | None, peer: Peer | None
    ) -> Outcome | Refusal:
        return await self.code.runs.ran(admitted.call, view, progress, peer)
