"""Texts that Monty hands out in the place of values that have no form outside of a worker.

A call that nobody awaited would be written into somebody's tool as `<coroutine object f>`, and nobody would know. A
text of such a form may be a text all the same: a tool gave it, or the program wrote it. What a worker says of the place
where it stands tells the one from the other, so nobody can make a program fail by words.
"""

import json
import logging
import re
from collections.abc import Callable, Container, Mapping
from typing import Final

import msgspec

from pegboard.core.json.values import Json

log: Final = logging.getLogger(__name__)

_FORMS: Final[Mapping[str, str]] = {
    "coroutine": r"<coroutine (?:external_future\(\d+\)|object \w+)>|<gather\(\d+\)>",
    "function": r"<function (?:'[^'\n]*'|\w+) at 0x[0-9a-f]{1,8}>|<bound method>|functools\.partial\(<function .*\)",
    "iterator": r"<\w*iterator object>|<itertools\.\w+ object>",
    "module": r"<module '[\w.]+'>",
    "Match": r"<re\.Match object; span=\(\d+, \d+\), match=.*>",
    "Pattern": r"re\.compile\((?:'[^\n]*'|\"[^\n]*\")(?:, [\w.|]+)?\)",
    "range": r"range\(-?\d+, -?\d+(?:, -?\d+)?\)",
    "slice": r"slice\([^()]*, [^()]*, [^()]*\)",
    "dict_keys": r"dict_keys\(\[.*\]\)",
    "dict_values": r"dict_values\(\[.*\]\)",
    "dict_items": r"dict_items\(\[.*\]\)",
    "object": r"<[\w.]+(?: [\w.]+)? object (?:at|@) 0x[0-9a-f]{1,8}>",
}
_FORM: Final = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items()), re.DOTALL)
_FIRST_CHARS: Final = "<frsd"
_LAST_CHARS: Final = ">)"
_MAX_DUMP_BYTES: Final = 64 << 20
"""Bytes that a worker says of one run for the sake of this. A program that has made it say more is believed."""


def stand_in_type(text: str) -> str | None:
    """The type of what the text stands for, if it is no text; nothing where it is one by its form already."""
    if text[:1] not in _FIRST_CHARS or text[-1:] not in _LAST_CHARS or not text:
        return None
    found = _FORM.fullmatch(text)
    return None if found is None else found.lastgroup


def stand_ins_after(texts: int) -> Callable[[str], str | None]:
    """The same of whatever comes after so many that are known to be texts."""
    left = texts

    def stands_for(text: str) -> str | None:
        nonlocal left
        kind = stand_in_type(text)
        left -= kind is not None
        return kind if left < 0 else None

    return stands_for


class StandIns:
    """Of one run."""

    def __init__(self) -> None:
        self._dump_bytes_left = _MAX_DUMP_BYTES

    def stand_ins_at(self, dump: Callable[[], bytes]) -> Callable[[str], str | None]:
        """What tells of a text at one place what it stands for. `dump` is asked once, and mostly not at all."""
        known: Container[str] | None = None

        def stands_for(text: str) -> str | None:
            nonlocal known
            kind = stand_in_type(text)
            if kind is None:
                return None
            if known is None:
                known = self._texts_in_dump(dump)
            return kind if text in known else None

        return stands_for

    def _texts_in_dump(self, dump: Callable[[], bytes]) -> Container[str]:
        if self._dump_bytes_left <= 0:
            return ()
        said = dump()
        self._dump_bytes_left -= len(said)
        try:
            return stand_in_texts(said)
        except ValueError as error:
            # Of another version than the one that this was written for. A tool is better off without the text then.
            log.warning("Texts of programs are judged by their form alone: %s", error)
            return _AllTexts()


class _AllTexts:
    def __contains__(self, text: object) -> bool:
        return True


_NODES_PATH: Final = ("state", "Suspended", "FunctionCall", "args", "graph", "nodes")
_HEADER_BYTES: Final = 8
"""Bytes of a name and a version before the rest, which is CBOR."""
_TEXT: Final = 3
_LIST: Final = 4
_OBJECT: Final = 5
_TAG: Final = 6
_INDEFINITE_LENGTH: Final = 31
_BREAK: Final = 0xFF


def stand_in_texts(dump: bytes) -> frozenset[str]:
    """The texts in the place of other values among the arguments of the call at which a worker stopped.

    Raises `ValueError` for what is no such dump.
    """
    try:
        return _DumpReader(dump).stand_in_texts()
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not what a worker says of a call: {error}") from None


class _DumpReader:
    """As far as the arguments: all that a program holds may come behind them."""

    def __init__(self, dump: bytes) -> None:
        self._dump: Final = dump
        self._position = _HEADER_BYTES

    def stand_in_texts(self) -> frozenset[str]:
        for name in _NODES_PATH:
            self._enter_member(name)
        return frozenset(text for _ in range(self._read_header(_LIST)) if (text := self._read_node()) is not None)

    def _enter_member(self, name: str) -> None:
        for _ in range(self._read_header(_OBJECT)):
            if self._read_text() == name:
                return
            self._skip()
        raise ValueError(f"not what a worker says of a call: there is no {name}")

    def _read_node(self) -> str | None:
        if self._dump[self._position] >> 5 != _OBJECT:
            self._skip()
            return None
        found: str | None = None
        for _ in range(self._read_header(_OBJECT)):
            if self._read_text() == "Repr":
                found = self._read_text()
            else:
                self._skip()
        return found

    def _read_header(self, kind: int) -> int:
        found, size = self._read_item()
        if found != kind or size is None:
            raise ValueError("not what a worker says of a call: it has another form")
        return size

    def _read_text(self) -> str:
        size = self._read_header(_TEXT)
        self._position += size
        return self._dump[self._position - size : self._position].decode()

    def _read_item(self) -> tuple[int, int | None]:
        """What kind comes next, and its number or length; `None` where its end is marked."""
        first = self._dump[self._position]
        kind, size = first >> 5, first & 31
        self._position += 1
        if size < 24:
            return kind, size
        if size == _INDEFINITE_LENGTH:
            return kind, None
        length = 1 << (size - 24)
        self._position += length
        if length > 8 or self._position > len(self._dump):
            raise ValueError("not what a worker says of a call: it is cut off")
        return kind, int.from_bytes(self._dump[self._position - length : self._position], "big")

    def _skip(self) -> None:
        left = 1
        while left:
            left -= 1
            if self._dump[self._position] == _BREAK:
                raise ValueError("not what a worker says of a call: it ends too early")
            kind, size = self._read_item()
            if size is None:
                raise ValueError("not what a worker says of a call: it has no length")
            if kind in (2, _TEXT):
                self._position += size
            elif kind == _LIST:
                left += size
            elif kind == _OBJECT:
                left += 2 * size
            elif kind == _TAG:
                left += 1
            if self._position > len(self._dump):
                raise ValueError("not what a worker says of a call: it is cut off")


# Answers on their way into a sandbox, without halves of characters: JSON can hold one, and nothing else can.


def replace_lone_surrogates(answer: Json) -> Json:
    """With U+FFFD in the place of each, as of all that cannot be shown."""
    try:
        msgspec.json.encode(answer)
    except UnicodeEncodeError:
        text = json.dumps(answer, ensure_ascii=False)
        mended: Json = json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        return mended
    except (OverflowError, RecursionError):
        # Integers of any size and lists of any depth are no trouble.
        pass
    return answer
