"""Signing in to servers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pegboard.core.ids import PrincipalId, ServerKey


@dataclass(frozen=True)
class SignInUnavailable:
    """Why there is no sign-in to be had, as a sentence for the person who wanted one."""

    why: str


@dataclass(frozen=True)
class SignInRedirect:
    """Where a person's browser goes to sign in, and the mark that it must bring back."""

    url: str
    mark: str = field(repr=False)


@dataclass(frozen=True)
class CompletedSignIn:
    """The server that a person has signed in to."""

    server: ServerKey
    by: PrincipalId
    """Who asked for the link."""


@dataclass(frozen=True)
class SignInState:
    """Whether somebody is signed in to a server, since when, and what went wrong at the last try."""

    since: datetime | None = None
    problem: str | None = None
    last_at: datetime | None = None
    """When somebody last did, even if the server has taken it no longer since."""


class SignIns(Protocol):
    """Signing in to servers: a person follows a link of ours to the server's own page and comes back."""

    def state(self, server: ServerKey) -> SignInState | SignInUnavailable: ...

    def create_link(self, server: ServerKey, by: PrincipalId) -> str | SignInUnavailable:
        """A new link that works once, and for a few minutes. Whoever signs in by it does so in the name of `by`."""
        ...

    async def begin(self, link: str) -> SignInRedirect | SignInUnavailable:
        """By the last part of a link."""
        ...

    async def finish(self, answer: Mapping[str, str], mark: str) -> CompletedSignIn | SignInUnavailable:
        """With what the server's page sent the person back with, and the mark of their browser."""
        ...

    async def sign_out(self, server: ServerKey) -> bool | SignInUnavailable:
        """Whether the server was told to forget too. On our side nothing is left of the sign-in either way."""
        ...
