"""What happened, in numbers: by stretches of time, by tool and by server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from .audit import AuditRow


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
