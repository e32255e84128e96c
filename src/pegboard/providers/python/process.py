"""One worker process: started, configured, called, ended with everything it started."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import anyio

from pegboard.core.model.tool import ToolSpec
from pegboard.ports.providers import ClientPeer, DescribedTool, FunctionEntry, Progress, ignore
from pegboard.processes import child
from pegboard.processes.child import inherited_environment, program_arguments
from pegboard.processes.frames import Frame, FrameReader
from pegboard.processes.output import SecretFilter
from pegboard.providers.python.protocol import (
    FRAME_HEADER,
    MAX_BODY_BYTES,
    TOOL_INDEX,
    WorkerFrameKind,
    encode_frame,
)

_NEEDED_PACKAGES: Final = (
    *("pegboard", "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "typing_extensions"),
    "docstring_parser",
)

_FLOOD_BYTES: Final = 32_768
_LOG_PAUSE_S: Final = 0.01
"""Seconds that a log rests after so many bytes at once: a tool that prints without end costs little of our time."""
_EXIT_DELAY_S: Final = 1.0
_MIB: Final = 1024 * 1024
_MAX_LAST_OUTPUT_BYTES: Final = 1_000
_OUT_OF_MEMORY: Final = re.compile(rb"memory allocation of \d+ bytes failed|std::bad_alloc")
"""The last words of what was not written in Python and had no memory left."""
_STOP_TIMEOUT_S: Final = 5.0


class WorkerStartError(Exception):
    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class PythonWorkerSetup:
    """What a worker serves, and with what."""

    toolset: str
    folder: Path
    entries: Sequence[FunctionEntry]
    memory: int
    python: Path = field(default_factory=lambda: Path(sys.executable))
    workspace: Path | None = None
    default_workspace: Path | None = None
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
            "room": None if (room := self.workspace or self.default_workspace) is None else str(room.absolute()),
            "secrets": dict(self.secrets),
        }
        return json.dumps(told).encode()


@dataclass(frozen=True)
class ServedTool:
    """A tool as a worker has it."""

    details: DescribedTool
    is_async: bool


@dataclass(eq=False, slots=True)
class WorkerCall:
    """One call, from its asking to its answer."""

    tool: int
    arguments: bytes
    is_async: bool
    answer: "asyncio.Future[tuple[WorkerFrameKind, bytes] | str]"
    """Text says why there is none; it reads on from the toolset's name."""
    progress: Progress | None = None
    peer: ClientPeer | None = None
    worker: "PythonWorkerProcess | None" = None
    number: int = 0
    is_cancelled: bool = False
    timer: asyncio.TimerHandle | None = None

    def settle(self, answer: tuple[WorkerFrameKind, bytes] | str) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if not self.answer.done():
            self.answer.set_result(answer)


class PythonWorkerProcess(asyncio.SubprocessProtocol):
    def __init__(self, hear: Callable[[bytes], None], note: Callable[[WorkerCall, str, str], None]) -> None:
        """`hear` gets what it prints, `note` what a call says to its log."""
        self._on_output = hear
        self._on_log = note
        self._frames = FrameReader(FRAME_HEADER, MAX_BODY_BYTES)
        self._erase = SecretFilter(())
        self._memory = 0
        self._last_output = b""
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[bytes] = self._loop.create_future()
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self._transport: asyncio.SubprocessTransport
        self._input: asyncio.WriteTransport
        self._last_number = 0
        self.tools: Sequence[ServedTool] = ()
        self.calls: dict[int, WorkerCall] = {}
        self.is_retiring = False
        """It takes no more calls, and ends with those it has."""
        self.exit_reason: asyncio.Future[str] = self._loop.create_future()
        """What became of it, in words that read on from its name."""
        self.on_call_end: Callable[[PythonWorkerProcess], None] = ignore
        self.on_closing: Callable[[PythonWorkerProcess], None] = ignore
        self.on_exit: Callable[[PythonWorkerProcess], None] = ignore

    async def start(self, setup: PythonWorkerSetup, within: float) -> None:
        """Raises `WorkerStartError`. Then nothing of it is left."""
        self._erase, self._memory = SecretFilter(setup.secrets.values()), setup.memory
        try:
            await self._spawn(setup)
            self._input.write(encode_frame(WorkerFrameKind.SETUP, 0, setup.as_json()))
            async with asyncio.timeout(within):
                told = await self._ready
            self.tools = [_parse_tool(tool) for tool in json.loads(told)]
        except TimeoutError:
            await self._abandon()
            raise WorkerStartError(f"did not start within {within:g} s: importing its modules takes longer") from None
        except OSError as error:
            raise WorkerStartError(f"cannot start {setup.python.name}: {error.strerror or error}") from None
        except (WorkerStartError, asyncio.CancelledError):
            await self._abandon()
            raise

    async def _spawn(self, setup: PythonWorkerSetup) -> None:
        child.prevent_descriptor_inheritance()
        # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
        with anyio.CancelScope(shield=True):
            await self._loop.subprocess_exec(
                lambda: self,
                str(setup.python),
                *program_arguments("pegboard.providers.python.worker.main", *_NEEDED_PACKAGES),
                env=inherited_environment(),
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

    def begin_call(self, run: WorkerCall) -> None:
        self._last_number += 1
        run.worker, run.number = self, self._last_number
        self.calls[self._last_number] = run
        # One that closes its input is gone in a moment, and its runs with it.
        if not self._input.is_closing():
            self._input.write(encode_frame(WorkerFrameKind.CALL, run.number, TOOL_INDEX.pack(run.tool) + run.arguments))

    def cancel_call(self, run: WorkerCall) -> None:
        run.is_cancelled = True
        if run.number in self.calls and not self._input.is_closing():
            self._input.write(encode_frame(WorkerFrameKind.CANCEL, run.number, b""))

    def kill(self) -> None:
        """Now, with all it started."""
        self.is_retiring = True
        child.kill_group(self)

    async def stop(self, within: float = _STOP_TIMEOUT_S) -> None:
        """Until nothing is left of it: asked first, then by force."""
        self.is_retiring = True

        async def end_input() -> None:
            self._input.close()

        if within <= 0:
            self.kill()
        await child.stop_process_group(self, end_input, within or _STOP_TIMEOUT_S)
        self._transport.close()
        self._finish()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._on_output(data)
            self._last_output = (self._last_output + data)[-_MAX_LAST_OUTPUT_BYTES:]
            if len(data) >= _FLOOD_BYTES:
                self._pause_log()
            return
        try:
            for frame in self._frames.feed(data):
                self._handle_frame(frame)
        except (ValueError, TypeError):
            self._on_output(b"The worker wrote to a pipe that is not its own, and was ended.\n")
            self.kill()

    def _handle_frame(self, taken: Frame) -> None:
        (kind, number), body = taken
        if kind == WorkerFrameKind.RESULT or kind == WorkerFrameKind.CALL_FAILED:
            run = self.calls.pop(number, None)
            if run is not None:
                run.settle((WorkerFrameKind(kind), body))
                self.on_call_end(self)
        elif kind == WorkerFrameKind.PROGRESS or kind == WorkerFrameKind.LOG:
            run = self.calls.get(number)
            if run is not None and not run.is_cancelled:
                self._forward_message(run, kind, json.loads(body))
        elif kind == WorkerFrameKind.OUT_OF_MEMORY:
            self.is_retiring = True
        elif kind == WorkerFrameKind.READY and not self._ready.done():
            self._ready.set_result(body)
        elif kind == WorkerFrameKind.LOAD_FAILED and not self._ready.done():
            self._ready.set_exception(WorkerStartError(*json.loads(body)))
        else:
            # One that the gateway may send, at most.
            WorkerFrameKind(kind)

    def _forward_message(self, run: WorkerCall, kind: int, said: list[object]) -> None:
        if kind == WorkerFrameKind.LOG:
            self._on_log(run, str(said[0]), str(said[1]))
        elif run.progress is not None:
            done, total, words = said
            assert isinstance(done, float)
            assert isinstance(total, float | None)
            run.progress(done, total, None if words is None else self._erase(str(words)))

    def _pause_log(self) -> None:
        pipe = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(2))
        pipe.pause_reading()

        def go_on() -> None:
            if not pipe.is_closing():
                pipe.resume_reading()

        self._loop.call_later(_LOG_PAUSE_S, go_on)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The pipes close a moment before it is known how the process ended: it is sent nothing more from then on."""
        if fd < 2 and not self.is_retiring:
            self.is_retiring = True
            self.on_closing(self)

    def process_exited(self) -> None:
        # Its last words may still be in the pipe; but what it started may hold that open for ever.
        self._loop.call_later(_EXIT_DELAY_S, self._finish)

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()

    def _finish(self) -> None:
        if self.exit_reason.done():
            return
        self.is_retiring = True
        why = self._describe_exit()
        self.exit_reason.set_result(why)
        if not self._ready.done():
            self._ready.set_exception(WorkerStartError(f"{why} while it loaded the toolset's modules"))
        runs, self.calls = [*self.calls.values()], {}
        for run in runs:
            run.settle(f"{why} before it answered")
        # Whatever the worker started ends with it.
        child.kill_group(self)
        self._transport.close()
        self.on_exit(self)

    def _describe_exit(self) -> str:
        if self.returncode == -signal.SIGABRT and _OUT_OF_MEMORY.search(self._last_output) is not None:
            return f"ran out of the memory it may use ({self._memory // _MIB} MB)"
        return _describe_exit_code(self.returncode)


def _describe_exit_code(code: int | None) -> str:
    if code is None:
        return "ended"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"


def _parse_tool(told: Mapping[str, object]) -> ServedTool:
    spec = ToolSpec(
        str(told["name"]),
        told["title"],  # type: ignore[arg-type]  # all of it was written by our own program on the other side
        str(told["description"]),
        told["input"],  # type: ignore[arg-type]
        told["output"],  # type: ignore[arg-type]
        told["annotations"],  # type: ignore[arg-type]
    )
    return ServedTool(DescribedTool(spec, told["confirm"]), bool(told["async"]))  # type: ignore[arg-type]
