"""Our own ports in memory: a store that keeps its one value, an audit that keeps every record."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import anyio

from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.calls.call import CallRecord
from pegboard.core.model.ids import PrincipalId
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.ports.audit import (
    ActivityBreakdown,
    ActivityGroup,
    ActivitySummary,
    AuditQuery,
    AuditRow,
    NewerPage,
    OlderPage,
    TimeBuckets,
)
from pegboard.ports.stores import SavedVersion, StaleVersion


class MemoryStore:
    def __init__(self, decided: PolicyDecisions | None = None) -> None:
        self._decided = PolicyDecisions() if decided is None else decided

    async def load(self) -> PolicyDecisions:
        return self._decided

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        if before != self._decided:
            return StaleVersion(self._decided.version)
        self._decided = after
        return SavedVersion(after.version)

    async def changes(self) -> AsyncIterator[None]:
        await anyio.sleep_forever()
        yield


class MemoryAudit:
    def __init__(self) -> None:
        self.records: list[CallRecord] = []
        self.decisions: list[DecisionRecord] = []

    def record(self, record: CallRecord) -> None:
        self.records.append(record)

    def record_decision(self, decision: DecisionRecord) -> None:
        self.decisions.append(decision)

    async def page_before(self, query: AuditQuery) -> OlderPage:
        raise NotImplementedError("the surface asks for no rows")

    async def row(self, number: int) -> AuditRow | None:
        raise NotImplementedError("the surface asks for no rows")

    async def page_after(self, query: AuditQuery, after: int, wait: float = 0) -> NewerPage:
        raise NotImplementedError("the surface asks for no rows")

    async def latest_number(self) -> int:
        raise NotImplementedError("the surface asks for no rows")

    async def totals(self, query: AuditQuery, stretches: TimeBuckets, finding: Sequence[str]) -> ActivitySummary:
        raise NotImplementedError("the surface asks for no rows")

    async def breakdown(self, query: AuditQuery, whose: ActivityGroup, start: int = 0) -> ActivityBreakdown:
        raise NotImplementedError("the surface asks for no rows")

    @property
    def dropped_count(self) -> int:
        return 0
