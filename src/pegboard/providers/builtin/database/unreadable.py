"""A statement that is not run because of how it is written: alike for every engine behind a server."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.database import Refused


@dataclass(frozen=True)
class Unreadable:
    """Why a statement is not run, and how to write it instead."""

    why: str
    mend: str
    is_write: bool = False


DENIED: Final = "The user of this source may not do that there. Its operator can grant it."
TWICE: Final = "A row with the same key is there already."
REFERS: Final = "It would refer to a row that is not there: a foreign key keeps it."
REFERRED: Final = "Other rows refer to the row: a foreign key keeps it."
WAITS: Final = Refused(
    "This statement changes rows, and was asked as one that reads.", "Ask it as a statement that writes.", is_write=True
)
"""It can run, as far as that is known before it does: a person may be asked."""
