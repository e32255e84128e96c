"""A database as the operator declares it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pegboard.core.server import DeclaredAt

from .access import Access
from .limits import MOST_ROWS, Limits
from .source import SourceId

USUAL_ROWS: Final = 100
"""Of an answer to whoever does not say how many."""
USUAL: Final = Limits(rows=MOST_ROWS)


@dataclass(frozen=True)
class Database:
    id: SourceId
    url: str = field(repr=False)
    """As it was written: references are followed when it is opened."""
    origin: DeclaredAt
    enabled: bool = True
    description: str = ""
    access: Access = field(default_factory=Access)
    limits: Limits = USUAL
    """Its rows are the most that one call may ask for."""
    samples: bool = False
    """Whether values of it may be read for the search, and shown by it."""
    writes: bool = False
    """Whether statements may change it, each after a person's yes."""
    force: bool = False
    """Whether it is served though its user may do more than it should."""

    def limited(self, rows: int | None) -> Limits:
        """For a call that asks for so many rows."""
        return replace(self.limits, rows=min(USUAL_ROWS if rows is None else rows, self.limits.rows))

    def reach(self) -> "Database":
        """All that an open source is made from: another line of the file changes nothing."""
        return replace(self, origin=DeclaredAt("", 0))


def in_use(databases: Mapping[SourceId, Database]) -> Mapping[SourceId, Database]:
    return {id: databases[id] for id in sorted(databases) if databases[id].enabled}
