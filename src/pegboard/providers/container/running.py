"""One container from its start to its end: fed, read within bounds, and gone whatever happens meanwhile."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from pegboard.children.lines import LogTail

from .engine import ContainerEngine, engine_error, kill, start_process
from .written import ContainerLogFile

log = logging.getLogger("pegboard.container")

_REMOVE_TIMEOUT_S: Final = 30.0
_GRACE_S: Final = 3.0
"""Seconds in which the engine's own process follows a container that was removed."""
_PIPE_ERRORS: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


@dataclass(frozen=True)
class ContainerExit:
    """It ended by itself."""

    code: int
    out: bytes
    lines: tuple[str, ...]
    """The last of what it, or the engine, wrote to the error stream."""
    has_program_output: bool = False
    """Whether it is known that the program wrote these lines, or any output."""


@dataclass(frozen=True)
class OutputTooLarge:
    """It wrote more than it may, and was ended for it."""


class EngineStartError(Exception):
    """The engine's process cannot be started."""


async def run_container(
    engine: ContainerEngine,
    name: str,
    line: tuple[str, ...],
    *,
    environment: Mapping[str, str],
    given: bytes,
    most: int,
    hear: Callable[[bytes], None],
    erase: Callable[[str], str],
    record: ContainerLogFile | None = None,
) -> ContainerExit | OutputTooLarge:
    """Raises `CannotRun`. However this ends, cancelled too, no container of that name is left."""
    try:
        process = await start_process(line, {**engine.environment, **environment}, engine.folder)
    except OSError as error:
        raise EngineStartError(error.strerror or str(error)) from None
    lines = LogTail()
    out = bytearray()
    heard = 0
    over = False
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = process.stderr

    async def listen() -> None:
        nonlocal heard
        with suppress(*_PIPE_ERRORS):
            async for chunk in errors:
                heard += len(chunk)
                lines.feed(chunk, erase)
                hear(chunk)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            tasks.start_soon(_write_input, process.stdin, given)
            over = not await _read_output(process.stdout, out, most)
            if over:
                tasks.cancel_scope.cancel()
        if over:
            return OutputTooLarge()
        code = await process.wait()
        lines.finish(erase)
        kept = None if record is None else await to_thread.run_sync(record.read_output)
        if kept is None:
            return ContainerExit(code, bytes(out), lines.tail())
        if len(kept.out) > most:
            return OutputTooLarge()
        if not kept.out and not kept.error:
            return ContainerExit(code, b"", lines.tail())
        its_own = LogTail()
        its_own.feed(kept.error, erase)
        its_own.finish(erase)
        if len(kept.error) > heard:
            hear(kept.error)
        return ContainerExit(code, kept.out, its_own.tail(), has_program_output=True)
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                await _end_container(engine, name, process)
            await process.aclose()


async def _write_input(pipe: ByteSendStream, given: bytes) -> None:
    """A program need not read what it is given."""
    with suppress(*_PIPE_ERRORS):
        await pipe.send(given)
    with suppress(*_PIPE_ERRORS):
        await pipe.aclose()


async def _read_output(pipe: ByteReceiveStream, out: bytearray, most: int) -> bool:
    """Whether all of it was within the bound."""
    with suppress(*_PIPE_ERRORS):
        async for chunk in pipe:
            if len(out) + len(chunk) > most:
                return False
            out += chunk
    return True


async def _end_container(engine: ContainerEngine, name: str, process: Process) -> None:
    """The container first: with it the engine's process ends by itself, and cleans up after both. If it does not, the
    container may just not have been there yet."""
    async with anyio.create_task_group() as tasks:
        # Whoever cannot get rid of what it has to say cannot end.
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                tasks.start_soon(_drain, pipe)
        await remove_containers(engine, name)
        with anyio.move_on_after(_GRACE_S):
            await process.wait()
        if process.returncode is None:
            kill(process)
            await process.wait()
            await remove_containers(engine, name)
        tasks.cancel_scope.cancel()


async def _drain(pipe: ByteReceiveStream) -> None:
    with suppress(*_PIPE_ERRORS):
        async for _ in pipe:
            pass


async def remove_containers(engine: ContainerEngine, *names: str) -> None:
    """By force, and at once. Those that are not there are gone already."""
    if not names:
        return
    try:
        said = await engine.query("rm", "--force", *names, within=_REMOVE_TIMEOUT_S)
    except (OSError, TimeoutError) as error:
        log.warning("containers may be left, because %s cannot be asked to remove them: %s", engine.name, error)
        return
    if said.code and b"o such container" not in said.error:
        log.warning("containers may be left, because %s says: %s", engine.name, engine_error(said.error))
