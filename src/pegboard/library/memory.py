"""A policy and an audit that live as long as the program that opened them: nothing is written anywhere."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import anyio

from pegboard.core.activity import DecisionRecord
from pegboard.core.call import CallRecord
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import PolicyDecisions
from pegboard.ports import AuditQuery, AuditRow, NewerPage, OlderPage, SavedVersion, StaleVersion
from pegboard.ports.summing import ActivityBreakdown, ActivityGroup, ActivitySummary, ActivityTotals, TimeBuckets


class InMemoryPolicyStore:
    def __init__(self) -> None:
        self._decided = PolicyDecisions()

    async def load(self) -> PolicyDecisions:
        return self._decided

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        if before.version != self._decided.version:
            return StaleVersion(self._decided.version)
        self._decided = after
        return SavedVersion(after.version)

    async def changes(self) -> AsyncIterator[None]:
        await anyio.sleep_forever()
        yield


class NoAudit:
    dropped_count = 0

    def record(self, record: CallRecord) -> None:
        """Nobody looks back."""

    def record_decision(self, decision: DecisionRecord) -> None:
        """Nobody looks back."""

    async def page_before(self, query: AuditQuery) -> OlderPage:
        return OlderPage((), None)

    async def row(self, number: int) -> AuditRow | None:
        return None

    async def page_after(self, query: AuditQuery, after: int, wait: float = 0) -> NewerPage:
        await anyio.sleep(wait)
        return NewerPage((), after)

    async def latest_number(self) -> int:
        return 0

    async def totals(self, query: AuditQuery, stretches: TimeBuckets, finding: Sequence[str]) -> ActivitySummary:
        return ActivitySummary([ActivityTotals()] * stretches.count, ActivityTotals(), {}, is_whole=True)

    async def breakdown(self, query: AuditQuery, whose: ActivityGroup, start: int = 0) -> ActivityBreakdown:
        return ActivityBreakdown((), None, is_whole=True)
