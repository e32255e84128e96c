"""The calls of one run: said by the program, made when it awaits them, and answered in whatever order they end.

A program says calls in the thread of its run. Whatever else is here happens on the event loop, between two turns.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.core.tool import Json
from pegboard.ports.sandbox import CallAnswer, PendingCall, PendingDecision, ProgramHost, SandboxFunction, SandboxLimits

from .arguments import InvalidCallError, collect_arguments, too_many_calls_message
from .plain import BYTES_PER_VALUE, JsonBudget


@dataclass(slots=True)
class SandboxCall:
    id: int
    """The worker's own number for it."""
    ordinal: int
    function: SandboxFunction
    arguments: Mapping[str, Json]
    offset: int = 0
    """Where it stands in the program."""
    ticket: str | None = None
    size: int = 0
    is_under_way: bool = False


class SandboxCalls:
    def __init__(self, host: ProgramHost, limits: SandboxLimits, tasks: TaskGroup) -> None:
        self._host: Final = host
        self._limits: Final = limits
        self._tasks: Final = tasks
        self._slots: Final = anyio.Semaphore(limits.concurrency, fast_acquire=True)
        self._budget: Final = JsonBudget(limits.arguments, BYTES_PER_VALUE)
        self._change_event: anyio.Event | None = None
        self._answers: dict[int, CallAnswer] = {}
        self._new_sleeps: Final[dict[int, float]] = {}
        self._running_sleeps: Final[set[int]] = set()
        self._host_error: Exception | None = None
        self.open_calls: Final[dict[int, SandboxCall]] = {}
        self.call_count = 0

    def register(
        self,
        id: int,
        function: SandboxFunction,
        positional: tuple[object, ...],
        named: Mapping[str, object],
        offset: int,
        stands_for: Callable[[str], str | None] | None = None,
    ) -> None:
        """The program has come to the call, and does not wait for it yet. `stands_for` is as of a `Room`.

        Raises `Unfit`, and `OverflowError` for one too many.
        """
        if self.call_count >= self._limits.calls:
            unmade = sum(self._is_not_started(call) for call in self.open_calls.values())
            raise OverflowError(too_many_calls_message(self._limits.calls, self.call_count - unmade))
        before = self._budget.remaining
        self._budget.stand_in_type = stands_for
        try:
            arguments = collect_arguments(function, positional, named, self._budget)
        except InvalidCallError:
            self._budget.remaining = before
            raise
        finally:
            # It knows where the program stopped, and that knows us, by a road that no collector sees.
            self._budget.stand_in_type = None
        self.call_count += 1
        self.open_calls[id] = SandboxCall(
            id, self.call_count, function, arguments, offset, size=before - self._budget.remaining
        )

    def stop(self) -> None:
        """The program is over, whoever still walks through its arguments: there is no more room for them."""
        self._budget.close()

    def register_sleep(self, id: int, seconds: float) -> None:
        """Awaited like a call."""
        self._new_sleeps[id] = seconds

    def restore(self, call: SandboxCall) -> None:
        self.open_calls[call.id] = call

    def apply_decisions(self, answers: Mapping[int, CallAnswer]) -> None:
        """What people decided, by ordinal."""
        for call in self.open_calls.values():
            if call.ticket is not None and call.ordinal in answers:
                call.ticket = None
                self._answers[call.id] = answers[call.ordinal]

    async def wait_for_answers(self, awaited: Collection[int]) -> Mapping[int, CallAnswer]:
        """Answers to some of these, as soon as there is one; none when all that are left wait for a person."""
        fresh = [call for id in awaited if (call := self.open_calls.get(id)) and self._is_not_started(call)]
        for call in fresh:
            call.is_under_way = True
        if len(fresh) == len(awaited) == 1 and not self._new_sleeps and not self._running_sleeps:
            # Nobody else is waited for: a task of its own would only cost.
            self._host.set_idle(True)
            await self._run_call(fresh[0])
        else:
            for call in fresh:
                self._tasks.start_soon(self._run_call, call)
        for id in [*self._new_sleeps]:
            self._running_sleeps.add(id)
            self._tasks.start_soon(self._run_sleep, id, self._new_sleeps.pop(id))
        while True:
            if self._host_error is not None:
                raise self._host_error
            if ready := {id: self._answers.pop(id) for id in awaited if id in self._answers}:
                for id in ready:
                    if call := self.open_calls.pop(id, None):
                        self._budget.remaining += call.size
                return ready
            if not self._running_sleeps and not any(call.is_under_way for call in self.open_calls.values()):
                return {}
            self._host.set_idle(not self._running_sleeps)
            self._change_event = anyio.Event()
            await self._change_event.wait()

    def _is_not_started(self, call: SandboxCall) -> bool:
        return not call.is_under_way and call.ticket is None and call.id not in self._answers

    @property
    def first_under_way(self) -> SandboxCall | None:
        """The first that is not answered yet. One of before a suspension does not know where it stands."""
        return next((call for call in self.open_calls.values() if call.is_under_way and call.offset), None)

    def unawaited_calls(self) -> Iterator[SandboxCall]:
        """Those that the program has never waited for, so that they were not made."""
        return (call for call in self.open_calls.values() if not call.is_under_way and call.ticket is None)

    @property
    def pending_calls(self) -> tuple[PendingCall, ...]:
        return tuple(
            PendingCall(call.ordinal, call.ticket) for call in self.open_calls.values() if call.ticket is not None
        )

    async def _run_call(self, call: SandboxCall) -> None:
        try:
            async with self._slots:
                reply = await self._host.call(call.ordinal, call.function, call.arguments)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the run, where it is raised
            self._host_error = error
        else:
            if isinstance(reply, PendingDecision):
                call.ticket = reply.ticket
            else:
                self._answers[call.id] = reply
        call.is_under_way = False
        self._notify()

    async def _run_sleep(self, id: int, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._running_sleeps.discard(id)
        self._answers[id] = None
        self._notify()

    def _notify(self) -> None:
        if self._change_event is not None:
            self._change_event.set()
            self._change_event = None
