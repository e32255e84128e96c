"""What SQLite's authorizer does not hear of: the columns that `NATURAL JOIN` and `JOIN … USING` compare.

Found by the words of a view or trigger and of the views that it names: rather once too often than not at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pegboard.core.database import Access
from pegboard.providers.builtin.database.derived import words

from .authorizer import MAIN
from .reading import Whole
from .tokens import tokens


@dataclass(frozen=True)
class Joining:
    """All names in small letters."""

    views: Mapping[str, tuple[str, ...]]
    """The words of each."""
    columns: Mapping[str, frozenset[str]]
    hidden: Mapping[str, frozenset[str]]
    """Columns of each open table that has closed ones."""
    closed: frozenset[str]

    def compares(self, statement: str) -> bool:
        """Whether it may compare what is closed."""
        return self._compares(self._said(statement))

    def reaches(self, statement: str, shown: frozenset[str]) -> bool:
        """Whether it may, or reads a view that is not shown."""
        said = self._said(statement)
        return not (self.views.keys() - shown).isdisjoint(said) or self._compares(said)

    def _compares(self, said: tuple[str, ...]) -> bool:
        names = frozenset(said)
        if names.isdisjoint(("natural", "using")):
            return False
        if not names.isdisjoint(self.closed):
            return True
        for table in names & self.hidden.keys():
            if "using" in names and not names.isdisjoint(self.hidden[table]):
                return True
            others = frozenset[str]().union(*(self.columns[each] for each in names & self.columns.keys() - {table}))
            if "natural" in names and (said.count(table) > 1 or not others.isdisjoint(self.hidden[table])):
                return True
        return False

    def _said(self, statement: str) -> tuple[str, ...]:
        """Every word of it and of the views that it names."""
        said = _words(statement)
        seen, waiting = set[str](), self.views.keys() & {*said}
        while waiting:
            seen |= waiting
            more = tuple(word for view in sorted(waiting) for word in self.views[view])
            said += more
            waiting = (self.views.keys() & {*more}) - seen
        return said


def joining(whole: Whole, access: Access) -> Joining:
    tables = {table.name.table.lower(): table for table in whole.schema.tables}
    hidden = {
        name: frozenset(
            column.name.lower()
            for column in table.columns
            if not access.opens_column(MAIN, table.name.table, column.name)
        )
        for name, table in tables.items()
    }
    return Joining(
        {name.lower(): _words(form.statement) for name, form in whole.forms.items() if form.kind == "view"},
        {name: frozenset(column.name.lower() for column in table.columns) for name, table in tables.items()},
        {name: columns for name, columns in hidden.items() if columns},
        frozenset(name for name, table in tables.items() if not access.opens(MAIN, table.name.table)),
    )


def _words(statement: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in words(tokens(statement)))
