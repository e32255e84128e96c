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
from typing import Any, Final

from ...plain import JsonBudget, NotJsonError, to_json  # noqa: TID252 - the jailed process knows its package by another name
from .channel import JailChannel
from .functions import HostFunctions
from .printing import ProgramOutput
from .turns import Frame, FrameEventLoop, install_event_loop

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
