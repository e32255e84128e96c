"""Opens an application that keeps nothing: functions of this process on a board, without files or a store (ADR 14)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import anyio

from pegboard.bootstrap.environment import now
from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.calls.call import CallRecord
from pegboard.core.model.ids import PrincipalId, ToolsetKey
from pegboard.core.model.server import Server
from pegboard.core.policy.policy import DeclaredSettings, PolicyDecisions
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.ports.audit import (
    ActivityBreakdown,
    ActivityGroup,
    ActivitySummary,
    ActivityTotals,
    AuditQuery,
    AuditRow,
    NewerPage,
    OlderPage,
    TimeBuckets,
)
from pegboard.ports.providers import Provider
from pegboard.ports.stores import SavedVersion, StaleVersion
from pegboard.providers.python.local import LocalTools
from pegboard.tools import FunctionTool


@asynccontextmanager
async def open_functions(
    declared: DeclaredSettings, functions: Mapping[ToolsetKey, Mapping[str, FunctionTool]]
) -> AsyncIterator[Gateway]:
    """`declared` has a server for each key of `functions`."""

    def provider_for(server: Server) -> Provider:
        assert isinstance(server.key, ToolsetKey), "functions are brought by toolsets"
        return LocalTools(server.key, functions[server.key], now, server.timeouts.call)

    async with open_gateway(declared, InMemoryPolicyStore(), NoAudit(), provider_for, now) as gateway:
        yield gateway


# A policy and an audit that live as long as the program that opened them.


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
