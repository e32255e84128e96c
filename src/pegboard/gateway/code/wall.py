"""The clock of one program, which stands still while it waits for a person and for nothing else."""

import math
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager

import anyio

from pegboard.core.tool import Json
from pegboard.ports import Peer

from .turns import Turn


class Wall:
    """Ends what is in its scope after so many seconds."""

    def __init__(self, seconds: float, grace: float = 0.0, left: float | None = None) -> None:
        """`grace` are seconds more, in which somebody else may end it first; `left` is what remains of the seconds for
        a program that has run before."""
        self.seconds = seconds
        self._grace = grace
        self._scope = anyio.CancelScope()
        self._left = (seconds if left is None else left) + grace
        self._is_running = False
        self.stands = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended what ran."""
        return self._scope.cancelled_caught

    @property
    def left(self) -> float:
        """Seconds that the program may still run."""
        ahead = self._scope.deadline - anyio.current_time() if self._is_running and not self.stands else self._left
        return max(0.0, ahead - self._grace)

    @contextmanager
    def running(self) -> Iterator["Wall"]:
        self._scope.deadline = anyio.current_time() + self._left
        self._is_running = True
        try:
            with self._scope:
                yield self
        finally:
            if not self.stands:
                self._left = self._scope.deadline - anyio.current_time()
            self._is_running = False

    def stand_still(self) -> None:
        if not self.stands:
            self.stands = True
            self._left = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf

    def go_on(self) -> None:
        if self.stands:
            self.stands = False
            self._scope.deadline = anyio.current_time() + self._left


class Course:
    """What goes on of one program: its clock stands still and its turn is another's while all of that is a person."""

    def __init__(self, wall: Wall, turn: Turn | None = None) -> None:
        self._wall = wall
        self._turn = turn
        self._calls: dict[int, int] = {}
        """Of each that is under way by its ordinal: how many questions it has open."""
        self._open = 0
        self._bound = ExitStack()
        self._rests = False

    def rests(self, is_so: bool) -> None:
        """Whether the program does nothing but wait for its calls."""
        self._rests = is_so
        self._judge()

    @asynccontextmanager
    async def call(self, ordinal: int, *, moves: bool = True) -> AsyncIterator[None]:
        """One call, from where it is said until it is answered. `moves`: whether the program goes on with that."""
        self._calls[ordinal] = 0
        self._judge()
        try:
            await self._taken()
            yield
            # What somebody said yes to was done at once. It is the program that goes on with a turn only.
            await self._taken()
        finally:
            del self._calls[ordinal]
            self._rests = self._rests and not moves
            self._judge()

    @contextmanager
    def asking(self, ordinal: int) -> Iterator[None]:
        """Raises `CannotAsk`."""
        if not self._open and self._turn is not None:
            self._bound.enter_context(self._turn.asking())
        self._open += 1
        self._count(ordinal, 1)
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._bound.close()
            self._count(ordinal, -1)

    async def _taken(self) -> None:
        if self._turn is not None:
            await self._turn.taken()

    def _count(self, ordinal: int, more: int) -> None:
        # A question may be taken back only after its call is over.
        if ordinal in self._calls:
            self._calls[ordinal] += more
        self._judge()

    def _judge(self) -> None:
        if self._rests and self._calls and all(self._calls.values()):
            self._wall.stand_still()
            if self._turn is not None:
                self._turn.give_back()
        else:
            self._wall.go_on()


class Patient:
    """The client of one call of a program: while it is asked, this call waits for a person."""

    def __init__(self, peer: Peer, course: Course, ordinal: int) -> None:
        self._peer = peer
        self._course = course
        self._ordinal = ordinal

    @property
    def can(self) -> Mapping[str, Json]:
        return self._peer.can

    @property
    def who(self) -> Hashable:
        return self._peer.who

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        self._peer.note(method, params)

    async def ask(
        self, method: str, params: Mapping[str, Json], last: Callable[[], Peer] | None = None
    ) -> Mapping[str, Json]:
        with self._course.asking(self._ordinal):
            return await self._peer.ask(method, params, last)
