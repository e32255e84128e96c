"""The clock of one program, which stands still while a person is asked."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager

import anyio

from pegboard.core.tool import Json
from pegboard.ports import Peer


class Wall:
    """Ends what is in its scope after so many seconds."""

    def __init__(self, seconds: float, grace: float = 0.0, left: float | None = None) -> None:
        """`grace` are seconds more, in which somebody else may end it first; `left` is what remains of the seconds for
        a program that has run before."""
        self.seconds = seconds
        self._grace = grace
        self._scope = anyio.CancelScope()
        self._asking = 0
        self._left = (seconds if left is None else left) + grace
        self._is_running = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended what ran."""
        return self._scope.cancelled_caught

    @property
    def left(self) -> float:
        """Seconds that the program may still run."""
        ahead = self._scope.deadline - anyio.current_time() if self._is_running and not self._asking else self._left
        return max(0.0, ahead - self._grace)

    @contextmanager
    def running(self) -> Iterator["Wall"]:
        self._scope.deadline = anyio.current_time() + self._left
        self._is_running = True
        try:
            with self._scope:
                yield self
        finally:
            if not self._asking:
                self._left = self._scope.deadline - anyio.current_time()
            self._is_running = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        if not self._asking:
            self._left = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._scope.deadline = anyio.current_time() + self._left


class Patient:
    """The client of a program: while it is asked, the program's time does not pass."""

    def __init__(self, peer: Peer, wall: Wall) -> None:
        self._peer = peer
        self._wall = wall

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
        with self._wall.paused():
            return await self._peer.ask(method, params, last)
