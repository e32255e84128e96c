"""Principals that the operator takes out, or gives another token: what is open in their name ends."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import anyio

from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.core.principal import Principal
from pegboard.gateway.board import Board


class Leaving:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._events: dict[PrincipalId, anyio.Event] = {}

    def of(self, principal: PrincipalId) -> anyio.Event:
        """Set when whoever came in as this principal by now would have to come in anew."""
        return self._events.setdefault(principal, anyio.Event())

    async def watch(self, close: Callable[[PrincipalId], Awaitable[None]]) -> None:
        """`close` ends what cannot wait for the event."""
        principals = self._board.policy.declared.principals
        with self._board.changed.listen() as bell:
            while True:
                before, principals = principals, self._board.policy.declared.principals
                if principals is not before:
                    for principal in left(before, principals):
                        self._events.pop(principal, anyio.Event()).set()
                        await close(principal)
                await bell.wait()


def left(before: Mapping[PrincipalId, Principal], now: Mapping[PrincipalId, Principal]) -> Iterable[PrincipalId]:
    """Whose tokens let somebody in before that they would not let in now. Nobody has names, or everybody has one."""
    if not before:
        return [LOCAL] if now else []
    return [
        id for id, principal in before.items() if id not in now or not set(principal.hashes).issubset(now[id].hashes)
    ]
