"""Programs that run, and those that wait for a person, over every process."""

from datetime import datetime
from typing import Protocol

from pegboard.core.begun import StartedRun
from pegboard.core.ids import CallId
from pegboard.core.suspended import StoredRun, SuspendedRun

from .tickets import TicketsUnavailable


class RunsUnavailable(TicketsUnavailable):
    """Suspended programs can neither be read nor kept now; the message says why, and what to do."""


class RunStore(Protocol):
    """Each is gone on with once, whichever process asks. Raises `RunsAway`."""

    async def save(self, run: SuspendedRun, now: datetime) -> None:
        """In place of what was kept of it before. A ticket that another one waited for is this one's from now on."""
        ...

    async def find_waiting(self, ticket: str, now: datetime) -> StoredRun | None:
        """The one that goes on once this ticket is decided, until its time is over."""
        ...

    async def claim(self, found: StoredRun, now: datetime) -> bool:
        """Whether whoever asks is the one who goes on with it. Its state is gone then."""
        ...

    async def end(self, id: CallId) -> None:
        """It has ended, or never goes on."""
        ...


class ActiveRuns(Protocol):
    """Programs under way, so that each is known of should this process be killed. Neither waits nor fails."""

    def begin(self, begun: StartedRun) -> None: ...

    def end(self, id: CallId) -> None:
        """Once its record was handed to the audit."""
        ...
