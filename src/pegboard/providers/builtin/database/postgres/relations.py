"""Which tables a statement may read, and in what shape: by a table's own name and by everything that is read along
with it.

A closed table is answered like one that is not there. A table with closed columns is read through a subquery of its
open ones,
so that a star, a whole row, a join by common names and the engine's own words know of nothing else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from pegboard.core.database import Access, Fault
from pegboard.providers.builtin.database.names import names

from .found import SYSTEM, Beneath, Found, Relation
from .functions import Missing
from .reading import Named, Reading, Unreadable, read

Visible: TypeAlias = Iterable[tuple[str, str, tuple[str, ...]]]
"""Open tables with their open columns: schema, name, columns."""

_CATALOGUE: Final = names(
    """
    pg_am pg_attrdef pg_attribute pg_available_extensions pg_class pg_collation pg_constraint pg_database
    pg_description pg_enum pg_extension pg_index pg_indexes pg_inherits pg_matviews pg_namespace pg_opclass
    pg_operator pg_partitioned_table pg_policies pg_range pg_sequence pg_sequences pg_stat_all_tables
    pg_stat_user_indexes pg_stat_user_tables pg_stats pg_tables pg_timezone_abbrevs pg_timezone_names pg_trigger
    pg_type pg_views
    """
)
"""Of pg_catalog, what tells of tables. It is read only where nothing is withheld."""

_SCHEMA_ELSEWHERE: Final = frozenset(
    [
        "foreign_data_wrapper_options",
        "foreign_server_options",
        "foreign_table_options",
        "user_mapping_options",
        "user_mappings",
    ]
)
_FILTERED: Final = {
    ("information_schema", "tables"): "(table_schema, table_name)",
    ("information_schema", "columns"): "(table_schema, table_name, column_name)",
}
_PLACE: Final = "pg_catalog.row_number() OVER (PARTITION BY table_schema, table_name ORDER BY ordinal_position)"
_COUNTED: Final = {
    "ordinal_position": f"({_PLACE})::information_schema.cardinal_number AS ordinal_position",
    "dtd_identifier": f"({_PLACE})::text::information_schema.sql_identifier AS dtd_identifier",
}
"""Columns are counted as they are told: a number that is left out would tell of one that is not."""
_NO_CATALOGUE: Final = "Use search_schemas, or information_schema.tables and information_schema.columns."


@dataclass(frozen=True)
class Replacement:
    """What a table is read through in its place."""

    named: Named
    text: str


@dataclass(frozen=True)
class Reach:
    replacements: tuple[Replacement, ...]
    relations: frozenset[tuple[str, str]]
    """Everything that the statement reads, by any road."""
    catalogue: bool
    """Whether it reads the catalogue too."""


def reach(
    reading: Reading, found: Found, access: Access, visible: Visible, *, forced: bool
) -> Reach | Missing | Unreadable:
    replacements: list[Replacement] = []
    relations: set[tuple[str, str]] = set()
    catalogue = False
    for named in reading.named:
        relation = found.relations.get((named.schema, named.name))
        if relation is not None and relation.schema in SYSTEM:
            catalogue = True
            verdict = _catalogued(named, relation, access, visible)
        else:
            verdict = _opened(named, relation, access, forced)
        if isinstance(verdict, Missing | Unreadable):
            return verdict
        if verdict is not None:
            if fault := _unwrappable(named):
                return fault
            replacements.append(verdict)
        assert relation is not None
        relations.add((relation.schema, relation.name))
        relations.update((one.schema, one.name) for one in relation.beneath)
    return Reach(tuple(replacements), frozenset(relations), catalogue)


def missing(named: Named) -> Missing:
    """As the server says it of a table that is not there."""
    return Missing(f'relation "{named.written}" does not exist', Fault.NO_TABLE, named.written, named.position)


def _opened(
    named: Named, relation: Relation | None, access: Access, forced: bool
) -> Replacement | Missing | Unreadable | None:
    if relation is None or relation.kind not in "rpvmf" or not access.opens(relation.schema, relation.name):
        return missing(named)
    for one in relation.beneath:
        if one.schema not in SYSTEM and not access.opens(one.schema, one.name):
            return missing(named)
    closed = closed_columns(relation, access)
    if _slices(relation, access) or (relation.kind in "vm" and _leaks(relation, access)):
        return missing(named)
    if not forced and "f" in (relation.kind, *(one.kind for one in relation.beneath)):
        return Unreadable(
            f"{named.written!r} reads a foreign table: another server's, out of reach of a read-only transaction.",
            "Query tables of this database, or have its operator insist on it.",
        )
    if named.target:
        return _target(named, relation, closed)
    if not closed:
        return None
    columns = ", ".join(quoted(column) for column in relation.columns if column not in closed)
    if not columns:
        return missing(named)
    table = f"{quoted(relation.schema)}.{quoted(relation.name)}"
    return Replacement(named, f"(SELECT {columns} FROM {table})")  # noqa: S608 - names that the server told, quoted


def _target(named: Named, relation: Relation, closed: frozenset[str]) -> Missing | Unreadable | None:
    if relation.kind not in "rp":
        return Unreadable(f"{named.written!r} is not a table.", "Write to the tables themselves.")
    if closed:
        return Unreadable(
            f"Rows of {named.written!r} are read here, and not changed.",
            "Ask its operator for the change, or change rows of another table.",
        )
    return None


def closed_columns(relation: Relation, access: Access) -> frozenset[str]:
    """Columns that may not be read: closed here, or in a table of the same family."""
    if access.is_whole:
        return frozenset()
    family = [(relation.schema, relation.name)]
    if relation.kind not in "vm":
        family += relation.family
    closed = {column for column in relation.columns if not all(access.opens_column(*table, column) for table in family)}
    return frozenset(closed | {column for column, of in relation.generated if of in closed})


def _slices(relation: Relation, access: Access) -> bool:
    """Whether to read from it is to know what is closed: it has the rows of another table that have certain values in
    a closed column."""
    if access.is_whole:
        return False
    family = ((relation.schema, relation.name), *relation.family)
    return any(not access.opens_column(*table, column) for column in relation.sliced for table in family)


def _leaks(relation: Relation, access: Access) -> bool:
    """Whether a view shows of a table under it what is closed there."""
    if access.is_whole:
        return False
    narrow = [one for one in relation.beneath if _narrows(access, one)]
    if any(not access.opens_column(one.schema, one.name, column) for one in narrow for column in _used(one, relation)):
        return True
    texts = (relation.definition, *(one.definition for one in relation.beneath))
    return bool(narrow) and any(takes_rows(text) for text in texts if text is not None)


def _used(one: Beneath, view: Relation) -> Iterable[str]:
    """With what the columns that it uses are computed from."""
    return {*one.columns, *(of for column, of in view.generated if column in one.columns)}


def _narrows(access: Access, one: Beneath) -> bool:
    return names_columns(access) or any(not access.opens_column(one.schema, one.name, column) for column in one.columns)


def names_columns(access: Access) -> bool:
    return any(each.column is not None for each in (*access.allow, *access.deny))


@lru_cache(maxsize=1024)
def takes_rows(definition: str) -> bool:
    """Whether a view's text uses a whole row, in which a closed column may hide. The server writes every star out,
    so what is left of one is a row."""
    reading = read(definition, write=False)
    if not isinstance(reading, Reading):
        return True
    return reading.stars or bool(reading.bare & reading.aliases)


def _catalogued(
    named: Named, relation: Relation, access: Access, visible: Visible
) -> Replacement | Missing | Unreadable | None:
    if access.is_whole:
        if relation.schema == "information_schema" and relation.name not in _SCHEMA_ELSEWHERE:
            return None
        if relation.schema == "pg_catalog" and relation.name in _CATALOGUE:
            return None
        return Unreadable(f"{named.written!r} tells of the server, not of its tables.", _NO_CATALOGUE)
    key = _FILTERED.get((relation.schema, relation.name))
    if key is None:
        return Unreadable(f"{named.written!r} is not read here.", _NO_CATALOGUE)
    columns = relation.name == "columns"
    # What is open is listed, not what is closed: a plan may show it, and who forgets something forgets to show it.
    rows = (
        [(schema, name, column) for schema, name, names in visible for column in names]
        if columns
        else [(schema, name) for schema, name, _ in visible]
    )
    listed = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    where = f"{key} IN (VALUES {listed})" if rows else "false"
    shown = ", ".join(_COUNTED.get(column, quoted(column)) for column in relation.columns) if columns else "*"
    table = f"{relation.schema}.{relation.name}"
    return Replacement(named, f"(SELECT {shown} FROM {table} WHERE {where})")  # noqa: S608 - names that the server told, quoted


def _unwrappable(named: Named) -> Unreadable | None:
    if not named.plain:
        return Unreadable(
            f"{named.written!r} cannot be read by ONLY, TABLESAMPLE or a database's name.", "Name it alone."
        )
    return None


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
