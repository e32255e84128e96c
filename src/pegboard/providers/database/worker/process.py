"""One worker process: started, sent one request at a time, and killed with all that it holds."""

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import Final

import anyio

from pegboard.core.databases.rows import StatementFailure
from pegboard.ports.databases import SourceError
from pegboard.processes import child, cleanup
from pegboard.processes.child import inherited_environment, program_arguments
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

    def __init__(self, process: child.ChildProcess) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self.is_gone = False
        """It takes no more requests."""

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
        if not self._input.is_closing():
            self._input.write(encode(WorkerRequest.STOP))

    async def _exchange(self, message: Message) -> Message:
        try:
            # Event loops report a closed pipe in different ways: uvloop by RuntimeError.
            if self._input.is_closing():
                raise BrokenPipeError
            self._input.write(encode(message))
            await self._input.drain()
            length, kind = HEADER.unpack(await self._output.readexactly(HEADER.size))
            if length > MAX_BYTES:
                raise WorkerGoneError
            return decode(kind, await self._output.readexactly(length))
        except (OSError, EOFError, ValueError) as error:
            await self._log_stderr()
            raise WorkerGoneError from error

    async def _log_stderr(self) -> None:
        """Callers never see its text."""
        assert self._process.stderr is not None
        with anyio.move_on_after(_STDERR_TIMEOUT_S):
            if words := await self._process.stderr.read(_MAX_STDERR_BYTES):
                log.warning("The worker of a database ended: %s", words.decode("utf-8", "replace"))

    async def _wait_for_undo(self) -> None:
        with anyio.move_on_after(_UNDO_TIMEOUT_S), suppress(OSError, EOFError):
            self._send_stop()
            # Any response means that it has stopped.
            await self._output.readexactly(1)

    def kill(self) -> None:
        """At once, without waiting for the end, which is certain."""
        if self.is_gone:
            return
        self.is_gone = True
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        cleanup.release_group(self._process.pid)
        child.close_pipes(self._process)

    async def end(self) -> None:
        """And wait until the process has ended."""
        self.kill()
        await self._process.wait()


async def start_worker(setup: WorkerSetup) -> DatabaseWorkerProcess:
    """Raises `SourceError`; then no process is left."""
    child.prevent_descriptor_inheritance()
    program = program_arguments("pegboard.providers.database.worker.main", "pegboard", "msgspec")
    try:
        # Shielded, because a process that starts while we are cancelled would have no owner.
        with anyio.CancelScope(shield=True):
            worker = DatabaseWorkerProcess(
                await child.start_child((sys.executable, *program), inherited_environment(), None)
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
