"""Failures that every engine in a worker has."""

from typing import Final

from pegboard.core.database import Failed, Fault

NO_MEMORY: Final = Failed(
    "The statement needs more memory than a source's worker may use. Read fewer rows or shorter values.",
    fault=Fault.MEMORY,
)


class UnavailableError(Exception):
    """The database cannot be opened: why, and what to do."""


def out_of_time(seconds: float) -> Failed:
    return Failed(
        f"The statement took longer than the {seconds:g} s that it may take. Ask for less: fewer rows, fewer joins.",
        fault=Fault.TIME,
    )
