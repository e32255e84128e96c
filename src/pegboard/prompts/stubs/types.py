"""Types of JSON values as Python tells them: what a schema says, before it is written down."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.tool import Json


@dataclass(frozen=True, slots=True)
class PlainTypeHint:
    """By the word that Python has for it."""

    word: str


@dataclass(frozen=True, slots=True)
class LiteralTypeHint:
    """One of these values: texts, integers, booleans, None."""

    values: tuple[str | int | bool | None, ...]


@dataclass(frozen=True, slots=True)
class ListTypeHint:
    inner: "TypeHint"


@dataclass(frozen=True, slots=True)
class DictTypeHint:
    inner: "TypeHint"


@dataclass(frozen=True, slots=True)
class UnionTypeHint:
    members: tuple["TypeHint", ...]


@dataclass(frozen=True, slots=True)
class ObjectMember:
    key: str
    type: "TypeHint"
    is_required: bool
    description: str = ""


@dataclass(eq=False, slots=True)
class ObjectTypeHint:
    """An object whose keys are known. It may hold itself, so each is one thing, whatever stands in it."""

    hint: str
    """Words for its name."""
    is_named: bool = False
    """Whether its schema names it, and the name is its own."""
    members: tuple[ObjectMember, ...] = field(default=())
    """Set once all of them are read."""


TypeHint: TypeAlias = PlainTypeHint | LiteralTypeHint | ListTypeHint | DictTypeHint | UnionTypeHint | ObjectTypeHint

ANY_TYPE = PlainTypeHint("Any")
TEXT_TYPE = PlainTypeHint("str")
NONE_TYPE = PlainTypeHint("None")
TYPES_BY_NAME: dict[str, PlainTypeHint] = {
    "string": TEXT_TYPE,
    "integer": PlainTypeHint("int"),
    "number": PlainTypeHint("float"),
    "boolean": PlainTypeHint("bool"),
    "null": NONE_TYPE,
}


def unite_types(types: Iterator[TypeHint] | tuple[TypeHint, ...]) -> TypeHint:
    """Each once; with one that may be anything, anything."""
    flat: dict[TypeHint, None] = {}
    for each in types:
        flat |= dict.fromkeys(each.members) if isinstance(each, UnionTypeHint) else {each: None}
    if ANY_TYPE in flat or not flat:
        return ANY_TYPE
    if PlainTypeHint("float") in flat:
        flat.pop(PlainTypeHint("int"), None)
    members = tuple(flat)
    return members[0] if len(members) == 1 else UnionTypeHint(members)


def literal_type(values: list[Json], most: int) -> TypeHint:
    """What an enumeration allows. Numbers with a fraction, lists and objects are no literals of Python's types."""
    if len(values) > most or not all(value is None or isinstance(value, str | int) for value in values):
        return unite_types(tuple(map(value_type, values)))
    literals = [value for value in values if value is None or isinstance(value, str | int)]
    if any(isinstance(value, str) and len(value) > _MAX_LITERAL_LENGTH for value in literals) or any(
        isinstance(value, int) and abs(value) >= 2**63 for value in literals
    ):
        return unite_types(tuple(map(value_type, values)))
    # True is 1 in a dictionary, and not the same in JSON.
    each = {(type(value), value): value for value in literals}
    return LiteralTypeHint(tuple(each.values()))


_MAX_LITERAL_LENGTH = 100


def value_type(value: Json) -> TypeHint:
    match value:
        case None:
            return NONE_TYPE
        case bool():
            return PlainTypeHint("bool")
        case int():
            return PlainTypeHint("int")
        case float():
            return PlainTypeHint("float")
        case str():
            return TEXT_TYPE
        case list():
            return ListTypeHint(ANY_TYPE)
        case dict():
            return DictTypeHint(ANY_TYPE)
