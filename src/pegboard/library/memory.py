"""A policy and an audit that live as long as the program that opened them: nothing is written anywhere."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import anyio

from pegboard.core.activity import Decision
from pegboard.core.call import CallRecord
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import Decided
from pegboard.ports import AuditQuery, AuditRow, Back, Onward, Saved, Stale
from pegboard.ports.summing import Shares, Stretches, Summary, Sums, Whose


class KeptHere:
    def __init__(self) -> None:
        self._decided = Decided()

    async def load(self) -> Decided:
        return self._decided

    async def save(self, before: Decided, after: Decided, *, by: PrincipalId, what: str, at: datetime) -> Saved | Stale:
        if before.version != self._decided.version:
            return Stale(self._decided.version)
        self._decided = after
        return Saved(after.version)

    async def changes(self) -> AsyncIterator[None]:
        await anyio.sleep_forever()
        yield


class Unrecorded:
    dropped = 0

    def record(self, record: CallRecord) -> None:
        """Nobody looks back."""

    def note(self, decision: Decision) -> None:
        """Nobody looks back."""

    async def back(self, query: AuditQuery) -> Back:
        return Back((), None)

    async def row(self, number: int) -> AuditRow | None:
        return None

    async def onward(self, query: AuditQuery, after: int, wait: float = 0) -> Onward:
        await anyio.sleep(wait)
        return Onward((), after)

    async def latest(self) -> int:
        return 0

    async def summed(self, query: AuditQuery, stretches: Stretches, finding: Sequence[str]) -> Summary:
        return Summary([Sums()] * stretches.count, Sums(), {}, is_whole=True)

    async def shared(self, query: AuditQuery, whose: Whose, start: int = 0) -> Shares:
        return Shares((), None, is_whole=True)
