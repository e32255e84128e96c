"""Turns: so many programs run at once, and one that waits for nothing but a person lets another have its turn."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from pegboard.core.code import CodeSettings
from pegboard.core.ids import PrincipalId
from pegboard.ports import PeerRequestError

_INVALID_REQUEST_CODE: Final = -32600
"""The protocol's code for a question that cannot be asked now."""
_TOO_MANY_OF_CALLER: Final = (
    "{} programs of this caller wait for an answer in its client already, and no more of them do at once. "
    "Answer those first."
)
_TOO_MANY_IN_ALL: Final = (
    "{} programs wait for an answer in their clients already, and no more of them do at once. Try again later."
)


class ConcurrencySlots:
    """Of all programs of a gateway."""

    def __init__(self) -> None:
        self._limiter: Final = anyio.CapacityLimiter(1)
        self._open_questions: Final[Counter[PrincipalId]] = Counter()

    @asynccontextmanager
    async def acquire(self, whose: PrincipalId, within: float, settings: CodeSettings) -> AsyncIterator["Slot | None"]:
        """`None` where there is none for so long."""
        self._limiter.total_tokens = settings.runs
        turn = Slot(self, self._limiter, whose, settings)
        with anyio.move_on_after(within):
            await turn.acquire()
        if not turn.is_held:
            yield None
            return
        try:
            yield turn
        finally:
            turn.release()

    @contextmanager
    def track_question(self, whose: PrincipalId, settings: CodeSettings) -> Iterator[None]:
        """A program of theirs has a question open, and its process with all that it holds may wait for the answer.

        Raises `CannotAsk` for one too many.
        """
        if self._open_questions[whose] >= settings.max_waiting_per_caller:
            raise PeerRequestError(_INVALID_REQUEST_CODE, _TOO_MANY_OF_CALLER.format(settings.max_waiting_per_caller))
        if self._open_questions.total() >= settings.max_waiting:
            raise PeerRequestError(_INVALID_REQUEST_CODE, _TOO_MANY_IN_ALL.format(settings.max_waiting))
        self._open_questions[whose] += 1
        try:
            yield
        finally:
            self._open_questions[whose] -= 1
            if not self._open_questions[whose]:
                del self._open_questions[whose]


class Slot:
    """Of one program: given back and taken again as often as it waits for people."""

    def __init__(
        self, turns: ConcurrencySlots, limiter: anyio.CapacityLimiter, whose: PrincipalId, settings: CodeSettings
    ) -> None:
        self._slots: Final = turns
        self._limiter: Final = limiter
        self._principal: Final = whose
        self._settings: Final = settings
        self._lock: Final = anyio.Lock()
        self.is_held = False
        self.is_waiting = False
        """Whether it is waited for; stays so when whoever waited was called off."""

    async def acquire(self) -> None:
        """In line with all others, as soon as there is one. Several calls of the program may ask for it at once."""
        if self.is_held:
            return
        async with self._lock:
            if not self.is_held:
                self.is_waiting = True
                await self._limiter.acquire_on_behalf_of(self)
                self.is_held, self.is_waiting = True, False

    def release(self) -> None:
        if self.is_held:
            self.is_held = False
            self._limiter.release_on_behalf_of(self)

    @contextmanager
    def track_question(self) -> Iterator[None]:
        """Raises `CannotAsk`."""
        with self._slots.track_question(self._principal, self._settings):
            yield
