"""The time limit of a program, paused while it waits for a person."""

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Final

import anyio

from pegboard.core.json.values import Json
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.settings import CodeSettings
from pegboard.ports.providers import ClientPeer, PeerRequestError

# Turns: so many programs run at once, and one that waits for nothing but a person lets another have its turn.

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

        Raises `PeerRequestError` for one too many.
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
        """Raises `PeerRequestError`."""
        with self._slots.track_question(self._principal, self._settings):
            yield


class RunClock:
    """Ends what is in its scope after so many seconds."""

    def __init__(self, seconds: float, grace: float = 0.0, left: float | None = None) -> None:
        """`grace` are seconds more, in which somebody else may end it first; `left` is what remains of the seconds for
        a program that has run before."""
        self.seconds = seconds
        self._grace = grace
        self._scope = anyio.CancelScope()
        self._remaining_s = (seconds if left is None else left) + grace
        self._is_running = False
        self.is_paused = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended what ran."""
        return self._scope.cancelled_caught

    @property
    def remaining_s(self) -> float:
        """Seconds that the program may still run."""
        ahead = (
            self._scope.deadline - anyio.current_time()
            if self._is_running and not self.is_paused
            else self._remaining_s
        )
        return max(0.0, ahead - self._grace)

    @contextmanager
    def start(self) -> Iterator["RunClock"]:
        self._scope.deadline = anyio.current_time() + self._remaining_s
        self._is_running = True
        try:
            with self._scope:
                yield self
        finally:
            if not self.is_paused:
                self._remaining_s = self._scope.deadline - anyio.current_time()
            self._is_running = False

    def pause(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            self._remaining_s = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self._scope.deadline = anyio.current_time() + self._remaining_s


class RunActivity:
    """What goes on of one program: its clock stands still and its turn is another's while all of that is a person."""

    def __init__(self, wall: RunClock, turn: Slot | None = None) -> None:
        self._clock = wall
        self._slot = turn
        self._calls: dict[int, int] = {}
        """Of each that is under way by its ordinal: how many questions it has open."""
        self._open = 0
        self._question = ExitStack()
        self._is_idle = False

    def set_idle(self, is_so: bool) -> None:
        """Whether the program does nothing but wait for its calls."""
        self._is_idle = is_so
        self._update_clock()

    @asynccontextmanager
    async def track_call(self, ordinal: int, *, moves: bool = True) -> AsyncIterator[None]:
        """One call, from where it is said until it is answered. `moves`: whether the program goes on with that."""
        self._calls[ordinal] = 0
        self._update_clock()
        try:
            await self._acquire_slot()
            yield
            # What somebody said yes to was done at once. It is the program that goes on with a turn only.
            await self._acquire_slot()
        finally:
            del self._calls[ordinal]
            self._is_idle = self._is_idle and not moves
            self._update_clock()

    @contextmanager
    def track_question(self, ordinal: int) -> Iterator[None]:
        """Raises `PeerRequestError`."""
        if not self._open and self._slot is not None:
            self._question.enter_context(self._slot.track_question())
        self._open += 1
        self._count_questions(ordinal, 1)
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._question.close()
            self._count_questions(ordinal, -1)

    async def _acquire_slot(self) -> None:
        if self._slot is not None:
            await self._slot.acquire()

    def _count_questions(self, ordinal: int, more: int) -> None:
        # A question may be taken back only after its call is over.
        if ordinal in self._calls:
            self._calls[ordinal] += more
        self._update_clock()

    def _update_clock(self) -> None:
        if self._is_idle and self._calls and all(self._calls.values()):
            self._clock.pause()
            if self._slot is not None:
                self._slot.release()
        else:
            self._clock.resume()


class ClockPausingPeer:
    """The client of one call of a program: while it is asked, this call waits for a person."""

    def __init__(self, peer: ClientPeer, course: RunActivity, ordinal: int) -> None:
        self._peer = peer
        self._activity = course
        self._ordinal = ordinal

    @property
    def capabilities(self) -> Mapping[str, Json]:
        return self._peer.capabilities

    @property
    def connection_key(self) -> Hashable:
        return self._peer.connection_key

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        self._peer.notify(method, params)

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        with self._activity.track_question(self._ordinal):
            return await self._peer.request(method, params, last)
