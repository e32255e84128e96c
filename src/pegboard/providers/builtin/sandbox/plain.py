"""Values on their way out of a sandbox: plain JSON, of a size that was agreed on, or words that say what is not."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    # A jailed process has this module, and nothing else of ours.
    from pegboard.core.tool import Json

DEEPEST: Final = 64
"""Levels of lists and objects. Deeper ones are a trap for whoever walks through them, and no tool's arguments."""
_LEAST_INTEGER: Final = -(2**63)
_MOST_INTEGER: Final = 2**64 - 1
HELD: Final = 40
"""Bytes that a value of a list or an object counts besides its text while it is held."""
_SHOWN: Final = 80
_CLOSED: Final = -1

_INSTEAD: Final[Mapping[str, str]] = {
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


class NotPlain(Exception):  # noqa: N818 - it is told to a model as a sentence
    """Why a value cannot leave the sandbox, and where in it that is."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    @property
    def sentence(self) -> str:
        return self.why if self.why.endswith("?") else f"{self.why}."

    def at(self, place: str) -> "NotPlain":
        return NotPlain(self.why, place + self.path)


class Room:
    """How much may still cross, in bytes of JSON text, counted while values are walked through.

    `each` is counted besides for every value in a list or an object: two brackets are little text, and much memory and
    time for whoever holds and walks through a million of them. `stands_for` tells of a text the type of what it stands
    for, where there may be such texts.
    """

    def __init__(self, most: int, each: int = 0, stands_for: Callable[[str], str | None] | None = None) -> None:
        self.most = most
        self.left = most
        self.each = each
        self.stands_for = stands_for

    def close(self) -> None:
        """From another thread: whoever walks through values ends at the next."""
        self.most = self.left = _CLOSED

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0 or self.most < 0:
            raise NotPlain(f"is too large: {self.most:,} bytes of JSON may leave the sandbox")


def plain(value: object, room: Room, depth: int = 0) -> "Json":
    """The value as JSON has it: tuples as lists, keys as text. Raises `NotPlain`."""
    match value:
        case None | bool():
            room.take(5)
            return value
        case str():
            return _text(value, room)
        case int():
            if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
                raise NotPlain("is an integer of more than 64 bits; use str()")
            room.take(len(str(value)))
            # A subclass could bring anything along, so the number alone goes on.
            return int(value)
        case float():
            if not math.isfinite(value):
                raise NotPlain(f"is {float(value)!r}, which JSON does not have; use None or text")
            room.take(8)
            return float(value)
        case list() | tuple():
            return _list(value, room, depth)
        case dict():
            return _object(value, room, depth)
        case _:
            raise NotPlain(_unplain(_named(value)))


def _text(value: str, room: Room) -> str:
    try:
        room.take(len(value.encode()) + 2)
    except UnicodeEncodeError:
        raise NotPlain("holds half of a character (a lone surrogate)") from None
    if room.stands_for is not None and (kind := room.stands_for(value)) is not None:
        raise NotPlain(_unplain(kind))
    return str(value)


def _list(value: "list[object] | tuple[object, ...]", room: Room, depth: int) -> "Json":
    _deeper(depth)
    room.take(2 + (1 + room.each) * len(value))
    items: list[Json] = []
    for index, item in enumerate(value):
        try:
            items.append(plain(item, room, depth + 1))
        except NotPlain as unfit:
            raise unfit.at(f"[{index}]") from None
    return items


def _object(value: "dict[object, object]", room: Room, depth: int) -> "Json":
    _deeper(depth)
    room.take(2 + (2 + room.each) * len(value))
    members: dict[str, Json] = {}
    for key, member in value.items():
        name = _key(key, room)
        place = f"[{_shortened(repr(name))}]"
        if name in members:
            raise NotPlain("comes twice once its key is text", place)
        try:
            members[name] = plain(member, room, depth + 1)
        except NotPlain as unfit:
            raise unfit.at(place) from None
    return members


def _key(key: object, room: Room) -> str:
    match key:
        case str():
            return _text(key, room)
        # As `json.dumps` writes them.
        case bool():
            return "true" if key else "false"
        case None:
            return "null"
        case int():
            return str(plain(key, room))
        case float():
            return repr(plain(key, room))
        case _:
            raise NotPlain(f"has a key of type {_named(key)}; keys are text")


def _deeper(depth: int) -> None:
    if depth >= DEEPEST:
        raise NotPlain(f"is nested more than {DEEPEST} levels deep")


def _unplain(name: str) -> str:
    mend = _INSTEAD.get(name, "send plain values: None, bool, int, float, str, list, dict")
    return f"is of type {name}, which is not JSON; {mend}"


def _named(value: object) -> str:
    # Instances of the program's own classes come as stand-ins that know the name.
    given = getattr(value, "name", None) if type(value).__module__.startswith("pydantic_monty") else None
    return _shortened(given if isinstance(given, str) else type(value).__name__)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
