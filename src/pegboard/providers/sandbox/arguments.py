"""What a program gave to a function, by name and as plain JSON."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from .plain_values import JsonBudget, NotJsonError, to_json

if TYPE_CHECKING:
    from pegboard.core.json.values import Json


_MAX_NAME_CHARS: Final = 80


class CallSignature(Protocol):
    """What is asked of a function here."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...


def too_many_calls_message(most: int, made: int) -> str:
    """`made`: of those that it has come to. A program comes to many before it waits for one, and then none is made."""
    match made:
        case 0:
            done = "None of them has been made so far"
        case _ if made >= most:
            done = "All of them have been made"
        case _:
            done = f"{made} of them {'has' if made == 1 else 'have'} been made so far"
    return f"A program may make {most} calls, and this is one more. {done}. Do less in one run, or go on in another."


class InvalidCallError(Exception):
    """The function cannot be called so."""


def collect_arguments(
    function: CallSignature, positional: Sequence[object], named: Mapping[str, object], room: JsonBudget
) -> "dict[str, Json]":
    """Raises `InvalidCallError`, in words for whoever wrote the call."""
    said = function.name + "()"
    if len(positional) > len(function.parameters):
        takes = f"{len(function.parameters)} positional" if function.parameters else "named"
        raise InvalidCallError(f"{said} takes {takes} arguments only: write {said[:-1]}name=value, …)")
    values = dict(zip(function.parameters, positional, strict=False))
    for name, value in named.items():
        if name in values:
            raise InvalidCallError(f"{said} got two values for the argument {name!r}")
        values[name] = value
    arguments: dict[str, Json] = {}
    for name, value in values.items():
        try:
            # The name too: a program can give any text as one.
            to_json(name, room)
            arguments[name] = to_json(value, room)
        except NotJsonError as unfit:
            raise InvalidCallError(f"{said}: the argument {name[:_MAX_NAME_CHARS]}{unfit.path} {unfit.why}") from None
    return arguments
