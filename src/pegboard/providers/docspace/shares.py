"""What each place gets of what all callers share, so that one that hangs, or floods, is alone with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from .trouble import Trouble

AT_ONE_PLACE: Final = 32
"""Requests that are under way at once."""
LARGE: Final = 512 * 1024
"""Bytes from which on an answer needs a seat: read, it takes many times that."""
SEATS: Final = 4
SEATS_OF_ONE: Final = 2


class Crowded(Trouble):
    """Others are in the way, for longer than anybody wants to wait."""


@dataclass(slots=True)
class _Share:
    free: anyio.Semaphore
    users: int = 0


@dataclass(slots=True)
class Shares:
    most: int
    patience: float
    _places: dict[str, _Share] = field(default_factory=dict[str, _Share])

    @asynccontextmanager
    async def one(self, place: str, crowded: str) -> AsyncIterator[None]:
        """Raises `Crowded`, with these words, where none gets free in time."""
        share = self._places.setdefault(place, _Share(anyio.Semaphore(self.most)))
        share.users += 1
        try:
            try:
                with anyio.fail_after(self.patience):
                    await share.free.acquire()
            except TimeoutError:
                raise Crowded(crowded) from None
            try:
                yield
            finally:
                share.free.release()
        finally:
            share.users -= 1
            if not share.users:
                del self._places[place]


class Crowd:
    """All requests of one gateway to its DocSpaces."""

    def __init__(self, patience: float) -> None:
        self._under_way = Shares(AT_ONE_PLACE, patience)
        self._seats = Shares(SEATS, patience)
        self._seats_of_one = Shares(SEATS_OF_ONE, patience)

    @asynccontextmanager
    async def under_way(self, place: str) -> AsyncIterator[None]:
        told = f"{AT_ONE_PLACE} requests to {place} are under way and none of them ends. Try again in a moment"
        async with self._under_way.one(place, told):
            yield

    @asynccontextmanager
    async def large(self, place: str) -> AsyncIterator[None]:
        """A seat for an answer that is large. First among those of the same place, so that they wait for each other
        before anybody else waits for them."""
        told = "too many large answers are read at once. Ask for less, or try again in a moment"
        async with self._seats_of_one.one(place, told), self._seats.one("", told):
            yield
