"""How fast a server may talk: what is read in one turn of the event loop, and how much of it is told to a client.

A server that streams as fast as it can costs only its own calls their time, never the calls of others.
"""

from collections.abc import Iterator
from time import monotonic
from typing import Final

import anyio

SLICE: Final = 4_096
"""Bytes that are read between two looks at the clock."""

TURN: Final = 0.002
"""Seconds of work on what one server sent, until it is the turn of everybody else."""

REST: Final = 0.005
LONGEST_REST: Final = 0.02
"""Seconds until it is its turn again: longer each time in a row, so that a flood costs a small part of the time."""

MESSAGES_AT_ONCE: Final = 200
MESSAGES_A_SECOND: Final = 50.0
"""Log messages of one call that reach its client; more can be read by nobody."""

STEPS_AT_ONCE: Final = 100
STEPS_A_SECOND: Final = 20.0
"""Steps of progress of one call that reach its client; of those in between only the last counts."""


class Pace:
    """Lets so many pass at once, and so many a second from then on."""

    __slots__ = ("_a_second", "_at_once", "_left", "_seen")

    def __init__(self, at_once: int, a_second: float) -> None:
        self._at_once = at_once
        self._a_second = a_second
        self._left = float(at_once)
        self._seen = monotonic()

    def lets_pass(self) -> bool:
        now = monotonic()
        self._left = min(self._left + (now - self._seen) * self._a_second, self._at_once)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Turns:
    """The turns of one stream: whether it has worked long enough for now, and how long it then rests."""

    __slots__ = ("_in_a_row", "_spent")

    def __init__(self) -> None:
        self._spent = 0.0
        self._in_a_row = 0

    def spend(self, seconds: float) -> bool:
        """Whether this turn is over."""
        self._spent += seconds
        return self._spent > TURN

    def rest(self) -> float:
        """Seconds until the next turn."""
        self._spent = 0.0
        self._in_a_row += 1
        return min(self._in_a_row * REST, LONGEST_REST)

    def catch_up(self) -> None:
        """All there was has been read."""
        self._spent = 0.0
        self._in_a_row = 0

    async def take(self, seconds: float) -> None:
        if self.spend(seconds):
            await anyio.sleep(self.rest())


def slices(chunk: bytes) -> Iterator[bytes]:
    for start in range(0, len(chunk), SLICE):
        yield chunk[start : start + SLICE]
