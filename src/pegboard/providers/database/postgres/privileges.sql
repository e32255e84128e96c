-- One JSON object: what a login may do on its server, and its tables and views with what each shows of others.
-- $1: the login, or PUBLIC if it does not exist. $2: functions that only compute. $3: extensions that have some of them.
-- mine: the login, and roles whose privileges it has only after SET ROLE, but for superusers.
WITH RECURSIVE login AS (SELECT coalesce(max(oid::bigint), 0)::oid AS oid FROM pg_roles WHERE rolname = $1),
mine AS (SELECT oid FROM login UNION SELECT r.oid FROM pg_roles r, login
    WHERE pg_has_role(login.oid, r.oid, 'MEMBER') AND NOT pg_has_role(login.oid, r.oid, 'USAGE') AND NOT r.rolsuper),
members AS (SELECT d.classid, d.objid, e.extname = ANY ($3) AS is_known FROM pg_depend d JOIN pg_extension e
    ON e.oid = d.refobjid WHERE d.refclassid = 3079 AND d.deptype = 'e'),
routines AS (SELECT p.*, format('%I.%I(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes)) AS title,
    EXISTS (SELECT FROM mine WHERE has_function_privilege(mine.oid, p.oid, 'EXECUTE')) AS is_callable
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace),
users AS (SELECT p.oid, p.title, d.classid, d.objid FROM routines p JOIN pg_depend d
    ON d.refclassid = 1255 AND d.refobjid = p.oid WHERE p.oid >= 16384 AND p.prosecdef),
initial AS (SELECT i.classoid, i.objoid FROM pg_init_privs i, login, aclexplode(i.initprivs) a
    WHERE a.grantee = 0 OR pg_has_role(login.oid, a.grantee, 'MEMBER')),
above AS (SELECT inhrelid AS oid, inhparent AS source FROM pg_inherits UNION
    SELECT a.oid, i.inhparent FROM above a JOIN pg_inherits i ON i.inhrelid = a.source),
rules AS (SELECT r.ev_class AS oid, r.ev_action::text AS tree, d.refclassid AS class, d.refobjid AS source
    FROM pg_rewrite r LEFT JOIN pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refobjid <> r.ev_class
    AND NOT EXISTS (SELECT FROM pg_class s WHERE d.refclassid = 1259 AND s.oid = d.refobjid AND s.relkind = 'S')
    WHERE r.ev_type = '1' AND r.ev_class >= 16384),
reads AS (SELECT oid, source FROM rules WHERE class = 1259
    UNION SELECT a.oid, r.source FROM reads a JOIN rules r ON r.oid = a.source AND r.class = 1259),
unclear AS (SELECT r.oid FROM rules r, (SELECT ':funcid (' || string_agg(oid::text, '|') || ') ' AS funcs FROM pg_proc
        WHERE oid < 16384 AND proname ~ '_to_xml|^(pg_read|pg_ls|lo_get|loread|ts_stat|ts_rewrite)') readers
        WHERE r.tree ~ readers.funcs
        OR r.tree ~ ':relid ([1-9]\d{0,3}|1[0-5]\d{3}|16[0-2]\d\d|163[0-7]\d|1638[0-3]) '
    UNION SELECT r.oid FROM rules r LEFT JOIN pg_proc p ON r.class = 1255 AND p.oid = r.source
        WHERE r.class IN (1255, 2617) AND r.source >= 16384 AND NOT EXISTS (SELECT FROM members d
        WHERE d.classid = r.class AND d.objid = r.source AND d.is_known AND coalesce(p.proname = ANY ($2), true))
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
SELECT json_build_object(
'version', current_setting('server_version'), 'database', current_database(),
'exists', (SELECT oid <> 0 FROM login), 'is_first', (SELECT oid = 10 FROM login),
'attributes', ARRAY(SELECT a.name FROM pg_roles r CROSS JOIN LATERAL (VALUES ('SUPERUSER', r.rolsuper),
    ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb), ('REPLICATION', r.rolreplication),
    ('BYPASSRLS', r.rolbypassrls)) a(name, is_on) WHERE a.is_on AND r.oid = login.oid),
'rasters', coalesce(current_setting('postgis.enable_outdb_rasters', true), '') ~* '^(on|t|true|y|yes|1)$' AND NOT EXISTS
    (SELECT FROM pg_db_role_setting s WHERE s.setrole = login.oid AND s.setdatabase = 0
    AND 'postgis.enable_outdb_rasters=off' = ANY (s.setconfig)),
'inherited', ARRAY(SELECT r.rolname FROM pg_roles r WHERE r.oid <> login.oid AND pg_has_role(login.oid, r.oid, 'MEMBER')
    AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls OR r.rolname LIKE 'pg\_%')),
'groups', ARRAY(SELECT json_build_array(r.rolname, CASE WHEN current_setting('server_version_num')::int >= 160000
    THEN pg_get_userbyid(m.grantor) END) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
    WHERE m.member = login.oid),
'grantors', ARRAY(SELECT DISTINCT json_build_array(c.oid::bigint, format('%s ON %I.%I', a.what, n.nspname, c.relname),
    quote_ident(pg_get_userbyid(a.grantor)), a.grantee = 0)::jsonb
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN LATERAL
    (SELECT 'ALL' AS what, (aclexplode(c.relacl)).* UNION ALL SELECT format('ALL (%I)', t.attname),
    (aclexplode(t.attacl)).* FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attacl IS NOT NULL) a
    WHERE a.grantor <> c.relowner AND a.grantee IN (0, login.oid)),
'defaults', ARRAY(SELECT json_build_array(CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee) END,
    format('FOR ROLE %I', pg_get_userbyid(d.defaclrole)) || coalesce(' IN SCHEMA ' || quote_ident(n.nspname), ''))
    FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
    WHERE d.defaclobjtype = 'r' AND a.grantee <> d.defaclrole
    AND (a.grantee = 0 OR pg_has_role(login.oid, a.grantee, 'MEMBER'))),
'owned', ARRAY(SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_shdepend d
    WHERE d.deptype = 'o' AND d.refclassid = 1260 AND d.classid <> 826 AND pg_has_role(login.oid, d.refobjid, 'MEMBER')
    AND d.dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))),
'definers', ARRAY(SELECT p.title FROM routines p WHERE p.oid >= 16384 AND p.is_callable
    AND p.prorettype NOT IN (2279, 3838) AND (p.prosecdef OR p.oid IN (SELECT objid FROM users WHERE classid = 1255)
    OR p.proname ~ '^_postgis_(index_extent|stats|(join_)?selectivity)$')),
'unchecked', ARRAY(SELECT DISTINCT title FROM users WHERE classid IN (1247, 2602, 2603, 2605, 2616, 2617, 2753)),
'overloads', ARRAY(SELECT DISTINCT p.proname FROM routines p WHERE p.oid >= 16384 AND p.is_callable
    AND NOT EXISTS (SELECT FROM members d WHERE d.classid = 1255 AND d.objid = p.oid AND d.is_known)),
'system', ARRAY(SELECT 'EXECUTE ON ROUTINE ' || p.title FROM routines p JOIN pg_init_privs i ON i.objoid = p.oid
        AND i.classoid = 1255 WHERE p.is_callable AND p.oid NOT IN (SELECT objoid FROM initial WHERE classoid = 1255)
    UNION ALL SELECT 'SELECT ON ' || c.oid::regclass FROM pg_class c
        WHERE (c.relkind = 't' OR c.oid IN (SELECT objoid FROM pg_init_privs WHERE classoid = 1259 AND objoid < 16384))
        AND c.relkind IN ('r', 'v', 't') AND c.oid NOT IN (SELECT objoid FROM initial WHERE classoid = 1259)
        AND EXISTS (SELECT FROM (SELECT (aclexplode(c.relacl)).* UNION ALL SELECT (aclexplode(t.attacl)).*
            FROM pg_attribute t WHERE t.attrelid = c.oid) a WHERE a.privilege_type = 'SELECT'
            AND (a.grantee = 0 OR pg_has_role(login.oid, a.grantee, 'MEMBER')))
    UNION ALL SELECT 'ALL ON ' || pg_describe_object(d.classid, d.objid, 0) FROM pg_shdepend d
        WHERE d.classid = 6243 AND d.refclassid = 1260 AND pg_has_role(login.oid, d.refobjid, 'MEMBER')),
'more', ARRAY(SELECT 'USAGE ON FOREIGN SERVER ' || quote_ident(s.srvname) FROM pg_foreign_server s
    WHERE EXISTS (SELECT FROM mine WHERE has_server_privilege(mine.oid, s.oid, 'USAGE'))
    UNION ALL SELECT 'CREATE ON SCHEMA ' || quote_ident(n.nspname) FROM pg_namespace n WHERE n.nspname NOT LIKE 'pg\_%'
    AND EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'CREATE'))
    UNION ALL SELECT 'CREATE ON DATABASE ' || quote_ident(current_database()) FROM mine
    WHERE has_database_privilege(mine.oid, current_database(), 'CREATE')),
'schemas', ARRAY(SELECT nspname FROM pg_namespace WHERE oid >= 16384 AND nspname NOT LIKE 'pg\_%' OR nspname = 'public'
    ORDER BY nspname),
'types', ARRAY(SELECT typname FROM pg_type t WHERE (oid < 16384 AND typname !~ '^(reg(?!config|dictionary)|aclitem)')
    OR (oid >= 16384 AND typtype <> 'c' AND typbasetype < 16384 AND NOT EXISTS
    (SELECT FROM members d WHERE d.classid = 1247 AND d.objid = t.oid AND NOT d.is_known))),
'sequences', ARRAY(SELECT json_build_array(format('%I.%I', n.nspname, c.relname), ARRAY(SELECT f.adrelid::bigint
        FROM pg_depend d JOIN pg_attrdef f ON f.oid = d.objid WHERE d.classid = 2604 AND d.refobjid = c.oid),
    ARRAY(SELECT w FROM unnest('{SELECT,UPDATE,USAGE}'::text[]) w
        WHERE EXISTS (SELECT FROM mine WHERE has_sequence_privilege(mine.oid, c.oid, w))))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' ORDER BY c.oid),
'relations', ARRAY(SELECT json_build_array(c.oid::bigint, n.nspname, c.relname, c.relkind IN ('v', 'm'),
    EXISTS (SELECT FROM members d WHERE d.classid = 1259 AND d.objid = c.oid),
    c.relispartition OR c.relkind = 'm' OR (c.relkind <> 'v' AND 0 = ANY (sources.all)) OR (c.relkind = 'v'
        AND NOT coalesce(c.reloptions::text ~ 'security_invoker=(true|on|yes|1)', false)
        AND NOT (EXISTS (SELECT FROM members d WHERE d.classid = 1259 AND d.objid = c.oid AND d.is_known)
        AND c.relname ~ '^((geometry|geography|raster)_columns|raster_overviews)$')),
    coalesce(sources.all, '{}'), ARRAY(SELECT a.attname FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
    coalesce(computed.all, '{}'), false,
    EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = c.oid AND p.prosecdef)
        OR EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type <> '1'),
    c.relkind::text, c.relrowsecurity, o.rolname,
    ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE')
        AND has_column_privilege(mine.oid, c.oid, a.attnum, 'SELECT')) ORDER BY a.attnum),
    ARRAY(SELECT w FROM unnest('{INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) w WHERE EXISTS (SELECT FROM mine
        WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE') AND CASE WHEN w IN ('INSERT', 'UPDATE')
        THEN has_any_column_privilege(mine.oid, c.oid, w) ELSE has_table_privilege(mine.oid, c.oid, w) END)))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
    LEFT JOIN sources ON sources.oid = c.oid LEFT JOIN computed ON computed.oid = c.oid
    WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\_%'
    AND n.nspname <> 'information_schema' ORDER BY n.nspname, c.relname)
) FROM login
