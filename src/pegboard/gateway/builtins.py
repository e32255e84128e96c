"""The gateway's own tools on the board: which of them hang there now, and who runs a call of one.

They are listed as one source, so that whatever is decided over tools is decided over them by the same rules.
"""

import logging
from asyncio import CancelledError
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from pegboard.core.call import Admitted, Confirmed, Outcome, ProviderFailed, Refusal
from pegboard.core.catalogue import Listing, Up
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.tool import Json, JsonObject, Tool, canonical
from pegboard.core.view import View
from pegboard.ports import Clock, Peer, Progress

from .board import Board
from .cancellation import is_meant
from .discretion import quiet_peer, quiet_progress, without_echo

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MustConfirm:
    """A person must say yes to this call first, whatever they granted before. Then it is made again from the top."""


Answered: TypeAlias = Outcome | Refusal | MustConfirm


class Builtin(Protocol):
    @property
    def tool(self) -> Tool:
        """Its id is its name, of the source `BuiltinKey()`."""
        ...

    async def call(
        self, admitted: Admitted, view: View, progress: Progress | None, peer: Peer | None
    ) -> Outcome | Refusal | MustConfirm:
        """`admitted.confirm` says that a person has said yes to this very call; `view` is in which it was made.

        A cancelled call is cancelled in all that it began.
        """
        ...


@runtime_checkable
class Telling(Protocol):
    """A built-in of whose arguments something is recorded, whatever the settings say of arguments."""

    def told(self, sent: Mapping[str, Json], whole: Mapping[str, Json]) -> JsonObject | None:
        """Of what was `sent`, be it unfit for the tool; `whole` has what overrides put in, and is not told."""
        ...


class Builtins:
    """By name. What is registered hangs on the board until it is withdrawn; with nothing registered the board is as if
    there were none of this."""

    def __init__(self, board: Board, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._named: Mapping[str, Builtin] = {}
        self._up: Up | None = None

    def register(self, *builtins: Builtin) -> None:
        """All of them at once; one of the same name takes the place of the former."""
        self.exchange((), builtins)

    def withdraw(self, *names: str) -> None:
        self.exchange(names, ())

    def exchange(self, names: tuple[str, ...], builtins: tuple[Builtin, ...]) -> None:
        """Withdraw and register in one change of the board."""
        kept = {name: known for name, known in self._named.items() if name not in names}
        both = {**kept, **{each.tool.id.name: each for each in builtins}}
        self._named = {name: both[name] for name in sorted(both)}
        if not both:
            self._up = None
            self._board.take_down(BuiltinKey())
            return
        self._up = self._up or Up(self._clock())
        self._board.hang(Listing(BuiltinKey(), self._up, tuple(each.tool for each in self._named.values())))

    def told(
        self, tool: ToolId | None, sent: Mapping[str, Json], whole: Mapping[str, Json] | None = None
    ) -> bytes | None:
        """What is recorded of a call of it beside the fact, as JSON text."""
        if tool is None or type(tool.source) is not BuiltinKey:
            return None
        builtin = self._named.get(tool.name)
        told = builtin.told(sent, sent if whole is None else whole) if isinstance(builtin, Telling) else None
        return None if told is None else canonical(told)

    async def call(
        self,
        admitted: Admitted,
        view: View,
        progress: Progress | None,
        peer: Peer | None,
        confirmed: Confirmed | None,
    ) -> Answered:
        """Never raises for what a built-in does."""
        tool, echo = admitted.tool.id, admitted.echo
        builtin = self._named.get(tool.name)
        if builtin is None:
            return ProviderFailed(f"{tool.name} is not running", may_have_run=False)
        said_yes = confirmed is not None and not confirmed.remembered and confirmed.is_for(admitted)
        run = admitted._replace(confirm=said_yes)
        try:
            if echo is None:
                return await builtin.call(run, view, progress, peer)
            answered = await builtin.call(run, view, quiet_progress(progress, echo), quiet_peer(peer, echo))
        except CancelledError:
            if is_meant():
                raise
            log.exception("%s cancelled itself in call %s", tool.name, admitted.call.id)
            return ProviderFailed(f"{tool.name} broke off", may_have_run=True)
        except Exception:  # a built-in answers with a value; one that raises must not break whoever called
            log.exception("%s broke in call %s", tool.name, admitted.call.id)
            return ProviderFailed(f"{tool.name} broke off", may_have_run=True)
        return without_echo(answered, echo) if isinstance(answered, Outcome) else answered
