"""One program: compiled, run with the functions it was given, and what came of it."""

import ast
import asyncio
import builtins
import inspect
import io
import json
import linecache
import sys
import time
import traceback
import types
import warnings
from asyncio import events
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ...arguments import InvalidCallError, collect_arguments, too_many_calls_message  # noqa: TID252 - the jailed process knows its package by another name
from ...plain_values import BYTES_PER_VALUE, JsonBudget, NotJsonError, to_json  # noqa: TID252 - the jailed process knows its package by another name
from .channel import JailChannel

# The standard output of a program: lines to the gateway, and nothing after the limit.

_UNBUFFERED_PIECES: Final = 1_000
"""Pieces that are told as they come, however short. Later ones are told together."""
_BUFFER_CHARS: Final = 1_024
"""Characters."""


def max_pieces(most: int) -> int:
    """In how many pieces so many bytes are told at most."""
    return _UNBUFFERED_PIECES + most // _BUFFER_CHARS + 2


class ProgramOutput(io.TextIOBase):
    def __init__(self, say: Callable[[str], None], most: int) -> None:
        self._send = say
        self._remaining = most
        self._buffer: list[str] = []
        self._buffered_chars = 0
        self._pieces = 0
        self.is_truncated = False

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only here, as nobody can change it
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._remaining > 0 and text:
            self._buffer.append(text)
            self._buffered_chars += len(text)
            if self._buffered_chars >= self._remaining or "\n" in text:
                self.flush()
        elif text:
            self.is_truncated = True
        return len(text)

    def flush(self) -> None:
        if self._pieces < _UNBUFFERED_PIECES or self._buffered_chars >= min(_BUFFER_CHARS, self._remaining):
            self.flush_all()

    def flush_all(self) -> None:
        """All that is left, be it ever so little."""
        if not self._buffer:
            return
        text = "".join(self._buffer)
        self._buffer.clear()
        self._buffered_chars = 0
        encoded = text[: self._remaining + 1].encode("utf-8", "replace")
        if len(encoded) > self._remaining:
            self.is_truncated = True
        if shown := encoded[: self._remaining].decode("utf-8", "ignore"):
            self._pieces += 1
            self._send(shown)
        self._remaining -= len(encoded)


# The event loop of a program: asyncio's own, turning on frames of the gateway instead of sockets, which there are
# none
# of.

Frame = dict[str, Any]


class FrameSelector:
    """What the loop takes for a selector: it waits for frames, and for nothing else."""

    def __init__(self, hear: Callable[[float | None], list[Frame]]) -> None:
        self._receive = hear

    def select(self, timeout: float | None = None) -> list[Frame]:
        return self._receive(timeout)

    def close(self) -> None:
        pass


class FrameEventLoop(asyncio.BaseEventLoop):
    _selector: FrameSelector

    def __init__(self, hear: Callable[[float | None], list[Frame]], heard: Callable[[Frame], None]) -> None:
        super().__init__()
        self._selector = FrameSelector(hear)
        self._handle_frame = heard

    def _process_events(self, event_list: Sequence[Frame]) -> None:
        for frame in event_list:
            self._handle_frame(frame)

    def _write_to_self(self) -> None:
        """Nobody else could wake it: there are no threads, and signals interrupt the wait."""

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        raise NotImplementedError("there are no signals in this sandbox")


def install_event_loop(make: Callable[[], FrameEventLoop]) -> FrameEventLoop:
    """Whoever asks asyncio for a loop from now on, as `asyncio.run` does, gets one that `make` makes."""
    asyncio.new_event_loop = events.new_event_loop = make
    loop = make()
    asyncio.set_event_loop(loop)
    return loop


# The functions of the host as a program has them: said when they are called, made when they are awaited.


class SendFrame(Protocol):
    def __call__(self, **frame: object) -> None: ...


@dataclass(frozen=True)
class _HostFunction:
    number: int
    name: str
    qualified_name: str
    parameters: tuple[str, ...]


class HostFunctions:
    def __init__(self, say: SendFrame, most: int, arguments: int) -> None:
        self._send = say
        self._max_calls = most
        self._budget = JsonBudget(arguments, BYTES_PER_VALUE)
        self._call_count = 0
        self._unawaited_calls: dict[int, tuple[int, int]] = {}
        self._pending: dict[int, tuple[asyncio.Future[Any], int]] = {}

    def install(self, module: types.ModuleType, functions: list[list[Any]], modules: list[str]) -> None:
        for owner in modules:
            _ensure_module(module, owner)
        for number, (owner, name, parameters) in enumerate(functions):
            place = _ensure_module(module, owner) if owner else module
            spoken = f"{owner}.{name}" if owner else name
            place.__dict__[name] = self._make_callable(_HostFunction(number, name, spoken, tuple(parameters)))

    def handle_answer(self, frame: Frame) -> None:
        waited = self._pending.pop(frame["n"], None)
        if waited is None:
            return
        future, size = waited
        self._budget.remaining += size
        if future.done():
            return
        if "type" in frame:
            future.set_exception(_make_exception(frame["type"], frame["message"]))
        else:
            future.set_result(frame["ok"])

    def unawaited_calls(self) -> list[tuple[int, int]]:
        """The calls that were never awaited: the number of the function, and the line."""
        return [*self._unawaited_calls.values()]

    def _make_callable(self, function: _HostFunction) -> Callable[..., Coroutine[Any, Any, Any]]:
        def call(*positional: Any, **named: Any) -> Coroutine[Any, Any, Any]:
            if self._call_count >= self._max_calls:
                raise RuntimeError(
                    too_many_calls_message(self._max_calls, self._call_count - len(self._unawaited_calls))
                )
            before = self._budget.remaining
            try:
                arguments = collect_arguments(function, positional, named, self._budget)
            except InvalidCallError as unfit:
                self._budget.remaining = before
                raise TypeError(str(unfit)) from None
            self._call_count += 1
            self._unawaited_calls[self._call_count] = function.number, sys._getframe(1).f_lineno
            return self._perform_call(self._call_count, function.number, arguments, before - self._budget.remaining)

        call.__name__ = function.name
        call.__qualname__ = function.qualified_name
        call.__module__ = "__main__"
        return call

    async def _perform_call(self, ordinal: int, function: int, arguments: dict[str, Any], size: int) -> Any:
        self._unawaited_calls.pop(ordinal, None)
        future = asyncio.get_running_loop().create_future()
        self._pending[ordinal] = future, size
        try:
            self._send(t="call", n=ordinal, f=function, a=arguments)
        except TypeError:
            self._pending.pop(ordinal)
            self._budget.remaining += size
            raise
        return await future


def _ensure_module(module: types.ModuleType, name: str) -> types.ModuleType:
    known = module.__dict__.get(name)
    place = known if isinstance(known, types.ModuleType) else types.ModuleType(name)
    module.__dict__[name] = place
    sys.modules.setdefault(name, place)
    return place


def _make_exception(name: str, message: str) -> Exception:
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message)
        except TypeError:  # one that is made of more than words
            pass
    return RuntimeError(message)


PROGRAM_FILE: Final = "program.py"
_RESULT_NAME: Final = " value"
"""Where the value of the last line is kept: no name that a program can say."""
_MAX_MESSAGE_CHARS: Final = 2_000
_RESERVE_BYTES: Final = 4 << 20
_NO_MEMORY_FOR_FRAME: Final = "error return without exception set"
"""What Python says where there is no memory for the frame of one more call."""
_TOO_DEEP_MESSAGE: Final = "The functions of the program call one another so deep that the memory it may use is full."
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JailedProgram:
    def __init__(self, channel: JailChannel, given: Frame) -> None:
        self._channel = channel
        self._code: str = given["code"].removeprefix("\ufeff")
        self._sleep_left: float = given["sleep"]
        self._max_result_bytes: int = given["result"]
        self._output = ProgramOutput(lambda text: channel.send(t="print", s=text), given["stdout"])
        self._functions = HostFunctions(self._send, given["calls"], given["arguments"])
        self._module = types.ModuleType("__main__")
        # A program that changes built-ins changes its own, and this process still says how it ended.
        self._builtins = types.ModuleType("builtins")
        self._builtins.__dict__.update(builtins.__dict__, exit=sys.exit, quit=sys.exit)
        self._module.__dict__["__builtins__"] = self._builtins
        self._functions.install(self._module, given["functions"], given["modules"])
        self._reserve = bytearray(_RESERVE_BYTES)
        """Released when a program fails: it may have used all other memory, and how it ended must still be said."""

    def __call__(self) -> None:
        """Says how it ended."""
        sys.modules["__main__"] = self._module
        sys.modules["builtins"] = self._builtins
        sys.stdout = sys.stderr = self._output
        sys.stdin = io.StringIO()
        warnings.simplefilter("ignore")
        linecache.cache[PROGRAM_FILE] = (len(self._code), None, self._code.splitlines(keepends=True), PROGRAM_FILE)
        self._limit_sleep()
        value: object = None
        fault: Frame | None = None
        try:
            value = to_json(self._execute(), JsonBudget(self._max_result_bytes))
            # Exactly this time: what has to be escaped is longer than it looks.
            JsonBudget(self._max_result_bytes).spend(len(_encode(value).encode()))
        except NotJsonError as unfit:
            value = None
            fault = _error_frame("TypeError", f"The result cannot be given back: result{unfit.path} {unfit.sentence}")
        except SystemExit as end:
            if end.code not in (None, 0):
                fault = _error_frame("SystemExit", str(end.code), _program_line(end))
        except BaseException as error:  # noqa: BLE001 - whatever it raises is its end, and is told
            self._reserve.clear()
            fault = _describe_error(error)
        unmade = self._functions.unawaited_calls() if fault is None else []
        self._output.flush_all()
        self._channel.send(t="done", r=value, e=fault, x=self._output.is_truncated, u=unmade)

    def _execute(self) -> object:
        tree = ast.parse(self._code, PROGRAM_FILE)
        if tree.body and isinstance(last := tree.body[-1], ast.Expr):
            target = ast.copy_location(ast.Name(_RESULT_NAME, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        code = compile(tree, PROGRAM_FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        names = self._module.__dict__
        loop = install_event_loop(self._new_loop)
        if code.co_flags & inspect.CO_COROUTINE:
            loop.run_until_complete(eval(code, names))  # noqa: S307 - to run it is what this process is for
        else:
            exec(code, names)  # noqa: S102 - see above
        return names.pop(_RESULT_NAME, None)

    def _new_loop(self) -> FrameEventLoop:
        return FrameEventLoop(self._receive, self._functions.handle_answer)

    def _receive(self, seconds: float | None) -> list[Frame]:
        self._output.flush()
        return self._channel.receive(seconds)

    def _send(self, **frame: object) -> None:
        self._output.flush()
        self._channel.send(**frame)

    def _limit_sleep(self) -> None:
        most, sleep, later = self._sleep_left, time.sleep, asyncio.sleep

        def spend(seconds: float) -> None:
            self._sleep_left -= max(0.0, seconds)
            if self._sleep_left < 0:
                raise TimeoutError(f"A program may sleep {most:g} seconds in all.")

        def limited_sleep(seconds: float) -> None:
            spend(seconds)
            sleep(seconds)

        async def counted_later(delay: float, result: Any = None) -> Any:
            spend(delay)
            return await later(delay, result)

        time.sleep, asyncio.sleep = limited_sleep, counted_later  # type: ignore[assignment]  # the same to whoever calls them


def _error_frame(type_: str, message: str, line: int | None = None) -> Frame:
    # Half a character has no form that can leave.
    whole = [text[:_MAX_MESSAGE_CHARS].encode(errors="replace").decode() for text in (type_, message)]
    return {"type": whole[0], "message": whole[1], "line": line}


def _describe_error(error: BaseException) -> Frame:
    kind = type(error)
    name = (
        kind.__name__
        if kind.__module__ in ("builtins", "__main__", "json.decoder")
        else f"{kind.__module__}.{kind.__name__}"
    )
    if kind is SystemError and str(error) == _NO_MEMORY_FOR_FRAME:
        return _error_frame("RecursionError", _TOO_DEEP_MESSAGE, _program_line(error))
    if isinstance(error, SyntaxError) and error.filename == PROGRAM_FILE:
        return _error_frame(name, str(error.msg), error.lineno)
    try:
        words = str(error)
    except Exception as worse:  # noqa: BLE001 - a program may raise what cannot say itself
        words = f"<its words raise {type(worse).__name__}>"
    return _error_frame(name, words, _program_line(error))


def _program_line(error: BaseException) -> int | None:
    """The innermost line of the program itself. It needs no memory: a deep recursion may have used all of it."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == PROGRAM_FILE:
            line = number
    return line
