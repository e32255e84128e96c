"""Everything in a PostgreSQL database that its login may read: four questions, whatever the number of tables."""

from collections import defaultdict
from typing import Any, Final

from pegboard.core.database import Access, Column, Dialect, Relation, Schema, Table, TableName, narrowed

_OURS: Final = """
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {0}
    WHERE c.oid >= 16384 AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
"""
_TABLES: Final = f"""
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind IN ('v', 'm'), c.reltuples::bigint,
       coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '') {_OURS.format("")} ORDER BY n.nspname, c.relname
"""
_COLUMNS: Final = f"""
SELECT a.attrelid::bigint, a.attnum, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
       coalesce(d.description, '') {
    _OURS.format('''JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_catalog.pg_description d ON d.classoid = 1259 AND d.objoid = c.oid AND d.objsubid = a.attnum''')
}
AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
ORDER BY a.attrelid, a.attnum
"""
_KEYS: Final = """
SELECT k.conrelid::bigint, k.contype::text, k.conkey, k.confrelid::bigint, k.confkey
FROM pg_catalog.pg_constraint k WHERE k.contype IN ('p', 'f') AND k.conrelid >= 16384 ORDER BY k.conrelid, k.conname
"""
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


async def read_schema(connection: Any, access: Access) -> Schema:
    tables = await connection.fetch(_TABLES)
    columns: dict[int, dict[int, Column]] = defaultdict(dict)
    for oid, number, name, kind, nullable, comment in await connection.fetch(_COLUMNS):
        columns[oid][number] = Column(name, kind, nullable, comment)
    names = {oid: TableName(schema, name) for oid, schema, name, *_ in tables}
    keys: dict[int, tuple[str, ...]] = {}
    relations: list[Relation] = []
    for oid, kind, key, to, to_key in await connection.fetch(_KEYS):
        if oid not in names or not set(key) <= columns[oid].keys():
            continue
        own = tuple(columns[oid][number].name for number in key)
        if kind == "p":
            keys[oid] = own
        elif to in names and set(to_key) <= columns[to].keys():
            relations.append(Relation(names[oid], own, names[to], tuple(columns[to][number].name for number in to_key)))
    found = tuple(
        # An estimate of nothing is -1.
        Table(
            names[oid],
            tuple(columns[oid].values()),
            keys.get(oid, ()),
            comment,
            is_view,
            rows if rows >= 0 and not is_view else None,
        )
        for oid, _, _, is_view, rows, comment in tables
    )
    default = await connection.fetchval("SELECT coalesce(pg_catalog.current_schema(), '')")
    return narrowed(Schema(Dialect.POSTGRESQL, found, tuple(relations), default), access)
