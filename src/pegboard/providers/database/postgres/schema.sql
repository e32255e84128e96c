-- Tables and views that the login may read.
WITH open AS (SELECT c.oid, n.nspname, c.relname, c.relkind,
        CASE WHEN NOT c.relrowsecurity THEN c.reltuples END AS reltuples
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname !~ '^(pg_catalog$|pg_t|information_schema$)'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'));

-- What they are, an estimate of their rows, their comments.
SELECT nspname, relname, relkind IN ('v', 'm'), reltuples::bigint, obj_description(oid, 'pg_class')
    FROM open ORDER BY nspname, relname;

-- Their columns.
SELECT c.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
    col_description(c.oid, a.attnum) FROM open c JOIN pg_attribute a ON a.attrelid = c.oid
    AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    ORDER BY c.nspname, c.relname, a.attnum;

-- Primary and foreign keys.
SELECT n.nspname, c.relname, k.conname, a.attname, tn.nspname, t.relname, ta.attname FROM pg_constraint k
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY part(own, other, place)
    JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = part.own
    LEFT JOIN pg_class t ON t.oid = k.confrelid LEFT JOIN pg_namespace tn ON tn.oid = t.relnamespace
    LEFT JOIN pg_attribute ta ON ta.attrelid = k.confrelid AND ta.attnum = part.other
    WHERE k.contype IN ('p', 'f') AND k.conrelid >= 16384 ORDER BY k.conrelid, k.conname, part.place;

-- Changes when one of these answers may have changed.
SELECT concat_ws('.', count(*), sum(row::text::bigint)) FROM (
    SELECT xmin FROM pg_class WHERE oid >= 16384 UNION ALL SELECT xmin FROM pg_constraint
    UNION ALL SELECT xmin FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0
    UNION ALL SELECT xmin FROM pg_description WHERE objoid >= 16384
    UNION ALL SELECT xmin FROM pg_rewrite UNION ALL SELECT xmin FROM pg_namespace) every(row)
