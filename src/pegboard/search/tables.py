"""The tables of databases as documents to search: names and what they are short for, comments, keys, and samples where
a source gives any.

The index knows what it holds by a source and a name within it, which is how tools are known; a table is known there by
its database and its own qualified name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.database import Relation, SourceId, Table, TableName
from pegboard.core.ids import ToolId, ToolsetId, ToolsetKey

from .abbreviations import USUAL, meant
from .documents import Document
from .text import pieces, telling_terms, terms

MOST_COLUMNS: Final = 1_000
_MOST_SPOKEN: Final = 30
_LONGEST_SPOKEN: Final = 500
_MARKS: Final = frozenset({"tbl", "tb", "t", "v", "vw", "dim", "fct", "fact", "stg", "tab", "mst", "mstr"})
"""What is written before or after the names of tables, and says nothing of what is in them."""


def source_key(source: SourceId) -> ToolsetKey:
    return ToolsetKey(ToolsetId(source))


def table_key(source: SourceId, name: TableName) -> ToolId:
    return ToolId(source_key(source), str(name))


@dataclass(frozen=True, slots=True)
class TableTelling:
    """All that the document of a table is made of."""

    key: ToolId
    table: Table
    refers_to: tuple[Relation, ...] = ()
    samples: Mapping[str, Sequence[str]] | None = None

    def is_same(self, other: "TableTelling") -> bool:
        return self.key == other.key and (
            self is other
            or (
                self.table == other.table
                and self.refers_to == other.refers_to
                and (self.samples or {}) == (other.samples or {})
            )
        )

    @property
    def document(self) -> Document:
        table = self.table
        columns = table.columns[:MOST_COLUMNS]
        own = [*pieces(table.name.table)]
        return Document(
            self.key,
            " ".join(_telling(own)),
            " ".join(meant(own)),
            table.comment,
            tuple(column.name for column in columns),
            tuple(self._said()),
            f"{self.key.source} {table.name.schema}",
            self._spoken(own),
        )

    def _spoken(self, own: Sequence[str]) -> str:
        """In whole words as far as may be, and without samples: a model that reads may be elsewhere."""
        columns = ", ".join(_in_words(pieces(column.name)) for column in self.table.columns[:_MOST_SPOKEN])
        comment = f" ({self.table.comment[:_LONGEST_SPOKEN]})" if self.table.comment else ""
        return f"{self.key.source}: table {_in_words(_telling(own))}{comment} with columns {columns}"

    def _said(self) -> Iterator[str]:
        """Of columns: what they are short for, what is said of them, where they lead, and what is in them."""
        for column in self.table.columns[:MOST_COLUMNS]:
            yield from meant(pieces(column.name))
            if column.comment:
                yield column.comment
        for relation in self.refers_to:
            yield relation.to.table
        for values in (self.samples or {}).values():
            yield from values


def columns_meant(query: str, table: Table) -> list[str]:
    """The columns that have words of the query in their names or in what these are short for; the most first."""
    asked = {*telling_terms(query)}
    scored = []
    for place, column in enumerate(table.columns[:MOST_COLUMNS]):
        said = {*terms(column.name), *terms(" ".join(meant(pieces(column.name))))}
        if shared := len(asked & said):
            scored.append((-shared, place, column.name))
    return [name for _, _, name in sorted(scored)]


def _in_words(parts: Iterable[str]) -> str:
    return " ".join([next(iter(USUAL.get(part.casefold(), ())), part.casefold()) for part in parts])


def _telling(parts: Sequence[str]) -> Sequence[str]:
    kept = [part for part in parts if part.casefold() not in _MARKS]
    return kept or parts
