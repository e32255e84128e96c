"""Text that both engines can store, whatever servers and people send."""

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
_UNSTORABLE: Final = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPE_PATTERN: Final = re.compile("\x1a([0-9a-f]{4})")

MAX_KEY_BYTES: Final = 600
"""What an index takes of a text. PostgreSQL refuses entries over 2704 bytes, and a key may have four parts."""

_KEY_HEAD_CHARS: Final = MAX_KEY_BYTES // 5
_DIGEST_SUFFIX: Final = re.compile(r"…[0-9a-f]{64}\Z")
"""A text that ends like a shortened one is shortened too, or a server could make up a name with another's key."""


def storable_text(text: str) -> str:
    if text.isprintable() or _UNSTORABLE.search(text) is None:  # the first is much faster, and mostly enough
        return text
    return _UNSTORABLE.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def restore_text(text: str) -> str:
    if _ESCAPE not in text:
        return text
    return _ESCAPE_PATTERN.sub(lambda found: chr(int(found[1], 16)), text)


def index_key(text: str) -> str:
    """The text itself, or where it is too long for an index its beginning and its digest."""
    if len(text) <= _KEY_HEAD_CHARS:  # no character takes more than five bytes, escaped or not
        return text
    held = storable_text(text).encode()
    if len(held) <= MAX_KEY_BYTES and _DIGEST_SUFFIX.search(text) is None:
        return text
    return f"{text[:_KEY_HEAD_CHARS]}…{hashlib.sha256(held).hexdigest()}"


def overflow_text(text: str) -> str | None:
    """What a row must keep beside the key to give the text back."""
    return None if index_key(text) == text else text


def to_json_text(value: object) -> str:
    """As readable as JSON gets. What an engine cannot hold is escaped by the column."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise TooDeepError from None
    # Most values do not have as many brackets as levels are allowed, and need no closer look.
    if text.count("{") + text.count("[") > MAX_JSON_LEVELS and _is_deep(value):
        raise TooDeepError
    return text


MAX_JSON_LEVELS: Final = 500
"""A row that can be written must be readable later, from a stack that may be deeper then."""


class TooDeepError(ValueError):
    def __init__(self) -> None:
        super().__init__(f"a schema or setting is nested more than {MAX_JSON_LEVELS} levels deep")


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_JSON_LEVELS):
        level = [inner for item in level for inner in _children(item)]
    return any(isinstance(item, dict | list) for item in level)


def _children(item: object) -> Iterable[object]:
    match item:
        case dict():
            return item.values()
        case list():
            return item
        case _:
            return ()


def read_json(text: object) -> Any:
    return json.loads(check_type(text, str))


def check_type(value: Any, *kinds: type[Any] | None) -> Any:
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


def check_texts(value: object) -> tuple[str, ...]:
    return tuple(check_type(one, str) for one in check_type(value, list))


def check_pairs(value: object) -> dict[str, str]:
    return {check_type(name, str): check_type(one, str) for name, one in check_type(value, dict).items()}


def check_members(said: Any, **kinds: tuple[type[Any] | None, ...]) -> dict[str, Any]:
    """The object, if it has exactly these members and each is of its types."""
    said = check_type(said, dict)
    if (odd := sorted(set(said) ^ set(kinds))) != []:
        raise ValueError(f"a member {odd[0]!r} is missing or not expected")
    return {name: check_type(said[name], *each) for name, each in kinds.items()}


def parse_instant(text: object) -> datetime:
    moment = datetime.fromisoformat(check_type(text, str))
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


class SafeText(TypeDecorator[str]):
    """Any text at all, in a column of either engine."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable_text(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else restore_text(value)
