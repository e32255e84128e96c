"""One command, start to end: applied to the policy, saved, and only then on the board."""

from dataclasses import replace
from typing import Final

import anyio

from pegboard.core.catalogue import Listing
from pegboard.core.commands import Command, Rejected, apply
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import Declared, Policy, clashes
from pegboard.core.running import first_sight
from pegboard.ports import Clock, PolicyStore, Saved, Stale

from .board import Board

FIRST_SIGHT: Final = PrincipalId("first-sight")
_ATTEMPTS: Final = 5


class Operator:
    """The only writer of the policy. Whoever lost a race decides again on what is now true."""

    def __init__(self, board: Board, store: PolicyStore, clock: Clock) -> None:
        self._board = board
        self._store = store
        self._clock = clock
        self._turn = anyio.Lock()

    async def do(self, command: Command, by: PrincipalId, *, expecting: int | None = None) -> Policy | Rejected | Stale:
        """`expecting` is the version the person looked at; without it the command stands on whatever is true now."""
        async with self._turn:
            for _ in range(_ATTEMPTS):
                before = self._board.policy
                if expecting is not None and before.version != expecting:
                    return Stale(before.version)
                at = self._clock()
                after = apply(before, command, by, at)
                if isinstance(after, Rejected):
                    return after
                match await self._store.save(before.decided, after.decided, by=by, what=_told(command), at=at):
                    case Saved():
                        self._board.decide(replace(after, declared=self._board.policy.declared))
                        return after
                    case Stale() as stale:
                        await self._reload()
                        if expecting is not None:
                            return stale
            return Stale(self._board.policy.version)

    async def reload(self) -> None:
        """Another process decided: take over what the store now holds."""
        async with self._turn:
            await self._reload()

    async def redeclare(self, declared: Declared) -> tuple[str, ...]:
        """The operator's file changed. A clash with what people installed leaves both as they are, and is told."""
        async with self._turn:
            clashing = clashes(declared, self._board.policy.decided)
            if not clashing:
                self._board.decide(replace(self._board.policy, declared=declared))
            return tuple(str(clash) for clash in clashing)

    async def see(self, listing: Listing) -> None:
        """Hang a provider's latest word. First sight is recorded before, so that no tool flickers."""
        command = first_sight(listing, self._board.policy)
        if command is not None:
            await self.do(command, FIRST_SIGHT)
        self._board.hang(listing)

    async def _reload(self) -> None:
        decided = await self._store.load()
        self._board.decide(replace(self._board.policy, decided=decided))


def _told(command: Command) -> str:
    return type(command).__name__
