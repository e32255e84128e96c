"""Values on their way out of a sandbox: plain JSON, of a size that was agreed on, or words that say what is not."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard.core.json.values import Json


MAX_DEPTH: Final = 64
"""Levels of lists and objects. Deeper ones are a trap for whoever walks through them, and no tool's arguments."""
_MIN_INTEGER: Final = -(2**63)
_MAX_INTEGER: Final = 2**64 - 1
BYTES_PER_VALUE: Final = 40
"""Bytes that a value of a list or an object counts besides its text while it is held."""
_MAX_NAME_CHARS: Final = 80
_CLOSED_BUDGET: Final = -1

_CONVERSION_HINTS: Final[Mapping[str, str]] = {
    "datetime": "use .isoformat()",
    "date": "use .isoformat()",
    "time": "use .isoformat()",
    "timedelta": "use .total_seconds()",
    "Decimal": "use str() or float()",
    "bytes": "use .decode() or base64",
    "bytearray": "use .decode() or base64",
    "set": "use sorted() or list()",
    "frozenset": "use sorted() or list()",
    "complex": "use a list of two numbers",
    "coroutine": "did you forget `await`?",
    "function": "did you forget to call it?",
    "iterator": "use list()",
    "range": "use list()",
    "dict_keys": "use list()",
    "dict_values": "use list()",
    "dict_items": "use dict() or list()",
    "Match": "use .group()",
    "Pattern": "use .pattern",
    "ellipsis": "use None",
}


class NotJsonError(Exception):
    """Why a value cannot leave the sandbox, and where in it that is."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    @property
    def sentence(self) -> str:
        return self.why if self.why.endswith("?") else f"{self.why}."

    def with_prefix(self, place: str) -> "NotJsonError":
        return NotJsonError(self.why, place + self.path)


class JsonBudget:
    """How much may still cross, in bytes of JSON text, counted while values are walked through.

    `each` is counted besides for every value in a list or an object: two brackets are little text, and much memory and
    time for whoever holds and walks through a million of them. `stands_for` tells of a text the type of what it stands
    for, where there may be such texts.
    """

    def __init__(
        self, limit: int, bytes_per_value: int = 0, stand_in_type: Callable[[str], str | None] | None = None
    ) -> None:
        self.limit = limit
        self.remaining = limit
        self.bytes_per_value = bytes_per_value
        self.stand_in_type = stand_in_type

    def close(self) -> None:
        """From another thread: whoever walks through values ends at the next."""
        self.limit = self.remaining = _CLOSED_BUDGET

    def spend(self, size: int) -> None:
        self.remaining -= size
        if self.remaining < 0 or self.limit < 0:
            raise NotJsonError(f"is too large: {self.limit:,} bytes of JSON may leave the sandbox")


def to_json(value: object, room: JsonBudget, depth: int = 0) -> "Json":
    """The value as JSON has it: tuples as lists, keys as text. Raises `NotJsonError`."""
    match value:
        case None | bool():
            room.spend(5)
            return value
        case str():
            return _str_to_json(value, room)
        case int():
            if not _MIN_INTEGER <= value <= _MAX_INTEGER:
                raise NotJsonError("is an integer of more than 64 bits; use str()")
            room.spend(len(str(value)))
            # A subclass could bring anything along, so the number alone goes on.
            return int(value)
        case float():
            if not math.isfinite(value):
                raise NotJsonError(f"is {float(value)!r}, which JSON does not have; use None or text")
            room.spend(8)
            return float(value)
        case list() | tuple():
            return _list_to_json(value, room, depth)
        case dict():
            return _dict_to_json(value, room, depth)
        case _:
            raise NotJsonError(_not_json_message(_type_name(value)))


def _str_to_json(value: str, room: JsonBudget) -> str:
    try:
        room.spend(len(value.encode()) + 2)
    except UnicodeEncodeError:
        raise NotJsonError("holds half of a character (a lone surrogate)") from None
    if room.stand_in_type is not None and (kind := room.stand_in_type(value)) is not None:
        raise NotJsonError(_not_json_message(kind))
    return str(value)


def _list_to_json(value: "list[object] | tuple[object, ...]", room: JsonBudget, depth: int) -> "Json":
    _check_depth(depth)
    room.spend(2 + (1 + room.bytes_per_value) * len(value))
    items: list[Json] = []
    for index, item in enumerate(value):
        try:
            items.append(to_json(item, room, depth + 1))
        except NotJsonError as unfit:
            raise unfit.with_prefix(f"[{index}]") from None
    return items


def _dict_to_json(value: "dict[object, object]", room: JsonBudget, depth: int) -> "Json":
    _check_depth(depth)
    room.spend(2 + (2 + room.bytes_per_value) * len(value))
    members: dict[str, Json] = {}
    for key, member in value.items():
        name = _key_text(key, room)
        place = f"[{_truncate(repr(name))}]"
        if name in members:
            raise NotJsonError("comes twice once its key is text", place)
        try:
            members[name] = to_json(member, room, depth + 1)
        except NotJsonError as unfit:
            raise unfit.with_prefix(place) from None
    return members


def _key_text(key: object, room: JsonBudget) -> str:
    match key:
        case str():
            return _str_to_json(key, room)
        # As `json.dumps` writes them.
        case bool():
            return "true" if key else "false"
        case None:
            return "null"
        case int():
            return str(to_json(key, room))
        case float():
            return repr(to_json(key, room))
        case _:
            raise NotJsonError(f"has a key of type {_type_name(key)}; keys are text")


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise NotJsonError(f"is nested more than {MAX_DEPTH} levels deep")


def _not_json_message(name: str) -> str:
    mend = _CONVERSION_HINTS.get(name, "send plain values: None, bool, int, float, str, list, dict")
    return f"is of type {name}, which is not JSON; {mend}"


def _type_name(value: object) -> str:
    # Instances of the program's own classes come as stand-ins that know the name.
    given = getattr(value, "name", None) if type(value).__module__.startswith("pydantic_monty") else None
    return _truncate(given if isinstance(given, str) else type(value).__name__)


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_NAME_CHARS else text[: _MAX_NAME_CHARS - 1] + "…"
