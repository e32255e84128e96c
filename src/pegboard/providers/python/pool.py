"""The processes of one toolset, and which of them runs a call.

What is not async has a process to itself while it runs, so a crash costs that call alone, and further processes start
on demand. Async calls share one process, because that is what they are for; if it dies, each is told that it may have
run.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio

from .process import CannotStart, Run, WorkerProcess

GRACE: Final = 2.0
"""Seconds that a call which was given up has to end by itself."""
_HURRY: Final = 0.05
"""Seconds that a call waits for a process which is there, before another is started for it: most calls are short."""


class Pool:
    def __init__(
        self,
        start: Callable[[], Awaitable[WorkerProcess]],
        failed: Callable[[str], None],
        *,
        most: int,
        seconds: float,
        wait: float,
    ) -> None:
        """`failed` hears why no process could be started. A call may run for `seconds`, and `wait` before that."""
        self._start = start
        self._failed = failed
        self._most = most
        self._seconds = seconds
        self._wait = wait
        self._loop = asyncio.get_running_loop()
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._shared: WorkerProcess | None = None
        """The one that runs async calls now."""
        self._alone: deque[Run] = deque()
        self._together: deque[Run] = deque()
        self._births: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.Task[None]] = set()
        self._hurry: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._changed = asyncio.Event()

    @property
    def workers(self) -> Sequence[WorkerProcess]:
        return tuple(self._workers)

    def adopt(self, worker: WorkerProcess) -> None:
        """One that has been started already."""
        worker.freed, worker.fading, worker.gone = self._freed, self._fading, self._gone
        self._workers.add(worker)
        if worker.ended.done():
            self._gone(worker)
        elif worker.is_worn:
            self._dispatch()
        else:
            self._idle.append(worker)
            self._dispatch()

    def submit(self, run: Run) -> None:
        shared = self._shared
        if run.is_async:
            if shared is not None and not (self._alone and self._most == 1):
                self._begin(shared, run)
                return
            self._together.append(run)
        elif self._idle and not self._alone:
            self._begin(self._idle.pop(), run)
            return
        else:
            self._alone.append(run)
        run.timer = self._loop.call_later(self._wait, self._unbegun, run)
        self._dispatch()

    def give_up(self, run: Run) -> None:
        """Nobody waits for it any more."""
        run.is_given_up = True
        if run.timer is not None:
            run.timer.cancel()
        worker = run.worker
        if worker is not None and worker.runs.get(run.number) is run:
            worker.give_up(run)
            self._loop.call_later(GRACE, self._overdue, worker, run)

    def _begin(self, worker: WorkerProcess, run: Run) -> None:
        if run.timer is not None:
            run.timer.cancel()
        run.timer = self._loop.call_later(self._seconds, self._late, run)
        worker.begin(run)

    def _late(self, run: Run) -> None:
        run.settle(f"did not end within the {self._seconds:g} s that a call may take, and was stopped")
        self.give_up(run)

    def _unbegun(self, run: Run) -> None:
        run.is_given_up = True
        run.settle(f"is busy: none of its {self._most} processes was free within {self._wait:g} s")

    def _overdue(self, worker: WorkerProcess, run: Run) -> None:
        """It does not heed that it was given up. Who shares its process keeps it until they have their answers."""
        if worker.runs.get(run.number) is not run:
            return
        worker.is_worn = True
        if worker is self._shared:
            self._shared = None
        if all(other.is_given_up for other in worker.runs.values()):
            worker.kill()
        self._dispatch()

    def _freed(self, worker: WorkerProcess) -> None:
        if worker.is_worn and worker is self._shared:
            self._shared = None
        if worker.runs:
            if worker.is_worn and all(run.is_given_up for run in worker.runs.values()):
                worker.kill()
            return
        was_shared = worker is self._shared
        if was_shared:
            self._shared = None
        if worker.is_worn or self._is_closed:
            self._stop(worker)
        elif was_shared and (run := _next(self._alone)) is not None:
            # Their turn, or async calls that keep coming would keep them out for ever.
            self._begin(worker, run)
        else:
            self._idle.append(worker)
        if self._alone or self._together:
            self._dispatch()

    def _fading(self, worker: WorkerProcess) -> None:
        with suppress(ValueError):
            self._idle.remove(worker)
        if worker is self._shared:
            self._shared = None
        self._dispatch()

    def _gone(self, worker: WorkerProcess) -> None:
        self._workers.discard(worker)
        self._changed.set()
        self._fading(worker)

    def _dispatch(self) -> None:
        """Whatever can begin, begins; for the rest, processes are started."""
        if self._is_closed:
            return
        while self._together and (self._shared is not None or self._idle):
            if (run := _next(self._together)) is not None:
                if self._shared is None:
                    self._shared = self._idle.pop()
                self._begin(self._shared, run)
        while self._idle and (run := _next(self._alone)) is not None:
            self._begin(self._idle.pop(), run)
        if not self._alone and not self._together:
            return
        if not self._live:
            self._grow(1)
        elif self._hurry is None and self._live + len(self._births) < self._most:
            self._hurry = self._loop.call_later(_HURRY, self._grow_for, self._alone[0] if self._alone else None)

    @property
    def _live(self) -> int:
        return sum(not worker.is_worn for worker in self._workers)

    def _grow_for(self, oldest: Run | None) -> None:
        self._hurry = None
        if oldest is None or (self._alone and self._alone[0] is oldest):
            self._grow(len(self._alone) + bool(self._together))
        else:
            self._dispatch()

    def _grow(self, wanted: int) -> None:
        room = self._most - self._live
        for _ in range(min(wanted, room) - len(self._births)):
            self._own(self._births, self._born())

    async def _born(self) -> None:
        try:
            worker = await self._start()
        except CannotStart as problem:
            if not self._live and not self._is_closed:
                why = "; ".join(problem.problems)
                self._fail(f"cannot start: {why}")
                self._failed(why)
            return
        if self._is_closed:
            await worker.stop()
        else:
            self.adopt(worker)

    def _stop(self, worker: WorkerProcess) -> None:
        self._own(self._ends, worker.stop())

    def _own(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def taken_over(self) -> list[Run]:
        """The calls that have not begun, for whoever comes after."""
        waiting = [run for run in (*self._alone, *self._together) if not run.is_given_up]
        self._alone.clear()
        self._together.clear()
        for run in waiting:
            if run.timer is not None:
                run.timer.cancel()
        return waiting

    def _fail(self, why: str) -> None:
        for run in self.taken_over():
            run.settle(why)

    async def retire(self) -> None:
        """Take no more calls, and end with those that run."""
        self._close()
        while self._workers or self._ends:
            self._changed.clear()
            await self._changed.wait() if self._workers else await asyncio.wait([*self._ends])

    async def stop(self, why: str) -> None:
        """All of it, now. Those who wait for an answer are told why there is none."""
        self._close()
        self._fail(why)
        for worker in self._workers:
            for run in worker.runs.values():
                run.settle(why)
        with anyio.CancelScope(shield=True):
            births = [*self._births]
            for birth in births:
                birth.cancel()
            if births:
                await asyncio.wait(births)
            for worker in [*self._workers]:
                self._stop(worker)
            while self._ends:
                await asyncio.wait([*self._ends])

    def _close(self) -> None:
        self._is_closed = True
        if self._hurry is not None:
            self._hurry.cancel()
        idle, self._idle = self._idle, []
        for worker in idle:
            self._stop(worker)


def _next(waiting: deque[Run]) -> Run | None:
    """The oldest that somebody still waits for."""
    while waiting:
        if not (run := waiting.popleft()).is_given_up:
            return run
    return None
