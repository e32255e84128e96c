"""The gateway's own tools as one provider, so that all decisions apply to them too.

They are listed as one source, so that whatever is decided over tools is decided over them by the same rules.
"""

import logging
from asyncio import CancelledError
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias, assert_never, runtime_checkable

from pegboard.core.calls.call import (
    AdmittedCall,
    CallConfirmation,
    LockedToolRefusal,
    Outcome,
    ProviderFailure,
    Refusal,
    UnknownTool,
)
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Verdict
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, canonical_json
from pegboard.core.presentations.builtins import builtin_verdict
from pegboard.gateway.argument_values import mask_pinned, masked_peer, masked_progress
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import is_cancelling
from pegboard.ports.providers import ClientPeer, Clock, Progress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MustConfirm:
    """A person must say yes to this call first, whatever they granted before. Then it is made again from the top."""


BuiltinOutcome: TypeAlias = Outcome | Refusal | MustConfirm


class Builtin(Protocol):
    @property
    def tool(self) -> Tool:
        """Its id is its name, of the source `BuiltinKey()`."""
        ...

    async def call(
        self, admitted: AdmittedCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | Refusal | MustConfirm:
        """`admitted.confirm` says that a person has said yes to this very call; `view` is in which it was made.

        A cancelled call is cancelled in all that it began.
        """
        ...


@runtime_checkable
class RecordsArguments(Protocol):
    """A built-in of whose arguments something is recorded, whatever the settings say of arguments."""

    def recorded_arguments(self, sent: Mapping[str, Json], whole: Mapping[str, Json]) -> JsonObject | None:
        """Of what was `sent`, be it unfit for the tool; `whole` has what overrides put in, and is not told."""
        ...


class BuiltinRegistry:
    """By name. What is registered hangs on the board until it is withdrawn; with nothing registered the board is as if
    there were none of this."""

    def __init__(self, board: BoardState, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._by_name: Mapping[str, Builtin] = {}
        self._up: ProviderUp | None = None

    def register(self, *builtins: Builtin) -> None:
        """All of them at once; one of the same name takes the place of the former."""
        self.replace((), builtins)

    def withdraw(self, *names: str) -> None:
        self.replace(names, ())

    def replace(self, names: tuple[str, ...], builtins: tuple[Builtin, ...]) -> None:
        """Withdraw and register in one change of the board."""
        kept = {name: known for name, known in self._by_name.items() if name not in names}
        both = {**kept, **{each.tool.id.name: each for each in builtins}}
        self._by_name = {name: both[name] for name in sorted(both)}
        if not both:
            self._up = None
            self._board.remove(BuiltinKey())
            return
        self._up = self._up or ProviderUp(self._clock())
        self._board.publish(Listing(BuiltinKey(), self._up, tuple(each.tool for each in self._by_name.values())))

    def recorded_arguments(
        self, tool: ToolId | None, sent: Mapping[str, Json], whole: Mapping[str, Json] | None = None
    ) -> bytes | None:
        """What is recorded of a call of it beside the fact, as JSON text."""
        if tool is None or type(tool.source) is not BuiltinKey:
            return None
        builtin = self._by_name.get(tool.name)
        told = (
            builtin.recorded_arguments(sent, sent if whole is None else whole)
            if isinstance(builtin, RecordsArguments)
            else None
        )
        return None if told is None else canonical_json(told)

    async def call(
        self,
        admitted: AdmittedCall,
        view: View,
        progress: Progress | None,
        peer: ClientPeer | None,
        confirmed: CallConfirmation | None,
    ) -> BuiltinOutcome:
        """Never raises for what a built-in does."""
        tool, echo = admitted.tool.id, admitted.pin_mask
        builtin = self._by_name.get(tool.name)
        if builtin is None:
            return ProviderFailure(f"{tool.name} is not running", may_have_run=False)
        said_yes = confirmed is not None and not confirmed.by_consent and confirmed.applies_to(admitted)
        run = admitted._replace(confirm=said_yes)
        try:
            if echo is None:
                return await builtin.call(run, view, progress, peer)
            answered = await builtin.call(run, view, masked_progress(progress, echo), masked_peer(peer, echo))
        except CancelledError:
            if is_cancelling():
                raise
            log.exception("%s cancelled itself in call %s", tool.name, admitted.call.id)
            return ProviderFailure(f"{tool.name} broke off", may_have_run=True)
        except Exception:  # a built-in answers with a value; one that raises must not break whoever called
            log.exception("%s broke in call %s", tool.name, admitted.call.id)
            return ProviderFailure(f"{tool.name} broke off", may_have_run=True)
        return mask_pinned(answered, echo) if isinstance(answered, Outcome) else answered


# Whether the gateway's own tools that need not be on the board are open to a caller.


def verdict_on_builtin(board: BoardState, now: datetime, tool: Tool, view: View) -> Verdict:
    """That of the board, where the tool is on it."""
    on_board = board.resolution(view).verdicts.get(tool.id)
    if on_board is not None:
        return on_board
    return builtin_verdict(tool, ProviderUp(now), board.catalogue, board.policy, view)


def builtin_refusal(verdict: Verdict) -> LockedToolRefusal | UnknownTool | None:
    """What an agent is answered that calls it."""
    match verdict:
        case OpenTool():
            return None
        case LockedTool(tool, reason):
            return LockedToolRefusal(tool.id, reason)
        case HiddenTool(tool):
            return UnknownTool(tool.id.name)
        case _:
            assert_never(verdict)
