"""A token that a person made at run time: whose it is, what it opens, and until when. Of its text only the hash."""

from dataclasses import dataclass, field
from datetime import datetime

from .ids import PrincipalId
from .scope import TokenScope


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
