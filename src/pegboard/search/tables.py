"""The tables of databases as documents to search: names and what they are short for, comments, keys, and samples where
a source gives any.

The index knows what it holds by a source and a name within it, which is how tools are known; a table is known there by
its database and its own qualified name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.database import DatabaseId, DatabaseTable, ForeignKey, TableName
from pegboard.core.ids import ToolId, ToolsetId, ToolsetKey

from .abbreviations import ABBREVIATIONS, expansions
from .documents import SearchDocument
from .text import content_terms, split_name, terms

MAX_COLUMNS: Final = 1_000
_MAX_EMBEDDED_COLUMNS: Final = 30
_MAX_COMMENT_LENGTH: Final = 500
_NAME_AFFIXES: Final = frozenset({"tbl", "tb", "t", "v", "vw", "dim", "fct", "fact", "stg", "tab", "mst", "mstr"})
"""What is written before or after the names of tables, and says nothing of what is in them."""


def source_key(source: DatabaseId) -> ToolsetKey:
    return ToolsetKey(ToolsetId(source))


def table_key(source: DatabaseId, name: TableName) -> ToolId:
    return ToolId(source_key(source), str(name))


@dataclass(frozen=True, slots=True)
class TableDocumentSource:
    """All that the document of a table is made of."""

    key: ToolId
    table: DatabaseTable
    refers_to: tuple[ForeignKey, ...] = ()
    samples: Mapping[str, Sequence[str]] | None = None

    def is_same(self, other: "TableDocumentSource") -> bool:
        return self.key == other.key and (
            self is other
            or (
                self.table == other.table
                and self.refers_to == other.refers_to
                and (self.samples or {}) == (other.samples or {})
            )
        )

    @property
    def document(self) -> SearchDocument:
        table = self.table
        columns = table.columns[:MAX_COLUMNS]
        own = [*split_name(table.name.table)]
        return SearchDocument(
            self.key,
            " ".join(_meaningful_parts(own)),
            " ".join(expansions(own)),
            table.comment,
            tuple(column.name for column in columns),
            tuple(self._value_texts()),
            f"{self.key.source} {table.name.schema}",
            self._embedding_text(own),
        )

    def _embedding_text(self, own: Sequence[str]) -> str:
        """In whole words as far as may be, and without samples: a model that reads may be elsewhere."""
        columns = ", ".join(
            _expand_words(split_name(column.name)) for column in self.table.columns[:_MAX_EMBEDDED_COLUMNS]
        )
        comment = f" ({self.table.comment[:_MAX_COMMENT_LENGTH]})" if self.table.comment else ""
        return f"{self.key.source}: table {_expand_words(_meaningful_parts(own))}{comment} with columns {columns}"

    def _value_texts(self) -> Iterator[str]:
        """Of columns: what they are short for, what is said of them, where they lead, and what is in them."""
        for column in self.table.columns[:MAX_COLUMNS]:
            yield from expansions(split_name(column.name))
            if column.comment:
                yield column.comment
        for relation in self.refers_to:
            yield relation.to_table.table
        for values in (self.samples or {}).values():
            yield from values


def matching_columns(query: str, table: DatabaseTable) -> list[str]:
    """The columns that have words of the query in their names or in what these are short for; the most first."""
    asked = {*content_terms(query)}
    scored = []
    for place, column in enumerate(table.columns[:MAX_COLUMNS]):
        said = {*terms(column.name), *terms(" ".join(expansions(split_name(column.name))))}
        if shared := len(asked & said):
            scored.append((-shared, place, column.name))
    return [name for _, _, name in sorted(scored)]


def _expand_words(parts: Iterable[str]) -> str:
    return " ".join([next(iter(ABBREVIATIONS.get(part.casefold(), ())), part.casefold()) for part in parts])


def _meaningful_parts(parts: Sequence[str]) -> Sequence[str]:
    kept = [part for part in parts if part.casefold() not in _NAME_AFFIXES]
    return kept or parts
