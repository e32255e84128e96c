"""What engines answer alike, and names as most of them write them."""

from typing import Final

from pegboard.core.database import Refused

DENIED: Final = "The user of this source may not do that there. Its operator can grant it."
NOT_EXPLAINED: Final = Refused("Only queries are explained.", "Give EXPLAIN a SELECT.")

WAITS: Final = Refused(
    "This statement changes rows, and was asked as one that reads.", "Ask it as a statement that writes.", is_write=True
)
"""It can run, as far as that is known before it does: a person may be asked."""


def miscounted(places: int, values: int, mark: str) -> str:
    """In words: a statement has other places for parameters than values were given."""
    told = f"The statement has {places} parameter{'' if places == 1 else 's'}, and {values} value"
    told += " was given." if values == 1 else "s were given."
    return f"{told} Write {mark} in it where a value belongs." if places < values else told


def is_unicode(text: str) -> bool:
    """Whether it is without halves of surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def quote_name(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
