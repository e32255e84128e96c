"""Types of JSON values as Python tells them: what a schema says, before it is written down."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.tool import Json


@dataclass(frozen=True, slots=True)
class Plain:
    """By the word that Python has for it."""

    word: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these values: texts, integers, booleans, None."""

    values: tuple[str | int | bool | None, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    inner: "Type"


@dataclass(frozen=True, slots=True)
class DictOf:
    inner: "Type"


@dataclass(frozen=True, slots=True)
class Union:
    members: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class Member:
    key: str
    type: "Type"
    needed: bool
    described: str = ""


@dataclass(eq=False, slots=True)
class Shape:
    """An object whose keys are known. It may hold itself, so each is one thing, whatever stands in it."""

    hint: str
    """Words for its name."""
    shared: bool = False
    """Whether its schema names it, and the name is its own."""
    members: tuple[Member, ...] = field(default=())
    """Set once all of them are read."""


Type: TypeAlias = Plain | Choice | ListOf | DictOf | Union | Shape

ANYTHING = Plain("Any")
TEXT = Plain("str")
NOTHING = Plain("None")
WORDS: dict[str, Plain] = {
    "string": TEXT,
    "integer": Plain("int"),
    "number": Plain("float"),
    "boolean": Plain("bool"),
    "null": NOTHING,
}


def united(types: Iterator[Type] | tuple[Type, ...]) -> Type:
    """Each once; with one that may be anything, anything."""
    flat: dict[Type, None] = {}
    for each in types:
        flat |= dict.fromkeys(each.members) if isinstance(each, Union) else {each: None}
    if ANYTHING in flat or not flat:
        return ANYTHING
    if Plain("float") in flat:
        flat.pop(Plain("int"), None)
    members = tuple(flat)
    return members[0] if len(members) == 1 else Union(members)


def chosen(values: list[Json], most: int) -> Type:
    """What an enumeration allows. Numbers with a fraction, lists and objects are no literals of Python's types."""
    if len(values) > most or not all(value is None or isinstance(value, str | int) for value in values):
        return united(tuple(map(type_of, values)))
    literals = [value for value in values if value is None or isinstance(value, str | int)]
    if any(isinstance(value, str) and len(value) > _LONGEST for value in literals) or any(
        isinstance(value, int) and abs(value) >= 2**63 for value in literals
    ):
        return united(tuple(map(type_of, values)))
    # True is 1 in a dictionary, and not the same in JSON.
    each = {(type(value), value): value for value in literals}
    return Choice(tuple(each.values()))


_LONGEST = 100


def type_of(value: Json) -> Type:
    match value:
        case None:
            return NOTHING
        case bool():
            return Plain("bool")
        case int():
            return Plain("int")
        case float():
            return Plain("float")
        case str():
            return TEXT
        case list():
            return ListOf(ANYTHING)
        case dict():
            return DictOf(ANYTHING)
