"""A program that waits for a person: what is kept of it until somebody decides."""

from dataclasses import dataclass
from datetime import datetime

from .ids import CallId, PrincipalId


@dataclass(frozen=True)
class SuspendedRun:
    """One program, stopped in the middle of it."""

    id: CallId
    """Of the call that started it."""
    tickets: tuple[str, ...]
    """For any of which it goes on once it is decided."""
    state: bytes
    """All that it takes to go on, signed. A store keeps it encrypted or not at all."""
    until: datetime
    """Afterwards nobody can go on with it. Mostly nobody can before, for its tickets have lapsed."""
    principal: PrincipalId
    """Whose it is, and so whose room it takes."""


@dataclass(frozen=True)
class StoredRun:
    """A suspended program as a store finds it."""

    id: CallId
    mark: str
    """Another one each time that it is kept: whoever read this state can only go on with this one."""
    state: bytes | None
    """`None` where it cannot be read: it was kept with another key, or somebody goes on with it already."""
    why: str = ""
    """Why it cannot be read."""
    claimed_at: datetime | None = None
    """Since when somebody goes on with it."""
