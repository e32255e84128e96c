"""Parameters of a statement: as many, and called as the statement has them, each of a kind that SQLite can hold."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from pegboard.core.database import Failed, Fault
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.unreadable import miscounted

from .tokens import Kind, Token

Value: TypeAlias = str | int | float | None
Bound: TypeAlias = Sequence[Value] | Mapping[str, Value]

_PREFIXES: Final = ":@$"


def bound(given: Sequence[Token], parameters: list[Json] | dict[str, Json]) -> Bound | Failed:
    marks = [token.value for token in given if token.kind is Kind.PARAMETER]
    names = dict.fromkeys(mark[1:] for mark in marks if mark[0] in _PREFIXES)
    if isinstance(parameters, list):
        if names and all(name.isdecimal() for name in names):
            # `$1` is a name to SQLite, and a place to everybody else.
            parameters = {str(place): value for place, value in enumerate(parameters, 1)}
        elif names:
            first = next(mark for mark in marks if mark[0] in _PREFIXES)
            return _failed(f"The statement calls its parameters by name ({first}). Give an object with their values.")
        else:
            return _by_place(marks, parameters)
    return _by_name(marks, names, parameters)


def _by_place(marks: Sequence[str], parameters: Sequence[Json]) -> Bound | Failed:
    largest = 0
    for mark in marks:
        largest = max(largest, int(mark[1:])) if mark[1:].isdecimal() and len(mark) < 8 else largest + 1
    if largest != len(parameters):
        return _failed(miscounted(largest, len(parameters), "?"))
    for place, value in enumerate(parameters, 1):
        if not isinstance(value, str | int | float | None):
            return _unfit(str(place), value)
    return tuple(value for value in parameters if isinstance(value, str | int | float | None))


def _by_name(marks: Sequence[str], names: Mapping[str, None], parameters: Mapping[str, Json]) -> Bound | Failed:
    if any(mark.startswith("?") for mark in marks):
        return _failed("The statement has parameters by place (?). Give a list with their values.")
    values = {key[1:] if key[:1] in _PREFIXES and key not in names else key: each for key, each in parameters.items()}
    for name in names:
        if name not in values:
            return _failed(f"No value was given for the parameter {name!r}.")
    for name, value in values.items():
        if name not in names:
            return _failed(f"The statement has no parameter {name!r}.")
        if not isinstance(value, str | int | float | None):
            return _unfit(name, value)
    return {name: value for name, value in values.items() if isinstance(value, str | int | float | None)}


def _unfit(name: str, value: Json) -> Failed:
    kind = "a list" if isinstance(value, list) else "an object"
    return _failed(f"Parameter {name} is {kind}. Give a text, a number, true, false or null, or JSON as text.")


def _failed(words: str) -> Failed:
    return Failed(words, fault=Fault.PARAMETERS)
