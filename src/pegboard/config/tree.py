"""A document as a tree in which every value knows its line. Nothing here knows what a key means."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from pegboard.core.tool import Json

from .problem import Problem

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 250_000
"""Counted with every alias written out, so that a few lines cannot stand for a billion values."""

_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_PLAIN_KEY: Final = re.compile(r"[\w$-]+")
_LONGEST_NUMBER: Final = 64


class Kind(Enum):
    TEXT = "text"
    INTEGER = "a whole number"
    NUMBER = "a number"
    TRUTH = "true or false"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Scalar:
    """`text` is the value as it was written: a version 1.10 must not become 1.1."""

    kind: Kind
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Items:
    nodes: tuple["Node", ...]
    line: int


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    line: int
    value: "Node"


@dataclass(frozen=True, slots=True)
class Table:
    entries: tuple[Entry, ...]
    line: int

    def get(self, key: str) -> "Node | None":
        return next((entry.value for entry in self.entries if entry.key == key), None)


Node: TypeAlias = Scalar | Items | Table


@dataclass(frozen=True)
class Parsed:
    """What could be read. There may be a root and problems both: then more problems can be found in it."""

    root: Node | None
    problems: tuple[Problem, ...] = ()


class Unreadable(Exception):  # noqa: N818 - it carries a problem to the parser's front door and goes no further
    """Nothing after this place can be read."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def kind_of(text: str) -> Kind:
    """What a plain word means by the YAML 1.2 core schema: `no` and `on` are text, as they are to an editor."""
    if text in ("", "~", "null", "Null", "NULL"):
        return Kind.NOTHING
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return Kind.TRUTH
    if len(text) > _LONGEST_NUMBER:
        return Kind.TEXT
    if _INTEGER.fullmatch(text):
        return Kind.INTEGER
    return Kind.NUMBER if _NUMBER.fullmatch(text) else Kind.TEXT


def plain(node: Node) -> Json:
    match node:
        case Scalar(kind, text):
            return _value(kind, text)
        case Items(nodes):
            return [plain(item) for item in nodes]
        case Table(entries):
            return {entry.key: plain(entry.value) for entry in entries}
        case _:
            assert_never(node)


def integer(text: str) -> int:
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def number(text: str) -> float:
    """Infinity and not-a-number are written with a dot in YAML and without one in Python."""
    bare = text.lstrip("+-.").lower()
    return float(text.replace(".", "", 1)) if bare in ("inf", "nan") else float(text)


def under(at: str, key: str) -> str:
    """The dotted name of a key: what a person writes in a message about it."""
    shown = key if _PLAIN_KEY.fullmatch(key) else repr(key if len(key) <= 64 else key[:61] + "...")
    return f"{at}.{shown}" if at else shown


def shown(node: Node) -> str:
    """A value named in an error, never in full: what was written there may be a secret."""
    match node:
        case Scalar(Kind.NOTHING):
            return "nothing"
        case Scalar(Kind.TEXT):
            return "text"
        case Scalar(_, text):
            return text
        case Items():
            return "a list"
        case Table():
            return "a map"
        case _:
            assert_never(node)


def _value(kind: Kind, text: str) -> Json:
    match kind:
        case Kind.TEXT:
            return text
        case Kind.INTEGER:
            return integer(text)
        case Kind.NUMBER:
            return number(text)
        case Kind.TRUTH:
            return text.lower() == "true"
        case Kind.NOTHING:
            return None
        case _:
            assert_never(kind)
