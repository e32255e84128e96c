"""How far a conversation has gone, and which limit ends it."""

from dataclasses import dataclass, field
from enum import Enum

from pegboard.config.chat_keys import ChatLimits
from pegboard.core.tool import Json, canonical_json


class ChatLimit(Enum):
    """By the keys of chat.limits."""

    TURNS = "turns"
    CALLS = "calls"
    REPEATED_ERRORS = "repeated_errors"
    REPEATED_CALLS = "repeated_calls"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class LimitHit:
    limit: ChatLimit
    why: str


@dataclass
class LimitCounter:
    limits: ChatLimits
    turns: int = 0
    calls: int = 0
    errors: int = 0
    """One after the other."""
    exceeded_limit: LimitHit | None = None
    """Why a call was one too many: there are no more."""
    _repeats: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def check_call(self, name: str, arguments: Json) -> LimitHit | None:
        """Why this call is one too many. One that is not is counted."""
        self.exceeded_limit = self.exceeded_limit or self._excess(name, arguments)
        return self.exceeded_limit

    def _excess(self, name: str, arguments: Json) -> LimitHit | None:
        if self.calls >= self.limits.calls:
            return LimitHit(
                ChatLimit.CALLS, f"{_count_text(self.calls, 'tool call was', 'tool calls were')} made for one answer"
            )
        key = canonical_json([name, arguments])
        count = self._repeats.get(key, 0)
        if count >= self.limits.repeated_calls:
            times = "once" if count == 1 else f"{count} times"
            return LimitHit(ChatLimit.REPEATED_CALLS, f"{name[:64]!r} was called {times} with the very same arguments")
        self._repeats[key] = count + 1
        self.calls += 1
        return None

    def count_result(self, *, failed: bool) -> None:
        self.errors = self.errors + 1 if failed else 0

    @property
    def turn_limit(self) -> LimitHit | None:
        """What forbids another turn with tools. One turn is kept for the answer without them."""
        if self.exceeded_limit is not None:
            return self.exceeded_limit
        if self.errors >= self.limits.repeated_errors:
            return LimitHit(
                ChatLimit.REPEATED_ERRORS, f"{_count_text(self.errors, 'call', 'calls')} failed one after the other"
            )
        if self.calls >= self.limits.calls:
            return LimitHit(
                ChatLimit.CALLS, f"{_count_text(self.calls, 'tool call was', 'tool calls were')} made for one answer"
            )
        if self.turns >= self.limits.turns - 1:
            return LimitHit(
                ChatLimit.TURNS, f"the model was asked {_count_text(self.turns, 'time', 'times')} for one answer"
            )
        return None


def _count_text(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
