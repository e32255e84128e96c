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
    AdmittedCall,
    ArgumentFill,
    ArgumentValidator,
    BadArguments,
    CallCancellation,
    CallConfirmation,
    CallRecord,
    ConfirmationRefusal,
    LockedToolRefusal,
    Outcome,
    ProviderFailure,
    Refusal,
    ToolCall,
    UnknownTool,
    admit,
)
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.shaping import fill_arguments
from pegboard.core.status import UnusableOverride
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.unlisted import describe_stopped_owners
from pegboard.core.view import View
from pegboard.ports import Audit, ClientPeer, Progress

from .board import BoardState
from .bringing import with_credential_place
from .builtins import BuiltinOutcome, BuiltinRegistry, MustConfirm
from .cancellation import is_cancelling
from .confirmation import Confirmation
from .discretion import call_masked
from .roster import ProviderRegistry
from .ticket_tool import TicketTool
from .unlisted import is_listed, may_be_listed_soon, wait_until_listed
from .validation import Validators

log = logging.getLogger(__name__)

OFF_LOOP_BYTES: Final = 262_144
"""Bytes of arguments from which on they are checked beside the event loop."""

CallOutcome: TypeAlias = Outcome | Refusal
_CANCELLED: Final = CallCancellation()


@dataclass(frozen=True)
class CallExecutor:
    board: BoardState
    providers: ProviderRegistry
    validators: Validators
    validate_off_loop: ArgumentValidator
    """The same from a thread: for arguments so large that to check them would hold up everybody else."""
    audit: Audit
    confirmation: Confirmation
    ticket_tool: TicketTool
    builtins: BuiltinRegistry
    fill: ArgumentFill = fill_arguments
    """What overrides put into the arguments: the provider gets it, and the record does not."""

    async def call(
        self,
        call: ToolCall,
        view: View,
        progress: Progress | None = None,
        peer: ClientPeer | None = None,
        confirmed: CallConfirmation | None = None,
    ) -> CallOutcome:
        """Nothing waits between the gate and the provider, so what was admitted is what is true when it runs."""
        started = perf_counter()
        if call.raw is None or len(call.raw) <= OFF_LOOP_BYTES:
            verdict = admit(call, self.board.resolution(view), self.validators.for_call(call), fill=self.fill)
        else:
            verdict = await self._admit_off_loop(call, view)
        version = self.board.policy.decisions.version
        gated = perf_counter()
        if not isinstance(verdict, AdmittedCall):
            if _is_blocked_by_override_value(verdict) and self.board.refresh_values():
                return await self.call(call, view, progress, peer, confirmed)
            if call.name == TICKET_TOOL:
                return await self.ticket_tool.call(call, view, self.call, progress, peer)
            if may_be_listed_soon(self.board, verdict):
                why = await self._wait_for_listing(call, view)
                if is_listed(self.board, call.name, view):
                    return await self.call(call, view, progress, peer, confirmed)
                verdict = why or verdict
                if isinstance(verdict, UnknownTool) and not verdict.why:
                    verdict = replace(
                        verdict, why=describe_stopped_owners(call.name, self.board.catalogue, self.board.policy, view)
                    )
            told = self.builtins.recorded_arguments(_refused_tool(verdict), call.arguments)
            self.audit.record(
                CallRecord(call, _refused_tool(verdict), verdict, timedelta(), version, recorded_arguments=told)
            )
            return verdict
        if verdict.confirm and verdict.lacks_confirmation(confirmed):
            # About the call as it was made: a person is shown what the caller sent, and nothing else.
            told = self.builtins.recorded_arguments(verdict.tool.id, call.arguments, verdict.call.arguments)
            return await self._call_after_confirmation(verdict._replace(call=call), view, progress, peer, told)
        ended: Outcome = _CANCELLED
        source = verdict.tool.id.source
        if type(source) is BuiltinKey:
            return await self._call_builtin(verdict, call, view, progress, peer, confirmed)
        try:
            provider = self.providers.provider(source)
            if provider is None:
                ended = ProviderFailure(f"{source} is not running", may_have_run=False)
            elif verdict.pin_mask is None:
                ended = await provider.call(verdict, progress, peer)
            else:
                ended = await call_masked(provider, verdict, progress, peer, verdict.pin_mask)
        except CancelledError:
            if is_cancelling():
                raise
            log.exception("The provider of %s cancelled itself in call %s", source, call.id)
            ended = ProviderFailure(f"{source} broke off", may_have_run=True)
        except Exception:  # a provider answers with an outcome; one that raises must not break whoever called
            log.exception("The provider of %s broke in call %s", source, call.id)
            ended = ProviderFailure(f"{source} broke off", may_have_run=True)
        finally:
            took = timedelta(seconds=perf_counter() - started)
            if verdict.tool.is_checked_by_provider:
                call = with_credential_place(call, self.board.policy)
            gate = int((gated - started) * 1_000_000)
            self.audit.record(CallRecord(call, verdict.tool.id, ended, took, version, gate))
        return ended

    async def _wait_for_listing(self, call: ToolCall, view: View) -> LockedToolRefusal | None:
        """The same name may be known in a moment, when a server that is starting has told what it has."""
        try:
            return await wait_until_listed(self.board, call.name, view)
        except CancelledError:
            self.audit.record(CallRecord(call, None, _CANCELLED, timedelta(), self.board.policy.version))
            raise

    async def _call_builtin(
        self,
        admitted: AdmittedCall,
        call: ToolCall,
        view: View,
        progress: Progress | None,
        peer: ClientPeer | None,
        confirmed: CallConfirmation | None,
    ) -> CallOutcome:
        """A call of one of the gateway's own tools, which may find out by its arguments that a person must see it."""
        ended: BuiltinOutcome = _CANCELLED
        told = self.builtins.recorded_arguments(admitted.tool.id, call.arguments, admitted.call.arguments)
        started = perf_counter()
        try:
            ended = await self.builtins.call(admitted, view, progress, peer, confirmed)
        finally:
            if not isinstance(ended, MustConfirm):
                took = timedelta(seconds=perf_counter() - started)
                version = self.board.policy.decisions.version
                self.audit.record(CallRecord(call, admitted.tool.id, ended, took, version, recorded_arguments=told))
        if isinstance(ended, MustConfirm):
            return await self._call_after_confirmation(
                admitted._replace(call=call), view, progress, peer, told, each=True
            )
        return ended

    async def _call_after_confirmation(
        self,
        asked: AdmittedCall,
        view: View,
        progress: Progress | None,
        peer: ClientPeer | None,
        told: bytes | None,
        *,
        each: bool = False,
    ) -> CallOutcome:
        """Once a person has said yes, the call is admitted again from the top: much may have changed meanwhile."""
        yes = await self.confirmation.confirm(asked, peer, each=each)
        if isinstance(yes, ConfirmationRefusal):
            self.audit.record(
                CallRecord(asked.call, yes.tool, yes, timedelta(), self.board.policy.version, recorded_arguments=told)
            )
            return yes
        ended: CallOutcome = _CANCELLED
        try:
            ended = await self.call(asked.call, view, progress, peer, yes)
        finally:
            await self.confirmation.finish(asked, yes, ended)
        return ended

    async def _admit_off_loop(self, call: ToolCall, view: View) -> AdmittedCall | Refusal:
        """Off the event loop, and decided again if the board has become another one meanwhile."""
        while True:
            resolution = self.board.resolution(view)
            gate = partial(admit, call, resolution, self.validate_off_loop, fill=self.fill)
            verdict = await to_thread.run_sync(gate, abandon_on_cancel=True)
            if self.board.resolution(view) is resolution:
                return verdict


def _is_blocked_by_override_value(refusal: Refusal) -> bool:
    """Whether an argument that an override puts in has no value, or a wrong one: that may have changed by itself."""
    return isinstance(refusal, LockedToolRefusal) and isinstance(refusal.reason, UnusableOverride)


def _refused_tool(refusal: Refusal) -> ToolId | None:
    match refusal:
        case LockedToolRefusal(tool) | BadArguments(tool) | ConfirmationRefusal(tool):
            return tool
        case UnknownTool():
            return None
        case _:
            assert_never(refusal)
