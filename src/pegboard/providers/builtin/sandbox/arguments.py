"""What a program gave to a function, by name and as plain JSON."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from .plain import NotPlain, Room, plain

if TYPE_CHECKING:
    # A jailed process has this module, and nothing else of ours.
    from pegboard.core.tool import Json

_SHOWN: Final = 80


class Signed(Protocol):
    """What is asked of a function here."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...


def one_too_many(most: int, made: int) -> str:
    """`made`: of those that it has come to. A program comes to many before it waits for one, and then none is made."""
    match made:
        case 0:
            done = "None of them has been made so far"
        case _ if made >= most:
            done = "All of them have been made"
        case _:
            done = f"{made} of them {'has' if made == 1 else 'have'} been made so far"
    return f"A program may make {most} calls, and this is one more. {done}. Do less in one run, or go on in another."


class Unfit(Exception):  # noqa: N818 - it is raised in the program as a TypeError
    """The function cannot be called so."""


def given(function: Signed, positional: Sequence[object], named: Mapping[str, object], room: Room) -> "dict[str, Json]":
    """Raises `Unfit`, in words for whoever wrote the call."""
    said = function.name + "()"
    if len(positional) > len(function.parameters):
        takes = f"{len(function.parameters)} positional" if function.parameters else "named"
        raise Unfit(f"{said} takes {takes} arguments only: write {said[:-1]}name=value, …)")
    values = dict(zip(function.parameters, positional, strict=False))
    for name, value in named.items():
        if name in values:
            raise Unfit(f"{said} got two values for the argument {name!r}")
        values[name] = value
    arguments: dict[str, Json] = {}
    for name, value in values.items():
        try:
            # The name too: a program can give any text as one.
            plain(name, room)
            arguments[name] = plain(value, room)
        except NotPlain as unfit:
            raise Unfit(f"{said}: the argument {name[:_SHOWN]}{unfit.path} {unfit.why}") from None
    return arguments
