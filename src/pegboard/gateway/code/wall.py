"""The clock of one program, which stands still while it waits for a person and for nothing else."""

import math
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager

import anyio

from pegboard.core.tool import Json
from pegboard.ports import ClientPeer

from .turns import Slot


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
        """Raises `CannotAsk`."""
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
