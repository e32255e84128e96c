"""How far a conversation has gone, and which limit ends it."""

from dataclasses import dataclass, field
from enum import Enum

from pegboard.config.chat_keys import ChatLimits
from pegboard.core.tool import Json, canonical


class Limit(Enum):
    """By the keys of chat.limits."""

    TURNS = "turns"
    CALLS = "calls"
    ERRORS = "repeated_errors"
    SAME = "repeated_calls"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Reached:
    limit: Limit
    why: str


@dataclass
class Tally:
    limits: ChatLimits
    turns: int = 0
    calls: int = 0
    errors: int = 0
    """One after the other."""
    over: Reached | None = None
    """Why a call was one too many: there are no more."""
    _same: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def refuses(self, name: str, arguments: Json) -> Reached | None:
        """Why this call is one too many. One that is not is counted."""
        self.over = self.over or self._excess(name, arguments)
        return self.over

    def _excess(self, name: str, arguments: Json) -> Reached | None:
        if self.calls >= self.limits.calls:
            return Reached(Limit.CALLS, f"{_times(self.calls, 'tool call was', 'tool calls were')} made for one answer")
        key = canonical([name, arguments])
        count = self._same.get(key, 0)
        if count >= self.limits.repeated_calls:
            times = "once" if count == 1 else f"{count} times"
            return Reached(Limit.SAME, f"{name[:64]!r} was called {times} with the very same arguments")
        self._same[key] = count + 1
        self.calls += 1
        return None

    def ended(self, *, failed: bool) -> None:
        self.errors = self.errors + 1 if failed else 0

    @property
    def reached(self) -> Reached | None:
        """What forbids another turn with tools. One turn is kept for the answer without them."""
        if self.over is not None:
            return self.over
        if self.errors >= self.limits.repeated_errors:
            return Reached(Limit.ERRORS, f"{_times(self.errors, 'call', 'calls')} failed one after the other")
        if self.calls >= self.limits.calls:
            return Reached(Limit.CALLS, f"{_times(self.calls, 'tool call was', 'tool calls were')} made for one answer")
        if self.turns >= self.limits.turns - 1:
            return Reached(Limit.TURNS, f"the model was asked {_times(self.turns, 'time', 'times')} for one answer")
        return None


def _times(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
