"""A statement that is not run because of how it is written: alike for every engine behind a server."""

from typing import Final

from pegboard.core.database import Refused

OTHERS: Final = "Change rows of another table, or ask the operator of this source for the change."
DENIED: Final = "The user of this source may not do that there. Its operator can grant it."
TWICE: Final = "A row with the same key is there already."
REFERS: Final = "It would refer to a row that is not there: a foreign key keeps it."
REFERRED: Final = "Other rows refer to the row: a foreign key keeps it."
NOT_EXPLAINED: Final = Refused("Only queries are explained.", "Give EXPLAIN a SELECT.")


def miscounted(places: int, values: int, mark: str) -> str:
    """In words: a statement has other places for parameters than values were given."""
    told = f"The statement has {places} parameter{'' if places == 1 else 's'}, and {values} value"
    told += " was given." if values == 1 else "s were given."
    return f"{told} Write {mark} in it where a value belongs." if places < values else told


WAITS: Final = Refused(
    "This statement changes rows, and was asked as one that reads.", "Ask it as a statement that writes.", is_write=True
)
"""It can run, as far as that is known before it does: a person may be asked."""
