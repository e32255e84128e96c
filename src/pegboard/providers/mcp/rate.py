"""How fast a server may talk: what is read in one turn of the event loop, and how much of it is told to a client.

A server that streams as fast as it can costs only its own calls their time, never the calls of others.
"""

from collections.abc import Iterator
from time import monotonic
from typing import Final

import anyio

SLICE_BYTES: Final = 4_096
"""Bytes that are read between two looks at the clock."""

TURN_S: Final = 0.002
"""Seconds of work on what one server sent, until it is the turn of everybody else."""

REST_S: Final = 0.005
MAX_REST_S: Final = 0.02
"""Seconds until it is its turn again: longer each time in a row, so that a flood costs a small part of the time."""

LOG_BURST: Final = 200
LOG_RATE_PER_S: Final = 50.0
"""Log messages of one call that reach its client; more can be read by nobody."""

PROGRESS_BURST: Final = 100
PROGRESS_RATE_PER_S: Final = 20.0
"""Steps of progress of one call that reach its client; of those in between only the last counts."""


class MessageRateLimiter:
    """Lets so many pass at once, and so many a second from then on."""

    __slots__ = ("_available", "_burst", "_rate_per_s", "_updated_at")

    def __init__(self, at_once: int, a_second: float) -> None:
        self._burst = at_once
        self._rate_per_s = a_second
        self._available = float(at_once)
        self._updated_at = monotonic()

    def try_acquire(self) -> bool:
        now = monotonic()
        self._available = min(self._available + (now - self._updated_at) * self._rate_per_s, self._burst)
        self._updated_at = now
        if self._available < 1:
            return False
        self._available -= 1
        return True


class TurnTimer:
    """The turns of one stream: whether it has worked long enough for now, and how long it then rests."""

    __slots__ = ("_spent_s", "_turns_in_row")

    def __init__(self) -> None:
        self._spent_s = 0.0
        self._turns_in_row = 0

    def spend(self, seconds: float) -> bool:
        """Whether this turn is over."""
        self._spent_s += seconds
        return self._spent_s > TURN_S

    def rest_seconds(self) -> float:
        """Seconds until the next turn."""
        self._spent_s = 0.0
        self._turns_in_row += 1
        return min(self._turns_in_row * REST_S, MAX_REST_S)

    def reset(self) -> None:
        """All there was has been read."""
        self._spent_s = 0.0
        self._turns_in_row = 0

    async def spend_and_rest(self, seconds: float) -> None:
        if self.spend(seconds):
            await anyio.sleep(self.rest_seconds())


def slices(chunk: bytes) -> Iterator[bytes]:
    for start in range(0, len(chunk), SLICE_BYTES):
        yield chunk[start : start + SLICE_BYTES]
