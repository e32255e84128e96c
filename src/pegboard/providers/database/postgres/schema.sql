-- Tables and views that the login may read: what they are, an estimate of their rows, their comments.
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), c.reltuples::bigint,
    pg_catalog.obj_description(c.oid, 'pg_class')
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid >= 16384 AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_t%'
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname, c.relname;

-- Their columns.
SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
    pg_catalog.col_description(c.oid, a.attnum)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
    WHERE c.oid >= 16384 AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_t%'
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname, c.relname, a.attnum;

-- Primary and foreign keys.
SELECT n.nspname, c.relname, k.conname, a.attname, tn.nspname, t.relname, ta.attname
FROM pg_catalog.pg_constraint k
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY part(own, other, place)
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = part.own
LEFT JOIN pg_catalog.pg_class t ON t.oid = k.confrelid LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
LEFT JOIN pg_catalog.pg_attribute ta ON ta.attrelid = k.confrelid AND ta.attnum = part.other
WHERE k.contype IN ('p', 'f') AND k.conrelid >= 16384 ORDER BY k.conrelid, k.conname, part.place;

-- Changes when one of these answers may have changed.
SELECT pg_catalog.concat_ws('.', pg_catalog.count(*), pg_catalog.sum(row::text::bigint)) FROM (
    SELECT xmin FROM pg_catalog.pg_class WHERE oid >= 16384 UNION ALL SELECT xmin FROM pg_catalog.pg_constraint
    UNION ALL SELECT xmin FROM pg_catalog.pg_attribute WHERE attrelid >= 16384 AND attnum > 0
    UNION ALL SELECT xmin FROM pg_catalog.pg_description WHERE objoid >= 16384
    UNION ALL SELECT xmin FROM pg_catalog.pg_rewrite UNION ALL SELECT xmin FROM pg_catalog.pg_namespace
) every(row)
