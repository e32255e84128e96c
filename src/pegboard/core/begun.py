"""A program that has begun: as much of it as its record needs, should the gateway end before the program does."""

from dataclasses import dataclass
from datetime import datetime

from .ids import CallId, PrincipalId


@dataclass(frozen=True)
class StartedRun:
    id: CallId
    """Of the call that started it, or of the part that goes on with it."""
    at: datetime
    principal: PrincipalId
    client: str = ""
    parent: CallId | None = None
    presentation: str = ""
    policy_version: int = 0
