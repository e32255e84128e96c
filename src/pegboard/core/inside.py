"""The mark of a call that a program makes: by it a gateway knows one that comes back to it, or from another gateway.

It is a word that anybody may read and say. Whoever says it can do less by that, and nothing more.
"""

import json
from collections.abc import Mapping
from typing import Final

from .call import ToolCall

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
