"""A remembered grant: a person's yes to all further calls of one tool as it is now, for one principal."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from .ids import PrincipalId, ToolId
from .tool import Fingerprint, Tool
from .whose import Whose


@dataclass(frozen=True, slots=True)
class Consent:
    """Bound to the fingerprint: a tool that changed is asked about anew."""

    id: str
    tool: ToolId
    fingerprint: Fingerprint
    principal: PrincipalId
    client: str | None
    """The client as it calls itself; `None` for whichever one the principal uses."""
    by: PrincipalId
    at: datetime
    whose: Whose | None = None
    """In whose name its calls run, where callers may bring that: no other caller has any of it."""

    def covers(self, tool: Tool, principal: PrincipalId, client: str, whose: Whose | None = None) -> bool:
        return (
            (self.tool, self.principal, self.whose) == (tool.id, principal, whose)
            and self.client in (None, client)
            and self.fingerprint == tool.spec.fingerprint
        )

    @property
    def place(self) -> tuple[ToolId, PrincipalId, str | None, Whose | None]:
        """What it is about. One place has one grant: the latest."""
        return self.tool, self.principal, self.client, self.whose

    def __str__(self) -> str:
        who = f"{self.principal} with any client" if self.client is None else f"{self.principal} with {self.client!r}"
        who += "" if self.whose is None else f", {self.whose.told}"
        return f"{who}, granted by {self.by} on {self.at:%Y-%m-%d} ({self.id})"


def covering(
    consents: Iterable[Consent], tool: Tool, principal: PrincipalId, client: str, whose: Whose | None = None
) -> Consent | None:
    return next((consent for consent in consents if consent.covers(tool, principal, client, whose)), None)
