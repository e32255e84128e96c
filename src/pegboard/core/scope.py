"""What a token lets its holder do: look, call tools, run the board, say who may. A call is no part of the others."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    READ = "read"
    """See everything an operator sees."""
    CALL = "call"
    """Call tools, as an MCP client does. It opens nothing of the operator's."""
    OPERATE = "operate"
    """Decide about tools, servers and toolsets."""
    ADMIN = "admin"
    """Decide who may do what."""


EVERYTHING: Final = frozenset(Scope)
_BRINGS: Final = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.CALL: frozenset({Scope.CALL}),
    Scope.OPERATE: frozenset({Scope.READ, Scope.OPERATE}),
    Scope.ADMIN: frozenset({Scope.READ, Scope.OPERATE, Scope.ADMIN}),
}


def with_lesser(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """Whoever may decide may look, too. Nobody may call because of anything but `call`."""
    return frozenset(brought for scope in scopes for brought in _BRINGS[scope])


def in_order(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    given = frozenset(scopes)
    return tuple(scope for scope in Scope if scope in given)
