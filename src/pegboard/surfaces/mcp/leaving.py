"""Principals whose token is taken back, or expires, or is another now: what is open in their name ends."""

from collections.abc import Awaitable, Callable, Iterable

import anyio

from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.gateway.access.callers import Callers, Hashes
from pegboard.gateway.board import Board


class Leaving:
    def __init__(self, board: Board, callers: Callers) -> None:
        self._board = board
        self._callers = callers
        self._events: dict[PrincipalId, anyio.Event] = {}

    def of(self, principal: PrincipalId) -> anyio.Event:
        """Set when whoever came in as this principal by now would have to come in anew."""
        return self._events.setdefault(principal, anyio.Event())

    async def watch(self, close: Callable[[PrincipalId], Awaitable[None]]) -> None:
        """`close` ends what cannot wait for the event."""
        hashes = self._callers.known
        with self._board.changed.listen() as bell:
            while True:
                before, hashes = hashes, self._callers.known
                if hashes is not before:
                    for principal in left(before, hashes):
                        self._events.pop(principal, anyio.Event()).set()
                        await close(principal)
                with anyio.move_on_after(self._callers.seconds_to_expiry()):
                    await bell.wait()


def left(before: Hashes, now: Hashes) -> Iterable[PrincipalId]:
    """Whose tokens let somebody in before that they would not let in now. Nobody has names, or everybody has one."""
    if not before:
        return [LOCAL] if now else []
    return [id for id, hashes in before.items() if not set(hashes).issubset(now.get(id, ()))]
