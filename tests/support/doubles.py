"""Our own ports in memory, in the hands of a test: a policy store, an audit, and providers that do as they are told.

They keep the ports' contracts unless a test tells them to break one.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import anyio

from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.calls.call import AdmittedCall, CallRecord, Outcome, ToolSuccess
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ListingProblem,
    ProviderDown,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import PrincipalId, ProviderKey, ServerKey, SourceKey, ToolId
from pegboard.core.model.server import Server
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.gateway.signals import ChangeSignal
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
from pegboard.ports.providers import ChangeCallback, ClientPeer, Progress, ResourceProvider
from pegboard.ports.stores import SavedVersion, SecretsUnavailable, StaleVersion, UnreadableSecret

SINCE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
UP = ProviderUp(SINCE)
STARTING = ProviderStart(1, SINCE)
OK = ToolSuccess(b'{"content":[]}')

Answer: TypeAlias = Outcome | Callable[[AdmittedCall, Progress | None], Awaitable[Outcome]]


@dataclass(frozen=True)
class Save:
    """One change that a store took."""

    version: int
    by: PrincipalId
    what: str
    at: datetime


class MemoryStore:
    """A policy store with optimistic concurrency and a bell for what other processes save."""

    def __init__(self, decided: PolicyDecisions | None = None) -> None:
        self.decided = PolicyDecisions() if decided is None else decided
        self.saves: list[Save] = []
        self.loads = 0
        self.tries = 0
        """Saves that were begun, whatever became of them."""
        self.away: BaseException | None = None
        """Raised by everything until it is None again."""
        self.loses_answers = False
        """The next save is written, and then its answer is lost."""
        self.hold: anyio.Event | None = None
        """Until it is set, a save waits."""
        self.asked = anyio.Event()
        """Set when a save has begun."""
        self._others = ChangeSignal()

    async def load(self) -> PolicyDecisions:
        await anyio.lowlevel.checkpoint()
        self.loads += 1
        if self.away is not None:
            raise self.away
        return self.decided

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        self.asked.set()
        self.tries += 1
        if self.hold is not None:
            await self.hold.wait()
        await anyio.lowlevel.checkpoint()
        if self.away is not None:
            raise self.away
        if before.version != self.decided.version:
            return StaleVersion(self.decided.version)
        self.decided = after
        self.saves.append(Save(after.version, by, what, at))
        if self.loses_answers:
            self.loses_answers = False
            raise ConnectionError("the connection was closed")
        return SavedVersion(after.version)

    async def changes(self) -> AsyncGenerator[None, None]:
        with self._others.subscribe() as bell:
            while True:
                await bell.wait()
                if self.away is not None:
                    raise self.away
                yield

    def decide_elsewhere(self, decided: PolicyDecisions, *, ring: bool = True) -> None:
        """Another process saves."""
        self.decided = decided
        if ring:
            self._others.notify()

    def go_away(self, error: BaseException) -> None:
        self.away = error
        self._others.notify()

    def come_back(self) -> None:
        self.away = None


class MemoryAudit:
    def __init__(self) -> None:
        self.records: list[CallRecord] = []
        self.decisions: list[DecisionRecord] = []
        self.asked: list[AuditQuery] = []

    def record(self, record: CallRecord) -> None:
        self.records.append(record)

    def record_decision(self, decision: DecisionRecord) -> None:
        self.decisions.append(decision)

    async def page_before(self, query: AuditQuery) -> OlderPage:
        """Newest first, by the fields a record has in itself."""
        self.asked.append(query)
        fitting = [
            row
            for row in reversed(self._all())
            if query.tool in (None, row.tool)
            and query.principal in (None, row.principal)
            and query.outcome in (None, row.outcome)
            and query.parent in (None, row.parent_id)
            and (query.before is None or row.number < query.before)
        ]
        rows = fitting[: query.limit]
        return OlderPage(rows, rows[-1].number if len(rows) == query.limit else None)

    async def row(self, number: int) -> AuditRow | None:
        return next((row for row in self._all() if row.number == number), None)

    async def page_after(self, query: AuditQuery, after: int, wait: float = 0) -> NewerPage:
        self.asked.append(query)
        rows = [row for row in self._all() if row.number > after][: query.limit]
        return NewerPage(rows, rows[-1].number if rows else after)

    async def latest_number(self) -> int:
        return len(self.records)

    async def totals(self, query: AuditQuery, stretches: TimeBuckets, finding: Sequence[str]) -> ActivitySummary:
        raise NotImplementedError("a store counts")

    async def breakdown(self, query: AuditQuery, whose: ActivityGroup, start: int = 0) -> ActivityBreakdown:
        raise NotImplementedError("a store counts")

    def _all(self) -> list[AuditRow]:
        return [_row(number, record) for number, record in enumerate(self.records, start=1)]

    @property
    def dropped_count(self) -> int:
        return 0


def _row(number: int, record: CallRecord) -> AuditRow:
    call = record.call
    return AuditRow(
        number=number,
        at=call.at,
        call_id=call.id,
        parent_id=call.parent,
        principal=call.principal,
        client=call.client,
        name=call.name,
        tool=None if record.tool is None else str(record.tool),
        outcome=type(record.outcome).__name__,
        message="",
        duration_us=round(record.duration.total_seconds() * 1_000_000),
        argument_bytes=0,
        result_bytes=0,
        policy_version=record.policy_version,
        presentation=call.presentation or None,
        gate_us=record.gate_us,
    )


class ScriptedProvider:
    """A source of tools whose health, tools and answers a test sets as it goes."""

    resources: ResourceProvider | None = None

    def __init__(self, server: Server) -> None:
        self.server = server
        self.word = Listing(server.key, STARTING)
        self.answers: dict[str, Answer] = {}
        self.calls: list[AdmittedCall] = []
        self.given_up = 0
        """Calls that were cancelled while they ran."""
        self.lines: tuple[str, ...] = ()
        self.restarts = 0
        self.runs = 0
        self.running = False
        self.started = anyio.Event()
        self.stopping = anyio.Event()
        """Set when it was told to stop, before it has."""
        self.stopped = anyio.Event()
        self.may_stop: anyio.Event | None = None
        """Until it is set, the provider is busy stopping."""
        self.break_with: BaseException | None = None
        """What `run` raises when `broken` is set, against its contract."""
        self.broken = anyio.Event()
        self.ends = anyio.Event()
        """When it is set, `run` returns, against its contract."""
        self._ring: ChangeCallback = lambda: None

    @property
    def source(self) -> SourceKey:
        return self.server.key

    def listing(self) -> Listing:
        return self.word

    async def run(self, ring: ChangeCallback) -> None:
        self._ring = ring
        self.runs += 1
        self.running = True
        self.started.set()
        ring()
        try:
            await self._live()
        finally:
            self.stopping.set()
            if self.may_stop is not None:
                with anyio.CancelScope(shield=True):
                    await self.may_stop.wait()
            self.running = False
            self.stopped.set()

    async def _live(self) -> None:
        if self.break_with is not None:
            await self.broken.wait()
            raise self.break_with
        await self.ends.wait()

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        self.calls.append(admitted)
        answer = self.answers.get(admitted.tool.id.name, OK)
        if not callable(answer):
            return answer
        try:
            return await answer(admitted, progress)
        except anyio.get_cancelled_exc_class():
            self.given_up += 1
            raise

    def restart(self) -> None:
        self.restarts += 1

    def log(self) -> Sequence[str]:
        return self.lines

    def becomes(self, health: Health, *tools: Tool, flaws: tuple[ListingProblem, ...] = ()) -> None:
        self.word = Listing(self.source, health, tools, flaws)
        self._ring()

    def lists(self, *tools: Tool) -> None:
        self.becomes(UP, *tools)

    def falls(self, why: str = "it was unplugged") -> None:
        """Down, with its last tools, as a provider keeps them."""
        self.becomes(ProviderDown(SINCE, why), *self.word.tools)

    def rests(self) -> None:
        self.becomes(ProviderOff())


class Providers:
    """Makes providers as the gateway asks for them and keeps all it made, oldest first."""

    def __init__(
        self,
        tools: Mapping[ServerKey, Sequence[Tool]] | None = None,
        make: Callable[[Server], ScriptedProvider] = ScriptedProvider,
    ) -> None:
        self.tools = {} if tools is None else tools
        """What a server lists as soon as it runs; others stay in their start."""
        self.make = make
        self.made: list[ScriptedProvider] = []
        self.prepare: Callable[[ScriptedProvider], None] = _unprepared

    def __call__(self, server: Server) -> ScriptedProvider:
        provider = self.make(server)
        if isinstance(server.key, ServerKey) and server.key in self.tools:
            provider.word = Listing(server.key, UP, tuple(self.tools[server.key]))
        self.prepare(provider)
        self.made.append(provider)
        return provider

    def of(self, key: ProviderKey) -> ScriptedProvider:
        """The latest one made for this server."""
        return [provider for provider in self.made if provider.source == key][-1]


def _unprepared(provider: ScriptedProvider) -> None:
    """As it was made."""


def named(key: ServerKey, *names: str) -> tuple[Tool, ...]:
    return tuple(Tool(ToolId(key, name), ToolSpec(name, description=f"Would {name}.")) for name in names)


async def held_forever(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    """An answer that never comes."""
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


class MemorySecrets:
    """Secrets that a test can read, lose the key to, and take away."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.unreadable: str | None = None
        self.away: str | None = None

    async def load(self, name: str) -> bytes | UnreadableSecret | None:
        await self._reached()
        found = self.kept.get(name)
        return UnreadableSecret(self.unreadable) if found is not None and self.unreadable is not None else found

    async def save(self, name: str, value: bytes) -> None:
        await self._reached()
        self.unreadable = None
        self.kept[name] = value

    async def delete(self, name: str) -> None:
        await self._reached()
        self.kept.pop(name, None)

    async def _reached(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.away is not None:
            raise SecretsUnavailable(self.away)
