"""The question to PostgreSQL's catalogue about the names in a statement, in the words of SQL.

What is read along with a table takes most of the time to look for, and most tables have nothing of the kind. So the
first question only tells whether there may be, and leaves out every list that nothing is asked of; the second looks.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from .memory import STAMP

_FACTS: Final = """
    p.proname, n.nspname, p.oid >= 16384 AS added, p.provolatile, p.pronargs - p.pronargdefaults AS least,
    CASE WHEN p.provariadic <> 0 THEN NULL ELSE p.pronargs END AS most, p.prosecdef,
    (SELECT e.extname FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
      WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e') AS extname,
    EXISTS (SELECT FROM pg_catalog.unnest(p.proargtypes || p.prorettype) a(t)
      WHERE a.t IN (24, 1033, 1034, 2202, 2203, 2204, 2205, 4089, 4096)
         OR (a.t = 2206 AND a.t <> p.prorettype)) AS catalogued,
    (p.proargtypes || p.prorettype) && ARRAY[2275, 2281]::oid[] AS inward
"""
# The numbers are regproc, aclitem, aclitem[], regprocedure, regoper, regoperator, regclass, regnamespace, regrole and
# (as an argument) regtype; cstring and internal: as all of pg_type's built-in rows, they are the same on every server.

GENERATED: Final = """
    SELECT a.attrelid, a.attname, s.attname AS of FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
    JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
     AND d.refobjid = a.attrelid AND d.refobjsubid > 0 AND d.refobjsubid <> a.attnum
     AND ((d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.objid = f.oid)
       OR (d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = a.attrelid AND d.objsubid = a.attnum))
    JOIN pg_catalog.pg_attribute s ON s.attrelid = a.attrelid AND s.attnum = d.refobjsubid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''
"""
"""Which column is computed from which. Before PostgreSQL 15 the column itself depends, since then its expression."""

SLICES: Final = """
    SELECT c.oid, a.attname FROM pg_catalog.pg_class c
    CROSS JOIN LATERAL pg_catalog.pg_partition_ancestors(c.oid) p(oid)
    JOIN pg_catalog.pg_partitioned_table k ON k.partrelid = p.oid AND p.oid <> c.oid
    JOIN pg_catalog.pg_attribute a ON a.attrelid = p.oid AND a.attnum > 0
     AND (a.attnum = ANY(k.partattrs::smallint[]) OR EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = p.oid AND d.objsubid = a.attnum
          AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = p.oid AND d.refobjsubid = 0
          AND d.deptype = 'i'))
    WHERE c.relispartition
    UNION ALL SELECT k.conrelid, a.attname FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY(k.conkey)
    WHERE k.contype = 'c' AND EXISTS (WITH RECURSIVE up(oid) AS (
        SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = k.conrelid
        UNION SELECT i.inhparent FROM up JOIN pg_catalog.pg_inherits i ON i.inhrelid = up.oid
    ) SELECT FROM up WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_constraint o
        WHERE o.conrelid = up.oid AND o.contype = 'c' AND o.conname = k.conname))
"""
"""Which tables hold a part of another's rows, and the columns that say which part: those of the keys of partitions,
with what is within their expressions, and those of checks that the table above does not have."""

COMPOSED: Final = "t.oid >= 16384 AND (t.typtype IN ('c', 'r', 'm') OR t.typelem >= 16384 OR t.typbasetype >= 16384)"
"""A type that is put together from others."""

_NAMED: Final = """
WITH RECURSIVE asked AS (
    SELECT * FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) WITH ORDINALITY AS
    a(schema, name, at)
), path AS (
    SELECT s, at FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY AS p(s, at)
), found AS (
    SELECT a.at, a.schema, a.name, r.* FROM asked a CROSS JOIN LATERAL (
        -- One at a time, so that they are looked up by name, however many a server thinks that there are.
        SELECT c.oid, n.nspname, c.relname, c.relkind, c.relhasrules, c.relhassubclass
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN path ON path.s = n.nspname
        WHERE c.relname = a.name AND c.relkind NOT IN ('i', 'I', 'c')
          AND (a.schema = n.nspname OR (a.schema IS NULL AND path.s IS NOT NULL))
        ORDER BY path.at LIMIT 1
    ) r
)
"""

_BENEATH: Final = """, under(at, oid, way) AS (
    SELECT at, oid, 'self' FROM found WHERE oid >= 16384
    UNION
    SELECT u.at, e.oid, e.way FROM under u CROSS JOIN LATERAL (
        SELECT d.refobjid, 'self' FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
        WHERE r.ev_class = u.oid AND r.ev_type = '1' AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
          AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> u.oid
        UNION ALL SELECT i.inhparent, 'up' FROM pg_catalog.pg_inherits i WHERE i.inhrelid = u.oid AND u.way <> 'down'
        UNION ALL SELECT i.inhrelid, 'down' FROM pg_catalog.pg_inherits i WHERE i.inhparent = u.oid AND u.way <> 'up'
    ) e(oid, way)
), beneath AS (
    SELECT DISTINCT u.at, u.oid, n.nspname, c.relname, c.relkind,
        CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END AS definition,
        ARRAY(SELECT DISTINCT a.attname::text FROM under v
              JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.ev_type = '1'
              JOIN pg_catalog.pg_depend d ON d.objid = r.oid AND d.classid =
              'pg_catalog.pg_rewrite'::pg_catalog.regclass
               AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = u.oid
              JOIN pg_catalog.pg_attribute a ON a.attrelid = u.oid AND a.attnum = d.refobjsubid
              WHERE v.at = u.at AND v.oid <> u.oid AND d.refobjsubid > 0) AS columns
    FROM under u JOIN pg_catalog.pg_class c ON c.oid = u.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
)
"""

_ALWAYS: Final = f"""
    'stamp', {STAMP},
    'path', (SELECT pg_catalog.json_agg(s ORDER BY at) FROM path),
    'database', pg_catalog.current_database(),
    'hides', EXISTS (SELECT FROM pg_catalog.pg_cast k WHERE k.oid >= 16384 AND k.castfunc >= 16384
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = k.castfunc
                  AND d.deptype = 'e'))
        OR EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_depend d
            ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = k.oid
            WHERE k.contypid >= 16384 AND d.refobjid >= 16384 AND d.refclassid IN
            ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass))
        OR EXISTS (SELECT FROM pg_catalog.pg_opclass k WHERE k.oid >= 16384 AND k.opcmethod IN (403, 405)
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                WHERE d.classid = 'pg_catalog.pg_opclass'::pg_catalog.regclass AND d.objid = k.oid
                  AND d.deptype = 'e'))
"""  # noqa: S608 - put together from constants

_PLAIN: Final = """
    'relations', (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', f.schema, 'name', f.name, 'oid', f.oid::bigint, 'nspname', f.nspname, 'relname', f.relname,
        'relkind', f.relkind, 'definition', NULL, 'generated', NULL, 'made', NULL, 'sliced', NULL, 'beneath', NULL,
        'deep', f.oid >= 16384 AND (f.relkind <> 'r' OR f.relhasrules OR f.relhassubclass
            OR EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = f.oid)
            OR EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = f.oid AND a.attnum > 0
                       AND (a.attgenerated <> '' OR a.atttypid >= 16384))),
        'columns', ARRAY(SELECT a.attname FROM pg_catalog.pg_attribute a
                         WHERE a.attrelid = f.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
    )) FROM found f)
"""
"""All that there is to tell of tables on their own; `deep` is one that may not be."""

_DEEP: Final = f"""
    'relations', (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', f.schema, 'name', f.name, 'oid', f.oid::bigint, 'nspname', f.nspname, 'relname', f.relname,
        'relkind', f.relkind,
        'definition', CASE WHEN f.oid >= 16384 AND f.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(f.oid) END,
        'columns', ARRAY(SELECT a.attname FROM pg_catalog.pg_attribute a
                         WHERE a.attrelid = f.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
        'generated', (SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_array(g.attname, g.of))
                      FROM under u CROSS JOIN LATERAL ({GENERATED} AND a.attrelid = u.oid) g WHERE u.at = f.at),
        'made', (SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_array(
                    n.nspname, c.relname, a.attname, t.oid::bigint)) FROM under u
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = u.oid AND a.attnum > 0 AND a.atttypid >= 16384
                 JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND {COMPOSED}
                 JOIN pg_catalog.pg_class c ON c.oid = u.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE u.at = f.at),
        'sliced', (SELECT pg_catalog.json_agg(DISTINCT s.attname) FROM under u
                   CROSS JOIN LATERAL (SELECT * FROM ({SLICES}) s WHERE s.oid = u.oid) s
                   WHERE u.at = f.at AND u.way = 'self'),
        'beneath', (SELECT pg_catalog.json_agg(pg_catalog.row_to_json(b)) FROM beneath b
                    WHERE b.at = f.at AND b.oid <> f.oid)
    )) FROM found f)
"""  # noqa: S608 - put together from constants

_LISTS: Final = {
    "functions": f"""
    'functions', (SELECT pg_catalog.json_agg(pg_catalog.row_to_json(f)) FROM (
        SELECT {_FACTS} FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE p.proname = ANY({{names}})) f)
""",  # noqa: S608 - put together from constants
    "fields": f"""
    'fields', (SELECT pg_catalog.json_agg(pg_catalog.row_to_json(f)) FROM (
        SELECT {_FACTS} FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        JOIN pg_catalog.pg_type t ON t.oid = p.proargtypes[0]
        WHERE p.proname = ANY({{names}}) AND n.nspname <> 'pg_catalog' AND t.typtype IN ('c', 'p', 'd')
          AND p.pronargs - p.pronargdefaults <= 1) f)
""",  # noqa: S608 - put together from constants
    "operators": f"""
    'operators', (SELECT pg_catalog.json_agg(pg_catalog.row_to_json(f)) FROM (
        SELECT o.oprname, s.nspname AS oprschema, {_FACTS}
        FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace s ON s.oid = o.oprnamespace
        JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE o.oprname = ANY({{names}}) AND o.oid >= 16384 AND s.nspname <> 'pg_catalog') f)
""",  # noqa: S608 - put together from constants
    "types": f"""
    'types', (SELECT pg_catalog.json_agg(pg_catalog.row_to_json(f)) FROM (
        SELECT t.typname, n.nspname, t.typtype, CASE WHEN {COMPOSED} THEN t.oid::bigint END AS oid,
            (SELECT e.extname FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
              WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid AND d.deptype = 'e') AS
              extname,
            (SELECT ARRAY[m.nspname, c.relname] FROM pg_catalog.pg_type b
              JOIN pg_catalog.pg_class c ON c.oid = b.typrelid AND c.relkind <> 'c'
              JOIN pg_catalog.pg_namespace m ON m.oid = c.relnamespace
              WHERE b.oid IN (t.oid, NULLIF(t.typelem, 0)) LIMIT 1) AS row_of
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        WHERE t.typname = ANY({{names}})) f)
""",  # noqa: S608 - put together from constants
}
LISTS: Final = tuple(_LISTS)
"""What else is asked for by name, each with the names in a parameter of its own."""


@cache
def question(lists: Sequence[str], *, deep: bool) -> str:
    """Its first two parameters are the schemas and the names of tables; then come those of each list."""
    told = [_ALWAYS, _DEEP if deep else _PLAIN]
    told += [_LISTS[one].format(names=f"${place}::text[]") for place, one in enumerate(lists, 3)]
    return f"{_NAMED}{_BENEATH if deep else ''}SELECT pg_catalog.json_build_object({','.join(told)})"
