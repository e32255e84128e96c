"""One worker process: started, sent one request at a time, and killed with all that it holds."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio

from pegboard.children import child, groups, orphans
from pegboard.children.environment import inherited
from pegboard.ports.databases import SourceAway

from .frames import HEADER, MAX_BYTES, RequestKind, Response, Setup, Unavailable, decode_response, frame

_PROGRAM: Final = (
    "import sys; sys.path += [path for path in sys.argv[1:] if path not in sys.path]; "
    "from pegboard.providers.builtin.database.worker.main import main; main()"
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

    def __init__(self, *, is_crash: bool = False) -> None:
        super().__init__()
        self.is_crash = is_crash
        """By an exception, which is in the log."""


class WorkerProcess:
    def __init__(self, process: child.Child) -> None:
        self._process = process
        self.is_gone = False
        """It takes no more requests."""

    @property
    def pid(self) -> int:
        return self._process.pid

    async def request(
        self, kind: RequestKind, value: object = None, *, timeout: float, grace: float = 0.0, undoes: bool = False
    ) -> Response:
        """Raises `WorkerGoneError`, and `TimeoutError`; then, and when it is cancelled, the process is gone. After the
        timeout the worker has `grace` seconds to stop by itself. One that `undoes` may undo first what it wrote."""
        stopping = asyncio.get_running_loop().call_later(timeout, self._send_stop) if grace else None
        try:
            with anyio.fail_after(timeout + grace):
                return await self._exchange(frame(kind, value))
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
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(frame(RequestKind.STOP))

    async def _exchange(self, request: bytes) -> Response:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            # Event loops report a closed pipe in different ways: uvloop by RuntimeError.
            if stdin.is_closing():
                raise BrokenPipeError
            stdin.write(request)
            await stdin.drain()
            length, kind = HEADER.unpack(await stdout.readexactly(HEADER.size))
            if length > MAX_BYTES:
                raise WorkerGoneError
            return decode_response(kind, await stdout.readexactly(length))
        except (OSError, EOFError, ValueError) as error:
            raise WorkerGoneError(is_crash=await self._log_stderr()) from error

    async def _log_stderr(self) -> bool:
        """Whether it ended by an exception. Callers never see its text."""
        assert self._process.stderr is not None
        words = b""
        with anyio.move_on_after(_STDERR_TIMEOUT_S):
            words = await self._process.stderr.read(_MAX_STDERR_BYTES)
        if words:
            log.warning("The worker of a database ended: %s", words.decode("utf-8", "replace"))
        return words.startswith(b"Traceback") and b"MemoryError" not in words

    async def _wait_for_undo(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with anyio.move_on_after(_UNDO_TIMEOUT_S), suppress(OSError, EOFError):
            self._send_stop()
            # Any response means that it has stopped.
            await stdout.readexactly(1)

    def kill(self) -> None:
        """At once, without waiting for the end, which is certain."""
        if self.is_gone:
            return
        self.is_gone = True
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self.pid, signal.SIGKILL)
        orphans.release(self.pid)
        child.let_go(self._process)

    async def end(self) -> None:
        """And wait until the process has ended."""
        self.kill()
        await self._process.wait()


async def start_worker(setup: Setup) -> WorkerProcess:
    """Raises `SourceAway`; then no process is left."""
    groups.keep_descriptors()
    command = (sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, *_import_paths())
    try:
        # Shielded, because a process that starts while we are cancelled would have no owner.
        with anyio.CancelScope(shield=True):
            worker = WorkerProcess(await child.born(command, inherited(), None))
        response = await worker.request(RequestKind.SETUP, setup, timeout=_START_TIMEOUT_S)
    except OSError as error:
        raise SourceAway(f"Cannot start a worker for the database: {error.strerror or error}") from None
    except TimeoutError:
        raise SourceAway(f"The database's worker did not start within {_START_TIMEOUT_S:g} s. Try again.") from None
    except WorkerGoneError:
        raise SourceAway("The database's worker ended while it started. The gateway's log may say why.") from None
    if isinstance(response, Unavailable):
        await worker.end()
        raise SourceAway(response.why)
    return worker


@cache
def _import_paths() -> Sequence[str]:
    """Where the worker finds its program and what that needs. Our own path may have anything else."""
    found = [spec.origin for name in ("pegboard", "msgspec") if (spec := find_spec(name)) and spec.origin is not None]
    folders = [path.parents[path.name == "__init__.py"] for path in map(Path, found)]
    return [*dict.fromkeys(map(str, folders))]
