"""Waiting until what one caller is shown has changed: after every stroke of a bell it looks again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeAlias

import anyio

from pegboard.gateway.bell import Subscription
from pegboard.gateway.board import BoardState

PAUSE_S: Final = 0.05
"""Seconds. Changes come in bursts (a server lists, an approval follows), and one word about them is enough."""


ListFingerprints: TypeAlias = Mapping[str, bytes]
"""Of each list that a caller may see, by the name of the list."""


class ListWatch:
    """Remembers what its caller was last told of, and speaks up only when that is no longer what it would see."""

    def __init__(self, bell: Subscription, marks: Callable[[], ListFingerprints], told: ListFingerprints) -> None:
        self._subscription = bell
        self._current_fingerprints = marks
        self._last_fingerprints = {**marks(), **told}
        self._has_notified = False

    async def wait_for_changes(self) -> frozenset[str]:
        """Which of the lists differ now. However fast they change, there is a pause between two words about it."""
        if self._has_notified:
            await anyio.sleep(PAUSE_S)
        while not (differ := self._changed_lists()):
            await self._subscription.wait()
            await anyio.sleep(PAUSE_S)
        self._has_notified = True
        return differ

    def _changed_lists(self) -> frozenset[str]:
        marks = self._current_fingerprints()
        differ = frozenset(name for name, mark in marks.items() if mark != self._last_fingerprints[name])
        self._last_fingerprints.update(marks)
        return differ


SubscribeExtra: TypeAlias = Callable[[Subscription], AbstractContextManager[None]]
"""While it lasts, the listener hears of what else may change a list beside the board."""


def no_extra_changes(_: Subscription) -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def watch_lists(
    board: BoardState,
    marks: Callable[[], ListFingerprints],
    told: ListFingerprints,
    telling: SubscribeExtra = no_extra_changes,
) -> Iterator[ListWatch]:
    """`told` are the marks of the lists the caller last saw; for the others, what it would see now."""
    with board.changes.subscribe() as bell, telling(bell):
        yield ListWatch(bell, marks, told)


async def cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
