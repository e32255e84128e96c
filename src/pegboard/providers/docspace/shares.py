"""What each place gets of what all callers share, so that one that hangs, or floods, is alone with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from .trouble import DocSpaceError

MAX_REQUESTS_PER_PLACE: Final = 32
"""Requests that are under way at once."""
LARGE_ANSWER_BYTES: Final = 512 * 1024
"""Bytes from which on an answer needs a seat: read, it takes many times that."""
MAX_LARGE_ANSWERS: Final = 4
MAX_LARGE_ANSWERS_PER_PLACE: Final = 2


class TooBusyError(DocSpaceError):
    """Others are in the way, for longer than anybody wants to wait."""


@dataclass(slots=True)
class _PlaceSlots:
    semaphore: anyio.Semaphore
    user_count: int = 0


@dataclass(slots=True)
class PlaceLimiter:
    max_slots: int
    timeout_s: float
    _places: dict[str, _PlaceSlots] = field(default_factory=dict[str, _PlaceSlots])

    @asynccontextmanager
    async def slot(self, place: str, crowded: str) -> AsyncIterator[None]:
        """Raises `Crowded`, with these words, where none gets free in time."""
        share = self._places.setdefault(place, _PlaceSlots(anyio.Semaphore(self.max_slots)))
        share.user_count += 1
        try:
            try:
                with anyio.fail_after(self.timeout_s):
                    await share.semaphore.acquire()
            except TimeoutError:
                raise TooBusyError(crowded) from None
            try:
                yield
            finally:
                share.semaphore.release()
        finally:
            share.user_count -= 1
            if not share.user_count:
                del self._places[place]


class DocSpaceLimiter:
    """All requests of one gateway to its DocSpaces."""

    def __init__(self, patience: float) -> None:
        self._requests = PlaceLimiter(MAX_REQUESTS_PER_PLACE, patience)
        self._large_answers = PlaceLimiter(MAX_LARGE_ANSWERS, patience)
        self._large_answers_per_place = PlaceLimiter(MAX_LARGE_ANSWERS_PER_PLACE, patience)

    @asynccontextmanager
    async def request_slot(self, place: str) -> AsyncIterator[None]:
        told = (
            f"{MAX_REQUESTS_PER_PLACE} requests to {place} are under way and none of them ends. Try again in a moment"
        )
        async with self._requests.slot(place, told):
            yield

    @asynccontextmanager
    async def large_answer_slot(self, place: str) -> AsyncIterator[None]:
        """A seat for an answer that is large. First among those of the same place, so that they wait for each other
        before anybody else waits for them."""
        told = "too many large answers are read at once. Ask for less, or try again in a moment"
        async with self._large_answers_per_place.slot(place, told), self._large_answers.slot("", told):
            yield
