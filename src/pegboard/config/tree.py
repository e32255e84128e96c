"""A document as a tree in which every value knows its line. Nothing here knows what a key means."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from pegboard.core.tool import Json

from .problem import FileProblem

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 250_000
"""Counted with every alias written out, so that a few lines cannot stand for a billion values."""

_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_PLAIN_KEY: Final = re.compile(r"[\w$-]+")
_MAX_NUMBER_LENGTH: Final = 64


class ScalarKind(Enum):
    TEXT = "text"
    INTEGER = "a whole number"
    NUMBER = "a number"
    BOOLEAN = "true or false"
    NULL = "nothing"


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """`text` is the value as it was written: a version 1.10 must not become 1.1."""

    kind: ScalarKind
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple["Node", ...]
    line: int


@dataclass(frozen=True, slots=True)
class MapEntry:
    key: str
    line: int
    value: "Node"


@dataclass(frozen=True, slots=True)
class MapNode:
    entries: tuple[MapEntry, ...]
    line: int

    def get(self, key: str) -> "Node | None":
        return next((entry.value for entry in self.entries if entry.key == key), None)


Node: TypeAlias = ScalarNode | ListNode | MapNode


@dataclass(frozen=True)
class ParsedFile:
    """What could be read. There may be a root and problems both: then more problems can be found in it."""

    root: Node | None
    problems: tuple[FileProblem, ...] = ()


class UnreadableFileError(Exception):
    """Nothing after this place can be read."""

    def __init__(self, problem: FileProblem) -> None:
        self.problem = problem


def scalar_kind(text: str) -> ScalarKind:
    """What a plain word means by the YAML 1.2 core schema: `no` and `on` are text, as they are to an editor."""
    if text in ("", "~", "null", "Null", "NULL"):
        return ScalarKind.NULL
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return ScalarKind.BOOLEAN
    if len(text) > _MAX_NUMBER_LENGTH:
        return ScalarKind.TEXT
    if _INTEGER.fullmatch(text):
        return ScalarKind.INTEGER
    return ScalarKind.NUMBER if _NUMBER.fullmatch(text) else ScalarKind.TEXT


def to_json(node: Node) -> Json:
    match node:
        case ScalarNode(kind, text):
            return _scalar_value(kind, text)
        case ListNode(nodes):
            return [to_json(item) for item in nodes]
        case MapNode(entries):
            return {entry.key: to_json(entry.value) for entry in entries}
        case _:
            assert_never(node)


def parse_integer(text: str) -> int:
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def parse_number(text: str) -> float:
    """Infinity and not-a-number are written with a dot in YAML and without one in Python."""
    bare = text.lstrip("+-.").lower()
    return float(text.replace(".", "", 1)) if bare in ("inf", "nan") else float(text)


def join_key(at: str, key: str) -> str:
    """The dotted name of a key: what a person writes in a message about it."""
    shown = key if _PLAIN_KEY.fullmatch(key) else repr(key if len(key) <= 64 else key[:61] + "...")
    return f"{at}.{shown}" if at else shown


def describe_node(node: Node) -> str:
    """A value named in an error, never in full: what was written there may be a secret."""
    match node:
        case ScalarNode(ScalarKind.NULL):
            return "nothing"
        case ScalarNode(ScalarKind.TEXT):
            return "text"
        case ScalarNode(_, text):
            return text
        case ListNode():
            return "a list"
        case MapNode():
            return "a map"
        case _:
            assert_never(node)


def _scalar_value(kind: ScalarKind, text: str) -> Json:
    match kind:
        case ScalarKind.TEXT:
            return text
        case ScalarKind.INTEGER:
            return parse_integer(text)
        case ScalarKind.NUMBER:
            return parse_number(text)
        case ScalarKind.BOOLEAN:
            return text.lower() == "true"
        case ScalarKind.NULL:
            return None
        case _:
            assert_never(kind)
