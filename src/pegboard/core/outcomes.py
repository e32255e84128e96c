"""What a record's outcome means to whoever looks at it from afar: one of the five states of the wall."""

from collections.abc import Mapping
from typing import Final

from .activity import DONE, NOT_SAVED
from .call import Unconfirmed
from .status import Status
from .unlocking import PegState

_STATES: Final[Mapping[str, PegState]] = {
    "returned": PegState.OPEN,
    DONE: PegState.OPEN,
    "tool_failed": PegState.BROKEN,
    "provider_failed": PegState.BROKEN,
    "broken": PegState.BROKEN,
    NOT_SAVED: PegState.BROKEN,
    Status.SERVER_UNAVAILABLE.value: PegState.BROKEN,
    Status.DISABLED_UNKNOWN.value: PegState.BROKEN,
    "needs_input": PegState.WANTS,
    "demanded": PegState.WANTS,
    "waits": PegState.WANTS,
    Status.PENDING_APPROVAL.value: PegState.WANTS,
    Status.SERVER_QUARANTINED.value: PegState.WANTS,
    Unconfirmed.WAITING.value: PegState.WANTS,
}


def outcome_state(outcome: str) -> PegState:
    """Whatever is not named is a refusal, or a decision that was turned down: by choice."""
    return _STATES.get(outcome, PegState.LOCKED)
