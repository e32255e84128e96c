"""Why a program in a worker failed, in words for the model that wrote it."""

import builtins
import datetime
import re
import sys
from collections.abc import Container
from typing import Final

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from pegboard.ports.sandbox import Fault, Limits

from .hints import hinted_of_monty
from .prelude import Framed

MOST: Final = 2_000
"""Characters of a message. A program can raise whatever it likes, and a model pays for each word."""
_UNSUPPORTED: Final = re.compile(
    r"not (?:yet )?support|not implemented|internal error in monty|cannot suspend in this synchronous"
    r"|^JSONEncoder\.__init__\(\) got an unexpected|^'list' object is not an iterator",
    re.IGNORECASE,
)
_OF_MODULE: Final = re.compile(r"(?:No module named|cannot import name '\w+' from|^module) '(\w+)")
_OF_TYPE: Final = re.compile(r"'(?:datetime\.)?(\w+)'(?: object)? has no attribute '(\w+)'")
_PARSER: Final = re.compile(r"^The monty syntax parser does not yet support (?:the )?(.*)")
_NOT_ONE_TEXT: Final = "exceptions can only be called with zero or one string argument"
ONE_TEXT: Final = (
    "This Python does not support exceptions of anything but one text, or nothing: put all of it into one, "
    "as in `raise ValueError(f'{a}: {b}')`."
)
_UNDEFINED: Final = re.compile(r"name '(\w+)' is not defined")


def fault(error: MontyError, program: Framed, limits: Limits, raised: Container[str] = ()) -> Fault:
    """`raised` are the words of calls that failed."""
    if isinstance(error, MontyCrashedError):
        if error.timed_out:
            return overtime(limits)
        return Fault(
            "RuntimeError", "The worker that ran the program is gone: ended from outside, or broken. Run it again."
        )
    line = None
    message = str(error)
    if isinstance(error, MontyRuntimeError | MontySyntaxError):
        message = error.display("msg")
        # The innermost place, which a program that recurses without end has a thousand of.
        line = next((program.own(frame.line) for frame in reversed(error.traceback())), None)
    type_ = _type(error)
    if type_ == "TimeoutError" and "time limit exceeded" in message:
        return overtime(limits)
    if type_ == "MemoryError" and "memory limit" in message:
        return Fault(
            type_, f"The program needs more than {limits.memory >> 20:,} MB of memory. Keep less at a time.", line
        )
    if type_ == "RuntimeError" and message.startswith("suspension limit"):
        return Fault(
            type_, "The program keeps asking its host for things, such as names that do not exist, without end.", line
        )
    if message in raised:
        return Fault(type_, _shortened(message), line)
    return Fault(type_, told(hinted_of_monty(type_, message)), line, is_lacking(type_, message))


def overtime(limits: Limits) -> Fault:
    return Fault(
        "TimeoutError", f"The program computed for more than {limits.cpu:g} seconds. Do less, or in several runs."
    )


def is_lacking(type_: str, message: str) -> bool:
    """Whether Python itself would not have failed here, as far as the words tell."""
    match type_:
        case "NotImplementedError" | "TypeError" | "RuntimeError" | "SyntaxError":
            return bool(_UNSUPPORTED.search(message))
        case "ModuleNotFoundError" | "ImportError" | "AttributeError" if found := _OF_MODULE.search(message):
            return found[1] in sys.stdlib_module_names
        case "AttributeError" if found := _OF_TYPE.search(message):
            return any(hasattr(getattr(module, found[1], None), found[2]) for module in (builtins, datetime))
        case "NameError" if found := _UNDEFINED.search(message):
            return hasattr(builtins, found[1])
        case _:
            return False


def told(message: str) -> str:
    """The worker's words, without what means nothing to whoever wrote the program."""
    if _NOT_ONE_TEXT in message:
        return ONE_TEXT
    message = _PARSER.sub(r"This Python does not support \1.", message.removesuffix(" (unknown location)"))
    return _shortened(message)


def _shortened(message: str) -> str:
    return message if len(message) <= MOST else message[: MOST - 1] + "…"


def _type(error: MontyError) -> str:
    inner = type(error.exception())
    return (
        inner.__name__ if inner.__module__ in ("builtins", "json.decoder") else f"{inner.__module__}.{inner.__name__}"
    )
