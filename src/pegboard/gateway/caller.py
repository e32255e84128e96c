"""One call, start to end: admitted or refused, carried to its provider, recorded."""

import logging
from asyncio import CancelledError
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Final, TypeAlias, assert_never

from anyio import to_thread

from pegboard.core.call import (
    Admitted,
    BadArguments,
    Call,
    CallRecord,
    Cancelled,
    Confirmed,
    Fill,
    NotConfirmed,
    Outcome,
    ProviderFailed,
    Refusal,
    ToolIsLocked,
    UnknownTool,
    Validate,
    admit,
)
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.shaping import put_in
from pegboard.core.status import OverrideUnfit
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.unlisted import kept_off
from pegboard.core.view import View
from pegboard.ports import Audit, Peer, Progress

from .board import Board
from .bringing import with_place
from .builtins import Answered, Builtins, MustConfirm
from .cancellation import is_meant
from .confirmation import Confirmation
from .discretion import discreetly
from .roster import Roster
from .ticket_tool import TicketTool
from .unlisted import is_there, listed, may_come
from .validation import Validators

log = logging.getLogger(__name__)

BESIDE: Final = 262_144
"""Bytes of arguments from which on they are checked beside the event loop."""

Ended: TypeAlias = Outcome | Refusal
_GIVEN_UP: Final = Cancelled()


@dataclass(frozen=True)
class Caller:
    board: Board
    roster: Roster
    validators: Validators
    validate_beside: Validate
    """The same from a thread: for arguments so large that to check them would hold up everybody else."""
    audit: Audit
    confirmation: Confirmation
    ticket_tool: TicketTool
    builtins: Builtins
    fill: Fill = put_in
    """What overrides put into the arguments: the provider gets it, and the record does not."""

    async def call(
        self,
        call: Call,
        view: View,
        progress: Progress | None = None,
        peer: Peer | None = None,
        confirmed: Confirmed | None = None,
    ) -> Ended:
        """Nothing waits between the gate and the provider, so what was admitted is what is true when it runs."""
        started = perf_counter()
        if call.raw is None or len(call.raw) <= BESIDE:
            verdict = admit(call, self.board.resolution(view), self.validators.of(call), fill=self.fill)
        else:
            verdict = await self._admitted_beside(call, view)
        version = self.board.policy.decided.version
        gated = perf_counter()
        if not isinstance(verdict, Admitted):
            if _hangs_on_values(verdict) and self.board.look_again():
                return await self.call(call, view, progress, peer, confirmed)
            if call.name == TICKET_TOOL:
                return await self.ticket_tool.call(call, view, self.call, progress, peer)
            if may_come(self.board, verdict):
                why = await self._listed(call, view)
                if is_there(self.board, call.name, view):
                    return await self.call(call, view, progress, peer, confirmed)
                verdict = why or verdict
                if isinstance(verdict, UnknownTool) and not verdict.why:
                    verdict = replace(verdict, why=kept_off(call.name, self.board.catalogue, self.board.policy, view))
            told = self.builtins.told(_tool(verdict), call.arguments)
            self.audit.record(CallRecord(call, _tool(verdict), verdict, timedelta(), version, told=told))
            return verdict
        if verdict.confirm and verdict.lacks(confirmed):
            # About the call as it was made: a person is shown what the caller sent, and nothing else.
            told = self.builtins.told(verdict.tool.id, call.arguments, verdict.call.arguments)
            return await self._confirmed(verdict._replace(call=call), view, progress, peer, told)
        ended: Outcome = _GIVEN_UP
        source = verdict.tool.id.source
        if type(source) is BuiltinKey:
            return await self._ours(verdict, call, view, progress, peer, confirmed)
        try:
            provider = self.roster.provider(source)
            if provider is None:
                ended = ProviderFailed(f"{source} is not running", may_have_run=False)
            elif verdict.echo is None:
                ended = await provider.call(verdict, progress, peer)
            else:
                ended = await discreetly(provider, verdict, progress, peer, verdict.echo)
        except CancelledError:
            if is_meant():
                raise
            log.exception("The provider of %s cancelled itself in call %s", source, call.id)
            ended = ProviderFailed(f"{source} broke off", may_have_run=True)
        except Exception:  # a provider answers with an outcome; one that raises must not break whoever called
            log.exception("The provider of %s broke in call %s", source, call.id)
            ended = ProviderFailed(f"{source} broke off", may_have_run=True)
        finally:
            took = timedelta(seconds=perf_counter() - started)
            if verdict.tool.checked_there:
                call = with_place(call, self.board.policy)
            gate = int((gated - started) * 1_000_000)
            self.audit.record(CallRecord(call, verdict.tool.id, ended, took, version, gate))
        return ended

    async def _listed(self, call: Call, view: View) -> ToolIsLocked | None:
        """The same name may be known in a moment, when a server that is starting has told what it has."""
        try:
            return await listed(self.board, call.name, view)
        except CancelledError:
            self.audit.record(CallRecord(call, None, _GIVEN_UP, timedelta(), self.board.policy.version))
            raise

    async def _ours(
        self,
        admitted: Admitted,
        call: Call,
        view: View,
        progress: Progress | None,
        peer: Peer | None,
        confirmed: Confirmed | None,
    ) -> Ended:
        """A call of one of the gateway's own tools, which may find out by its arguments that a person must see it."""
        ended: Answered = _GIVEN_UP
        told = self.builtins.told(admitted.tool.id, call.arguments, admitted.call.arguments)
        started = perf_counter()
        try:
            ended = await self.builtins.call(admitted, view, progress, peer, confirmed)
        finally:
            if not isinstance(ended, MustConfirm):
                took = timedelta(seconds=perf_counter() - started)
                version = self.board.policy.decided.version
                self.audit.record(CallRecord(call, admitted.tool.id, ended, took, version, told=told))
        if isinstance(ended, MustConfirm):
            return await self._confirmed(admitted._replace(call=call), view, progress, peer, told, each=True)
        return ended

    async def _confirmed(
        self,
        asked: Admitted,
        view: View,
        progress: Progress | None,
        peer: Peer | None,
        told: bytes | None,
        *,
        each: bool = False,
    ) -> Ended:
        """Once a person has said yes, the call is admitted again from the top: much may have changed meanwhile."""
        yes = await self.confirmation.answer(asked, peer, each=each)
        if isinstance(yes, NotConfirmed):
            self.audit.record(CallRecord(asked.call, yes.tool, yes, timedelta(), self.board.policy.version, told=told))
            return yes
        ended: Ended = _GIVEN_UP
        try:
            ended = await self.call(asked.call, view, progress, peer, yes)
        finally:
            await self.confirmation.settle(asked, yes, ended)
        return ended

    async def _admitted_beside(self, call: Call, view: View) -> Admitted | Refusal:
        """Off the event loop, and decided again if the board has become another one meanwhile."""
        while True:
            resolution = self.board.resolution(view)
            gate = partial(admit, call, resolution, self.validate_beside, fill=self.fill)
            verdict = await to_thread.run_sync(gate, abandon_on_cancel=True)
            if self.board.resolution(view) is resolution:
                return verdict


def _hangs_on_values(refusal: Refusal) -> bool:
    """Whether an argument that an override puts in has no value, or a wrong one: that may have changed by itself."""
    return isinstance(refusal, ToolIsLocked) and isinstance(refusal.reason, OverrideUnfit)


def _tool(refusal: Refusal) -> ToolId | None:
    match refusal:
        case ToolIsLocked(tool) | BadArguments(tool) | NotConfirmed(tool):
            return tool
        case UnknownTool():
            return None
        case _:
            assert_never(refusal)
