"""JSON that every peer can read, whatever a server or client sends."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import pydantic_core

from pegboard.core.json.values import MAX_READABLE_DEPTH, Json, JsonObject, flatten_members

_TOO_DEEP: Final = ("recursion limit exceeded", "it is nested more than 200 levels deep")
"""The reader's own words for it, and ours."""

MAX_INT_DIGITS: Final = 100
_MAYBE_INFINITE: Final = re.compile(rb"[0-9]{309}|[eE]\+?[0-9]{3}")
_MAYBE_INVALID: Final = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]|NaN|Infinity|[0-9]{309}|[eE]\+?[0-9]{3}")
_MAYBE_NOT_JSON: Final = re.compile(rb"\xed[\xa0-\xbf]|NaN|Infinity")


@dataclass(frozen=True, slots=True)
class UnreadableJson:
    why: str
    id: str | int | None = None
    """Of a request that is JSON, and holds something that no other reader could be given."""


def parse_strict_json(text: bytes) -> "Json | UnreadableJson":
    """Strict JSON: no NaN, no half of a surrogate pair, no number or nesting that the next reader cannot hold."""
    try:
        value: Json = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        return UnreadableJson(str(error).replace(*_TOO_DEEP), _id_of(text))
    if _MAYBE_INFINITE.search(text) and not _is_finite(value):
        return UnreadableJson("a number is too large", _id_of(text))
    return value


def describe_unreadable(what: UnreadableJson) -> str:
    """What a request is told that is JSON all the same."""
    why, _, where = what.why.partition(" at ")
    # The reader's own words for it are about escapes that are cut off, and none is here.
    why = "half of a surrogate pair is no character" if why.endswith("hex escape") else why
    place = f" ({where})" if where else ""
    return f"The request is JSON that not every reader could be given: {why}{place}. Correct it."


def _id_of(text: bytes) -> str | int | None:
    """The id of a request, read generously: whoever waits for the answer must be able to tell that it is one."""
    try:
        value = _parse_leniently(text)
    except RecursionError:
        outside = flatten_members(text)
        if outside is None:
            return None
        try:
            value = _parse_leniently(outside)
        except (ValueError, RecursionError):
            return None
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        return None
    id = value.get("id")
    if isinstance(id, str):
        return id if _is_encodable(id) else None
    return id if isinstance(id, int) and not isinstance(id, bool) else None


def _parse_leniently(text: bytes) -> Json:
    value: Json = json.loads(text.decode(), parse_constant=_refuse_constant, parse_int=_read_int)
    return value


def _read_int(digits: str) -> int | None:
    """Nobody counts so far, and reading ever longer numbers takes ever longer."""
    return int(digits) if len(digits) <= MAX_INT_DIGITS else None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def parse_result(body: bytes) -> "JsonObject | UnreadableJson":
    """A server's answer, read generously: what a careless server wrote is mended as long as it can be understood."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return UnreadableJson(str(error))
    if not isinstance(value, dict):
        return UnreadableJson("it is not a JSON object")
    if body.count(b"{") + body.count(b"[") > MAX_READABLE_DEPTH and is_deeper_than(value, MAX_READABLE_DEPTH):
        return UnreadableJson(f"it is nested more than {MAX_READABLE_DEPTH} levels deep")
    return sanitize_object(value) if _MAYBE_INVALID.search(body) else value


def is_sendable(value: JsonObject) -> bool:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return text.count("{") + text.count("[") <= MAX_READABLE_DEPTH or not is_deeper_than(value, MAX_READABLE_DEPTH)


def is_sendable_text(text: bytes) -> bool:
    """Whether this text, which Python wrote, can be sent as it is. A cheap look: what it doubts may be sound."""
    return text.count(b"{") + text.count(b"[") < MAX_READABLE_DEPTH and _MAYBE_NOT_JSON.search(text) is None


def sanitize_object(value: JsonObject) -> JsonObject:
    """The same object; only if some text or number in it cannot be encoded, a copy in which that is mended."""
    if is_sendable(value):
        return value
    return {sanitize_text(key): _sanitize_value(member) for key, member in value.items()}


def sanitize_text(text: str) -> str:
    """Half a surrogate pair is no character and cannot be sent: it becomes the replacement character."""
    return text if _is_encodable(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_deeper_than(value: Json, levels: int) -> bool:
    """Whether the value is nested deeper than this. Without recursion, which deep values would exhaust."""
    row = _containers([value])
    for _ in range(levels):
        if not row:
            return False
        row = [inner for outer in row for inner in _containers(_members(outer))]
    return bool(row)


Container: TypeAlias = "dict[str, Json] | list[Json]"


def _containers(values: Iterable[Json]) -> list[Container]:
    return [value for value in values if isinstance(value, dict | list)]


def _members(container: Container) -> Iterable[Json]:
    return container.values() if isinstance(container, dict) else container


def _sanitize_value(value: Json) -> Json:
    match value:
        case str():
            return sanitize_text(value)
        case float() if not math.isfinite(value):
            return None
        case list():
            return [_sanitize_value(member) for member in value]
        case dict():
            return {sanitize_text(key): _sanitize_value(member) for key, member in value.items()}
        case _:
            return value


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(value: Json) -> bool:
    row: list[Json] = [value]
    while row:
        if any(isinstance(member, float) and not math.isfinite(member) for member in row):
            return False
        row = [member for container in _containers(row) for member in _members(container)]
    return True
