"""One worker process: started, sent one request at a time, and killed with all that it holds."""

import asyncio
import logging
import sys
from contextlib import suppress
from typing import Final

import anyio

from pegboard.core.databases.rows import StatementFailure
from pegboard.ports.databases import SourceError
from pegboard.processes.child import inherited_environment, program_arguments
from pegboard.processes.frames import Frame, FrameError
from pegboard.processes.worker import WorkerProcess, start_worker
from pegboard.providers.database.worker.frames import (
    HEADER,
    MAX_BYTES,
    Message,
    WorkerRequest,
    WorkerSetup,
    decode,
    encode,
)

_START_TIMEOUT_S: Final = 30.0
"""A machine under load takes its time to import."""
_UNDO_TIMEOUT_S: Final = 3.0
"""For a write that is cancelled to be undone, before its worker is killed."""
_STDERR_TIMEOUT_S: Final = 0.5
_MAX_STDERR_BYTES: Final = 16_384

log: Final = logging.getLogger(__name__)


class WorkerGoneError(Exception):
    """It ended before it answered."""


class DatabaseWorkerProcess:
    """A worker that was started."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process

    @property
    def is_gone(self) -> bool:
        """It takes no more requests."""
        return self._process.is_gone

    async def request(self, message: Message, *, timeout: float, grace: float = 0.0, undoes: bool = False) -> Message:
        """Raises `WorkerGoneError`, and `TimeoutError`; then, and when it is cancelled, the process is gone. After the
        timeout the worker has `grace` seconds to stop by itself. One that `undoes` may undo first what it wrote."""
        stopping = asyncio.get_running_loop().call_later(timeout, self._send_stop) if grace else None
        try:
            with anyio.fail_after(timeout + grace):
                return await self._exchange(message)
        except BaseException:
            with anyio.CancelScope(shield=True):
                if undoes and not self.is_gone:
                    await self._wait_for_undo()
                await self.end()
            raise
        finally:
            if stopping is not None:
                stopping.cancel()

    def _send_stop(self) -> None:
        # It cannot stop a later statement: the worker reads both in their order.
        self._process.write_soon(encode(WorkerRequest.STOP))

    async def _exchange(self, message: Message) -> Message:
        try:
            await self._process.write(encode(message))
            (kind,), body = await self._next_frame()
            return decode(kind, body)
        except (OSError, EOFError, ValueError) as error:
            # Callers never see its text.
            if words := await self._process.last_words(_MAX_STDERR_BYTES, _STDERR_TIMEOUT_S):
                log.warning("The worker of a database ended: %s", words)
            raise WorkerGoneError from error

    async def _next_frame(self) -> Frame:
        if (frame := await self._process.next_frame()) is None:
            raise EOFError
        return frame

    async def _wait_for_undo(self) -> None:
        with anyio.move_on_after(_UNDO_TIMEOUT_S), suppress(OSError, EOFError, FrameError):
            self._send_stop()
            # Any response means that it has stopped.
            await self._next_frame()

    def kill(self) -> None:
        self._process.kill()

    async def end(self) -> None:
        await self._process.end()


async def start_database_worker(setup: WorkerSetup) -> DatabaseWorkerProcess:
    """Raises `SourceError`; then no process is left."""
    program = program_arguments("pegboard.providers.database.worker.main", "pegboard", "msgspec")
    try:
        worker = DatabaseWorkerProcess(
            await start_worker((sys.executable, *program), inherited_environment(), None, HEADER, MAX_BYTES)
        )
        response = await worker.request(setup, timeout=_START_TIMEOUT_S)
    except OSError as error:
        raise SourceError(f"Cannot start a worker for the database: {error.strerror or error}") from None
    except TimeoutError:
        raise SourceError(f"The database's worker did not start within {_START_TIMEOUT_S:g} s. Try again.") from None
    except WorkerGoneError:
        raise SourceError("The database's worker ended while it started. The gateway's log may say why.") from None
    if isinstance(response, StatementFailure):
        await worker.end()
        raise SourceError(response.message)
    return worker
