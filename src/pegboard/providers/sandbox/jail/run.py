"""One program in one jailed process: its calls are answered, its limits kept, and its end told."""

import math
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import (
    CallFailure,
    HostReply,
    PendingDecision,
    Program,
    ProgramFailure,
    ProgramHost,
    RunResult,
    SandboxFunction,
    SandboxLimits,
    UnawaitedCall,
    is_small,
)
from pegboard.processes.frames import FrameError
from pegboard.processes.worker import WorkerProcess
from pegboard.providers.sandbox.errors import GATHER_ARGUMENTS_HINT, add_hint
from pegboard.providers.sandbox.jail.inside.program import max_pieces
from pegboard.providers.sandbox.jail.launch import (
    LOOK_INTERVAL_S,
    ActivityMonitor,
    JailCall,
    JailErrorDetails,
    JailFrame,
    JailOutput,
    JailProtocolError,
    JailResult,
    decode_frame,
    encode_frame,
)
from pegboard.providers.sandbox.plain_values import BYTES_PER_VALUE, JsonBudget, NotJsonError, to_json
from pegboard.providers.sandbox.values import replace_lone_surrogates

_FRAME_OVERHEAD_BYTES: Final = 4_096
_MAX_ERROR_BYTES: Final = 16_384
"""Bytes of a fault in JSON."""
_ESCAPE_FACTOR: Final = 6
"""A character takes at most so many times its bytes in JSON; text takes less than half of that."""
_PRINT_FRAME_BYTES: Final = 32
_OFF_LOOP_BYTES: Final = 16_384
"""Bytes of a frame that is read beside the event loop: all other work of the gateway would wait for it."""
_UNHASHABLE_LIST: Final = "unhashable type: 'list'"
"""What Python says of `gather(calls)`, and of much else."""
_MAX_MESSAGE_CHARS: Final = 2_000
_MAX_TYPE_NAME_CHARS: Final = 200
_EXIT_TIMEOUT_S: Final = 1.0
"""Seconds for a process that has closed its connection to end as well."""
_SHELL_SIGNAL_OFFSET: Final = 128
"""What is added to a signal's number by whoever passes on that a program died of it."""
_CRASH_SIGNALS: Final = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
)


@dataclass(eq=False)
class JailedRun:
    process: WorkerProcess
    program: Program
    host: ProgramHost
    limits: SandboxLimits
    off_loop_limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    """Of threads that read and write large frames, over all runs: each takes from the loop half of its time."""
    _stdout: list[str] = field(default_factory=list[str])
    _is_truncated: bool = False
    _output_bytes: int = 0
    _output_frame_bytes: int = 0
    _output_pieces: int = 0
    _seen_ordinals: set[int] = field(default_factory=set[int])
    _host_errors: set[str] = field(default_factory=set[str])
    """The beginnings of the words of calls that failed."""

    def __post_init__(self) -> None:
        limits = self.limits
        self._turns = anyio.CapacityLimiter(max(1, limits.concurrency))
        self._room = JsonBudget(limits.arguments, BYTES_PER_VALUE)
        self.process.frames.max_bytes = (
            max(limits.arguments, _ESCAPE_FACTOR * limits.result, _ESCAPE_FACTOR * limits.stdout, _MAX_ERROR_BYTES)
            + _FRAME_OVERHEAD_BYTES
        )

    async def __call__(self) -> RunResult:
        """Raises what the host raised. The process is the caller's to end, and of no further use."""
        began = anyio.current_time()
        done: JailResult | None = None
        astray: str | None = None
        with anyio.move_on_after(self.limits.wall) as wall:
            try:
                async with anyio.create_task_group() as calls:
                    calls.start_soon(self._monitor_activity)
                    try:
                        await self._send_program()
                        done = await self._wait_until_done(calls)
                    except (FrameError, JailProtocolError) as error:
                        astray = str(error)
                    calls.cancel_scope.cancel()
            except BaseExceptionGroup as failed:
                raise failed.exceptions[0] from None
        text = "".join(self._stdout)
        if done is None:
            seconds = anyio.current_time() - began
            fault = (
                _explain_timeout(self.limits) if wall.cancelled_caught else await self._death_reason(astray, seconds)
            )
            return RunResult(None, text, self._is_truncated, fault)
        return self._make_result(done, text)

    async def _monitor_activity(self) -> None:
        """Tells the host whether the program computes, as long as it waits for calls."""
        looks = ActivityMonitor(self.process.child.pid)
        while True:
            await anyio.sleep(LOOK_INTERVAL_S)
            if self._turns.borrowed_tokens:
                self.host.set_idle(looks.is_idle())

    def _make_result(self, done: JailResult, text: str) -> RunResult:
        is_cut = self._is_truncated or done.x
        try:
            result = to_json(done.r, JsonBudget(self.limits.result))
            JsonBudget(self.limits.result).spend(len(msgspec.json.encode(result)))
        except NotJsonError as unfit:
            return RunResult(
                None, text, is_cut, ProgramFailure("RuntimeError", f"The program was ended: its result {unfit.why}.")
            )
        if done.e is not None:
            return RunResult(result, text, is_cut, self._program_error(done.e))
        return RunResult(result, text, is_cut, unawaited_calls=self._unawaited_calls(done.u))

    def _unawaited_calls(self, said: Sequence[tuple[int, int]]) -> tuple[UnawaitedCall, ...]:
        """As far as there are such functions, and as many as there can be."""
        functions = self.program.functions
        return tuple(
            UnawaitedCall(
                f"{functions[number].module}.{functions[number].name}".removeprefix("."), self._valid_line(line)
            )
            for number, line in said[: self.limits.calls]
            if 0 <= number < len(functions)
        )

    def _program_error(self, fell: JailErrorDetails) -> ProgramFailure:
        """As the process tells it: of a length and with a line that there can be."""
        line = self._valid_line(fell.line)
        message = fell.message
        if message not in self._host_errors:
            message = add_hint(fell.type, message)
            if (
                message == _UNHASHABLE_LIST
                and line is not None
                and "gather(" in self.program.code.split("\n")[line - 1]
            ):
                message = f"{message}. {GATHER_ARGUMENTS_HINT}"
        message = message[:_MAX_MESSAGE_CHARS]
        if fell.type == "MemoryError" and not message:
            message = f"The program needs more than {self.limits.memory >> 20:,} MB of memory. Keep less at a time."
        return ProgramFailure(fell.type[:_MAX_TYPE_NAME_CHARS], message, line)

    def _valid_line(self, line: int | None) -> int | None:
        return line if line is not None and 1 <= line <= self.program.code.count("\n") + 1 else None

    async def _send_program(self) -> None:
        limits = self.limits
        functions: list[Json] = [[one.module, one.name, list(one.parameters)] for one in self.program.functions]
        await self._write(
            encode_frame(
                {
                    "code": self.program.code,
                    "functions": functions,
                    "modules": list(self.program.modules),
                    "memory": limits.memory,
                    "cpu": max(1, math.ceil(limits.cpu)),
                    "calls": limits.calls,
                    "arguments": limits.arguments,
                    "result": limits.result,
                    "stdout": limits.stdout,
                    "frame": self.process.frames.max_bytes,
                    "sleep": limits.sleep,
                }
            )
        )

    async def _wait_until_done(self, calls: TaskGroup) -> JailResult | None:
        """None when it ended without one. Raises `FrameError` and `JailProtocolError`."""
        while (frame := await self.process.next_frame()) is not None:
            heard = await self._decode(frame[1])
            if isinstance(heard, JailResult):
                return heard
            self._handle_frame(heard, len(frame[1]), calls)
        return None

    async def _decode(self, body: bytes) -> "JailFrame | _CheckedCall":
        reading = partial(_parse_frame, body, self.program.functions, self._room.limit, self._room.remaining)
        return (
            await anyio.to_thread.run_sync(reading, limiter=self.off_loop_limiter)
            if len(body) > _OFF_LOOP_BYTES
            else reading()
        )

    def _handle_frame(self, heard: "JailFrame | _CheckedCall", length: int, calls: TaskGroup) -> None:
        match heard:
            case JailOutput():
                self._handle_output(heard.s, length)
            case _CheckedCall():
                self._check_ordinal(heard.ordinal)
                # Answers may have made room meanwhile, and nothing else takes any.
                self._room.remaining -= heard.size
                calls.start_soon(self._answer_call, heard)
            case _:
                raise JailProtocolError("what only a start says")

    def _handle_output(self, text: str, length: int) -> None:
        self._output_frame_bytes += length
        self._output_pieces += 1
        pieces = max_pieces(self.limits.stdout)
        if (
            not text
            or self._output_pieces > pieces
            or self._output_frame_bytes > _ESCAPE_FACTOR * self.limits.stdout + _PRINT_FRAME_BYTES * pieces
        ):
            raise JailProtocolError("more than it may print")
        room = self.limits.stdout - self._output_bytes
        encoded = text.encode()
        self._is_truncated = self._is_truncated or len(encoded) > room
        if shown := encoded[: max(0, room)].decode("utf-8", "ignore"):
            self._output_bytes += len(shown.encode())
            self._stdout.append(shown)
            self.host.on_output(shown)

    def _check_ordinal(self, ordinal: int) -> None:
        if not 1 <= ordinal <= self.limits.calls:
            raise JailProtocolError("more calls than it may make")
        if ordinal in self._seen_ordinals:
            raise JailProtocolError("one call twice")
        self._seen_ordinals.add(ordinal)

    async def _answer_call(self, call: "_CheckedCall") -> None:
        async with self._turns:
            reply = await self.host.call(call.ordinal, call.function, call.arguments)
            if isinstance(reply, CallFailure):
                self._host_errors.add(reply.message[:_MAX_MESSAGE_CHARS])
            # Before the program can know that there is room again.
            self._room.remaining += call.size
            if is_small(reply):
                text = _encode_reply(call.ordinal, reply)
            else:
                text = await anyio.to_thread.run_sync(_encode_reply, call.ordinal, reply, limiter=self.off_loop_limiter)
            await self._write(text)

    async def _write(self, text: bytes) -> None:
        # One that has ended is told of by whoever listens to it.
        with suppress(BrokenPipeError, ConnectionResetError):
            await self.process.write(text)

    async def _death_reason(self, astray: str | None, seconds: float) -> ProgramFailure:
        """There was no last word: what it died of."""
        if astray is not None:
            return ProgramFailure("RuntimeError", f"The program was ended: its process said {astray}.")
        with anyio.move_on_after(_EXIT_TIMEOUT_S):
            await self.process.child.wait()
        code = self.process.child.returncode
        if code is None:
            return ProgramFailure("RuntimeError", "The program closed its connection, and was ended.")
        number = -code if code < 0 else code - _SHELL_SIGNAL_OFFSET
        # Only the limit of processor time and the kernel, out of memory, kill by force; the first takes its time.
        if number == signal.SIGXCPU or (number == signal.SIGKILL and seconds >= self.limits.cpu):
            why = f"The program computed for more than {self.limits.cpu:g} seconds. Do less, or in several runs."
            return ProgramFailure("TimeoutError", why)
        if number == signal.SIGKILL:
            return ProgramFailure("MemoryError", "The program was killed by the system, which ran out of memory.")
        if number == signal.SIGSYS:
            return ProgramFailure(
                "RuntimeError", "The program was ended: it asked the kernel for what no program here may do."
            )
        if number in _CRASH_SIGNALS:
            name = signal.Signals(number).name
            return ProgramFailure(
                "RuntimeError",
                f"The Python of this program crashed ({name}). Too deep a recursion does that, and so does ctypes.",
            )
        return ProgramFailure("RuntimeError", "The program ended its process without an answer.")


@dataclass(frozen=True)
class _CheckedCall:
    """What it really calls, and with what: nothing that the process says of a call is believed."""

    ordinal: int
    function: SandboxFunction
    arguments: dict[str, Json]
    size: int


def _parse_frame(body: bytes, functions: Sequence[SandboxFunction], most: int, left: int) -> JailFrame | _CheckedCall:
    """Touches nothing that the event loop has. Raises `JailProtocolError`."""
    frame = decode_frame(body)
    if not isinstance(frame, JailCall):
        return frame
    if not 0 <= frame.f < len(functions):
        raise JailProtocolError("a call of a function that it was not given")
    room = JsonBudget(most, BYTES_PER_VALUE)
    room.remaining = left
    try:
        arguments = {str(to_json(name, room)): to_json(value, room) for name, value in frame.a.items()}
    except NotJsonError as unfit:
        raise JailProtocolError(f"an argument that {unfit.why}") from unfit
    return _CheckedCall(frame.n, functions[frame.f], arguments, left - room.remaining)


def _explain_timeout(limits: SandboxLimits) -> ProgramFailure:
    why = f"The program took longer than {limits.wall:g} seconds, waiting for its calls included."
    return ProgramFailure("TimeoutError", why)


def _encode_reply(number: int, reply: HostReply) -> bytes:
    if isinstance(reply, PendingDecision):
        reply = CallFailure(
            "PermissionError",
            f"A person must allow this call first (ticket {reply.ticket}). This sandbox cannot wait for them: "
            "run the program again when it is decided.",
        )
    if isinstance(reply, CallFailure):
        return encode_frame({"n": number, "type": reply.type, "message": reply.message})
    try:
        return encode_frame({"n": number, "ok": replace_lone_surrogates(reply)})
    except (TypeError, ValueError, RecursionError) as error:
        return encode_frame({"n": number, "type": "ValueError", "message": f"The answer is not plain JSON: {error}"})
