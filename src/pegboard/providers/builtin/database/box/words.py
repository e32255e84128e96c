"""What is said of statements and parameters, whichever engine they were meant for."""

from collections.abc import Mapping
from typing import Final

from pegboard.core.database import Failed, Fault, Refused

LONGEST: Final = 100_000
"""Characters of a statement."""
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def out_of_time(seconds: float) -> Failed:
    return Failed(
        f"The statement took longer than the {seconds:g} s that it may take. Ask for less: fewer rows, fewer joins.",
        fault=Fault.TIME,
    )


def unfit(statement: str) -> Refused | None:
    """Why no engine is handed it."""
    if len(statement) > LONGEST:
        return Refused(
            f"The statement has {len(statement):,} characters; at most {LONGEST:,} are read.",
            "Send values as parameters, or ask in several statements.",
        )
    if "\0" in statement or not _is_text(statement):
        return Refused(
            "The statement holds a NUL or half of a surrogate pair, which is no text.", "Leave the character out."
        )
    return None


def unbindable(value: object) -> str | None:
    """Why no engine can be given it as parameters."""
    match value:
        case str():
            return None if _is_text(value) else "A parameter holds half of a surrogate pair, which is no text."
        case int() if not _SMALLEST <= value <= _LARGEST:
            return "A parameter is an integer of more than 64 bits. Send it as text, and cast it in the statement."
        case Mapping():
            return next((why for pair in value.items() for each in pair if (why := unbindable(each))), None)
        case list() | tuple():
            return next((why for each in value if (why := unbindable(each))), None)
        case _:
            return None


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
