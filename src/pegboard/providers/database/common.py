"""Shared by all engines: answers, quoted names, schemas from catalog rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from pegboard.core.databases.rows import StatementRefusal
from pegboard.core.databases.schema import (
    DatabaseSchema,
    DatabaseTable,
    ForeignKey,
    TableColumn,
    TableName,
    narrow_schema,
)
from pegboard.core.model.databases import DatabaseAccess, Dialect

ACCESS_DENIED: Final = "The user of this source may not do that there. Its operator can grant it."
NOT_EXPLAINED: Final = StatementRefusal("Only queries are explained.", "Give EXPLAIN a SELECT.")
NEEDS_WRITE: Final = StatementRefusal(
    "This statement changes rows, and was asked as one that reads.", "Ask it as a statement that writes.", is_write=True
)
"""It can run, as far as that is known before it does: a person may be asked."""


def parameter_count_message(places: int, values: int, mark: str) -> str:
    """In words: a statement has other places for parameters than values were given."""
    told = f"The statement has {places} parameter{'' if places == 1 else 's'}, and {values} value"
    told += " was given." if values == 1 else "s were given."
    return f"{told} Write {mark} in it where a value belongs." if places < values else told


def is_unicode(text: str) -> bool:
    """Whether it is without halves of surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def quote_name(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


CatalogRows: TypeAlias = Iterable[Sequence[Any]]


def schema_of_rows(
    dialect: Dialect, tables: CatalogRows, columns: CatalogRows, keys: CatalogRows, default: str, access: DatabaseAccess
) -> DatabaseSchema:
    """Rows of a catalog as a schema. Each begins with a schema and a table; then there are

    - of a table: whether it is a view, an estimate of its rows, its comment;
    - of a column: its name, type, whether it can be null, its comment;
    - of a key: its name, a column, and schema, table and column that it refers to, or nothing for a primary key.
    """
    known: dict[TableName, dict[str, TableColumn]] = defaultdict(dict)
    for schema, table, name, kind, nullable, comment in columns:
        known[TableName(schema, table)][name] = TableColumn(name, str(kind), bool(nullable), comment or "")
    primary: dict[TableName, list[str]] = defaultdict(list)
    links: dict[tuple[TableName, str], list[tuple[str, TableName, str]]] = defaultdict(list)
    for schema, table, constraint, column, to_schema, to_table, to_column in keys:
        if to_table is None:
            primary[TableName(schema, table)].append(column)
        else:
            links[TableName(schema, table), constraint].append((column, TableName(to_schema, to_table), to_column))
    found = tuple(
        DatabaseTable(
            name,
            tuple(known[name].values()),
            tuple(primary[name]) if known[name].keys() >= {*primary[name]} else (),
            comment or "",
            bool(is_view),
            None if is_view or count is None or count < 0 else int(count),
        )
        for schema, table, is_view, count, comment in tables
        if (name := TableName(schema, table)) in known
    )
    relations = tuple(
        ForeignKey(own, tuple(one[0] for one in parts), parts[0][1], tuple(one[2] for one in parts))
        for (own, _), parts in links.items()
        if all(one[0] in known.get(own, {}) and one[2] in known.get(one[1], {}) for one in parts)
    )
    return narrow_schema(DatabaseSchema(dialect, found, relations, default), access)
