-- Tables and views, what each shows of others, and what a login may do with it. $2: functions that only compute.
-- mine: the login $1, and roles whose privileges it has only after SET ROLE, but for superusers. A login that does not
-- exist yet is PUBLIC.
WITH RECURSIVE login AS (SELECT coalesce(max(oid::bigint), 0)::oid AS oid FROM pg_roles WHERE rolname = $1),
mine AS (SELECT oid FROM login UNION SELECT r.oid FROM pg_roles r, login
    WHERE pg_has_role(login.oid, r.oid, 'MEMBER') AND NOT pg_has_role(login.oid, r.oid, 'USAGE') AND NOT r.rolsuper),
above AS (SELECT inhrelid AS oid, inhparent AS source FROM pg_inherits UNION
    SELECT a.oid, i.inhparent FROM above a JOIN pg_inherits i ON i.inhrelid = a.source),
rules AS (SELECT r.ev_class AS oid, r.ev_action::text AS tree, d.refclassid AS class, d.refobjid AS source
    FROM pg_rewrite r LEFT JOIN pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refobjid <> r.ev_class
    WHERE r.ev_type = '1' AND r.ev_class >= 16384),
reads AS (SELECT r.oid, r.source FROM rules r JOIN pg_class s ON s.oid = r.source AND s.relkind <> 'S'
        WHERE r.class = 1259
    UNION SELECT a.oid, r.source FROM reads a JOIN rules r ON r.oid = a.source
        JOIN pg_class s ON s.oid = r.source AND s.relkind <> 'S' WHERE r.class = 1259),
unclear AS (SELECT r.oid FROM rules r, (SELECT ':funcid (' || string_agg(oid::text, '|') || ') ' AS funcs FROM pg_proc
        WHERE oid < 16384 AND proname ~ '_to_xml|^(pg_read|pg_ls|lo_get|loread|ts_stat|ts_rewrite)') readers
        WHERE r.tree ~ readers.funcs
        OR r.tree ~ ':relid ([1-9]\d{0,3}|1[0-5]\d{3}|16[0-2]\d\d|163[0-7]\d|1638[0-3]) '
    UNION SELECT r.oid FROM rules r LEFT JOIN pg_proc p ON r.class = 1255 AND p.oid = r.source
        WHERE r.class IN (1255, 2617) AND r.source >= 16384 AND NOT EXISTS (SELECT FROM pg_depend d
        WHERE d.classid = r.class AND d.objid = r.source AND d.deptype = 'e' AND coalesce(p.proname = ANY ($2), true))
    UNION SELECT oid FROM pg_class WHERE relkind = 'f'
    UNION SELECT a.source FROM above a JOIN pg_class f ON f.oid = a.oid AND f.relkind = 'f'),
shown AS (SELECT oid, source FROM above UNION SELECT source, oid FROM above UNION SELECT oid, source FROM reads
    UNION SELECT oid, 0 FROM unclear UNION SELECT r.oid, 0 FROM reads r JOIN unclear u ON u.oid = r.source
    UNION SELECT r.oid, 0 FROM reads r JOIN pg_class s ON s.oid = r.source AND s.relrowsecurity),
sources AS (SELECT oid, array_agg(source::bigint) AS all FROM shown GROUP BY oid),
computed AS (SELECT a.attrelid AS oid, array_agg(ARRAY[a.attname::text, s.attname::text]) AS all FROM pg_attribute a
    LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
    JOIN pg_depend d ON d.refclassid = 1259 AND d.refobjid = a.attrelid AND d.refobjsubid NOT IN (0, a.attnum)
        AND ((d.classid = 2604 AND d.objid = f.oid) OR (d.classid = 1259 AND d.objid = a.attrelid
        AND d.objsubid = a.attnum))
    JOIN pg_attribute s ON s.attrelid = a.attrelid AND s.attnum = d.refobjsubid
    WHERE a.attnum > 0 AND a.attgenerated <> '' GROUP BY a.attrelid)
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind IN ('v', 'm'),
    EXISTS (SELECT FROM pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'e'),
    c.relispartition OR c.relkind = 'm' OR (c.relkind <> 'v' AND 0 = ANY (sources.all)) OR (c.relkind = 'v'
        AND NOT coalesce(c.reloptions::text ~ 'security_invoker=(true|on|yes|1)', false)),
    coalesce(sources.all, '{}'), k.columns, coalesce(computed.all, '{}'), false,
    EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = c.oid AND p.prosecdef)
        OR EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type <> '1'),
    c.relkind::text, c.relrowsecurity, o.rolname,
    ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE')
        AND has_column_privilege(mine.oid, c.oid, a.attnum, 'SELECT')) ORDER BY a.attnum),
    ARRAY(SELECT w FROM unnest('{INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) w WHERE EXISTS (SELECT FROM mine
        WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE') AND CASE WHEN w IN ('INSERT', 'UPDATE')
        THEN has_any_column_privilege(mine.oid, c.oid, w) ELSE has_table_privilege(mine.oid, c.oid, w) END))
FROM login, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
LEFT JOIN sources ON sources.oid = c.oid LEFT JOIN computed ON computed.oid = c.oid
CROSS JOIN LATERAL (SELECT coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{}') AS columns
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) k
WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\_%'
    AND n.nspname <> 'information_schema' ORDER BY n.nspname, c.relname
