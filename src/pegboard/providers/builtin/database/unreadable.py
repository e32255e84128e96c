"""A statement that is not run because of how it is written: alike for every engine behind a server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unreadable:
    """Why a statement is not run, and how to write it instead."""

    why: str
    mend: str
    is_write: bool = False
