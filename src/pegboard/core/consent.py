"""A standing permission: a person's yes to all further calls of one tool as it is now, for one principal."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

from .ids import PrincipalId, ToolId
from .rejected import CommandRejection
from .tool import Fingerprint, Tool
from .whose import CredentialIdentity

DEFAULT_CONSENT_DAYS: Final = 30
MAX_CONSENT_DAYS: Final = 3650


@dataclass(frozen=True, slots=True)
class Consent:
    """Bound to the fingerprint: a tool that changed, or into whose calls overrides put something else, is asked about
    again."""

    id: str
    tool: ToolId
    fingerprint: Fingerprint
    """By `call_fingerprint`."""
    principal: PrincipalId
    client: str | None
    """The client as it calls itself; `None` for any client that the principal uses."""
    by: PrincipalId
    at: datetime
    until: datetime | None
    """From this moment on it covers no call. `None` only where the board says that permissions never end."""
    identity: CredentialIdentity | None = None
    """In whose name its calls run, where callers may bring that: no other caller has any of it."""

    def covers(
        self,
        tool: Tool,
        principal: PrincipalId,
        client: str,
        now: datetime,
        whose: CredentialIdentity | None = None,
        overrides: str = "",
    ) -> bool:
        return (
            (self.tool, self.principal, self.identity) == (tool.id, principal, whose)
            and self.client in (None, client)
            and self.fingerprint == call_fingerprint(tool.spec.fingerprint, overrides)
            and not self.is_expired(now)
        )

    def is_expired(self, now: datetime) -> bool:
        return self.until is not None and now >= self.until

    @property
    def scope_key(self) -> tuple[ToolId, PrincipalId, str | None, CredentialIdentity | None]:
        """What it is about. One place has one standing permission: the latest."""
        return self.tool, self.principal, self.client, self.identity

    @property
    def caller_text(self) -> str:
        client = "" if self.client is None else f" with {self.client!r}"
        return f"{self.principal}{client}" + ("" if self.identity is None else f", {self.identity.description}")

    @property
    def end_text(self) -> str:
        return format_end(self.until)


def find_consent(
    consents: Iterable[Consent],
    tool: Tool,
    principal: PrincipalId,
    client: str,
    now: datetime,
    whose: CredentialIdentity | None = None,
    overrides: str = "",
) -> Consent | None:
    wanted = (tool, principal, client, now, whose, overrides)
    return next((consent for consent in consents if consent.covers(*wanted)), None)


def call_fingerprint(tool: Fingerprint, overrides: str) -> Fingerprint:
    """Of a tool together with what overrides put into its calls (`Shaped.tag`)."""
    return Fingerprint(hashlib.sha256(f"{tool} {overrides}".encode()).hexdigest()) if overrides else tool


def revoked_consents(
    before: Mapping[str, Consent], after: Mapping[str, Consent], at: datetime
) -> frozenset[tuple[ToolId, PrincipalId]]:
    """Of which tools and principals a standing permission was taken back. One that ended by itself was not, and neither
    was one that the same place has another for."""
    kept = {consent.scope_key for consent in after.values()}
    gone = (consent for id, consent in before.items() if id not in after)
    return frozenset(
        (each.tool, each.principal) for each in gone if each.scope_key not in kept and not each.is_expired(at)
    )


class NoExpiry(Enum):
    NEVER = "never"


Lifetime: TypeAlias = timedelta | datetime | NoExpiry
"""For how long a person wants a standing permission: a duration, an end, or without an end."""


def consent_end(lifetime: Lifetime | None, board_days: int | None, at: datetime) -> datetime | CommandRejection | None:
    """When a standing permission given now ends; `None` for never. Without a `lifetime` the board decides."""
    if lifetime is None:
        return None if board_days is None else at + timedelta(days=board_days)
    if isinstance(lifetime, NoExpiry):
        if board_days is None:
            return None
        return CommandRejection(
            "On this board every standing permission has an end. Choose a date; or write standing_days: never under "
            "confirmation in pegboard.yaml."
        )
    longest = timedelta(days=MAX_CONSENT_DAYS)
    remaining = lifetime - at if isinstance(lifetime, datetime) else lifetime
    if remaining <= timedelta():
        return CommandRejection("The end of the standing permission is in the past. Choose a later one.")
    if remaining > longest:
        return CommandRejection(f"A standing permission lasts {MAX_CONSENT_DAYS} days at most. Choose an earlier end.")
    return at + remaining


def format_end(until: datetime | None) -> str:
    return "without an end" if until is None else f"until {until:%Y-%m-%d}"
