"""Watching what servers change: whatever is locked for it leaves a line in the log and a record in the activity."""

import logging
from dataclasses import dataclass, field
from typing import Final

import anyio

from pegboard.core.activity import CHANGE
from pegboard.core.catalogue import Listing
from pegboard.core.changes import line, locking, said
from pegboard.core.ids import PrincipalId, Source

from .board import Board
from .operate import Operator

log = logging.getLogger(__name__)

PAUSE: Final = 10.0
"""Seconds between two records about one server: one that changes all the time fills neither log nor store."""


@dataclass
class Changes:
    board: Board
    operator: Operator
    pause: float = PAUSE
    _seen: dict[Source, Listing] = field(default_factory=dict[Source, Listing])
    _told: dict[Source, float] = field(default_factory=dict[Source, float])

    async def run(self) -> None:
        with self.board.changed.listen() as bell:
            while True:
                left = self._look()
                with anyio.move_on_after(left):
                    await bell.wait()

    def _look(self) -> float:
        """Tells what is new, and in how many seconds there is more to tell."""
        now, due = anyio.current_time(), float("inf")
        listings = self.board.catalogue.listings
        for source in [source for source in self._seen if source not in listings]:
            del self._seen[source]
            self._told.pop(source, None)
        for source, listing in listings.items():
            former = self._seen.get(source)
            if former is listing or (former is not None and former.tools is listing.tools):
                continue
            if (left := self._told.get(source, -self.pause) + self.pause - now) > 0:
                due = min(due, left)
                continue
            self._seen[source] = listing
            self._tell(former, listing, now)
        return due

    def _tell(self, former: Listing | None, listing: Listing, now: float) -> None:
        found = locking(former, listing, self.board.policy)
        if not found:
            return
        self._told[listing.source] = now
        about = str(found[0].tool.id) if len(found) == 1 else str(listing.source)
        log.warning("%s", line(listing, found))
        self.operator.record(CHANGE, about, said(found), PrincipalId(str(listing.source)))
