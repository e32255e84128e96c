"""Programs of code mode as values: started runs and suspended runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pegboard.core.calls.call import ToolCall
from pegboard.core.model.ids import CallId, PrincipalId

# A program that has begun: as much of it as its record needs, should the gateway end before the program does.


@dataclass(frozen=True)
class StartedRun:
    id: CallId
    """Of the call that started it, or of the part that goes on with it."""
    at: datetime
    principal: PrincipalId
    client: str = ""
    parent: CallId | None = None
    presentation: str = ""
    policy_version: int = 0


@dataclass(frozen=True)
class SuspendedRun:
    """One program, stopped in the middle of it."""

    id: CallId
    """Of the call that started it."""
    tickets: tuple[str, ...]
    """For any of which it goes on once it is decided."""
    state: bytes
    """All that it takes to go on, signed. A store keeps it encrypted or not at all."""
    until: datetime
    """Afterwards nobody can go on with it. Mostly nobody can before, for its tickets have lapsed."""
    principal: PrincipalId
    """Whose it is, and so whose room it takes."""


@dataclass(frozen=True)
class StoredRun:
    """A suspended program as a store finds it."""

    id: CallId
    mark: str
    """Another one each time that it is kept: whoever read this state can only go on with this one."""
    state: bytes | None
    """`None` where it cannot be read: it was kept with another key, or somebody goes on with it already."""
    why: str = ""
    """Why it cannot be read."""
    claimed_at: datetime | None = None
    """Since when somebody goes on with it."""


# The mark of a call that a program makes: by it a gateway knows one that comes back to it, or from another gateway.
#
# It is a word that anybody may read and say. Whoever says it can do less by that, and nothing more.

PROGRAM_META_KEY: Final = "pegboard/program"
NESTED_PROGRAM_TEXT: Final = "A program cannot run another one: write both as one program."
NO_WAIT_IN_PROGRAM_TEXT: Final = (
    "A program waits for nobody by a call of its own: let it end, and come back for the ticket then."
)
_META: Final = "_meta"
PROGRAM_META: Final[Mapping[str, bytes]] = {_META: json.dumps({PROGRAM_META_KEY: True}).encode()}
"""What is said beside the arguments of such a call. Servers pass it on, or do not know it."""


def is_program_call(call: ToolCall) -> bool:
    """Whether a program made it, here or anywhere before, as far as it says so."""
    said = call.beside.get(_META)
    if said is None:
        return False
    try:
        meta = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return isinstance(meta, dict) and PROGRAM_META_KEY in meta
