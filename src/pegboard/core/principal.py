"""A caller that the operator knows by name, and the hashes by which its token is recognised."""

from dataclasses import dataclass, field

from .confirmation import UNSET_CONFIRMATION, PrincipalConfirmation
from .database.source import DatabaseId
from .ids import PrincipalId
from .scope import TokenScope
from .server import DeclaredAt


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
