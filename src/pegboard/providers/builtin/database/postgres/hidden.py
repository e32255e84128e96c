"""Functions that somebody defined and that a statement calls without naming them: by a cast, by the check of a
domain, by the order of a type. Which types a statement has to do with is asked of the catalogue, and only in a
database where something of the kind is.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from .found import Found
from .reading import Reading, Unreadable

QUESTION: Final = """
WITH RECURSIVE tables AS (
    SELECT c.oid, c.reltype
    FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) a(schema, name)
    JOIN pg_catalog.pg_class c ON c.relname = a.name
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = a.schema
), reached(oid, way) AS (
    SELECT t.oid, 'named' FROM pg_catalog.pg_type t WHERE t.typname = ANY($3::text[])
    UNION SELECT reltype, CASE WHEN $7::boolean THEN 'within' ELSE 'row' END FROM tables WHERE reltype <> 0
    UNION SELECT a.atttypid, 'column' FROM tables JOIN pg_catalog.pg_attribute a ON a.attrelid = tables.oid
        WHERE a.attnum > 0 AND NOT a.attisdropped
    UNION SELECT p.prorettype, 'within' FROM pg_catalog.pg_proc p WHERE p.proname = ANY($4::text[]) AND p.oid >= 16384
    UNION SELECT o.oprresult, 'within' FROM pg_catalog.pg_operator o
        WHERE o.oprname = ANY($5::text[]) AND o.oid >= 16384
    UNION SELECT e.oid, CASE r.way WHEN 'row' THEN 'column' WHEN 'column' THEN CASE WHEN e.inside THEN 'within' ELSE
        'column' END ELSE r.way END
    FROM reached r CROSS JOIN LATERAL (
        SELECT t.typelem, true FROM pg_catalog.pg_type t WHERE t.oid = r.oid AND t.typelem <> 0
        UNION ALL SELECT t.typbasetype, false FROM pg_catalog.pg_type t WHERE t.oid = r.oid AND t.typbasetype <> 0
        UNION ALL SELECT a.atttypid, true FROM pg_catalog.pg_type t
            JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE t.oid = r.oid AND t.typrelid <> 0
        UNION ALL SELECT g.rngsubtype, true FROM pg_catalog.pg_range g WHERE g.rngtypid = r.oid
        -- A column that PostgreSQL 13 does not have.
        UNION ALL SELECT g.rngtypid, true FROM pg_catalog.pg_range g
            WHERE (pg_catalog.to_jsonb(g) ->> 'rngmultitypid')::oid = r.oid
        UNION ALL SELECT d.refobjid, false FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_depend d
            ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = k.oid
            AND d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass
            WHERE k.contypid = r.oid
    ) e(oid, inside)
), types AS (
    SELECT oid, pg_catalog.bool_or(way = 'named') AS named, pg_catalog.bool_or(way IN ('named', 'within')) AS made
    FROM reached GROUP BY oid
)
SELECT pg_catalog.json_build_object(
    'casts', ARRAY(SELECT pg_catalog.format('%s to %s', k.castsource::regtype, k.casttarget::regtype)
        FROM pg_catalog.pg_cast k LEFT JOIN types s ON s.oid = k.castsource LEFT JOIN types t ON t.oid = k.casttarget
        WHERE k.oid >= 16384 AND k.castfunc >= 16384 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
            WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = k.castfunc AND d.deptype = 'e')
        AND CASE WHEN k.castcontext = 'e' THEN t.named AND (s.oid IS NOT NULL OR k.castsource < 16384)
                 WHEN k.castsource >= 16384 THEN s.oid IS NOT NULL
                 WHEN k.casttarget >= 16384 THEN t.oid IS NOT NULL
                 ELSE true END ORDER BY 1),
    'domains', ARRAY(SELECT DISTINCT r.oid::regtype::text FROM types r
        JOIN pg_catalog.pg_constraint k ON k.contypid = r.oid JOIN pg_catalog.pg_depend d
        ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = k.oid AND d.refobjid >= 16384
        AND d.refclassid IN ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass)
        -- What is read from a column is not checked again: only what is made is.
        WHERE (r.made OR $6::boolean OR EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.proname = ANY($4::text[])
            AND p.proargtypes::oid[] &&
                ARRAY[2277, 2283, 2776, 3500, 5077, 5078, 5079]::oid[]))
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend m JOIN pg_catalog.pg_extension e ON e.oid = m.refobjid
            WHERE m.classid = d.refclassid AND m.objid = d.refobjid AND m.deptype = 'e') ORDER BY 1),
    'orders', ARRAY(SELECT DISTINCT r.oid::regtype::text FROM types r
        JOIN pg_catalog.pg_opclass k ON k.opcintype = r.oid
        WHERE k.oid >= 16384 AND k.opcdefault AND k.opcmethod IN (403, 405)
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
            WHERE d.classid = 'pg_catalog.pg_opclass'::pg_catalog.regclass AND d.objid = k.oid AND d.deptype = 'e')
        ORDER BY 1)
)
"""
# What an extension brings of the kind is trusted as the extension's types are, whose values are read by its functions
# anyway. 403 and 405 are btree and hash; the other numbers are the types that stand for any other (anyarray, …).


async def hidden(connection: Any, readings: Iterable[Reading], found: Found, *, named: bool) -> Unreadable | None:
    """What the statements call without naming it; `named`: whether the types may be told, of which one may hold rows of
    a closed table."""
    if not found.hides:
        return None
    readings = tuple(readings)
    relations = found.relations.values()
    tables = sorted(
        {(one.schema, one.name) for one in relations}
        | {(under.schema, under.name) for one in relations for under in one.beneath}
    )
    called = sorted({one.name for reading in readings for one in reading.called})
    types = sorted({one.name for reading in readings for one in reading.types} | set(called))
    operators = sorted({name for reading in readings for _, name in reading.operators})
    arrays = any(reading.arrays for reading in readings)
    rows = any(reading.bare & reading.aliases for reading in readings)
    schemas, names = [schema for schema, _ in tables], [name for _, name in tables]
    told = json.loads(await connection.fetchval(QUESTION, schemas, names, types, called, operators, arrays, rows))
    for cast in told["casts"]:
        said = f"cast {cast}" if named else "make one type of another"
        return Unreadable(
            f"The statement may {said}, which calls a function that was defined in this database.",
            "Ask without columns and types of that kind, in tables that have none.",
        )
    for domain in told["domains"]:
        said = f"The domain {domain}" if named else "A domain in it"
        return Unreadable(f"{said} calls a function for each value.", "Cast to the type under it.")
    for kind in told["orders"]:
        said = f"the type {kind}" if named else "a type in it"
        return Unreadable(
            f"Values of {said} are compared by a function that was defined in this database.",
            "Ask in tables that have no such column.",
        )
    return None
