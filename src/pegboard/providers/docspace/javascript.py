"""Numbers and JSON as today's clients know them from a server in JavaScript: how they are written, and what is said of
text that is not JSON.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from operator import is_
from typing import Final

from pegboard.core.json.values import Json

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_EXPONENT_FROM: Final = 1e21
_CONTEXT_CHARS: Final = 10
"""Characters that are shown on each side of one that does not belong."""


def format_number(value: float) -> str:
    """`1.5`, `2` for 2.0, `1e+21`, `1e-7`."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < _EXPONENT_FROM):
        return str(int(value))
    if 1e-6 <= abs(value) < _EXPONENT_FROM:
        return format(Decimal(repr(value)), "f")
    return re.sub(r"e([+-])0*(\d)", r"e\1\2", repr(value))


def format_value(value: Json) -> str:
    """As it stands in a query or a path."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return format_number(value)
        case str():
            return value
        case _:
            return to_compact_json(value)


def to_compact_json(value: Json) -> str:
    return _escape_surrogates(json.dumps(normalize(value), ensure_ascii=False, separators=(",", ":")))


def to_indented_json(value: Json) -> str:
    return _escape_surrogates(json.dumps(normalize(value), ensure_ascii=False, indent=2))


def encode_utf8(text: str) -> bytes:
    """Halves of characters become the sign for what cannot be read."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _escape_surrogates(text: str) -> str:
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def normalize(value: Json) -> Json:
    """With 2 for 2.0, null for what is no number, and members that are numbered first and in their order. What is so
    already is not copied: it may be large."""
    match value:
        case float() if not isfinite(value):
            return None
        case float() if value.is_integer() and abs(value) < _EXPONENT_FROM:
            return int(value)
        case list() | tuple():
            items = [normalize(item) for item in value]
            return value if all(map(is_, items, value)) else items
        case Mapping():
            names = [*value]
            if any(_INDEX.fullmatch(name) for name in names):
                numbered = sorted((name for name in names if _INDEX.fullmatch(name)), key=int)
                names = [*numbered, *(name for name in names if not _INDEX.fullmatch(name))]
            members = {name: normalize(value[name]) for name in names}
            same = all(map(is_, members.values(), value.values())) and all(map(is_, names, value))
            return value if same else members
        case _:
            return value


class InvalidJsonError(ValueError):
    """What stands in a text where JSON would have stood."""


def parse_json(text: str) -> Json:
    """Raises `InvalidJsonError`."""
    try:
        value: Json = json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError as problem:
        raise InvalidJsonError(_describe_error(text, problem)) from None
    except _InvalidConstantError as found:
        raise InvalidJsonError(_describe_unexpected(text, found.position_in(text))) from None
    except (RecursionError, ValueError) as problem:
        raise InvalidJsonError(
            str(problem) if isinstance(problem, ValueError) else "The JSON is nested too deeply"
        ) from None
    return value


class _InvalidConstantError(Exception):
    def __init__(self, name: str) -> None:
        self.name = name

    def position_in(self, text: str) -> int:
        """Where it stands; of `-Infinity` the minus would have been fine."""
        return max(text.find(self.name), 0) + self.name.startswith("-")


def _reject_constant(name: str) -> Json:
    raise _InvalidConstantError(name)


def _describe_error(text: str, problem: json.JSONDecodeError) -> str:
    at = problem.pos
    match problem.msg:
        case "Extra data":
            return f"Unexpected non-whitespace character after JSON at position {at}"
        case "Expecting property name enclosed in double quotes" | "Illegal trailing comma before end of object":
            told = problem.msg
            if told.startswith("Illegal"):
                at = next((place for place in range(at + 1, len(text)) if not text[place].isspace()), len(text))
            before = text[:at].rstrip()
            if before.endswith("{"):
                return f"Expected property name or '}}' in JSON at position {at}"
            return f"Expected double-quoted property name in JSON at position {at}"
        case "Expecting ':' delimiter":
            return f"Expected ':' after property name in JSON at position {at}"
        case "Expecting ',' delimiter":
            what = (
                "',' or ']' after array element" if _is_within_array(text[:at]) else "',' or '}' after property value"
            )
            return f"Expected {what} in JSON at position {at}"
        case "Unterminated string starting at":
            return f"Unterminated string in JSON at position {len(text)}"
        case "Invalid control character at":
            return f"Bad control character in string literal in JSON at position {at}"
        case "Invalid \\escape" | "Invalid \\escape: ":
            return f"Bad escaped character in JSON at position {at + 1}"
        case "Invalid \\uXXXX escape":
            return f"Bad Unicode escape in JSON at position {at}"
        case "Illegal trailing comma before end of array":
            at = next((place for place in range(at + 1, len(text)) if not text[place].isspace()), len(text))
            return _describe_unexpected(text, at)
        case _:
            return _describe_unexpected(text, at)


def _describe_unexpected(text: str, at: int) -> str:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text):
        return "Unexpected end of JSON input"
    if text[at] == "-":
        return f"No number after minus sign in JSON at position {at + 1}"
    for word in ("true", "false", "null"):
        # Of a word that begins well, the first letter that does not belong is told.
        if text[at] == word[0]:
            while at < len(text) and word and text[at] == word[0]:
                at, word = at + 1, word[1:]
            break
    if at >= len(text):
        return "Unexpected end of JSON input"
    return f"Unexpected token '{text[at]}', {_excerpt(text, at)} is not valid JSON"


def _excerpt(text: str, at: int) -> str:
    if len(text) <= 2 * _CONTEXT_CHARS:
        return f'"{text}"'
    start, end = max(at - _CONTEXT_CHARS, 0), min(at + _CONTEXT_CHARS, len(text))
    if at < _CONTEXT_CHARS:
        return f'"{text[:end]}"...'
    return f'..."{text[start:]}"' if at >= len(text) - _CONTEXT_CHARS else f'..."{text[start:end]}"...'


def _is_within_array(before: str) -> bool:
    """Whether what is open at the end of this text is a list."""
    opened: list[str] = []
    in_text = escaped = False
    for mark in before:
        if in_text:
            in_text, escaped = (mark != '"' or escaped), mark == "\\" and not escaped
        elif mark == '"':
            in_text = True
        elif mark in "[{":
            opened.append(mark)
        elif mark in "]}" and opened:
            opened.pop()
    return bool(opened) and opened[-1] == "["
