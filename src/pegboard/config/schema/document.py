"""A document as a tree in which every value knows its line, and the problems found in it."""

import re
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Generic, TypeAlias, TypeVar, assert_never

from pegboard.core.json.values import Json
from pegboard.core.model.ids import ProviderKey
from pegboard.core.model.patterns import Pattern

# What is wrong with a file, where, and what to do about it.

ENVIRONMENT_NOTE: Final = "This was looked up in the environment of this command; what counts is that of the gateway."


@dataclass(frozen=True, slots=True)
class FileProblem:
    """`line` is 0 when the file as a whole is meant, and `key` is empty when no key is."""

    file: str
    line: int
    key: str
    message: str
    depends_on_environment: bool = False
    """Whether it depends on where it was asked: on the environment of a process, or on what its user may read."""

    def __str__(self) -> str:
        return f"{self.location}: {self.key}: {self.message}" if self.key else f"{self.location}: {self.message}"

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class UndeclaredToolset:
    """A toolset that a file names and does not have: a slip of the pen, unless people have installed it."""

    toolset: str
    problem: FileProblem
    is_error: bool = False
    """Whether a file that says so is refused (ADR 16); otherwise it is a warning."""
    may_be_server: bool = False
    """Whether a server's id or key would do as well: it is the scope of a denial."""
    within: str | None = None
    """The toolset whose servers alone would do."""

    def is_unknown(self, toolsets: Container[str], servers: Iterable[ProviderKey]) -> bool:
        """Whether it is right, given what is installed."""
        if self.within is not None:
            servers = [key for key in servers if key.toolset == self.within]
        elif self.toolset in toolsets:
            return False
        elif not self.may_be_server:
            return True
        return not any(map(Pattern(self.toolset, "*").matches_source, servers))


@dataclass(frozen=True, slots=True)
class UndeclaredCaller:
    """A caller that a file grants toolsets and does not declare: nobody, unless people have made it a token."""

    caller: str
    problem: FileProblem


@dataclass(frozen=True, slots=True)
class ConfigWarnings:
    """What will not work of a file that was loaded."""

    warnings: tuple[FileProblem, ...] = ()
    undeclared_toolsets: tuple[UndeclaredToolset, ...] = ()
    undeclared_callers: tuple[UndeclaredCaller, ...] = ()
    read_by_command: bool = False
    """Whether a command read the file for its own use, so that a gateway may see it differently."""

    def applicable(
        self, toolsets: Container[str], callers: Container[str] = (), servers: Collection[ProviderKey] = ()
    ) -> Iterator[FileProblem]:
        """What stands on a board with these toolsets, callers and servers, in the order of the file."""
        standing = [doubt.problem for doubt in self.undeclared_toolsets if doubt.is_unknown(toolsets, servers)]
        standing += [stranger.problem for stranger in self.undeclared_callers if stranger.caller not in callers]
        yield from sorted((*self.warnings, *standing), key=lambda problem: problem.line)

    def format_problem(self, problem: FileProblem) -> str:
        return (
            f"{problem} {ENVIRONMENT_NOTE}" if self.read_by_command and problem.depends_on_environment else str(problem)
        )


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


# What a file says and where it says so, and all that is wrong with it: collected while it is read.

T_co = TypeVar("T_co", covariant=True)

MAX_PROBLEMS: Final = 200


@dataclass(frozen=True, slots=True)
class LocatedValue(Generic[T_co]):
    """A value and where it was written."""

    value: T_co
    key: str
    line: int


@dataclass(frozen=True, slots=True)
class Invalid:
    """What was written is not a value; why has been told."""


@dataclass
class ProblemCollector:
    """Collects what is wrong with one file. The first two hundred problems are enough for any person."""

    file: str
    problems: list[FileProblem] = field(default_factory=list[FileProblem])
    omitted_count: int = 0
    warnings: list[FileProblem] = field(default_factory=list[FileProblem])
    """What is passed over, or may not be meant; the file is good all the same."""

    @property
    def is_full(self) -> bool:
        return len(self.problems) >= MAX_PROBLEMS

    def add_problem(self, line: int, at: str, what: str) -> Invalid:
        if self.is_full:
            self.omitted_count += 1
        else:
            self.problems.append(FileProblem(self.file, line, at, what))
        return Invalid()

    def add_warning(self, line: int, at: str, what: str) -> None:
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(FileProblem(self.file, line, at, what))

    def sorted_problems(self) -> tuple[FileProblem, ...]:
        """In the order of the file, as a person works through it."""
        told = sorted(self.problems, key=lambda problem: problem.line)
        if self.omitted_count:
            told.append(FileProblem(self.file, 0, "", f"and {self.omitted_count} more problems. Mend these first."))
        return tuple(told)
