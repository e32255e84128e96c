"""Waiting until what one caller is shown has changed: after every stroke of the board's bell it looks again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from pegboard.core.view import View
from pegboard.gateway.bell import Listener
from pegboard.gateway.board import Board

from .direct import Direct

PAUSE: Final = 0.05
"""Seconds. Changes come in bursts (a server lists, an approval follows), and one word about them is enough."""


class Watch:
    """Remembers what its caller was last told of, and speaks up only when that is no longer what it would see."""

    def __init__(self, bell: Listener, direct: Direct, view: View, told: bytes | None) -> None:
        self._bell = bell
        self._direct = direct
        self._view = view
        self._told = self._mark() if told is None else told

    async def changed(self) -> None:
        while (mark := self._mark()) == self._told:
            await self._bell.wait()
            await anyio.sleep(PAUSE)
        self._told = mark

    def _mark(self) -> bytes:
        return self._direct.shown(self._view).mark


@contextmanager
def watching(board: Board, direct: Direct, view: View, told: bytes | None = None) -> Iterator[Watch]:
    """`told` is the mark of the list the caller last saw; without it, what it would see now."""
    with board.changed.listen() as bell:
        yield Watch(bell, direct, view, told)


async def cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
