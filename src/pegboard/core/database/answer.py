"""What a source answers: rows, why a statement was refused, why it failed; and what was found when it was looked at."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

from .catch import Cut, Row
from .marks import Mark


@dataclass(frozen=True, slots=True)
class Field:
    """A column of an answer."""

    name: str
    type: str
    """As the database names it; empty where it cannot say."""
    marks: tuple[Mark, ...] = ()
    """How its values are written that are not written as what they are."""


@dataclass(frozen=True, slots=True)
class Rows:
    columns: tuple[Field, ...]
    rows: tuple[Row, ...]
    cut: Cut | None
    """What was left out; nothing where this is all."""
    seconds: float
    affected: int | None = None
    """How many rows a statement that writes has changed."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The statement was not run, because of what it is."""

    why: str
    mend: str
    """What to write instead."""
    is_write: bool = False
    """It would change rows, and was asked without `write`: where the source may be written, a person can be asked."""


class Fault(Enum):
    """What went wrong, so far as whoever asked can mend it."""

    SYNTAX = "syntax"
    NO_TABLE = "no_table"
    NO_COLUMN = "no_column"
    NO_FUNCTION = "no_function"
    PARAMETERS = "parameters"
    TIME = "time"
    MEMORY = "memory"
    BUSY = "busy"
    """Somebody else holds what is needed: to try again may help."""
    AWAY = "away"
    """The database cannot be reached or opened."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failed:
    """The statement was run, or begun, and there is no answer. A closed table or column fails as one that is not there
    does: with the same words, fault, name and position."""

    words: str
    """The engine's own, but for what they may not tell."""
    position: int | None = None
    """Characters before the place that is meant, in the statement as it was given."""
    fault: Fault = Fault.OTHER
    name: str | None = None
    """What was not found, as the statement spells it."""


Answer: TypeAlias = Rows | Refused | Failed
"""To one statement."""


class FindingSeverity(Enum):
    """What a finding about a source means for those who ask it."""

    WARNING = "warning"
    """The source is served."""
    REFUSED_UNLESS_FORCED = "refused_unless_forced"
    """The source is not served unless its operator writes `force: true`."""
    REFUSED = "refused"
    """The source is not served. Nothing overrides it: something that the board denies could be read."""

    def refuses(self, *, is_forced: bool) -> bool:
        match self:
            case FindingSeverity.WARNING:
                return False
            case FindingSeverity.REFUSED_UNLESS_FORCED:
                return not is_forced
            case FindingSeverity.REFUSED:
                return True
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a source that its operator should know. Agents never see it."""

    message: str
    severity: FindingSeverity = FindingSeverity.WARNING
    statements: tuple[str, ...] = ()
    """SQL that fixes it, to be run by an administrator of the database, in this order."""


@dataclass(frozen=True, slots=True)
class Checked:
    version: str
    """The engine's, with its name; empty when it was not reached."""
    role: str | None
    """Who we are to it, where it has roles."""
    findings: tuple[Finding, ...] = ()
