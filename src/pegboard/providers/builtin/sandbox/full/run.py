"""One program in one jailed process: its calls are answered, its limits kept, and its end told."""

import asyncio
import math
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from pegboard.children.child import piece
from pegboard.core.tool import Json
from pegboard.ports.sandbox import Fault, Function, Host, Limits, Program, Raised, Ran, Reply, Unmade, Waits, is_small
from pegboard.providers.builtin.sandbox.hints import ONE_BY_ONE, hinted
from pegboard.providers.builtin.sandbox.plain import HELD, NotPlain, Room, plain
from pegboard.providers.builtin.sandbox.whole import whole

from .frames import AstrayError, Called, Done, Fell, Frame, Printed, framed, read
from .inside.printing import most_pieces
from .launch import Jailed
from .looking import EACH, Looks

_FRAMING: Final = 4_096
_WORDS: Final = 16_384
"""Bytes of a fault in JSON."""
_ESCAPED: Final = 6
"""A character takes at most so many times its bytes in JSON; text takes less than half of that."""
_PRINT_FRAME: Final = 32
_LARGE: Final = 16_384
"""Bytes of a frame that is read beside the event loop: all other work of the gateway would wait for it."""
_LIST_GATHERED: Final = "unhashable type: 'list'"
"""What Python says of `gather(calls)`, and of much else."""
_MOST_WORDS: Final = 2_000
_MOST_NAME: Final = 200
_LAST: Final = 1.0
"""Seconds for a process that has closed its connection to end as well."""
_SHELL: Final = 128
"""What is added to a signal's number by whoever passes on that a program died of it."""
_CRASHES: Final = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
)


@dataclass(eq=False)
class Run:
    jailed: Jailed
    program: Program
    host: Host
    limits: Limits
    beside: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    """Of threads that read and write large frames, over all runs: each takes from the loop half of its time."""
    _stdout: list[str] = field(default_factory=list[str])
    _is_cut: bool = False
    _shown: int = 0
    _said: int = 0
    _pieces: int = 0
    _asked: set[int] = field(default_factory=set[int])
    _raised: set[str] = field(default_factory=set[str])
    """The beginnings of the words of calls that failed."""

    def __post_init__(self) -> None:
        limits = self.limits
        self._turns = anyio.CapacityLimiter(max(1, limits.concurrency))
        self._writing = anyio.Lock()
        self._room = Room(limits.arguments, HELD)
        self.jailed.frames.most = (
            max(limits.arguments, _ESCAPED * limits.result, _ESCAPED * limits.stdout, _WORDS) + _FRAMING
        )

    async def __call__(self) -> Ran:
        """Raises what the host raised. The process is the caller's to end, and of no further use."""
        began = anyio.current_time()
        done: Done | None = None
        astray: str | None = None
        with anyio.move_on_after(self.limits.wall) as wall:
            try:
                async with anyio.create_task_group() as calls:
                    calls.start_soon(self._look)
                    try:
                        await self._begin()
                        done = await self._last_word(calls)
                    except AstrayError as error:
                        astray = str(error)
                    calls.cancel_scope.cancel()
            except BaseExceptionGroup as failed:
                raise failed.exceptions[0] from None
        text = "".join(self._stdout)
        if done is None:
            seconds = anyio.current_time() - began
            fault = _overdue(self.limits) if wall.cancelled_caught else await self._why(astray, seconds)
            return Ran(None, text, self._is_cut, fault)
        return self._told(done, text)

    async def _look(self) -> None:
        """Tells the host whether the program computes, as long as it waits for calls."""
        looks = Looks(self.jailed.child.pid)
        while True:
            await anyio.sleep(EACH)
            if self._turns.borrowed_tokens:
                self.host.rests(looks.rests())

    def _told(self, done: Done, text: str) -> Ran:
        is_cut = self._is_cut or done.x
        try:
            result = plain(done.r, Room(self.limits.result))
            Room(self.limits.result).take(len(msgspec.json.encode(result)))
        except NotPlain as unfit:
            return Ran(None, text, is_cut, Fault("RuntimeError", f"The program was ended: its result {unfit.why}."))
        if done.e is not None:
            return Ran(result, text, is_cut, self._fault(done.e))
        return Ran(result, text, is_cut, unmade=self._unmade(done.u))

    def _unmade(self, said: Sequence[tuple[int, int]]) -> tuple[Unmade, ...]:
        """As far as there are such functions, and as many as there can be."""
        functions = self.program.functions
        return tuple(
            Unmade(f"{functions[number].module}.{functions[number].name}".removeprefix("."), self._line(line))
            for number, line in said[: self.limits.calls]
            if 0 <= number < len(functions)
        )

    def _fault(self, fell: Fell) -> Fault:
        """As the process tells it: of a length and with a line that there can be."""
        line = self._line(fell.line)
        message = fell.message
        if message not in self._raised:
            message = hinted(fell.type, message)
            if message == _LIST_GATHERED and line is not None and "gather(" in self.program.code.split("\n")[line - 1]:
                message = f"{message}. {ONE_BY_ONE}"
        message = message[:_MOST_WORDS]
        if fell.type == "MemoryError" and not message:
            message = f"The program needs more than {self.limits.memory >> 20:,} MB of memory. Keep less at a time."
        return Fault(fell.type[:_MOST_NAME], message, line)

    def _line(self, line: int | None) -> int | None:
        return line if line is not None and 1 <= line <= self.program.code.count("\n") + 1 else None

    async def _begin(self) -> None:
        limits = self.limits
        functions: list[Json] = [[one.module, one.name, list(one.parameters)] for one in self.program.functions]
        await self._write(
            framed(
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
                    "frame": self.jailed.frames.most,
                    "sleep": limits.sleep,
                }
            )
        )

    async def _last_word(self, calls: TaskGroup) -> Done | None:
        """None when it ended without one. Raises `AstrayError`."""
        assert self.jailed.child.stdout is not None
        while said := await piece(self.jailed.child.stdout):
            for count, body in enumerate(self.jailed.frames.feed(said)):
                if count:
                    # A piece can hold thousands of frames, and others have their turn between them.
                    await asyncio.sleep(0)
                heard = await self._read(body)
                if isinstance(heard, Done):
                    return heard
                self._hear(heard, len(body), calls)
        return None

    async def _read(self, body: bytes) -> "Frame | _Call":
        reading = partial(_heard, body, self.program.functions, self._room.most, self._room.left)
        return await anyio.to_thread.run_sync(reading, limiter=self.beside) if len(body) > _LARGE else reading()

    def _hear(self, heard: "Frame | _Call", length: int, calls: TaskGroup) -> None:
        match heard:
            case Printed():
                self._print(heard.s, length)
            case _Call():
                self._check(heard.ordinal)
                # Answers may have made room meanwhile, and nothing else takes any.
                self._room.left -= heard.size
                calls.start_soon(self._answer, heard)
            case _:
                raise AstrayError("what only a start says")

    def _print(self, text: str, length: int) -> None:
        self._said += length
        self._pieces += 1
        pieces = most_pieces(self.limits.stdout)
        if not text or self._pieces > pieces or self._said > _ESCAPED * self.limits.stdout + _PRINT_FRAME * pieces:
            raise AstrayError("more than it may print")
        room = self.limits.stdout - self._shown
        encoded = text.encode()
        self._is_cut = self._is_cut or len(encoded) > room
        if shown := encoded[: max(0, room)].decode("utf-8", "ignore"):
            self._shown += len(shown.encode())
            self._stdout.append(shown)
            self.host.printed(shown)

    def _check(self, ordinal: int) -> None:
        if not 1 <= ordinal <= self.limits.calls:
            raise AstrayError("more calls than it may make")
        if ordinal in self._asked:
            raise AstrayError("one call twice")
        self._asked.add(ordinal)

    async def _answer(self, call: "_Call") -> None:
        async with self._turns:
            reply = await self.host.call(call.ordinal, call.function, call.arguments)
            if isinstance(reply, Raised):
                self._raised.add(reply.message[:_MOST_WORDS])
            # Before the program can know that there is room again.
            self._room.left += call.size
            if is_small(reply):
                text = _reply(call.ordinal, reply)
            else:
                text = await anyio.to_thread.run_sync(_reply, call.ordinal, reply, limiter=self.beside)
            await self._write(text)

    async def _write(self, text: bytes) -> None:
        writer = self.jailed.child.stdin
        assert writer is not None
        async with self._writing:
            try:
                writer.write(text)
                await writer.drain()
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has ended, and whoever listens to it hears so
            except RuntimeError:
                # What uvloop raises for the same.
                if not writer.is_closing():
                    raise

    async def _why(self, astray: str | None, seconds: float) -> Fault:
        """There was no last word: what it died of."""
        if astray is not None:
            return Fault("RuntimeError", f"The program was ended: its process said {astray}.")
        with anyio.move_on_after(_LAST):
            await self.jailed.child.wait()
        code = self.jailed.child.returncode
        if code is None:
            return Fault("RuntimeError", "The program closed its connection, and was ended.")
        number = -code if code < 0 else code - _SHELL
        # Only the limit of processor time and the kernel, out of memory, kill by force; the first takes its time.
        if number == signal.SIGXCPU or (number == signal.SIGKILL and seconds >= self.limits.cpu):
            why = f"The program computed for more than {self.limits.cpu:g} seconds. Do less, or in several runs."
            return Fault("TimeoutError", why)
        if number == signal.SIGKILL:
            return Fault("MemoryError", "The program was killed by the system, which ran out of memory.")
        if number == signal.SIGSYS:
            return Fault("RuntimeError", "The program was ended: it asked the kernel for what no program here may do.")
        if number in _CRASHES:
            name = signal.Signals(number).name
            return Fault(
                "RuntimeError",
                f"The Python of this program crashed ({name}). Too deep a recursion does that, and so does ctypes.",
            )
        return Fault("RuntimeError", "The program ended its process without an answer.")


@dataclass(frozen=True)
class _Call:
    """What it really calls, and with what: nothing that the process says of a call is believed."""

    ordinal: int
    function: Function
    arguments: dict[str, Json]
    size: int


def _heard(body: bytes, functions: Sequence[Function], most: int, left: int) -> Frame | _Call:
    """Touches nothing that the event loop has. Raises `AstrayError`."""
    frame = read(body)
    if not isinstance(frame, Called):
        return frame
    if not 0 <= frame.f < len(functions):
        raise AstrayError("a call of a function that it was not given")
    room = Room(most, HELD)
    room.left = left
    try:
        arguments = {str(plain(name, room)): plain(value, room) for name, value in frame.a.items()}
    except NotPlain as unfit:
        raise AstrayError(f"an argument that {unfit.why}") from unfit
    return _Call(frame.n, functions[frame.f], arguments, left - room.left)


def _overdue(limits: Limits) -> Fault:
    why = f"The program took longer than {limits.wall:g} seconds, waiting for its calls included."
    return Fault("TimeoutError", why)


def _reply(number: int, reply: Reply) -> bytes:
    if isinstance(reply, Waits):
        reply = Raised(
            "PermissionError",
            f"A person must allow this call first (ticket {reply.ticket}). This sandbox cannot wait for them: "
            "run the program again when it is decided.",
        )
    if isinstance(reply, Raised):
        return framed({"n": number, "type": reply.type, "message": reply.message})
    try:
        return framed({"n": number, "ok": whole(reply)})
    except (TypeError, ValueError, RecursionError) as error:
        return framed({"n": number, "type": "ValueError", "message": f"The answer is not plain JSON: {error}"})
