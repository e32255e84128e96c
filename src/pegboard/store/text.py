"""Texts as both engines can hold them. Servers and people may send any text; no text may make a save fail."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

Row: TypeAlias = Mapping[str, Any]

# PostgreSQL holds no NUL and neither engine a lone surrogate. SUBSTITUTE is the character that stands for one that
# cannot be written, so it begins an escape here; every other text is stored as it reads.
_ESCAPE: Final = "\x1a"
_UNHOLDABLE: Final = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a([0-9a-f]{4})")

KEY_BYTES: Final = 600
"""What an index takes of a text. PostgreSQL refuses entries over 2704 bytes, and a key may have four parts."""

_HEAD: Final = KEY_BYTES // 5
_DIGESTED: Final = re.compile(r"…[0-9a-f]{64}\Z")
"""A text that ends like a shortened one is shortened too, or a server could make up a name with another's key."""


def holdable(text: str) -> str:
    if text.isprintable() or _UNHOLDABLE.search(text) is None:  # the first is much faster, and mostly enough
        return text
    return _UNHOLDABLE.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def restored(text: str) -> str:
    if _ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def key(text: str) -> str:
    """The text itself, or where it is too long for an index its beginning and its digest."""
    if len(text) <= _HEAD:  # no character takes more than five bytes, escaped or not
        return text
    held = holdable(text).encode()
    if len(held) <= KEY_BYTES and _DIGESTED.search(text) is None:
        return text
    return f"{text[:_HEAD]}…{hashlib.sha256(held).hexdigest()}"


def whole(text: str) -> str | None:
    """What a row must keep beside the key to give the text back."""
    return None if key(text) == text else text


def document(value: object) -> str:
    """As readable as JSON gets. What an engine cannot hold is escaped by the column."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise TooDeepError from None
    # Most values do not have as many brackets as levels are allowed, and need no closer look.
    if text.count("{") + text.count("[") > MOST_LEVELS and _is_deep(value):
        raise TooDeepError
    return text


MOST_LEVELS: Final = 500
"""A row that can be written must be readable later, from a stack that may be deeper then."""


class TooDeepError(ValueError):
    def __init__(self) -> None:
        super().__init__(f"a schema or setting is nested more than {MOST_LEVELS} levels deep")


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for item in level for inner in _inside(item)]
    return any(isinstance(item, dict | list) for item in level)


def _inside(item: object) -> Iterable[object]:
    match item:
        case dict():
            return item.values()
        case list():
            return item
        case _:
            return ()


def read_json(text: object) -> Any:
    return json.loads(checked(text, str))


def checked(value: Any, *kinds: type[Any] | None) -> Any:
    """The value, if it is of one of these types; `None` among them allows none. A flag is no number."""
    if value is None:
        if None in kinds:
            return None
    elif any(kind is not None and isinstance(value, kind) for kind in kinds) and (
        not isinstance(value, bool) or bool in kinds
    ):
        return value
    wanted = " or ".join("nothing" if kind is None else _KIND_NAMES.get(kind, kind.__name__) for kind in kinds)
    raise ValueError(f"{_KIND_NAMES.get(type(value), type(value).__name__)} stands where {wanted} should")


def checked_texts(value: object) -> tuple[str, ...]:
    return tuple(checked(one, str) for one in checked(value, list))


def checked_pairs(value: object) -> dict[str, str]:
    return {checked(name, str): checked(one, str) for name, one in checked(value, dict).items()}


def checked_members(said: Any, **kinds: tuple[type[Any] | None, ...]) -> dict[str, Any]:
    """The object, if it has exactly these members and each is of its types."""
    said = checked(said, dict)
    if (odd := sorted(set(said) ^ set(kinds))) != []:
        raise ValueError(f"a member {odd[0]!r} is missing or not expected")
    return {name: checked(said[name], *each) for name, each in kinds.items()}


def instant(text: object) -> datetime:
    moment = datetime.fromisoformat(checked(text, str))
    if moment.tzinfo is None:
        raise ValueError("a time has no time zone")
    return moment


_KIND_NAMES: Final[Mapping[type[Any], str]] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
    bytes: "bytes",
    type(None): "nothing",
}


class Words(TypeDecorator[str]):
    """Any text at all, in a column of either engine."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else holdable(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else restored(value)
