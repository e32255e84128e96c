"""Principals whose token is taken back, or expires, or is another now: what is open in their name ends."""

from collections.abc import Awaitable, Callable, Iterable

import anyio

from pegboard.core.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.gateway.access.callers import CallerTokens, TokenHashes
from pegboard.gateway.board import BoardState


class RevocationWatcher:
    def __init__(self, board: BoardState, callers: CallerTokens) -> None:
        self._board = board
        self._token_index = callers
        self._events: dict[PrincipalId, anyio.Event] = {}

    def event_for(self, principal: PrincipalId) -> anyio.Event:
        """Set when whoever came in as this principal by now would have to come in anew."""
        return self._events.setdefault(principal, anyio.Event())

    async def watch(self, close: Callable[[PrincipalId], Awaitable[None]]) -> None:
        """`close` ends what cannot wait for the event."""
        hashes = self._token_index.hashes
        with self._board.changes.subscribe() as bell:
            while True:
                before, hashes = hashes, self._token_index.hashes
                if hashes is not before:
                    for principal in revoked_principals(before, hashes):
                        self._events.pop(principal, anyio.Event()).set()
                        await close(principal)
                with anyio.move_on_after(self._token_index.seconds_to_expiry()):
                    await bell.wait()


def revoked_principals(before: TokenHashes, now: TokenHashes) -> Iterable[PrincipalId]:
    """Whose tokens let somebody in before that they would not let in now. Nobody has names, or everybody has one."""
    if not before:
        return [LOCAL_PRINCIPAL] if now else []
    return [id for id, hashes in before.items() if not set(hashes).issubset(now.get(id, ()))]
