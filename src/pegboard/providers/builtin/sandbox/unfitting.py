"""Types as the checker writes them: whether a value of the one surely is none of the other.

The checker refuses what may not fit. A program is refused only for what cannot: a text that may be missing is a text as
long as the program runs well, and of what is in lists and dictionaries the checker makes guesses.
"""

from collections.abc import Container, Iterator
from typing import Final

from pegboard.core.python_text import literal_value

_KINDS: Final = {
    "str": "str",
    "LiteralString": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "None": "None",
    "list": "list",
    "tuple": "list",
    "Sequence": "list",
    "dict": "dict",
    "set": "set",
    "frozenset": "set",
    "bytes": "bytes",
}
_ACCEPTED_KINDS: Final = {"float": {"int", "bool"}, "int": {"bool"}}


def is_incompatible(expected: str, found: str, dictionaries: Container[str]) -> bool:
    """`dictionaries` are names of types that are nothing else."""
    taken = [*_union_members(expected)]
    return all(_is_none_of(each, taken, dictionaries) for each in _union_members(found))


def _is_none_of(found: str, taken: list[str], dictionaries: Container[str]) -> bool:
    values = _literal_values(found)
    if values is not None:
        return not any(_can_accept(each, _type_name(value), value, dictionaries) for each in taken for value in values)
    kind = _kind(found, dictionaries)
    return kind is not None and not any(_can_accept(each, kind, None, dictionaries) for each in taken)


def _can_accept(taken: str, kind: str, value: object, dictionaries: Container[str]) -> bool:
    """Whether it may. Of a value that is not known, only the kind counts."""
    values = _literal_values(taken)
    if values is not None:
        if value is None:
            return any(_type_name(each) == kind for each in values)
        return any(type(each) is type(value) and each == value for each in values)
    own = _kind(taken, dictionaries)
    return own is None or kind == own or kind in _ACCEPTED_KINDS.get(own, ())


def _type_name(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _kind(written: str, dictionaries: Container[str]) -> str | None:
    name = written.split("[")[0]
    return "dict" if name in dictionaries else _KINDS.get(name)


def _literal_values(written: str) -> list[object] | None:
    if not written.startswith("Literal["):
        return None
    try:
        values = literal_value(written.removeprefix("Literal"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return values if isinstance(values, list) else None


def _union_members(written: str) -> Iterator[str]:
    """Of a union, each."""
    depth, start, quote = 0, 0, ""
    at = 0
    while at < len(written):
        character = written[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "|" and depth == 0:
            yield written[start:at].strip()
            start = at + 1
        at += 1
    yield written[start:].strip()
