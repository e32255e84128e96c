"""Programs that run, and those that wait for a person, over every process."""

from datetime import datetime
from typing import Protocol

from pegboard.core.begun import Begun
from pegboard.core.ids import CallId
from pegboard.core.suspended import FoundRun, KeptRun

from .tickets import TicketsAway


class RunsAway(TicketsAway):
    """Suspended programs can neither be read nor kept now; the message says why, and what to do."""


class RunStore(Protocol):
    """Each is gone on with once, whichever process asks. Raises `RunsAway`."""

    async def keep(self, run: KeptRun, now: datetime) -> None:
        """In place of what was kept of it before. A ticket that another one waited for is this one's from now on."""
        ...

    async def waiting_for(self, ticket: str, now: datetime) -> FoundRun | None:
        """The one that goes on once this ticket is decided, until its time is over."""
        ...

    async def claim(self, found: FoundRun, now: datetime) -> bool:
        """Whether whoever asks is the one who goes on with it. Its state is gone then."""
        ...

    async def end(self, id: CallId) -> None:
        """It has ended, or never goes on."""
        ...


class BegunRuns(Protocol):
    """Programs under way, so that each is known of should this process be killed. Neither waits nor fails."""

    def begin(self, begun: Begun) -> None: ...

    def end(self, id: CallId) -> None:
        """Once its record was handed to the audit."""
        ...
