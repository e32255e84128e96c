"""What a token lets its holder do: look, call tools, run the board, say who may. A call is no part of the others."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class TokenScope(StrEnum):
    READ = "read"
    """See everything an operator sees."""
    CALL = "call"
    """Call tools, as an MCP client does. It opens nothing of the operator's."""
    OPERATE = "operate"
    """Decide about tools, servers and toolsets."""
    ADMIN = "admin"
    """Decide who may do what."""


ALL_SCOPES: Final = frozenset(TokenScope)
_IMPLIED_SCOPES: Final = {
    TokenScope.READ: frozenset({TokenScope.READ}),
    TokenScope.CALL: frozenset({TokenScope.CALL}),
    TokenScope.OPERATE: frozenset({TokenScope.READ, TokenScope.OPERATE}),
    TokenScope.ADMIN: frozenset({TokenScope.READ, TokenScope.OPERATE, TokenScope.ADMIN}),
}


def with_implied(scopes: Iterable[TokenScope]) -> frozenset[TokenScope]:
    """Whoever may decide may look, too. Nobody may call because of anything but `call`."""
    return frozenset(brought for scope in scopes for brought in _IMPLIED_SCOPES[scope])


def sort_scopes(scopes: Iterable[TokenScope]) -> tuple[TokenScope, ...]:
    given = frozenset(scopes)
    return tuple(scope for scope in TokenScope if scope in given)
