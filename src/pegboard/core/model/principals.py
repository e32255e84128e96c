"""Principals, API tokens and their scopes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from pegboard.core.model.confirmation import UNSET_CONFIRMATION, PrincipalConfirmation
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.server import DeclaredAt


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


# A caller that the operator knows by name, and the hashes by which its token is recognised.


@dataclass(frozen=True, slots=True)
class Principal:
    id: PrincipalId
    at: DeclaredAt
    hashes: tuple[bytes, ...] = field(default=(), repr=False)
    """SHA-256 of each of its tokens; empty when what the operator refers to holds none: then nobody is it."""
    databases: frozenset[DatabaseId] | None = None
    """Those that it may ask; `None` for every one. To it there are no others."""
    scopes: frozenset[TokenScope] = frozenset({TokenScope.CALL})
    confirmation: PrincipalConfirmation = field(default=UNSET_CONFIRMATION, repr=False)


# A token that a person made at run time: whose it is, what it opens, and until when. Of its text only the hash.


@dataclass(frozen=True, slots=True)
class Revocation:
    by: PrincipalId
    at: datetime


@dataclass(frozen=True, slots=True)
class ApiToken:
    id: str
    principal: PrincipalId
    name: str
    """What it is for, in the words of whoever made it."""
    prefix: str
    """Its first characters, by which its holder finds it in a list."""
    digest: bytes = field(repr=False)
    """SHA-256 of all of it."""
    scopes: frozenset[TokenScope]
    by: PrincipalId
    at: datetime
    expires_at: datetime | None = None
    revocation: Revocation | None = None

    def is_inactive(self, now: datetime) -> bool:
        """Revoked or expired. It stays in the list, and its principal stays one that must show a token."""
        return self.revocation is not None or (self.expires_at is not None and now >= self.expires_at)
