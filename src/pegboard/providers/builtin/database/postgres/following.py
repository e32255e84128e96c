"""What follows from a change of rows, though the statement does not name it: triggers, rules, defaults, checks, and
what foreign keys do to other tables. Asked only of a statement that writes, where something is closed.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from pglast import ast as _ast
from pglast import parse_sql

from pegboard.core.database import Access
from pegboard.providers.builtin.database.unreadable import BY_KEY, BY_TRIGGER

from .catalogue import ask
from .connecting import Metered
from .found import Relation
from .reading import Reading, Unreadable, read
from .views import looked_through

# Its types say that anything may be missing anywhere, which the grammar knows better.
ast: Any = _ast

_INSERT: Final = 4
_DELETE: Final = 8
_UPDATE: Final = 16
"""As PostgreSQL numbers what a trigger is for."""

_QUESTION: Final = """
WITH RECURSIVE touched(oid, event, top) AS (
    SELECT $1::oid, e, true FROM pg_catalog.unnest($2::int[]) e
    UNION
    SELECT n.oid, n.event, n.top FROM touched t CROSS JOIN LATERAL (
        SELECT i.inhrelid, e.event, t.top FROM pg_catalog.pg_inherits i
        JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND (c.relispartition OR t.event <> 4)
        -- A row that does not belong there any more goes into another partition.
        CROSS JOIN LATERAL pg_catalog.unnest(CASE WHEN c.relispartition AND t.event = 16 THEN ARRAY[4, 8, 16]
            ELSE ARRAY[t.event] END) e(event)
        WHERE i.inhparent = t.oid
        UNION ALL
        SELECT k.conrelid, CASE WHEN t.event = 8 AND k.confdeltype = 'c' THEN 8 ELSE 16 END, false
        FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.confrelid = t.oid
        AND ((t.event = 8 AND k.confdeltype IN ('c', 'n', 'd'))
          OR (t.event = 16 AND k.confupdtype IN ('c', 'n', 'd') AND (NOT t.top OR EXISTS (
                SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = ANY(k.confkey)
                AND a.attname = ANY($3::text[])))))
    ) n(oid, event, top)
), written AS (SELECT DISTINCT oid FROM touched WHERE event <> 8
), told AS (
    SELECT t.*, k.conrelid, k.confrelid, k.confkey FROM touched t JOIN pg_catalog.pg_constraint k ON k.contype = 'f'
    AND ((k.conrelid = t.oid AND (t.event = 4 OR (t.event = 16 AND (NOT t.top OR EXISTS (
            SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = ANY(k.conkey)
            AND a.attname = ANY($3::text[]))))))
      OR (k.confrelid = t.oid AND (t.event = 8 OR (t.event = 16 AND (NOT t.top OR EXISTS (
            SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = ANY(k.confkey)
            AND a.attname = ANY($3::text[])))))))
)
SELECT pg_catalog.json_build_object(
    'calls', EXISTS (SELECT FROM touched t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid
            AND (g.tgtype & t.event) <> 0 AND g.tgenabled <> 'D' AND g.tgfoid >= 16384)
        OR EXISTS (SELECT FROM touched t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid AND r.ev_type <> '1'
            AND r.ev_enabled <> 'D')
        OR EXISTS (SELECT FROM written w JOIN pg_catalog.pg_index i ON i.indrelid = w.oid
            CROSS JOIN LATERAL pg_catalog.unnest(i.indclass::oid[]) o(oid)
            WHERE o.oid >= 16384 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                WHERE d.classid = 'pg_catalog.pg_opclass'::pg_catalog.regclass AND d.objid = o.oid
                AND d.deptype = 'e')),
    'texts', ARRAY(
        SELECT pg_catalog.pg_get_expr(f.adbin, f.adrelid) FROM written w
            JOIN pg_catalog.pg_attrdef f ON f.adrelid = w.oid
        UNION SELECT pg_catalog.pg_get_expr(k.conbin, k.conrelid) FROM written w
            JOIN pg_catalog.pg_constraint k ON k.conrelid = w.oid AND k.contype = 'c'
        UNION SELECT pg_catalog.pg_get_expr(x.tree, i.indrelid) FROM written w
            JOIN pg_catalog.pg_index i ON i.indrelid = w.oid
            CROSS JOIN LATERAL (VALUES (i.indexprs), (i.indpred)) x(tree) WHERE x.tree IS NOT NULL
        UNION SELECT pg_catalog.pg_get_expr(p.partexprs, p.partrelid) FROM written w
            JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = w.oid WHERE p.partexprs IS NOT NULL
        UNION SELECT pg_catalog.pg_get_expr(x.tree, p.polrelid) FROM touched t
            JOIN pg_catalog.pg_class c ON c.oid = t.oid AND c.relrowsecurity
            JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid
            CROSS JOIN LATERAL (VALUES (p.polqual), (p.polwithcheck)) x(tree) WHERE x.tree IS NOT NULL
        UNION SELECT 'NULL::' || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(y.typname)
            FROM written w JOIN pg_catalog.pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0
            JOIN pg_catalog.pg_type y ON y.oid = a.atttypid AND y.oid >= 16384
            JOIN pg_catalog.pg_namespace n ON n.oid = y.typnamespace
            LEFT JOIN pg_catalog.pg_type e ON e.oid = y.typelem
            WHERE NOT a.attisdropped AND (y.typtype IN ('d', 'c') OR e.typtype IN ('d', 'c'))
        ORDER BY 1),
    'reached', (SELECT pg_catalog.json_agg(ARRAY[n.nspname, c.relname] || ARRAY(
            SELECT a.attname FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
        FROM (SELECT oid FROM touched UNION SELECT conrelid FROM told WHERE confrelid = oid) t
        JOIN pg_catalog.pg_class c ON c.oid = t.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace),
    'keys', (SELECT pg_catalog.json_agg(ARRAY[n.nspname, c.relname] || ARRAY(
            SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY(t.confkey)))
        FROM told t JOIN pg_catalog.pg_class c ON c.oid = t.confrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE t.conrelid = t.oid)
)
"""
# What was there from the beginning has a number below 16384: of triggers, those that keep foreign keys.

_HARMLESS: Final = re.compile(
    r"nextval\('[^'\\]+'::regclass\)|current_setting\('[^'\\]+'::text(, (true|false))?\)", re.IGNORECASE
)
"""Functions of the server that no query may call, and that tell a default or a policy nothing of other tables."""


async def following(connection: Metered, statement: str, target: Relation, access: Access) -> Unreadable | None:
    """Why rows of this table are not changed by that statement; None where nothing else comes of it."""
    events, columns = _deeds(statement)
    told = json.loads(await connection.fetchval(_QUESTION, target.oid, events, columns))
    if not _open(told["reached"] or (), access) or not _open(told["keys"] or (), access):
        return BY_KEY
    if told["calls"] or not await _computed(connection, told["texts"], access):
        return BY_TRIGGER
    return None


def _deeds(statement: str) -> tuple[list[int], list[str]]:
    """What is done to rows, and to which columns of those that are there."""
    match parse_sql(statement)[0].stmt:
        case ast.DeleteStmt():
            return [_DELETE], []
        case ast.UpdateStmt(targetList=targets):
            return [_UPDATE], [one.name for one in targets]
        case ast.InsertStmt(onConflictClause=ast.OnConflictClause(targetList=targets)) if targets:
            return [_INSERT, _UPDATE], [one.name for one in targets]
    return [_INSERT], []


def _open(tables: Iterable[list[str]], access: Access) -> bool:
    return all(
        access.opens(schema, name) and all(access.opens_column(schema, name, column) for column in columns)
        for schema, name, *columns in tables
    )


async def _computed(connection: Metered, texts: Iterable[str], access: Access) -> bool:
    """Whether these expressions compute and do nothing else, of what is open."""
    queries = {text: f"SELECT {_HARMLESS.sub('NULL', text)}" for text in texts}
    if await looked_through(connection, queries, access) is not None:
        return False
    readings = [one for query in queries.values() if isinstance(one := read(query, write=False), Reading)]
    named = [reading for reading in readings if reading.named]
    if not named:
        return True
    found = await ask(connection, named)
    tables = [found.relations.get((one.schema, one.name)) for reading in named for one in reading.named]
    return all(
        one is not None
        and one.kind in "rp"
        and _open(
            [[one.schema, one.name, *one.columns], *([under.schema, under.name] for under in one.beneath)], access
        )
        for one in tables
    )
