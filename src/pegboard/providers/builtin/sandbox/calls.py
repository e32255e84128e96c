"""The calls of one run: said by the program, made when it awaits them, and answered in whatever order they end.

A program says calls in the thread of its run. Whatever else is here happens on the event loop, between two turns.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.core.tool import Json
from pegboard.ports.sandbox import Function, Host, Limits, Pending, Settled, Waits

from .arguments import Unfit, given, one_too_many
from .plain import HELD, Room


@dataclass(slots=True)
class Call:
    id: int
    """The worker's own number for it."""
    ordinal: int
    function: Function
    arguments: Mapping[str, Json]
    offset: int = 0
    """Where it stands in the program."""
    ticket: str | None = None
    size: int = 0
    is_under_way: bool = False


class Calls:
    def __init__(self, host: Host, limits: Limits, tasks: TaskGroup) -> None:
        self._host: Final = host
        self._limits: Final = limits
        self._tasks: Final = tasks
        self._turns: Final = anyio.Semaphore(limits.concurrency, fast_acquire=True)
        self._room: Final = Room(limits.arguments, HELD)
        self._changed: anyio.Event | None = None
        self._answers: dict[int, Settled] = {}
        self._naps: Final[dict[int, float]] = {}
        self._napping: Final[set[int]] = set()
        self._broken: Exception | None = None
        self.open: Final[dict[int, Call]] = {}
        self.said = 0

    def say(
        self,
        id: int,
        function: Function,
        positional: tuple[object, ...],
        named: Mapping[str, object],
        offset: int,
        stands_for: Callable[[str], str | None] | None = None,
    ) -> None:
        """The program has come to the call, and does not wait for it yet. `stands_for` is as of a `Room`.

        Raises `Unfit`, and `OverflowError` for one too many.
        """
        if self.said >= self._limits.calls:
            unmade = sum(self._is_fresh(call) for call in self.open.values())
            raise OverflowError(one_too_many(self._limits.calls, self.said - unmade))
        before = self._room.left
        self._room.stands_for = stands_for
        try:
            arguments = given(function, positional, named, self._room)
        except Unfit:
            self._room.left = before
            raise
        finally:
            # It knows where the program stopped, and that knows us, by a road that no collector sees.
            self._room.stands_for = None
        self.said += 1
        self.open[id] = Call(id, self.said, function, arguments, offset, size=before - self._room.left)

    def stop(self) -> None:
        """The program is over, whoever still walks through its arguments: there is no more room for them."""
        self._room.close()

    def sleep(self, id: int, seconds: float) -> None:
        """Awaited like a call."""
        self._naps[id] = seconds

    def restore(self, call: Call) -> None:
        self.open[call.id] = call

    def answer(self, answers: Mapping[int, Settled]) -> None:
        """What people decided, by ordinal."""
        for call in self.open.values():
            if call.ticket is not None and call.ordinal in answers:
                call.ticket = None
                self._answers[call.id] = answers[call.ordinal]

    async def settled(self, awaited: Collection[int]) -> Mapping[int, Settled]:
        """Answers to some of these, as soon as there is one; none when all that are left wait for a person."""
        fresh = [call for id in awaited if (call := self.open.get(id)) and self._is_fresh(call)]
        for call in fresh:
            call.is_under_way = True
        if len(fresh) == len(awaited) == 1 and not self._naps and not self._napping:
            # Nobody else is waited for: a task of its own would only cost.
            self._host.rests(True)
            await self._make(fresh[0])
        else:
            for call in fresh:
                self._tasks.start_soon(self._make, call)
        for id in [*self._naps]:
            self._napping.add(id)
            self._tasks.start_soon(self._nap, id, self._naps.pop(id))
        while True:
            if self._broken is not None:
                raise self._broken
            if ready := {id: self._answers.pop(id) for id in awaited if id in self._answers}:
                for id in ready:
                    if call := self.open.pop(id, None):
                        self._room.left += call.size
                return ready
            if not self._napping and not any(call.is_under_way for call in self.open.values()):
                return {}
            self._host.rests(not self._napping)
            self._changed = anyio.Event()
            await self._changed.wait()

    def _is_fresh(self, call: Call) -> bool:
        return not call.is_under_way and call.ticket is None and call.id not in self._answers

    @property
    def under_way(self) -> Call | None:
        """The first that is not answered yet. One of before a suspension does not know where it stands."""
        return next((call for call in self.open.values() if call.is_under_way and call.offset), None)

    def forgotten(self) -> Iterator[Call]:
        """Those that the program has never waited for, so that they were not made."""
        return (call for call in self.open.values() if not call.is_under_way and call.ticket is None)

    @property
    def waiting(self) -> tuple[Pending, ...]:
        return tuple(Pending(call.ordinal, call.ticket) for call in self.open.values() if call.ticket is not None)

    async def _make(self, call: Call) -> None:
        try:
            async with self._turns:
                reply = await self._host.call(call.ordinal, call.function, call.arguments)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the run, where it is raised
            self._broken = error
        else:
            if isinstance(reply, Waits):
                call.ticket = reply.ticket
            else:
                self._answers[call.id] = reply
        call.is_under_way = False
        self._wake()

    async def _nap(self, id: int, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._napping.discard(id)
        self._answers[id] = None
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None
