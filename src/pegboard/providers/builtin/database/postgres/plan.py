"""What the server itself means to read for a statement: its plan, held against what the statement was admitted to
read."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pegboard.core.database import Access

from .found import SYSTEM, Found
from .question import SLICES
from .reading import Unreadable
from .relations import Reach, closed_columns

_BEYOND: Final = Unreadable("The statement reads more than it names.", "Name the tables that you need.")
_UNTOLD: Final = Unreadable("The plan of this statement is not told here.", "Run the query itself.")

_SLICED: Final = Unreadable(
    "The plan of this statement would tell how its tables are parted, by values that are not told.",
    "Run the query itself.",
)
_CATALOGUED: Final = Unreadable("What is read of information_schema is not explained.", "Run the query itself.")
"""Rows are guessed from what the whole catalogue holds, so that a guess tells whether a closed name is there."""

_INDEXES: Final = f"""
WITH tables AS (
    SELECT c.oid, n.nspname, c.relname
    FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) a(schema, name)
    JOIN pg_catalog.pg_namespace n ON n.nspname = a.schema
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = a.name
)
SELECT pg_catalog.json_build_object(
    'guarded', EXISTS (SELECT FROM tables WHERE pg_catalog.row_security_active(tables.oid)),
    'sliced', ARRAY(SELECT DISTINCT pg_catalog.jsonb_build_array(t.nspname, t.relname, s.attname)
        FROM tables t CROSS JOIN LATERAL (SELECT * FROM ({SLICES}) s WHERE s.oid = t.oid) s),
    'columns', ARRAY(SELECT DISTINCT a.attname FROM tables JOIN pg_catalog.pg_index x ON x.indrelid = tables.oid
        JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid AND i.relname = ANY($3::text[])
        JOIN pg_catalog.pg_attribute a ON a.attrelid = tables.oid AND a.attnum > 0
        WHERE a.attnum = ANY(x.indkey::smallint[]) OR EXISTS (SELECT FROM pg_catalog.pg_depend d
            WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = i.oid
              AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
              AND d.refobjid = tables.oid AND d.refobjsubid = a.attnum))
)
"""  # noqa: S608 - put together from constants


async def planned(connection: Any, text: str, arguments: list[object]) -> Any:
    """The plan of a query. Nothing is run: the question is for the plan alone."""
    question = await connection.prepare(f"EXPLAIN (FORMAT JSON, VERBOSE, COSTS OFF) {text}", name="")
    return json.loads(await question.fetchval(*arguments))


def beyond(plan: Any, reach: Reach) -> Unreadable | None:
    """Whether it would read something else."""
    for node in _nodes(plan):
        if "Relation Name" not in node:
            continue
        schema, name = node.get("Schema", ""), node["Relation Name"]
        if schema in SYSTEM and reach.catalogue:
            continue
        if (schema, name) not in reach.relations:
            return _BEYOND
    return None


async def untold(connection: Any, plan: Any, reach: Reach, found: Found, access: Access) -> Unreadable | None:
    """Whether the plan, shown to whoever asks for it, would tell of what is closed. Its conditions are those of the
    statement and of open views; but the name of an index tells what it is over, and a rule for rows what it looks at.
    """
    if reach.catalogue or any(schema in SYSTEM for schema, _ in reach.relations):
        return _CATALOGUED
    tables = sorted(reach.relations)
    indexes = sorted({node["Index Name"] for node in _nodes(plan) if "Index Name" in node})
    told = json.loads(
        await connection.fetchval(_INDEXES, [schema for schema, _ in tables], [name for _, name in tables], indexes)
    )
    parts = {(node.get("Schema", ""), node["Relation Name"]) for node in _nodes(plan) if "Relation Name" in node}
    for schema, name, column in told["sliced"]:
        if (schema, name) in parts and any(not access.opens_column(*table, column) for table in tables):
            return _SLICED
    relations = found.relations.values()
    closed = {column for relation in relations for column in closed_columns(relation, access)}
    shut = {column for column in told["columns"] if any(not access.opens_column(*table, column) for table in tables)}
    for relation in relations:
        shut |= {
            column
            for column, of in relation.generated
            if column in told["columns"] and any(not access.opens_column(*table, of) for table in tables)
        }
    if told["guarded"] or shut or any(column in index for column in closed for index in indexes):
        return _UNTOLD
    return None


def _nodes(plan: Any) -> Iterator[Mapping[str, Any]]:
    ahead = [plan]
    while ahead:
        node = ahead.pop()
        if isinstance(node, list):
            ahead += node
        elif isinstance(node, dict):
            yield node
            ahead += [value for value in node.values() if isinstance(value, list | dict)]
