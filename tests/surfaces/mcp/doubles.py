"""Our own ports in memory: a store that keeps its one value, an audit that keeps every record."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import anyio

from pegboard.core.activity import Decision
from pegboard.core.call import CallRecord
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import Decided
from pegboard.ports import AuditQuery, AuditRow, Back, Onward, Saved, Stale
from pegboard.ports.summing import Shares, Stretches, Summary, Whose


class MemoryStore:
    def __init__(self, decided: Decided | None = None) -> None:
        self._decided = Decided() if decided is None else decided

    async def load(self) -> Decided:
        return self._decided

    async def save(self, before: Decided, after: Decided, *, by: PrincipalId, what: str, at: datetime) -> Saved | Stale:
        if before != self._decided:
            return Stale(self._decided.version)
        self._decided = after
        return Saved(after.version)

    async def changes(self) -> AsyncIterator[None]:
        await anyio.sleep_forever()
        yield


class MemoryAudit:
    def __init__(self) -> None:
        self.records: list[CallRecord] = []
        self.decisions: list[Decision] = []

    def record(self, record: CallRecord) -> None:
        self.records.append(record)

    def note(self, decision: Decision) -> None:
        self.decisions.append(decision)

    async def back(self, query: AuditQuery) -> Back:
        raise NotImplementedError("the surface asks for no rows")

    async def row(self, number: int) -> AuditRow | None:
        raise NotImplementedError("the surface asks for no rows")

    async def onward(self, query: AuditQuery, after: int, wait: float = 0) -> Onward:
        raise NotImplementedError("the surface asks for no rows")

    async def latest(self) -> int:
        raise NotImplementedError("the surface asks for no rows")

    async def summed(self, query: AuditQuery, stretches: Stretches, finding: Sequence[str]) -> Summary:
        raise NotImplementedError("the surface asks for no rows")

    async def shared(self, query: AuditQuery, whose: Whose, start: int = 0) -> Shares:
        raise NotImplementedError("the surface asks for no rows")

    @property
    def dropped(self) -> int:
        return 0
