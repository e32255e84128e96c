"""Waiting until what one caller is shown has changed: after every stroke of a bell it looks again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeAlias

import anyio

from pegboard.gateway.bell import Listener
from pegboard.gateway.board import Board

PAUSE: Final = 0.05
"""Seconds. Changes come in bursts (a server lists, an approval follows), and one word about them is enough."""


Marks: TypeAlias = Mapping[str, bytes]
"""Of each list that a caller may see, by the name of the list."""


class Watch:
    """Remembers what its caller was last told of, and speaks up only when that is no longer what it would see."""

    def __init__(self, bell: Listener, marks: Callable[[], Marks], told: Marks) -> None:
        self._bell = bell
        self._marks = marks
        self._told = {**marks(), **told}
        self._has_spoken = False

    async def changed(self) -> frozenset[str]:
        """Which of the lists differ now. However fast they change, there is a pause between two words about it."""
        if self._has_spoken:
            await anyio.sleep(PAUSE)
        while not (differ := self._differing()):
            await self._bell.wait()
            await anyio.sleep(PAUSE)
        self._has_spoken = True
        return differ

    def _differing(self) -> frozenset[str]:
        marks = self._marks()
        differ = frozenset(name for name, mark in marks.items() if mark != self._told[name])
        self._told.update(marks)
        return differ


Telling: TypeAlias = Callable[[Listener], AbstractContextManager[None]]
"""While it lasts, the listener hears of what else may change a list beside the board."""


def nothing_else(_: Listener) -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def watching(board: Board, marks: Callable[[], Marks], told: Marks, telling: Telling = nothing_else) -> Iterator[Watch]:
    """`told` are the marks of the lists the caller last saw; for the others, what it would see now."""
    with board.changed.listen() as bell, telling(bell):
        yield Watch(bell, marks, told)


async def cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
