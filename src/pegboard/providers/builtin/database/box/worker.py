"""One worker process as the gateway has it: started, asked one thing at a time, and gone with all it held."""

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

from . import frames
from .frames import HEAD, MOST, Ask, Away, Said, Setup, frame

_BOOT: Final = (
    "import sys; sys.path += [path for path in sys.argv[1:] if path not in sys.path]; "
    "from pegboard.providers.builtin.database.box.main import main; main()"
)
_START: Final = 30.0
"""Seconds. A machine under load takes its time to import."""
_STOPPED: Final = 3.0
"""Seconds that a statement which writes has to be undone, before its worker is killed."""


_HEARD: Final = 0.5
_MOST_WORDS: Final = 16_384

log: Final = logging.getLogger(__name__)


class WorkerGone(Exception):  # noqa: N818 - it is caught where it is known what was asked
    """It ended before it answered."""

    def __init__(self, *, by_itself: bool = False) -> None:
        super().__init__()
        self.by_itself = by_itself
        """It met something that it was not written for, and said so in the log."""


class Worker:
    def __init__(self, process: child.Child) -> None:
        self._process = process
        self.is_gone = False
        """It can be asked nothing more."""

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(
        self, kind: Ask, value: object = None, *, within: float, grace: float = 0.0, gently: bool = False
    ) -> Said:
        """Raises `WorkerGone`, and `TimeoutError` after so many seconds; then, and when it is cancelled, nothing of
        the worker is left. For `grace` seconds after its time it is only told to stop. One that is stopped `gently` may
        undo first what it wrote."""
        stopping = asyncio.get_running_loop().call_later(within, self._tell_to_stop) if grace else None
        try:
            with anyio.fail_after(within + grace):
                return await self._ask(frame(kind, value))
        except BaseException:
            with anyio.CancelScope(shield=True):
                if gently and not self.is_gone:
                    await self._stopped()
                await self.end()
            raise
        finally:
            if stopping is not None:
                stopping.cancel()

    def _tell_to_stop(self) -> None:
        # A statement that comes later is not stopped by it: the worker hears both in their order.
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(frame(Ask.STOP))

    async def _ask(self, asked: bytes) -> Said:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            # Not every event loop has a word of its own for a pipe that is closed: uvloop says RuntimeError.
            if stdin.is_closing():
                raise BrokenPipeError
            stdin.write(asked)
            await stdin.drain()
            length, kind = HEAD.unpack(await stdout.readexactly(HEAD.size))
            if length > MOST:
                raise WorkerGone
            return frames.said(kind, await stdout.readexactly(length))
        except (OSError, EOFError, ValueError) as error:
            raise WorkerGone(by_itself=await self._last_words()) from error

    async def _last_words(self) -> bool:
        """To the log, because nothing that a worker says there was meant for whoever asked."""
        assert self._process.stderr is not None
        words = b""
        with anyio.move_on_after(_HEARD):
            words = await self._process.stderr.read(_MOST_WORDS)
        if words:
            log.warning("The worker of a database ended: %s", words.decode("utf-8", "replace"))
        return words.startswith(b"Traceback") and b"MemoryError" not in words

    async def _stopped(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with anyio.move_on_after(_STOPPED), suppress(OSError, EOFError):
            self._tell_to_stop()
            # Whatever it answers, nobody waits for it any more; that it answers is what counts.
            await stdout.readexactly(1)

    def kill(self) -> None:
        """At once. Nobody waits for its end, which is certain."""
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
        """Until nothing is left of it."""
        self.kill()
        await self._process.wait()


async def started(setup: Setup) -> Worker:
    """Raises `SourceAway`. Then nothing of it is left."""
    groups.keep_descriptors()
    words = (sys.executable, "-I", "-X", "utf8", "-c", _BOOT, *_ours())
    try:
        # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
        with anyio.CancelScope(shield=True):
            worker = Worker(await child.born(words, inherited(), None))
        said = await worker.ask(Ask.SETUP, setup, within=_START)
    except OSError as error:
        raise SourceAway(f"Cannot start a worker for the database: {error.strerror or error}") from None
    except TimeoutError:
        raise SourceAway(f"The database's worker did not start within {_START:g} s. Try again.") from None
    except WorkerGone:
        raise SourceAway("The database's worker ended while it started. The gateway's log may say why.") from None
    if isinstance(said, Away):
        await worker.end()
        raise SourceAway(said.why)
    return worker


@cache
def _ours() -> Sequence[str]:
    """Where the worker's program and what it needs lie. Elsewhere on our own path may be anything."""
    found = [spec.origin for name in ("pegboard", "msgspec") if (spec := find_spec(name)) and spec.origin is not None]
    folders = [path.parents[path.name == "__init__.py"] for path in map(Path, found)]
    return [*dict.fromkeys(map(str, folders))]
