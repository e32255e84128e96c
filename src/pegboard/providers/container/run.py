"""Runs one container: input, bounded output, removal in every case."""

import json
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from pegboard.ports.providers import ToolDescriptionError
from pegboard.processes.output import LogTail
from pegboard.providers.container.engine import (
    ContainerEngine,
    EngineOutput,
    NoEngine,
    engine_error,
    kill,
    start_process,
)
from pegboard.providers.container.flags import BOARD_LABEL, ContainerNamespace, image_problem, owner_of

# What a container wrote, as podman keeps it in a file of ours.
#
# What podman hands on itself cannot be relied on: of a program that ends before its input was read, it loses
# everything
# about once in ten times, and says nothing (podman 4.3 with conmon 2.1).

_MAX_LOG_SIZE: Final = "64mb"
"""Far more than a call may write: it bounds what a container writes that nobody watches any more."""


@dataclass(frozen=True)
class ContainerOutput:
    out: bytes
    error: bytes


class ContainerLogFile:
    """The file in which one run is kept, beside what is handed on."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            *("--log-driver", "k8s-file"),
            *("--log-opt", f"path={self._file}", "--log-opt", f"max-size={_MAX_LOG_SIZE}"),
        )

    def read_output(self) -> ContainerOutput | None:
        """`None` where there is no such file, because the engine works on another machine, or started nothing."""
        try:
            content = self._file.read_bytes()
        except OSError:
            return None
        streams: dict[bytes, list[bytes]] = {b"stdout": [], b"stderr": []}
        for line in content.split(b"\n"):
            # Each begins with a time, its stream, and F for a full line or P for a part of one.
            match line.split(b" ", 3):
                case [_, stream, b"F", text] if stream in streams:
                    streams[stream].append(text + b"\n")
                case [_, stream, b"P", text] if stream in streams:
                    streams[stream].append(text)
        return ContainerOutput(b"".join(streams[b"stdout"]), b"".join(streams[b"stderr"]))


@contextmanager
def temporary_log_file() -> Iterator[ContainerLogFile]:
    """Only we can read it, and it is gone with the block."""
    with tempfile.TemporaryDirectory(prefix="pegboard-", ignore_cleanup_errors=True) as folder:
        yield ContainerLogFile(Path(folder) / "written")


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
    """Raises `NotRunnableError`. However this ends, cancelled too, no container of that name is left."""
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


# Images before anything of them runs: fetched, and asked for the tools that their label tells of.

LABEL: Final = "io.pegboard.tools"
_INSPECT_TIMEOUT_S: Final = 60.0
_FETCH_TIMEOUT_S: Final = 1800.0
_UNKNOWN_IMAGE_ERRORS: Final = (b"image not known", b"No such image", b"o such object", b"unable to find")


async def fetch_image(find: Callable[[], ContainerEngine | NoEngine], image: str, told: Callable[[str], None]) -> None:
    """So that the image is here: what is here already is left as it is. Raises `ToolDescriptionError`."""
    await _inspect_image(find, image, told)


async def image_label(
    find: Callable[[], ContainerEngine | NoEngine], image: str, told: Callable[[str], None]
) -> str | None:
    """The label `io.pegboard.tools`, as it stands in the image. Raises `ToolDescriptionError`."""
    said = await _inspect_image(find, image, told)
    try:
        labels = json.loads(said.out)
    except ValueError:
        raise ToolDescriptionError(
            f"the labels of the image {image} cannot be read. Is the engine podman or docker?"
        ) from None
    label = labels.get(LABEL) if isinstance(labels, dict) else None
    return label if isinstance(label, str) else None


async def _inspect_image(
    find: Callable[[], ContainerEngine | NoEngine], image: str, told: Callable[[str], None]
) -> EngineOutput:
    if (problem := image_problem(image)) is not None:
        raise ToolDescriptionError(f"{problem}.")
    engine = find()
    if isinstance(engine, NoEngine):
        raise ToolDescriptionError(f"the image {image} {engine.why}.")
    said = await _ask_engine(
        engine, image, "image", "inspect", "--format", "{{json .Config.Labels}}", image, within=_INSPECT_TIMEOUT_S
    )
    if said.code == 0:
        return said
    if not any(words in said.error for words in _UNKNOWN_IMAGE_ERRORS):
        raise ToolDescriptionError(
            f"the image {image} cannot be looked at: {engine.name} says: {engine_error(said.error)}."
        )
    told(f"fetching the image {image}")
    pulled = await _ask_engine(engine, image, "pull", "--quiet", image, within=_FETCH_TIMEOUT_S)
    if pulled.code:
        why = engine_error(pulled.error)
        raise ToolDescriptionError(f"the image {image} is not here and cannot be fetched: {engine.name} says: {why}.")
    again = await _ask_engine(
        engine, image, "image", "inspect", "--format", "{{json .Config.Labels}}", image, within=_INSPECT_TIMEOUT_S
    )
    if again.code:
        raise ToolDescriptionError(
            f"the image {image} cannot be looked at: {engine.name} says: {engine_error(again.error)}."
        )
    return again


async def _ask_engine(engine: ContainerEngine, image: str, *arguments: str, within: float) -> EngineOutput:
    try:
        return await engine.query(*arguments, within=within, proxies=arguments[0] == "pull")
    except TimeoutError:
        raise ToolDescriptionError(
            f"{engine.name} did not answer about the image {image} within {within:g} s."
        ) from None
    except OSError as error:
        raise ToolDescriptionError(f"{engine.name} cannot be started: {error.strerror or error}.") from None


# Containers that a gateway of this board left behind when it was killed: found by their labels, and removed.

_LIST_TIMEOUT_S: Final = 60.0


async def remove_leftovers(engine: ContainerEngine, board: ContainerNamespace) -> tuple[str, ...]:
    """Their names. Those of another board, and of a gateway that still runs, stay."""
    try:
        said = await engine.query(
            *("ps", "--all", "--filter", f"label={BOARD_LABEL}={board.id}"),
            *("--format", "{{.Names}}"),
            within=_LIST_TIMEOUT_S,
        )
    except (OSError, TimeoutError) as error:
        log.warning("leftover containers cannot be looked for, because %s cannot be asked: %s", engine.name, error)
        return ()
    if said.code:
        log.warning("leftover containers cannot be looked for: %s says: %s", engine.name, engine_error(said.error))
        return ()
    names = said.out.decode("utf-8", "replace").split()
    left = tuple(name for name in names if (whose := owner_of(name)) is not None and not whose.is_alive)
    await remove_containers(engine, *left)
    return left
