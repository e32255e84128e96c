"""One container from its start to its end: fed, read within bounds, and gone whatever happens meanwhile."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from pegboard.children.lines import LastLines

from .engine import Engine, engine_error, kill, started
from .written import Record

log = logging.getLogger("pegboard.container")

_REMOVAL: Final = 30.0
_GRACE: Final = 3.0
"""Seconds in which the engine's own process follows a container that was removed."""
_LEFT: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


@dataclass(frozen=True)
class Ended:
    """It ended by itself."""

    code: int
    out: bytes
    lines: tuple[str, ...]
    """The last of what it, or the engine, wrote to the error stream."""
    spoke: bool = False
    """Whether it is known that the program wrote these lines, or any output."""


@dataclass(frozen=True)
class TooMuch:
    """It wrote more than it may, and was ended for it."""


class CannotRun(Exception):  # noqa: N818 - it is told as the end of a sentence
    """The engine's process cannot be started."""


async def run(
    engine: Engine,
    name: str,
    line: tuple[str, ...],
    *,
    environment: Mapping[str, str],
    given: bytes,
    most: int,
    hear: Callable[[bytes], None],
    erase: Callable[[str], str],
    record: Record | None = None,
) -> Ended | TooMuch:
    """Raises `CannotRun`. However this ends, cancelled too, no container of that name is left."""
    try:
        process = await started(line, {**engine.environment, **environment}, engine.folder)
    except OSError as error:
        raise CannotRun(error.strerror or str(error)) from None
    lines = LastLines()
    out = bytearray()
    heard = 0
    over = False
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = process.stderr

    async def listen() -> None:
        nonlocal heard
        with suppress(*_LEFT):
            async for chunk in errors:
                heard += len(chunk)
                lines.feed(chunk, erase)
                hear(chunk)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            tasks.start_soon(_feed, process.stdin, given)
            over = not await _read(process.stdout, out, most)
            if over:
                tasks.cancel_scope.cancel()
        if over:
            return TooMuch()
        code = await process.wait()
        lines.end(erase)
        kept = None if record is None else await to_thread.run_sync(record.read)
        if kept is None:
            return Ended(code, bytes(out), lines.all())
        if len(kept.out) > most:
            return TooMuch()
        if not kept.out and not kept.error:
            return Ended(code, b"", lines.all())
        its_own = LastLines()
        its_own.feed(kept.error, erase)
        its_own.end(erase)
        if len(kept.error) > heard:
            hear(kept.error)
        return Ended(code, kept.out, its_own.all(), spoke=True)
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                await _end(engine, name, process)
            await process.aclose()


async def _feed(pipe: ByteSendStream, given: bytes) -> None:
    """A program need not read what it is given."""
    with suppress(*_LEFT):
        await pipe.send(given)
    with suppress(*_LEFT):
        await pipe.aclose()


async def _read(pipe: ByteReceiveStream, out: bytearray, most: int) -> bool:
    """Whether all of it was within the bound."""
    with suppress(*_LEFT):
        async for chunk in pipe:
            if len(out) + len(chunk) > most:
                return False
            out += chunk
    return True


async def _end(engine: Engine, name: str, process: Process) -> None:
    """The container first: with it the engine's process ends by itself, and cleans up after both. If it does not, the
    container may just not have been there yet."""
    async with anyio.create_task_group() as tasks:
        # Whoever cannot get rid of what it has to say cannot end.
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                tasks.start_soon(_drain, pipe)
        await remove(engine, name)
        with anyio.move_on_after(_GRACE):
            await process.wait()
        if process.returncode is None:
            kill(process)
            await process.wait()
            await remove(engine, name)
        tasks.cancel_scope.cancel()


async def _drain(pipe: ByteReceiveStream) -> None:
    with suppress(*_LEFT):
        async for _ in pipe:
            pass


async def remove(engine: Engine, *names: str) -> None:
    """By force, and at once. Those that are not there are gone already."""
    if not names:
        return
    try:
        said = await engine.ask("rm", "--force", *names, within=_REMOVAL)
    except (OSError, TimeoutError) as error:
        log.warning("containers may be left, because %s cannot be asked to remove them: %s", engine.name, error)
        return
    if said.code and b"o such container" not in said.error:
        log.warning("containers may be left, because %s says: %s", engine.name, engine_error(said.error))
