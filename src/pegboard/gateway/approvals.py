"""Since when each tool waits for a review."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.core.calls.activity import CHANGE
from pegboard.core.decision.facts import approval_problem
from pegboard.core.decision.listing_changes import describe_for_activity, log_line, newly_locked_tools
from pegboard.core.model.catalogue import Catalogue, Listing
from pegboard.core.model.ids import BuiltinKey, PrincipalId, SourceKey, ToolId
from pegboard.core.model.tool import Fingerprint, Tool
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.providers import Clock
from pegboard.ports.stores import PendingSinceStore

_STORE_TIMEOUT_S: Final = 5.0
_RETRY_INTERVAL_S: Final = 30.0
"""Seconds after which a store that was away is asked once more."""

log = logging.getLogger(__name__)

ToolsBySource: TypeAlias = Mapping[SourceKey, tuple[Tool, ...]]


class InMemoryPendingSinceStore:
    """While the gateway runs, where there is no store for them."""

    def __init__(self) -> None:
        self._since: dict[ToolId, tuple[Fingerprint, datetime]] = {}

    async def record_pending(
        self, waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], at: datetime
    ) -> Mapping[ToolId, datetime]:
        for tool in settled:
            self._since.pop(tool, None)
        for tool, fingerprint in waiting.items():
            if self._since.get(tool, (None,))[0] != fingerprint:
                self._since[tool] = fingerprint, at
        return {tool: self._since[tool][1] for tool in waiting}


class PendingSince:
    def __init__(self, board: BoardState, store: PendingSinceStore, clock: Clock) -> None:
        self._board = board
        self._store = store
        self._clock = clock
        self._lock = anyio.Lock()
        self._last_state: tuple[Policy, ToolsBySource] | None = None
        self._waiting: Mapping[ToolId, Fingerprint] = {}
        self._since: Mapping[ToolId, datetime] = {}

    async def since(self) -> Mapping[ToolId, datetime]:
        """Of what waits now. While the store is away, what is new waits since it was seen by this process."""
        await self._refresh()
        return self._since

    async def run(self) -> None:
        with self._board.changes.subscribe() as bell:
            while True:
                done = await self._refresh()
                with anyio.move_on_after(float("inf") if done else _RETRY_INTERVAL_S):
                    await bell.wait()

    async def _refresh(self) -> bool:
        async with self._lock:
            policy, catalogue = self._board.policy, self._board.catalogue
            tools = {source: listing.tools for source, listing in catalogue.listings.items()}
            if self._last_state is not None and _is_same(self._last_state, policy, tools):
                return True
            waiting, settled = await anyio.to_thread.run_sync(_split_tools, catalogue, policy)
            left = [tool for tool in self._waiting if tool not in waiting and _is_gone(tool, catalogue, policy)]
            at = self._clock()
            try:
                with anyio.fail_after(_STORE_TIMEOUT_S):
                    found: Mapping[ToolId, datetime] = await self._store.record_pending(waiting, [*settled, *left], at)
                self._last_state, done = (policy, tools), True
            except (StoreUnavailable, TimeoutError) as error:
                log.info("Since when tools wait is not written down: %s", error)
                same = {tool for tool in waiting if self._waiting.get(tool) == waiting[tool]}
                found, done = {tool: self._since[tool] if tool in same else at for tool in waiting}, False
            self._waiting, self._since = waiting, found
            return done


def _is_same(looked: tuple[Policy, ToolsBySource], policy: Policy, tools: ToolsBySource) -> bool:
    before = looked[1]
    return looked[0] is policy and before.keys() == tools.keys() and all(before[key] is tools[key] for key in tools)


def _split_tools(catalogue: Catalogue, policy: Policy) -> tuple[Mapping[ToolId, Fingerprint], Collection[ToolId]]:
    """What waits, also where something else keeps it locked as well; and what does not."""
    waiting = {
        id: tool.spec.fingerprint for id, tool in catalogue.tools.items() if approval_problem(tool, policy) is not None
    }
    return waiting, catalogue.tools.keys() - waiting.keys()


def _is_gone(tool: ToolId, catalogue: Catalogue, policy: Policy) -> bool:
    """A server that is away comes back with what it had; one that was removed does not."""
    if isinstance(tool.source, BuiltinKey):
        return False
    return tool in catalogue.tools or tool.source not in policy.servers


# Watching what servers change: whatever is locked for it leaves a line in the log and a record in the activity.

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
