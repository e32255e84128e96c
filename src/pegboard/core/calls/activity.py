"""What people, files and first sights decided, as the audit tells it: who, when, about what, in words without secrets.

Calls leave a `CallRecord`; everything else that happens to the board leaves a `DecisionRecord`. A command says its kind
itself. Whoever asks for a kind or an outcome asks for one of `KINDS` and `OUTCOMES`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pegboard.core.calls.call import MissingConfirmation
from pegboard.core.decision.status import LockStatus
from pegboard.core.model.ids import PrincipalId

CALL: Final = "call"
"""The kind of a call that reached its tool's provider."""
REFUSAL: Final = "refusal"
"""The kind of a call that did not."""

DECISION: Final = "decision"
"""Stands for every kind that is no call."""

DONE: Final = "done"
REJECTED: Final = "rejected"
STALE: Final = "stale"
"""Somebody else decided first, and the command named the version that was looked at."""
NOT_SAVED: Final = "not_saved"

CHANGE: Final = "change"
"""A server changed or added tools, and they are locked for it."""

KINDS: Final = (
    *(CALL, REFUSAL, DECISION, CHANGE, "server", "switch", "approval", "block", "first_sight", "ticket", "trust"),
    *("override", "grant", "token", "sign_in", "sign_out", "config", "toolset", "secret", "policy", "store"),
)
"""All there are; `decision` stands for every one but the first two."""
OUTCOMES: Final = (
    *("returned", "tool_failed", "needs_input", "demanded", "provider_failed", "cancelled"),
    *(
        "unknown_tool",
        "bad_arguments",
        *(status.value for status in LockStatus),
        *(how.value for how in MissingConfirmation),
    ),
    *(DONE, REJECTED, STALE, NOT_SAVED, "waits", "broken"),
)

FILE_PRINCIPAL: Final = PrincipalId("file")
"""Who did it, when it was the operator by editing pegboard.yaml."""


@dataclass(frozen=True)
class DecisionRecord:
    kind: str
    about: str | None
    """The id of the tool, server or toolset; `None` where it is about none of them."""
    text: str
    """In words, without secrets: it is kept, shown and exported."""
    by: PrincipalId
    at: datetime
    policy_version: int
    """The version of the policy that came of it, or at which it was turned down."""
    outcome: str = DONE
