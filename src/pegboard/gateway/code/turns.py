"""Turns: so many programs run at once, and one that waits for nothing but a person lets another have its turn."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from pegboard.core.code import CodeSettings
from pegboard.core.ids import PrincipalId
from pegboard.ports import CannotAsk

_REFUSED: Final = -32600
"""The protocol's code for a question that cannot be asked now."""
_ONE: Final = (
    "{} programs of this caller wait for an answer in its client already, and no more of them do at once. "
    "Answer those first."
)
_ALL: Final = (
    "{} programs wait for an answer in their clients already, and no more of them do at once. Try again later."
)


class Turns:
    """Of all programs of a gateway."""

    def __init__(self) -> None:
        self._limiter: Final = anyio.CapacityLimiter(1)
        self._asking: Final[Counter[PrincipalId]] = Counter()

    @asynccontextmanager
    async def turn(self, whose: PrincipalId, within: float, settings: CodeSettings) -> AsyncIterator["Turn | None"]:
        """`None` where there is none for so long."""
        self._limiter.total_tokens = settings.runs
        turn = Turn(self, self._limiter, whose, settings)
        with anyio.move_on_after(within):
            await turn.taken()
        if not turn.is_held:
            yield None
            return
        try:
            yield turn
        finally:
            turn.give_back()

    @contextmanager
    def asking(self, whose: PrincipalId, settings: CodeSettings) -> Iterator[None]:
        """A program of theirs has a question open, and its process with all that it holds may wait for the answer.

        Raises `CannotAsk` for one too many.
        """
        if self._asking[whose] >= settings.waiting_of_one:
            raise CannotAsk(_REFUSED, _ONE.format(settings.waiting_of_one))
        if self._asking.total() >= settings.waiting:
            raise CannotAsk(_REFUSED, _ALL.format(settings.waiting))
        self._asking[whose] += 1
        try:
            yield
        finally:
            self._asking[whose] -= 1
            if not self._asking[whose]:
                del self._asking[whose]


class Turn:
    """Of one program: given back and taken again as often as it waits for people."""

    def __init__(
        self, turns: Turns, limiter: anyio.CapacityLimiter, whose: PrincipalId, settings: CodeSettings
    ) -> None:
        self._turns: Final = turns
        self._limiter: Final = limiter
        self._whose: Final = whose
        self._settings: Final = settings
        self._taking: Final = anyio.Lock()
        self.is_held = False
        self.is_lacking = False
        """Whether it is waited for; stays so when whoever waited was called off."""

    async def taken(self) -> None:
        """In line with all others, as soon as there is one. Several calls of the program may ask for it at once."""
        if self.is_held:
            return
        async with self._taking:
            if not self.is_held:
                self.is_lacking = True
                await self._limiter.acquire_on_behalf_of(self)
                self.is_held, self.is_lacking = True, False

    def give_back(self) -> None:
        if self.is_held:
            self.is_held = False
            self._limiter.release_on_behalf_of(self)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Raises `CannotAsk`."""
        with self._turns.asking(self._whose, self._settings):
            yield
