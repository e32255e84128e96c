"""What a record's outcome means to whoever looks at it from afar: one of the five states of the wall."""

from collections.abc import Mapping
from typing import Final

from .activity import DONE, NOT_SAVED
from .call import MissingConfirmation
from .status import LockStatus
from .unlocking import ToolState

_STATES: Final[Mapping[str, ToolState]] = {
    "returned": ToolState.OPEN,
    DONE: ToolState.OPEN,
    "tool_failed": ToolState.BROKEN,
    "provider_failed": ToolState.BROKEN,
    "broken": ToolState.BROKEN,
    NOT_SAVED: ToolState.BROKEN,
    LockStatus.SERVER_UNAVAILABLE.value: ToolState.BROKEN,
    LockStatus.DISABLED_UNKNOWN.value: ToolState.BROKEN,
    "needs_input": ToolState.NEEDS_ACTION,
    "demanded": ToolState.NEEDS_ACTION,
    "waits": ToolState.NEEDS_ACTION,
    LockStatus.PENDING_APPROVAL.value: ToolState.NEEDS_ACTION,
    LockStatus.SERVER_QUARANTINED.value: ToolState.NEEDS_ACTION,
    MissingConfirmation.WAITING.value: ToolState.NEEDS_ACTION,
}


def outcome_state(outcome: str) -> ToolState:
    """Whatever is not named is a refusal, or a decision that was turned down: by choice."""
    return _STATES.get(outcome, ToolState.LOCKED)
