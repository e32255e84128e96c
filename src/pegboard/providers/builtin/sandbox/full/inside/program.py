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

from ...plain import NotPlain, Room, plain  # noqa: TID252 - the jailed process knows its package by another name
from .channel import Channel
from .functions import Functions
from .printing import Output
from .turns import Frame, Loop, turn_on

FILE: Final = "program.py"
_VALUE: Final = " value"
"""Where the value of the last line is kept: no name that a program can say."""
_MOST_WORDS: Final = 2_000
_RESERVE: Final = 4 << 20
_NO_FRAME: Final = "error return without exception set"
"""What Python says where there is no memory for the frame of one more call."""
_TOO_DEEP: Final = "The functions of the program call one another so deep that the memory it may use is full."
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Run:
    def __init__(self, channel: Channel, given: Frame) -> None:
        self._channel = channel
        self._code: str = given["code"].removeprefix("\ufeff")
        self._sleep: float = given["sleep"]
        self._result: int = given["result"]
        self._output = Output(lambda text: channel.say(t="print", s=text), given["stdout"])
        self._functions = Functions(self._say, given["calls"], given["arguments"])
        self._module = types.ModuleType("__main__")
        # A program that changes built-ins changes its own, and this process still says how it ended.
        self._builtins = types.ModuleType("builtins")
        self._builtins.__dict__.update(builtins.__dict__, exit=sys.exit, quit=sys.exit)
        self._module.__dict__["__builtins__"] = self._builtins
        self._functions.put_into(self._module, given["functions"], given["modules"])
        self._reserve = bytearray(_RESERVE)
        """Released when a program fails: it may have used all other memory, and how it ended must still be said."""

    def __call__(self) -> None:
        """Says how it ended."""
        sys.modules["__main__"] = self._module
        sys.modules["builtins"] = self._builtins
        sys.stdout = sys.stderr = self._output
        sys.stdin = io.StringIO()
        warnings.simplefilter("ignore")
        linecache.cache[FILE] = (len(self._code), None, self._code.splitlines(keepends=True), FILE)
        self._count_sleep()
        value: object = None
        fault: Frame | None = None
        try:
            value = plain(self._ran(), Room(self._result))
            # Exactly this time: what has to be escaped is longer than it looks.
            Room(self._result).take(len(_encode(value).encode()))
        except NotPlain as unfit:
            value = None
            fault = _fault("TypeError", f"The result cannot be given back: result{unfit.path} {unfit.sentence}")
        except SystemExit as end:
            if end.code not in (None, 0):
                fault = _fault("SystemExit", str(end.code), _line(end))
        except BaseException as error:  # noqa: BLE001 - whatever it raises is its end, and is told
            self._reserve.clear()
            fault = _told(error)
        unmade = self._functions.forgotten() if fault is None else []
        self._output.pass_on()
        self._channel.say(t="done", r=value, e=fault, x=self._output.is_cut, u=unmade)

    def _ran(self) -> object:
        tree = ast.parse(self._code, FILE)
        if tree.body and isinstance(last := tree.body[-1], ast.Expr):
            target = ast.copy_location(ast.Name(_VALUE, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        code = compile(tree, FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        names = self._module.__dict__
        loop = turn_on(self._loop)
        if code.co_flags & inspect.CO_COROUTINE:
            loop.run_until_complete(eval(code, names))  # noqa: S307 - to run it is what this process is for
        else:
            exec(code, names)  # noqa: S102 - see above
        return names.pop(_VALUE, None)

    def _loop(self) -> Loop:
        return Loop(self._hear, self._functions.answer)

    def _hear(self, seconds: float | None) -> list[Frame]:
        self._output.flush()
        return self._channel.hear(seconds)

    def _say(self, **frame: object) -> None:
        self._output.flush()
        self._channel.say(**frame)

    def _count_sleep(self) -> None:
        most, sleep, later = self._sleep, time.sleep, asyncio.sleep

        def spend(seconds: float) -> None:
            self._sleep -= max(0.0, seconds)
            if self._sleep < 0:
                raise TimeoutError(f"A program may sleep {most:g} seconds in all.")

        def counted(seconds: float) -> None:
            spend(seconds)
            sleep(seconds)

        async def counted_later(delay: float, result: Any = None) -> Any:
            spend(delay)
            return await later(delay, result)

        time.sleep, asyncio.sleep = counted, counted_later  # type: ignore[assignment]  # the same to whoever calls them


def _fault(type_: str, message: str, line: int | None = None) -> Frame:
    # Half a character has no form that can leave.
    whole = [text[:_MOST_WORDS].encode(errors="replace").decode() for text in (type_, message)]
    return {"type": whole[0], "message": whole[1], "line": line}


def _told(error: BaseException) -> Frame:
    kind = type(error)
    name = (
        kind.__name__
        if kind.__module__ in ("builtins", "__main__", "json.decoder")
        else f"{kind.__module__}.{kind.__name__}"
    )
    if kind is SystemError and str(error) == _NO_FRAME:
        return _fault("RecursionError", _TOO_DEEP, _line(error))
    if isinstance(error, SyntaxError) and error.filename == FILE:
        return _fault(name, str(error.msg), error.lineno)
    try:
        words = str(error)
    except Exception as worse:  # noqa: BLE001 - a program may raise what cannot say itself
        words = f"<its words raise {type(worse).__name__}>"
    return _fault(name, words, _line(error))


def _line(error: BaseException) -> int | None:
    """The innermost line of the program itself. It needs no memory: a deep recursion may have used all of it."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == FILE:
            line = number
    return line
