"""Watching what servers change: whatever is locked for it leaves a line in the log and a record in the activity."""

import logging
from dataclasses import dataclass, field
from typing import Final

import anyio

from pegboard.core.activity import CHANGE
from pegboard.core.catalogue import Listing
from pegboard.core.changes import describe_for_activity, log_line, newly_locked_tools
from pegboard.core.ids import PrincipalId, SourceKey

from .board import BoardState
from .operate import Operator

log = logging.getLogger(__name__)

REPORT_INTERVAL_S: Final = 10.0
"""Seconds between two records about one server: one that changes all the time fills neither log nor store."""


@dataclass
class ListingChangeWatch:
    board: BoardState
    operator: Operator
    interval_s: float = REPORT_INTERVAL_S
    _listings: dict[SourceKey, Listing] = field(default_factory=dict[SourceKey, Listing])
    _reported_at: dict[SourceKey, float] = field(default_factory=dict[SourceKey, float])

    async def run(self) -> None:
        with self.board.changes.subscribe() as bell:
            while True:
                left = self._report_changes()
                with anyio.move_on_after(left):
                    await bell.wait()

    def _report_changes(self) -> float:
        """Tells what is new, and in how many seconds there is more to tell."""
        now, due = anyio.current_time(), float("inf")
        listings = self.board.catalogue.listings
        for source in [source for source in self._listings if source not in listings]:
            del self._listings[source]
            self._reported_at.pop(source, None)
        for source, listing in listings.items():
            former = self._listings.get(source)
            if former is listing or (former is not None and former.tools is listing.tools):
                continue
            if (left := self._reported_at.get(source, -self.interval_s) + self.interval_s - now) > 0:
                due = min(due, left)
                continue
            self._listings[source] = listing
            self._report(former, listing, now)
        return due

    def _report(self, former: Listing | None, listing: Listing, now: float) -> None:
        found = newly_locked_tools(former, listing, self.board.policy)
        if not found:
            return
        self._reported_at[listing.source] = now
        about = str(found[0].tool.id) if len(found) == 1 else str(listing.source)
        log.warning("%s", log_line(listing, found))
        self.operator.record(CHANGE, about, describe_for_activity(found), PrincipalId(str(listing.source)))
