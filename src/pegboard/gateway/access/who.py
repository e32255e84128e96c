"""Whoever a request comes from, and what it may do."""

from dataclasses import dataclass, field
from typing import Final

from pegboard.core.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.scope import ALL_SCOPES, TokenScope


@dataclass(frozen=True, slots=True)
class Identity:
    principal: PrincipalId
    scopes: frozenset[TokenScope]
    """With the lesser ones that each brings."""
    token: str | None = None
    """The id of the API token that was shown; `None` for the start-up token and for those of the file."""
    digest: bytes = field(default=b"", repr=False, compare=False)
    """Of the token that was shown, by which its holder is recognised again."""


OPERATOR: Final = Identity(LOCAL_PRINCIPAL, ALL_SCOPES)
"""Whoever holds the start-up token works at this machine."""
