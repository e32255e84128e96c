"""A thread of its own for each run, which speaks with the worker while the event loop does other things.

Monty's own way over the event loop costs many times the processor for each call of a program.
"""

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, Generic, TypeVar

import anyio
import msgspec

from pegboard.ports.sandbox import InvalidRunStateError

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


# A suspended run as bytes: what the worker said of the program, and what we know of its calls.
#
# The digest tells what was damaged. It says nothing about who wrote it: whoever keeps a state signs it.

_MAGIC: Final = b"pegboard run 1\n"


class OpenCall(msgspec.Struct, frozen=True, array_like=True):
    """A call that the program has made and that waits for a person."""

    id: int
    """The worker's own number for it."""
    ordinal: int
    function: int
    """Which of the functions."""
    arguments: dict[str, Any]
    ticket: str


class MontyState(msgspec.Struct, frozen=True, array_like=True):
    sandbox: str
    """Its name and version. No other can read what follows."""
    dump: bytes
    functions: list[tuple[str, str, list[str]]]
    text: str
    """The program as the worker has it."""
    line_offset: int
    """Lines that stand before the program's own."""
    ordinal: int
    """Of the last call that was said."""
    open_calls: list[OpenCall]
    stdout: str
    truncated: bool
    elapsed_seconds: float
    """Seconds of the wall clock."""
    slept_seconds: float


def pack_state(state: MontyState) -> bytes:
    body = msgspec.msgpack.encode(state)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack_state(state: bytes, sandbox: str) -> MontyState:
    digest, body = state[len(_MAGIC) : len(_MAGIC) + 32], state[len(_MAGIC) + 32 :]
    if not state.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        raise InvalidRunStateError(
            "This is not the state of a suspended run, or it was damaged. Run the program again."
        )
    try:
        read = msgspec.msgpack.decode(body, type=MontyState)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidRunStateError("The state of this suspended run cannot be read. Run the program again.") from None
    if read.sandbox != sandbox:
        raise InvalidRunStateError(
            f"The run was suspended by {read.sandbox!r}, and this is {sandbox!r}. Run the program again."
        )
    return read
