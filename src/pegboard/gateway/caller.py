"""Executes one call: admits or refuses it, runs it at its provider, records it."""

import logging
from asyncio import CancelledError
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Final, TypeAlias, assert_never

import anyio
from anyio import to_thread

from pegboard.core.calls.call import (
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
from pegboard.core.calls.caller_credentials import (
    CREDENTIAL_HEADERS,
    ApiAccess,
    caller_credential_rules,
    read_caller_credentials,
)
from pegboard.core.calls.tickets import TICKET_TOOL
from pegboard.core.decision.listing_changes import (
    describe_stopped_owners,
    possible_owners,
    servers_starting,
    why_unlisted,
)
from pegboard.core.decision.resolve import LockedTool
from pegboard.core.decision.status import ProviderUnavailable, UnusableOverride
from pegboard.core.model.catalogue import ProviderStart
from pegboard.core.model.ids import BuiltinKey, ProviderKey, ToolId, ToolsetKey
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.overrides.schema import fill_arguments
from pegboard.core.policy.policy import Policy
from pegboard.gateway.argument_values import call_masked
from pegboard.gateway.board import BoardState
from pegboard.gateway.builtins import BuiltinOutcome, BuiltinRegistry, MustConfirm
from pegboard.gateway.confirmation import Confirmation
from pegboard.gateway.providers import ProviderRegistry
from pegboard.gateway.signals import is_cancelling
from pegboard.gateway.ticket_tool import TicketTool
from pegboard.gateway.validation import Validators
from pegboard.ports.audit import Audit
from pegboard.ports.providers import ClientPeer, Progress

# What the record of a call tells of credentials that its caller brought: for which place, and nothing of them.


def with_credential_place(call: ToolCall, policy: Policy) -> ToolCall:
    """A call, by a client that is named with the place it brought credentials for."""
    lends = caller_credential_rules(policy)
    if lends is None or not any(name in call.headers for name in CREDENTIAL_HEADERS):
        return call
    access = read_caller_credentials(call.headers, lends)
    if not isinstance(access, ApiAccess):
        return call
    return replace(call, client=f"{call.client or 'a client'}, with credentials of its own for {access.origin}")


# Waiting for servers that have not listed their tools yet, by those who ask for a tool that may be theirs.

GRACE_S: Final = 5.0
"""Seconds beyond what a start may take, for what follows it: the list, and the record of a first sight."""


async def wait_until_listed(board: BoardState, name: str, view: View) -> LockedToolRefusal | None:
    """Once nobody who may have this tool is starting any more, or its time is up: why it is still not there.

    `None` when it is there, or when no such server could have it.
    """
    if (begins := starting_reason(board, name, view)) is not None:
        return await _wait_for_start(board, name, view, begins)
    owners = possible_owners(name, board.catalogue, board.policy, view)
    if not owners:
        return None
    patience = max(
        (_start_timeout(key, board.policy) for key in servers_starting(owners, board.catalogue)), default=0.0
    )
    with anyio.move_on_after(patience), board.changes.subscribe() as bell:
        while (
            owners
            and servers_starting(owners, board.catalogue)
            and not is_listed(board, name, view)
            and not board.is_closed
        ):
            await bell.wait()
            owners = possible_owners(name, board.catalogue, board.policy, view)
    if is_listed(board, name, view):
        return None
    resolution = board.resolution(view)
    remembered = resolution.find_tool(name)
    if remembered is not None and isinstance(verdict := resolution.verdicts[remembered], LockedTool):
        return LockedToolRefusal(remembered, verdict.reason)
    near = bool(closest_names(name, resolution.by_name))
    reason = why_unlisted(owners, board.catalogue, near=near)
    return None if reason is None else LockedToolRefusal(next(owners[key] for key in reason.servers), reason)


def is_listed(board: BoardState, name: str, view: View) -> bool:
    """Whether who has a tool of this name has listed it. What is only remembered may not be there any more."""
    id = board.resolution(view).find_tool(name)
    if id is None or board.catalogue.listings[id.source].is_remembered:
        return False
    return starting_reason(board, name, view) is None


def starting_reason(board: BoardState, name: str, view: View) -> LockedToolRefusal | None:
    """Why it is locked, where that is only because what runs the toolset's own tools is just being started: after an
    import, or when it was restarted. A call is worth the wait, as it is when it wakes them."""
    resolution = board.resolution(view)
    id = resolution.find_tool(name)
    match None if id is None else resolution.verdicts[id]:
        case LockedTool(_, ProviderUnavailable(ToolsetKey(), ProviderStart(attempt)) as reason) if (
            attempt <= 1 and id is not None
        ):
            return LockedToolRefusal(id, reason)
        case _:
            return None


async def _wait_for_start(
    board: BoardState, name: str, view: View, begins: LockedToolRefusal
) -> LockedToolRefusal | None:
    key = begins.tool.source
    assert isinstance(key, ToolsetKey)
    with anyio.move_on_after(_start_timeout(key, board.policy)), board.changes.subscribe() as bell:
        while starting_reason(board, name, view) is not None and not board.is_closed:
            await bell.wait()
    return starting_reason(board, name, view)


def may_be_listed_soon(board: BoardState, refusal: Refusal) -> bool:
    """Whether a call may be refused only because its server has not listed its tools yet."""
    match refusal:
        case UnknownTool():
            return True
        case LockedToolRefusal(_, ProviderUnavailable(source, ProviderStart(attempt))) if attempt <= 1:
            listing = board.catalogue.listings.get(source)
            return isinstance(source, ToolsetKey) or (listing is not None and listing.is_remembered)
        case _:
            return False


def _start_timeout(key: ProviderKey, policy: Policy) -> float:
    server = policy.servers.get(key)
    return 0.0 if server is None else min(server.timeouts.call, server.timeouts.start + GRACE_S)


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
