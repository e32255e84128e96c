"""What to do about an error of Python's own words, where they alone lead a model astray."""

import builtins
import re
from typing import Final

_DICT_ATTRIBUTE: Final = re.compile(r"'dict' object has no attribute '(\w+)'")
_STR_INDEX: Final = re.compile(r"^string ind(?:ices|ex) must be integers?|^str indices must be integers")
_COROUTINE: Final = re.compile(r"'coroutine' object|not '?coroutine'?\b|coroutine was expected")
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
