"""Everything in a PostgreSQL database that may be asked: four questions, whatever the number of tables."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.database import Access, Column, Dialect, Relation, Schema, Table, TableName, narrowed

from .connecting import Metered
from .found import Made
from .question import COMPOSED, GENERATED, SLICES
from .relations import names_columns, takes_rows
from .row_types import without
from .views import unread

_OURS: Final = """
    c.oid >= 16384 AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
"""
_FROM: Final = "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"

TABLES: Final = f"""
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind IN ('v', 'm'), c.reltuples::bigint,
       coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), pg_catalog.has_table_privilege(c.oid, 'SELECT')
{_FROM} WHERE {_OURS} ORDER BY n.nspname, c.relname
"""
COLUMNS: Final = f"""
SELECT a.attrelid::bigint, a.attnum, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
       coalesce(d.description, '')
{_FROM} JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_description d ON d.classoid = 1259 AND d.objoid = c.oid AND d.objsubid = a.attnum
WHERE {_OURS} AND (pg_catalog.has_table_privilege(c.oid, 'SELECT')
                   OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
ORDER BY a.attrelid, a.attnum
"""
KEYS: Final = """
SELECT k.conrelid::bigint, k.contype, k.conkey, k.confrelid::bigint, k.confkey
FROM pg_catalog.pg_constraint k WHERE k.contype IN ('p', 'f') AND k.conrelid >= 16384 ORDER BY k.conrelid, k.conname
"""
BENEATH: Final = """
SELECT DISTINCT r.ev_class::bigint, c.oid::bigint, n.nspname, c.relname, coalesce(a.attname, '')
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_depend d ON d.objid = r.oid AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
 AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class
JOIN pg_catalog.pg_class c ON c.oid = d.refobjid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
WHERE r.ev_type = '1' AND r.ev_class >= 16384
"""
_VIEWS: Final = """
SELECT c.oid::bigint, n.nspname, c.relname, pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v', 'm') AND c.oid >= 16384
"""
_FOREIGN: Final = "SELECT ftrelid::bigint FROM pg_catalog.pg_foreign_table"
_MADE: Final = f"""
SELECT n.nspname, c.relname, a.attname, t.oid::bigint {_FROM}
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid >= 16384
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND {COMPOSED} WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
FAMILY: Final = """
SELECT i.inhrelid::bigint, i.inhparent::bigint, n.nspname, c.relname, m.nspname, p.relname
FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relkind NOT IN ('i', 'I')
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
JOIN pg_catalog.pg_namespace m ON m.oid = p.relnamespace
"""
_GENERATED: Final = f"""
SELECT g.attrelid::bigint, n.nspname, c.relname, g.attname, g.of {_FROM} JOIN ({GENERATED}) g ON g.attrelid = c.oid
"""
_SLICES: Final = f"SELECT s.oid::bigint, s.attname FROM ({SLICES}) s"  # noqa: S608 - put together from constants
STAMP: Final = """
SELECT pg_catalog.concat_ws('.', (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class WHERE oid >= 16384),
    (SELECT pg_catalog.sum(xmin::text::bigint) FROM pg_catalog.pg_class WHERE oid >= 16384),
    (SELECT pg_catalog.sum(xmin::text::bigint) FROM pg_catalog.pg_attribute WHERE attrelid >= 16384 AND attnum > 0),
    (SELECT pg_catalog.sum(xmin::text::bigint) FROM pg_catalog.pg_constraint),
    (SELECT pg_catalog.count(*) || '.' || coalesce(pg_catalog.sum(xmin::text::bigint), 0) FROM pg_catalog.pg_description
      WHERE objoid >= 16384),
    (SELECT pg_catalog.sum(xmin::text::bigint) FROM pg_catalog.pg_rewrite WHERE oid >= 16384),
    (SELECT pg_catalog.sum(xmin::text::bigint) FROM pg_catalog.pg_namespace))
"""


async def read_schema(connection: Metered, access: Access, *, forced: bool = False) -> Schema:
    """What is offered is what is answered; `forced` as of the engine."""
    if not access.is_whole:
        made = [Made(*row) for row in await connection.fetch(_MADE)]
        access = (await without(connection, made, (), access)).access
    rows = await connection.fetch(TABLES)
    columns: dict[int, list[tuple[int, Column]]] = defaultdict(list)
    for oid, number, name, kind, nullable, comment in await connection.fetch(COLUMNS):
        columns[oid].append((number, Column(name, kind, nullable, comment)))
    names = {oid: {number: column.name for number, column in found} for oid, found in columns.items()}
    tables_by = {row[0]: TableName(row[1], row[2]) for row in rows}
    keys: dict[int, tuple[str, ...]] = {}
    relations: list[Relation] = []
    for oid, kind, key, to, to_key in await connection.fetch(KEYS):
        if oid not in tables_by or not set(key) <= names.get(oid, {}).keys():
            continue
        own = tuple(names[oid][number] for number in key)
        if kind in ("p", b"p"):
            keys[oid] = own
        elif to in tables_by and set(to_key) <= names.get(to, {}).keys():
            relations.append(
                Relation(tables_by[oid], own, tables_by[to], tuple(names[to][number] for number in to_key))
            )
    roads = await _roads(connection, access, forced=forced)
    tables = tuple(
        Table(
            TableName(schema, name),
            tuple(column for _, column in columns[oid] if roads.opens_column(oid, column.name, access)),
            keys.get(oid, ()),
            comment,
            is_view,
            # An estimate of nothing is told as -1.
            count if count >= 0 and not is_view else None,
        )
        for oid, schema, name, is_view, count, comment, _ in rows
        if roads.opens(oid, access)
    )
    default = await connection.fetchval("SELECT coalesce(pg_catalog.current_schema(), '')")
    return narrowed(Schema(Dialect.POSTGRESQL, tables, tuple(relations), default), access)


@dataclass
class _Roads:
    """How rows of one table are reached through another."""

    names: dict[int, TableName] = field(default_factory=dict)
    parents: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    parts: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    under: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    used: dict[int, set[tuple[int, str]]] = field(default_factory=lambda: defaultdict(set))
    generated: dict[tuple[int, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    sliced: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Columns that say which rows of another table are in this one."""
    unread: set[int] = field(default_factory=set)
    """Foreign tables where nobody insists on them, views that take whole rows, in which a closed column may hide, and
    views that call what nobody here can look into."""

    def family(self, oid: int) -> set[int]:
        return {oid} | _all(oid, self.parents) | _all(oid, self.parts)

    def opens(self, oid: int, access: Access) -> bool:
        """Whether nothing closed is read by reading it."""
        for one in {oid} | _all(oid, self.under):
            if any(
                each in self.unread or (each in self.names and not access.opens(*self.names[each]))
                for each in self.family(one)
            ):
                return False
            if not all(self.opens_column(one, column, access) for column in self.sliced.get(one, ())):
                return False
            for table, column in self.used[one]:
                if not self.opens_column(table, column, access):
                    return False
        return True

    def opens_column(self, oid: int, column: str, access: Access) -> bool:
        family = [each for each in self.family(oid) if each in self.names]
        columns = {column}.union(*(self.generated[each, column] for each in family))
        return all(access.opens_column(*self.names[each], one) for each in family for one in columns)


def _all(oid: int, ways: dict[int, set[int]]) -> set[int]:
    found: set[int] = set()
    ahead = [oid]
    while ahead:
        fresh = ways.get(ahead.pop(), set()) - found
        found |= fresh
        ahead += fresh
    return found


async def _roads(connection: Metered, access: Access, *, forced: bool) -> _Roads:
    roads = _Roads()
    for view, oid, schema, name, column in await connection.fetch(BENEATH):
        roads.names[oid] = TableName(schema, name)
        roads.under[view].add(oid)
        if column:
            roads.used[view].add((oid, column))
    for child, parent, schema, name, over, above in await connection.fetch(FAMILY):
        roads.names[child], roads.names[parent] = TableName(schema, name), TableName(over, above)
        roads.parents[child].add(parent)
        roads.parts[parent].add(child)
    for oid, schema, name, column, of in await connection.fetch(_GENERATED):
        roads.names[oid] = TableName(schema, name)
        roads.generated[oid, column].add(of)
    for oid, column in await connection.fetch(_SLICES):
        roads.sliced[oid].add(column)
    if not forced:
        roads.unread |= {oid for (oid,) in await connection.fetch(_FOREIGN)}
    views = {f"{schema}.{name}": (oid, text) for oid, schema, name, text in await connection.fetch(_VIEWS)}
    if names_columns(access):
        roads.unread |= {oid for oid, text in views.values() if roads.under.get(oid) and takes_rows(text)}
    refused = await unread(connection, {name: text for name, (_, text) in views.items()}, access)
    roads.unread |= {views[name][0] for name in refused}
    return roads
