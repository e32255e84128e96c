"""One worker process as the gateway has it: started, told what to serve, given calls, and gone with all it started."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, cast

import anyio

from pegboard.children import groups
from pegboard.children.environment import inherited
from pegboard.children.erasing import Eraser
from pegboard.core.tool import ToolSpec
from pegboard.ports import Peer, Progress
from pegboard.ports.describing import Described, Entry

from .frames import TOOL, AstrayError, Frame, Frames, Kind, frame

_BOOT: Final = (
    "import sys; sys.path += [path for path in sys.argv[1:] if path not in sys.path]; "
    "from pegboard.providers.python.worker.main import main; main()"
)
"""The gateway's own packages come behind those of the toolset's environment, and wherever they lie at the moment."""

_NEEDED: Final = (
    *("pegboard", "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "typing_extensions"),
    "docstring_parser",
)

_FLOOD: Final = 32_768
_REST: Final = 0.01
"""Seconds that a log rests after so many bytes at once: a tool that prints without end costs little of our time."""
_EXIT_TOLD: Final = 1.0
_MIB: Final = 1024 * 1024
_LAST_WORDS: Final = 1_000
_NO_ROOM: Final = re.compile(rb"memory allocation of \d+ bytes failed|std::bad_alloc")
"""The last words of what was not written in Python and had no memory left."""
_STOP: Final = 5.0


class CannotStart(Exception):  # noqa: N818 - it is told to a person, a line for each problem
    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Setup:
    """What a worker serves, and with what."""

    toolset: str
    folder: Path
    entries: Sequence[Entry]
    memory: int
    python: Path = field(default_factory=lambda: Path(sys.executable))
    workspace: Path | None = None
    room: Path | None = None
    """Where a workspace is made for a tool that wants one although its manifest does not say so."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def as_json(self) -> bytes:
        entries = [(entry.name, entry.entrypoint, entry.title, entry.description) for entry in self.entries]
        told = {
            "toolset": self.toolset,
            "folder": str(self.folder.absolute()),
            "entries": entries,
            "memory": self.memory,
            "workspace": None if self.workspace is None else str(self.workspace),
            "room": None if (room := self.workspace or self.room) is None else str(room.absolute()),
            "secrets": dict(self.secrets),
        }
        return json.dumps(told).encode()


@dataclass(frozen=True)
class Served:
    """A tool as a worker has it."""

    described: Described
    is_async: bool


@dataclass(eq=False, slots=True)
class Run:
    """One call, from its asking to its answer."""

    tool: int
    arguments: bytes
    is_async: bool
    answered: "asyncio.Future[tuple[Kind, bytes] | str]"
    """Text says why there is none; it reads on from the toolset's name."""
    progress: Progress | None = None
    peer: Peer | None = None
    worker: "WorkerProcess | None" = None
    number: int = 0
    is_given_up: bool = False
    timer: asyncio.TimerHandle | None = None

    def settle(self, answer: tuple[Kind, bytes] | str) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if not self.answered.done():
            self.answered.set_result(answer)


class WorkerProcess(asyncio.SubprocessProtocol):
    def __init__(self, hear: Callable[[bytes], None], note: Callable[[Run, str, str], None]) -> None:
        """`hear` gets what it prints, `note` what a call says to its log."""
        self._hear = hear
        self._note = note
        self._frames = Frames()
        self._erase = Eraser(())
        self._memory = 0
        self._last_words = b""
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[bytes] = self._loop.create_future()
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self._transport: asyncio.SubprocessTransport
        self._input: asyncio.WriteTransport
        self._numbers = 0
        self.tools: Sequence[Served] = ()
        self.runs: dict[int, Run] = {}
        self.is_worn = False
        """It takes no more calls, and ends with those it has."""
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """What became of it, in words that read on from its name."""
        self.freed: Callable[[WorkerProcess], None] = _nobody
        self.fading: Callable[[WorkerProcess], None] = _nobody
        self.gone: Callable[[WorkerProcess], None] = _nobody

    async def start(self, setup: Setup, within: float) -> None:
        """Raises `CannotStart`. Then nothing of it is left."""
        self._erase, self._memory = Eraser(setup.secrets.values()), setup.memory
        try:
            await self._spawn(setup)
            self._input.write(frame(Kind.SETUP, 0, setup.as_json()))
            async with asyncio.timeout(within):
                told = await self._ready
            self.tools = [_served(tool) for tool in json.loads(told)]
        except TimeoutError:
            await self._abandon()
            raise CannotStart(f"did not start within {within:g} s: importing its modules takes longer") from None
        except OSError as error:
            raise CannotStart(f"cannot start {setup.python.name}: {error.strerror or error}") from None
        except (CannotStart, asyncio.CancelledError):
            await self._abandon()
            raise

    async def _spawn(self, setup: Setup) -> None:
        groups.keep_descriptors()
        # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
        with anyio.CancelScope(shield=True):
            await self._loop.subprocess_exec(
                lambda: self,
                *(str(setup.python), "-I", "-X", "utf8", "-c", _BOOT, *_ours()),
                env=inherited(),
                cwd=str(setup.workspace or setup.folder),
                start_new_session=True,
            )

    async def _abandon(self) -> None:
        if hasattr(self, "_transport"):
            with anyio.CancelScope(shield=True):
                await self.stop(0.0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every event loop has transports of these classes; all have what is used of them.
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._input = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def returncode(self) -> int | None:
        return self._transport.get_returncode()

    def terminate(self) -> None:
        self._transport.terminate()

    def begin(self, run: Run) -> None:
        self._numbers += 1
        run.worker, run.number = self, self._numbers
        self.runs[self._numbers] = run
        # One that closes its input is gone in a moment, and its runs with it.
        if not self._input.is_closing():
            self._input.write(frame(Kind.CALL, run.number, TOOL.pack(run.tool) + run.arguments))

    def give_up(self, run: Run) -> None:
        run.is_given_up = True
        if run.number in self.runs and not self._input.is_closing():
            self._input.write(frame(Kind.CANCEL, run.number, b""))

    def kill(self) -> None:
        """Now, with all it started."""
        self.is_worn = True
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self.pid, signal.SIGKILL)

    async def stop(self, within: float = _STOP) -> None:
        """Until nothing is left of it: asked first, then by force."""
        self.is_worn = True

        async def end_input() -> None:
            self._input.close()

        if within <= 0:
            self.kill()
        await groups.stop(self, end_input, within or _STOP)
        self._transport.close()
        self._over()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._hear(data)
            self._last_words = (self._last_words + data)[-_LAST_WORDS:]
            if len(data) >= _FLOOD:
                self._rest()
            return
        try:
            for kind, number, body in self._frames.feed(data):
                self._take((kind, number, body))
        except (AstrayError, ValueError, TypeError):
            self._hear(b"The worker wrote to a pipe that is not its own, and was ended.\n")
            self.kill()

    def _take(self, taken: Frame) -> None:
        kind, number, body = taken
        if kind == Kind.RESULT or kind == Kind.FAILED:
            run = self.runs.pop(number, None)
            if run is not None:
                run.settle((Kind(kind), body))
                self.freed(self)
        elif kind == Kind.PROGRESS or kind == Kind.LOG:
            run = self.runs.get(number)
            if run is not None and not run.is_given_up:
                self._tell(run, kind, json.loads(body))
        elif kind == Kind.WORN:
            self.is_worn = True
        elif kind == Kind.READY and not self._ready.done():
            self._ready.set_result(body)
        elif kind == Kind.BROKEN and not self._ready.done():
            self._ready.set_exception(CannotStart(*json.loads(body)))

    def _tell(self, run: Run, kind: int, said: list[object]) -> None:
        if kind == Kind.LOG:
            self._note(run, str(said[0]), str(said[1]))
        elif run.progress is not None:
            done, total, words = said
            assert isinstance(done, float)
            assert isinstance(total, float | None)
            run.progress(done, total, None if words is None else self._erase(str(words)))

    def _rest(self) -> None:
        pipe = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(2))
        pipe.pause_reading()

        def go_on() -> None:
            if not pipe.is_closing():
                pipe.resume_reading()

        self._loop.call_later(_REST, go_on)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The pipes close a moment before it is known how the process ended: it is sent nothing more from then on."""
        if fd < 2 and not self.is_worn:
            self.is_worn = True
            self.fading(self)

    def process_exited(self) -> None:
        # Its last words may still be in the pipe; but what it started may hold that open for ever.
        self._loop.call_later(_EXIT_TOLD, self._over)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()

    def _over(self) -> None:
        if self.ended.done():
            return
        self.is_worn = True
        why = self._why()
        self.ended.set_result(why)
        if not self._ready.done():
            self._ready.set_exception(CannotStart(f"{why} while it loaded the toolset's modules"))
        runs, self.runs = [*self.runs.values()], {}
        for run in runs:
            run.settle(f"{why} before it answered")
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform != "win32":
                # Whatever the worker started ends with it.
                os.killpg(self.pid, signal.SIGKILL)
        self._transport.close()
        self.gone(self)

    def _why(self) -> str:
        if self.returncode == -signal.SIGABRT and _NO_ROOM.search(self._last_words) is not None:
            return f"ran out of the memory it may use ({self._memory // _MIB} MB)"
        return _ending(self.returncode)


@cache
def _ours() -> Sequence[str]:
    """Where the worker program and what it needs lie. Elsewhere on our own path may be anything."""
    found = [spec.origin for name in _NEEDED if (spec := find_spec(name)) is not None and spec.origin is not None]
    folders = [path.parents[path.name == "__init__.py"] for path in map(Path, found)]
    return [*dict.fromkeys(map(str, folders))]


def _nobody(worker: WorkerProcess) -> None:
    """Nobody is told."""


def _ending(code: int | None) -> str:
    if code is None:
        return "ended"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"


def _served(told: Mapping[str, object]) -> Served:
    spec = ToolSpec(
        str(told["name"]),
        told["title"],  # type: ignore[arg-type]  # all of it was written by our own program on the other side
        str(told["description"]),
        told["input"],  # type: ignore[arg-type]
        told["output"],  # type: ignore[arg-type]
        told["annotations"],  # type: ignore[arg-type]
    )
    return Served(Described(spec, told["confirm"]), bool(told["async"]))  # type: ignore[arg-type]
