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

from pegboard.providers.python.process import PythonWorkerProcess, WorkerCall, WorkerStartError

CANCEL_GRACE_S: Final = 2.0
"""Seconds that a call which was given up has to end by itself."""
_GROW_DELAY_S: Final = 0.05
"""Seconds that a call waits for a process which is there, before another is started for it: most calls are short."""


class PythonWorkerPool:
    def __init__(
        self,
        start: Callable[[], Awaitable[PythonWorkerProcess]],
        failed: Callable[[str], None],
        *,
        most: int,
        seconds: float,
        wait: float,
    ) -> None:
        """`failed` hears why no process could be started. A call may run for `seconds`, and `wait` before that."""
        self._start = start
        self._on_start_failure = failed
        self._max_workers = most
        self._call_timeout = seconds
        self._queue_timeout = wait
        self._loop = asyncio.get_running_loop()
        self._workers: set[PythonWorkerProcess] = set()
        self._idle: list[PythonWorkerProcess] = []
        self._async_worker: PythonWorkerProcess | None = None
        """The one that runs async calls now."""
        self._sync_queue: deque[WorkerCall] = deque()
        self._async_queue: deque[WorkerCall] = deque()
        self._start_tasks: set[asyncio.Task[None]] = set()
        self._stop_tasks: set[asyncio.Task[None]] = set()
        self._grow_timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._change_event = asyncio.Event()

    @property
    def workers(self) -> Sequence[PythonWorkerProcess]:
        return tuple(self._workers)

    def adopt(self, worker: PythonWorkerProcess) -> None:
        """One that has been started already."""
        worker.on_call_end, worker.on_closing, worker.on_exit = self._on_call_end, self._on_closing, self._on_exit
        self._workers.add(worker)
        if worker.exit_reason.done():
            self._on_exit(worker)
        elif worker.is_retiring:
            self._dispatch()
        else:
            self._idle.append(worker)
            self._dispatch()

    def submit(self, run: WorkerCall) -> None:
        shared = self._async_worker
        if run.is_async:
            if shared is not None and not (self._sync_queue and self._max_workers == 1):
                self._begin_call(shared, run)
                return
            self._async_queue.append(run)
        elif self._idle and not self._sync_queue:
            self._begin_call(self._idle.pop(), run)
            return
        else:
            self._sync_queue.append(run)
        run.timer = self._loop.call_later(self._queue_timeout, self._time_out_queued, run)
        self._dispatch()

    def cancel(self, run: WorkerCall) -> None:
        """Nobody waits for it any more."""
        run.is_cancelled = True
        if run.timer is not None:
            run.timer.cancel()
        worker = run.worker
        if worker is not None and worker.calls.get(run.number) is run:
            worker.cancel_call(run)
            self._loop.call_later(CANCEL_GRACE_S, self._end_unresponsive, worker, run)

    def _begin_call(self, worker: PythonWorkerProcess, run: WorkerCall) -> None:
        if run.timer is not None:
            run.timer.cancel()
        run.timer = self._loop.call_later(self._call_timeout, self._time_out_call, run)
        worker.begin_call(run)

    def _time_out_call(self, run: WorkerCall) -> None:
        run.settle(f"did not end within the {self._call_timeout:g} s that a call may take, and was stopped")
        self.cancel(run)

    def _time_out_queued(self, run: WorkerCall) -> None:
        run.is_cancelled = True
        run.settle(f"is busy: none of its {self._max_workers} processes was free within {self._queue_timeout:g} s")

    def _end_unresponsive(self, worker: PythonWorkerProcess, run: WorkerCall) -> None:
        """It does not heed that it was given up. Who shares its process keeps it until they have their answers."""
        if worker.calls.get(run.number) is not run:
            return
        worker.is_retiring = True
        if worker is self._async_worker:
            self._async_worker = None
        if all(other.is_cancelled for other in worker.calls.values()):
            worker.kill()
        self._dispatch()

    def _on_call_end(self, worker: PythonWorkerProcess) -> None:
        if worker.is_retiring and worker is self._async_worker:
            self._async_worker = None
        if worker.calls:
            if worker.is_retiring and all(run.is_cancelled for run in worker.calls.values()):
                worker.kill()
            return
        was_shared = worker is self._async_worker
        if was_shared:
            self._async_worker = None
        if worker.is_retiring or self._is_closed:
            self._stop_worker(worker)
        elif was_shared and (run := _pop_waiting(self._sync_queue)) is not None:
            # Their turn, or async calls that keep coming would keep them out for ever.
            self._begin_call(worker, run)
        else:
            self._idle.append(worker)
        if self._sync_queue or self._async_queue:
            self._dispatch()

    def _on_closing(self, worker: PythonWorkerProcess) -> None:
        with suppress(ValueError):
            self._idle.remove(worker)
        if worker is self._async_worker:
            self._async_worker = None
        self._dispatch()

    def _on_exit(self, worker: PythonWorkerProcess) -> None:
        self._workers.discard(worker)
        self._change_event.set()
        self._on_closing(worker)

    def _dispatch(self) -> None:
        """Whatever can begin, begins; for the rest, processes are started."""
        if self._is_closed:
            return
        while self._async_queue and (self._async_worker is not None or self._idle):
            if (run := _pop_waiting(self._async_queue)) is not None:
                if self._async_worker is None:
                    self._async_worker = self._idle.pop()
                self._begin_call(self._async_worker, run)
        while self._idle and (run := _pop_waiting(self._sync_queue)) is not None:
            self._begin_call(self._idle.pop(), run)
        if not self._sync_queue and not self._async_queue:
            return
        if not self._live_count:
            self._grow(1)
        elif self._grow_timer is None and self._live_count + len(self._start_tasks) < self._max_workers:
            self._grow_timer = self._loop.call_later(
                _GROW_DELAY_S, self._grow_if_waiting, self._sync_queue[0] if self._sync_queue else None
            )

    @property
    def _live_count(self) -> int:
        return sum(not worker.is_retiring for worker in self._workers)

    def _grow_if_waiting(self, oldest: WorkerCall | None) -> None:
        self._grow_timer = None
        if oldest is None or (self._sync_queue and self._sync_queue[0] is oldest):
            self._grow(len(self._sync_queue) + bool(self._async_queue))
        else:
            self._dispatch()

    def _grow(self, wanted: int) -> None:
        room = self._max_workers - self._live_count
        for _ in range(min(wanted, room) - len(self._start_tasks)):
            self._track_task(self._start_tasks, self._start_worker())

    async def _start_worker(self) -> None:
        try:
            worker = await self._start()
        except WorkerStartError as problem:
            if not self._live_count and not self._is_closed:
                why = "; ".join(problem.problems)
                self._fail_queued(f"cannot start: {why}")
                self._on_start_failure(why)
            return
        if self._is_closed:
            await worker.stop()
        else:
            self.adopt(worker)

    def _stop_worker(self, worker: PythonWorkerProcess) -> None:
        self._track_task(self._stop_tasks, worker.stop())

    def _track_task(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def take_queued(self) -> list[WorkerCall]:
        """The calls that have not begun, for whoever comes after."""
        waiting = [run for run in (*self._sync_queue, *self._async_queue) if not run.is_cancelled]
        self._sync_queue.clear()
        self._async_queue.clear()
        for run in waiting:
            if run.timer is not None:
                run.timer.cancel()
        return waiting

    def _fail_queued(self, why: str) -> None:
        for run in self.take_queued():
            run.settle(why)

    async def retire(self) -> None:
        """Take no more calls, and end with those that run."""
        self._close()
        while self._workers or self._stop_tasks:
            self._change_event.clear()
            await self._change_event.wait() if self._workers else await asyncio.wait([*self._stop_tasks])

    async def stop(self, why: str) -> None:
        """All of it, now. Those who wait for an answer are told why there is none."""
        self._close()
        self._fail_queued(why)
        for worker in self._workers:
            for run in worker.calls.values():
                run.settle(why)
        with anyio.CancelScope(shield=True):
            births = [*self._start_tasks]
            for birth in births:
                birth.cancel()
            if births:
                await asyncio.wait(births)
            for worker in [*self._workers]:
                self._stop_worker(worker)
            while self._stop_tasks:
                await asyncio.wait([*self._stop_tasks])

    def _close(self) -> None:
        self._is_closed = True
        if self._grow_timer is not None:
            self._grow_timer.cancel()
        idle, self._idle = self._idle, []
        for worker in idle:
            self._stop_worker(worker)


def _pop_waiting(waiting: deque[WorkerCall]) -> WorkerCall | None:
    """The oldest that somebody still waits for."""
    while waiting:
        if not (run := waiting.popleft()).is_cancelled:
            return run
    return None
