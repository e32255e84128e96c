"""The audit: recording calls and decisions, and querying them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.calls.call import CallRecord


@dataclass(frozen=True)
class AuditQuery:
    """Every field narrows. The latest written first; `before` is a record's number, for paging."""

    tool: str | None = None
    """By its id."""
    name: str | None = None
    """By the name it was called by."""
    server: str | None = None
    """A server's key: calls of its tools, and decisions about it or them."""
    principal: str | None = None
    client: str | None = None
    kind: str | None = None
    """`call`, `refusal`, or that of a decision; `decision` for all of those."""
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    limit: int = 100
    slower_us: int | None = None
    """Calls that took longer than so many microseconds."""
    text: str | None = None
    """A text that is part of the name, the tool's id, what is said, the caller or the client; whatever the case."""
    parent: str | None = None
    """By the id of the call within which they were made."""
    call: str | None = None
    """By the id of the call itself."""


@dataclass(frozen=True)
class AuditRow:
    """One call or one decision. A decision has neither a duration nor sizes, and a call that was recorded by an older
    version has no tokens."""

    number: int
    at: datetime
    call_id: str
    parent_id: str | None
    principal: str
    client: str
    name: str
    tool: str | None
    """The id of the tool; of a decision, the id of whatever it is about."""
    outcome: str
    """`returned`, `tool_failed`, `needs_input`, `demanded`, `provider_failed`, `cancelled`, or a refusal:
    `unknown_tool`, `bad_arguments`, `confirmation_…`, or the status of a locked tool. Of a decision
    `done`, `rejected`, `stale` or `not_saved`, or a word of its own."""
    message: str
    duration_us: int
    argument_bytes: int
    result_bytes: int
    kind: str = "call"
    policy_version: int | None = None
    argument_tokens: int | None = None
    result_tokens: int | None = None
    arguments: str | None = None
    """Redacted and cut; `None` unless the settings say that they are kept."""
    result: str | None = None
    presentation: str | None = None
    """How the caller is shown tools; `None` where each is shown as itself. `trial` of a call that an operator made to
    try a tool."""
    gate_us: int | None = None
    """Of `took_us`, what passed before the call was admitted; `None` where nobody measured it."""


@dataclass(frozen=True)
class OlderPage:
    """The latest first; there may be older ones that fit, before that number, unless it is `None`."""

    rows: Sequence[AuditRow]
    before: int | None


@dataclass(frozen=True)
class NewerPage:
    """Records in the order in which they were written, and the number from which to go on."""

    rows: Sequence[AuditRow]
    after: int


class StoreUnavailable(Exception):  # noqa: N818 - it is told to a person as a sentence
    """The store cannot be asked now; the message says why, and what to do."""


class Audit(Protocol):
    """Its questions raise `StoreUnavailable`."""

    def record(self, record: CallRecord) -> None:
        """Never waits and never fails: a full queue drops the record and counts it."""
        ...

    def record_decision(self, decision: DecisionRecord) -> None:
        """The same for what is no call."""
        ...

    async def page_before(self, query: AuditQuery) -> OlderPage:
        """Up to so many as asked for, and fewer where it would take long to find them: then ask on from `before`."""
        ...

    async def row(self, number: int) -> AuditRow | None: ...

    async def page_after(self, query: AuditQuery, after: int, wait: float = 0) -> NewerPage:
        """What was written after that number, by any process, each record once. With `wait`, waits so many seconds for
        the first one."""
        ...

    async def latest_number(self) -> int:
        """The highest number so far, from which to follow what comes."""
        ...

    async def totals(self, query: AuditQuery, stretches: "TimeBuckets", finding: Sequence[str]) -> "ActivitySummary":
        """Of the calls and refusals that fit; its times are those of the stretches. `finding` are the names of tools
        that find others."""
        ...

    async def breakdown(self, query: AuditQuery, whose: "ActivityGroup", start: int = 0) -> "ActivityBreakdown":
        """The same by tool or by server, up to so many as asked for, from that place on."""
        ...

    @property
    def dropped_count(self) -> int: ...


# What happened, in numbers: by stretches of time, by tool and by server.


class ActivityGroup(StrEnum):
    """What calls are put together by."""

    TOOL = "tool"
    SERVER = "server"


@dataclass(frozen=True)
class ActivityTotals:
    """Of some calls and refusals. Times are of calls that reached a provider, the value at the nearest rank."""

    outcomes: Mapping[str, int] = field(default_factory=dict[str, int])
    calls: int = 0
    refusals: int = 0
    errors: int = 0
    """Calls in which the tool or its provider failed."""
    p50_us: int | None = None
    p95_us: int | None = None
    argument_bytes: int = 0
    result_bytes: int = 0
    argument_tokens: int = 0
    result_tokens: int = 0


@dataclass(frozen=True)
class TurnCount:
    """How often a model called by one presentation, not counting what its programs called for it."""

    count: int
    found_tokens: int
    """Of the answers in which tools were found, listed or described."""


@dataclass(frozen=True)
class TimeBuckets:
    """From `since` on, so many, each so long."""

    since: datetime
    length: timedelta
    count: int

    @property
    def until(self) -> datetime:
        return self.since + self.length * self.count


@dataclass(frozen=True)
class ActivitySummary:
    buckets: Sequence[ActivityTotals]
    """One for each, in order; those without any call too."""
    total: ActivityTotals
    turns: Mapping[str, TurnCount]
    """By presentation."""
    is_whole: bool
    """Whether nothing of the time asked for lies further back than was looked."""


@dataclass(frozen=True)
class ActivityShare:
    """What one tool or one server had of it."""

    name: str
    totals: ActivityTotals
    last_at: datetime
    last_error: AuditRow | None = None


@dataclass(frozen=True)
class ActivityBreakdown:
    """Those with the most calls first; there are more from `next` on, unless it is `None`."""

    shares: Sequence[ActivityShare]
    next_start: int | None
    is_whole: bool
