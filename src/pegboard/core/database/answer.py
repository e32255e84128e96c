"""What a source answers: rows, why a statement was refused, why it failed; and what a check of it found."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from pegboard.core.folded import Json

from .values import ValueFormat

RowValues: TypeAlias = tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of an answer."""

    name: str
    type: str
    """As the database names it; empty where it cannot say."""
    formats: tuple[ValueFormat, ...] = ()
    """Of values that JSON has no type for."""


@dataclass(frozen=True, slots=True)
class ResultTruncation:
    """What of an answer was left out."""

    rows: bool
    """There are more rows than these."""
    limited_by: str = ""
    """`rows` or `bytes`: the limit that ended them."""
    cells: tuple[tuple[int, int, int], ...] = ()
    """Values that were cut: row and column, from 0, and the bytes of the whole value."""


@dataclass(frozen=True, slots=True)
class QueryRows:
    columns: tuple[ResultColumn, ...]
    rows: tuple[RowValues, ...]
    truncation: ResultTruncation | None
    """`None` where this is all."""
    seconds: float
    affected_rows: int | None = None
    """How many rows a statement that writes has changed."""


@dataclass(frozen=True, slots=True)
class StatementRefusal:
    """The statement was not run, because of what it is."""

    why: str
    fix: str
    """What to write instead."""
    is_write: bool = False
    """It would change rows, and was asked without `write`: where the source may be written, a person can be asked."""


class StatementFault(Enum):
    """What went wrong, as far as the caller can fix it."""

    SYNTAX = "syntax"
    NO_TABLE = "no_table"
    NO_COLUMN = "no_column"
    NO_FUNCTION = "no_function"
    PARAMETERS = "parameters"
    TIME = "time"
    MEMORY = "memory"
    BUSY = "busy"
    """Another connection holds what is needed: to try again may help."""
    UNAVAILABLE = "unavailable"
    """The database cannot be reached or opened."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class StatementFailure:
    """The statement was run, or begun, and there are no rows. A closed table or column fails like one that does not
    exist: with the same message, fault, name and position."""

    message: str
    """The engine's own, without what is closed."""
    position: int | None = None
    """Characters before the place that is meant, in the statement as it was given."""
    fault: StatementFault = StatementFault.OTHER
    name: str | None = None
    """What was not found, as the statement spells it."""


QueryAnswer: TypeAlias = QueryRows | StatementRefusal | StatementFailure
"""To one statement."""


class FindingSeverity(Enum):
    """What a finding about a source means for its callers."""

    WARNING = "warning"
    """The source is served."""
    REFUSED_UNLESS_FORCED = "refused_unless_forced"
    """The source is not served unless its operator writes `force: true`."""
    REFUSED = "refused"
    """The source is not served. Nothing overrides it: something that the board denies could be read."""

    def refuses(self, *, is_forced: bool) -> bool:
        return self is FindingSeverity.REFUSED or (self is FindingSeverity.REFUSED_UNLESS_FORCED and not is_forced)


@dataclass(frozen=True, slots=True)
class DatabaseFinding:
    """Something about a source that its operator should know. Agents never see it."""

    message: str
    severity: FindingSeverity = FindingSeverity.WARNING
    statements: tuple[str, ...] = ()
    """SQL that fixes it, to be run by an administrator of the database, in this order."""


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    version: str
    """The engine's, with its name; empty when it was not reached."""
    role: str | None
    """The login that the source uses, where it has logins."""
    findings: tuple[DatabaseFinding, ...] = ()
