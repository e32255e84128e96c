"""A thread of its own for each run, which speaks with the worker while the event loop does other things.

Monty's own way over the event loop costs many times the processor for each call of a program.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final, Generic, TypeVar

import anyio

T = TypeVar("T")
_LOCK_TIMEOUT_S: Final = 2.0


class _ThreadTask(Generic[T]):
    """What is done once, in the thread, and waited for on the loop."""

    def __init__(self, act: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self._function: Final = act
        self._loop: Final = loop
        self._completion: asyncio.Future[None] = loop.create_future()
        self._is_complete = False
        self._result: T | None = None
        self._error: BaseException | None = None

    def perform(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for it
            self._error = error
        # A loop that is gone has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._complete)

    async def wait(self) -> T:
        """Once. An error knows the frames that it went through, and these know us: a ring that would keep whatever the
        program handed over until the collector comes by."""
        await self._completion
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return self._result  # type: ignore[return-value]  # it is what the act gave

    async def wait_abandoned(self) -> None:
        """Waits for its end all the same, for nobody who wants to know what came of it."""
        if not self._is_complete:
            # Whoever was cancelled has taken the one before along.
            self._completion = self._loop.create_future()
            with anyio.CancelScope(shield=True):
                await self._completion
        self._error = self._result = None

    def _complete(self) -> None:
        self._is_complete = True
        if not self._completion.done():
            self._completion.set_result(None)


class WorkerThread:
    """Does one thing after the other. Whoever is cancelled meanwhile ends the worker, and waits until it is over."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._tasks: Final[SimpleQueue[_ThreadTask[object] | None]] = SimpleQueue()
        self.worker_pid: int | None = None
        """The process that is spoken with."""
        self.on_kill: Callable[[], None] | None = None
        """What ends an act of ours that the end of the worker does not."""
        # It never keeps us from ending: what it waits for ends with the worker, and that ends with us.
        Thread(target=self._serve, name="sandbox", daemon=True).start()

    async def call(self, act: Callable[[], T]) -> T:
        todo = _ThreadTask(act, self._loop)
        self._tasks.put(todo)  # type: ignore[arg-type]  # the queue does not look at the result
        try:
            return await todo.wait()
        except asyncio.CancelledError:
            self.kill()
            await todo.wait_abandoned()
            raise

    def kill(self) -> None:
        """It cannot be another's process: its parent, the pool, looks at its end only when the session is left."""
        if self.on_kill is not None:
            self.on_kill()
        if self.worker_pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.worker_pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def close(self) -> None:
        self._tasks.put(None)

    def _serve(self) -> None:
        while (todo := self._tasks.get()) is not None:
            todo.perform()


class ConversionLock:
    """One thread at a time walks through many values, and the event loop has its turn before the next one does.

    What Monty makes of them it makes in one go, in which nobody else runs: eight threads in a row would keep everybody
    waiting for eight times as long.
    """

    def __init__(self) -> None:
        self._lock: Final = Lock()

    @contextmanager
    def exclusive(self, loop: asyncio.AbstractEventLoop) -> Iterator[Callable[[], None]]:
        """What is given is to be called before the last thing that takes long: the next may come after that."""
        # Only a loop that ends does not let go of it, and nobody waits for that.
        is_held = self._lock.acquire(timeout=_LOCK_TIMEOUT_S)

        def let_go() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                try:
                    loop.call_soon_threadsafe(self._lock.release)
                except RuntimeError:
                    self._lock.release()

        try:
            yield let_go
        finally:
            let_go()
