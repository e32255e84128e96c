"""Why a program in a worker failed, in words for the model that wrote it."""

import builtins
import datetime
import re
import sys
from collections.abc import Container
from typing import Final

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from pegboard.core.model.text import truncate
from pegboard.ports.sandbox import ProgramFailure, SandboxLimits
from pegboard.providers.sandbox.prelude import WorkerProgram

# What to do about an error of Python's own words, where they alone lead a model astray.

_DICT_ATTRIBUTE: Final = re.compile(r"'dict' object has no attribute '(\w+)'")
_STR_INDEX: Final = re.compile(r"^string ind(?:ices|ex) must be integers?|^str indices must be integers")
_COROUTINE: Final = re.compile(r"'coroutine'|not coroutine\b|coroutine was expected")
_MISSING_ATTRIBUTE: Final = re.compile(r"(?:type object )?'(\w+)'(?: object)? has no attribute '([A-Za-z]\w*)'")
_PERMISSION_DENIED: Final = re.compile(
    r"^Permission denied: '|^\[Errno \d+\] (?:Permission denied|Operation not permitted)"
)
_CALL_INSIDE_SYNC: Final = re.compile(r"^external function '([\w.]+)' cannot suspend in this synchronous context")
_AWAITABLE_REQUIRED: Final = re.compile(r"^An asyncio\.Future, a coroutine or an awaitable is required")
GATHER_ARGUMENTS_HINT: Final = "Give `asyncio.gather` the calls one by one: `await asyncio.gather(*calls)`."
NO_FILES_HINT: Final = "There are no files, no network and no environment here: what a program needs comes from tools."


def add_hint(type_: str, message: str) -> str:
    """The message with what to write instead, if that is known."""
    hint = _hint(type_, message)
    return f"{message.rstrip('.')}. {hint}" if hint else message


def _hint(type_: str, message: str) -> str:
    if (key := _DICT_ATTRIBUTE.search(message)) and not hasattr(dict, key[1]):
        return f"A dictionary has keys: write `['{key[1]}']`."
    if type_ == "TypeError" and _STR_INDEX.search(message):
        return "This is a text. If it holds JSON, read it first: `json.loads(…)`."
    if type_ in ("TypeError", "AttributeError") and _COROUTINE.search(message):
        return "Is `await` missing before the call?"
    if type_ == "TypeError" and _AWAITABLE_REQUIRED.search(message):
        return GATHER_ARGUMENTS_HINT
    if type_ == "PermissionError" and _PERMISSION_DENIED.search(message):
        return NO_FILES_HINT
    if type_ == "TimeoutError" and not message:
        return "A wait with a deadline of its own (`asyncio.wait_for`, `asyncio.timeout`) took longer than that."
    return ""


def add_monty_hint(type_: str, message: str) -> str:
    """What its own Python lacks besides."""
    if inside := _CALL_INSIDE_SYNC.search(message):
        return (
            f"This Python does not support calls of tools in a function that `map`, `filter` or `key=` calls: "
            f"call `{inside[1]}` in a list comprehension instead."
        )
    found = _MISSING_ATTRIBUTE.search(message) if type_ == "AttributeError" else None
    if found and hasattr(getattr(builtins, found[1], None), found[2]):
        return (
            f"{message.rstrip('.')}. This Python has not all methods, and none as a value: call `x.{found[2]}(…)` in a "
            "lambda, or do without."
        )
    return add_hint(type_, message)


MAX_MESSAGE_CHARS: Final = 2_000
"""Characters of a message. A program can raise whatever it likes, and a model pays for each word."""
_UNSUPPORTED_FEATURE: Final = re.compile(
    r"not (?:yet )?support|not implemented|internal error in monty|cannot suspend in this synchronous"
    r"|^JSONEncoder\.__init__\(\) got an unexpected|^'list' object is not an iterator",
    re.IGNORECASE,
)
_MODULE_ERROR: Final = re.compile(r"(?:No module named|cannot import name '\w+' from|^module) '(\w+)")
_ATTRIBUTE_ERROR: Final = re.compile(r"'(?:datetime\.)?(\w+)'(?: object)? has no attribute '(\w+)'")
_PARSER_ERROR: Final = re.compile(r"^The monty syntax parser does not yet support (?:the )?(.*)")
_BAD_EXCEPTION_ARGUMENTS: Final = "exceptions can only be called with zero or one string argument"
EXCEPTION_ARGUMENTS_HINT: Final = (
    "This Python does not support exceptions of anything but one text, or nothing: put all of it into one, "
    "as in `raise ValueError(f'{a}: {b}')`."
)
_UNDEFINED_NAME: Final = re.compile(r"name '(\w+)' is not defined")


def explain_error(
    error: MontyError, program: WorkerProgram, limits: SandboxLimits, raised: Container[str] = ()
) -> ProgramFailure:
    """`raised` are the words of calls that failed."""
    if isinstance(error, MontyCrashedError):
        if error.timed_out:
            return explain_cpu_limit(limits)
        return ProgramFailure(
            "RuntimeError", "The worker that ran the program is gone: ended from outside, or broken. Run it again."
        )
    line = None
    message = str(error)
    if isinstance(error, MontyRuntimeError | MontySyntaxError):
        message = error.display("msg")
        # The innermost place, which a program that recurses without end has a thousand of.
        line = next((program.own_line(frame.line) for frame in reversed(error.traceback())), None)
    type_ = _type_name(error)
    if type_ == "TimeoutError" and "time limit exceeded" in message:
        return explain_cpu_limit(limits)
    if type_ == "MemoryError" and "memory limit" in message:
        return ProgramFailure(
            type_, f"The program needs more than {limits.memory >> 20:,} MB of memory. Keep less at a time.", line
        )
    if type_ == "RuntimeError" and message.startswith("suspension limit"):
        return ProgramFailure(
            type_, "The program keeps asking its host for things, such as names that do not exist, without end.", line
        )
    if message in raised:
        return ProgramFailure(type_, _truncate(message), line)
    return ProgramFailure(type_, clean_message(add_monty_hint(type_, message)), line, is_unsupported(type_, message))


def explain_cpu_limit(limits: SandboxLimits) -> ProgramFailure:
    return ProgramFailure(
        "TimeoutError", f"The program computed for more than {limits.cpu:g} seconds. Do less, or in several runs."
    )


def is_unsupported(type_: str, message: str) -> bool:
    """Whether Python itself would not have failed here, as far as the words tell."""
    match type_:
        case "NotImplementedError" | "TypeError" | "RuntimeError" | "SyntaxError":
            return bool(_UNSUPPORTED_FEATURE.search(message))
        case "ModuleNotFoundError" | "ImportError" | "AttributeError" if found := _MODULE_ERROR.search(message):
            return found[1] in sys.stdlib_module_names
        case "AttributeError" if found := _ATTRIBUTE_ERROR.search(message):
            return any(hasattr(getattr(module, found[1], None), found[2]) for module in (builtins, datetime))
        case "NameError" if found := _UNDEFINED_NAME.search(message):
            return hasattr(builtins, found[1])
        case _:
            return False


def clean_message(message: str) -> str:
    """The worker's words, without what means nothing to whoever wrote the program."""
    if _BAD_EXCEPTION_ARGUMENTS in message:
        return EXCEPTION_ARGUMENTS_HINT
    message = _PARSER_ERROR.sub(r"This Python does not support \1.", message.removesuffix(" (unknown location)"))
    return _truncate(message)


def _truncate(message: str) -> str:
    return truncate(message, MAX_MESSAGE_CHARS, total=True)


def _type_name(error: MontyError) -> str:
    inner = type(error.exception())
    return (
        inner.__name__ if inner.__module__ in ("builtins", "json.decoder") else f"{inner.__module__}.{inner.__name__}"
    )
