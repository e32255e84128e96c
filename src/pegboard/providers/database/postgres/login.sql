-- One JSON object: what a login may do on its server, beside tables and views.
-- mine: the login $1, and roles whose privileges it has only after SET ROLE, but for superusers. A login that does not
-- exist yet is PUBLIC.
WITH RECURSIVE login AS (SELECT coalesce(max(oid::bigint), 0)::oid AS oid FROM pg_roles WHERE rolname = $1),
mine AS (SELECT oid FROM login UNION SELECT r.oid FROM pg_roles r, login
    WHERE pg_has_role(login.oid, r.oid, 'MEMBER') AND NOT pg_has_role(login.oid, r.oid, 'USAGE') AND NOT r.rolsuper),
routines AS (SELECT p.*, format('%I.%I(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes)) AS title,
    EXISTS (SELECT FROM mine WHERE has_function_privilege(mine.oid, p.oid, 'EXECUTE')) AS is_callable
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace),
users AS (SELECT p.oid, p.title, d.classid, d.objid FROM routines p JOIN pg_depend d
    ON d.refclassid = 1255 AND d.refobjid = p.oid WHERE p.oid >= 16384 AND p.prosecdef),
initial AS (SELECT i.classoid, i.objoid FROM pg_init_privs i, login, aclexplode(i.initprivs) a
    WHERE a.grantee = 0 OR pg_has_role(login.oid, a.grantee, 'MEMBER'))
SELECT json_build_object(
'version', current_setting('server_version'), 'database', current_database(),
'exists', (SELECT oid <> 0 FROM login), 'is_first', (SELECT oid = 10 FROM login),
'attributes', ARRAY(SELECT a.name FROM pg_roles r CROSS JOIN LATERAL (VALUES ('SUPERUSER', r.rolsuper),
    ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb), ('REPLICATION', r.rolreplication),
    ('BYPASSRLS', r.rolbypassrls))
    a(name, is_on) WHERE a.is_on AND r.oid = login.oid),
'inherited', ARRAY(SELECT r.rolname FROM pg_roles r WHERE r.oid <> login.oid AND pg_has_role(login.oid, r.oid, 'MEMBER')
    AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls OR r.rolname LIKE 'pg\_%')),
'groups', ARRAY(SELECT json_build_array(r.rolname, CASE WHEN current_setting('server_version_num')::int >= 160000
    THEN pg_get_userbyid(m.grantor) END) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
    WHERE m.member = login.oid),
'grantors', ARRAY(SELECT DISTINCT json_build_array(c.oid::bigint, format('%I.%I', n.nspname, c.relname),
    quote_ident(pg_get_userbyid(a.grantor)), a.grantee = 0)::jsonb
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (SELECT (aclexplode(c.relacl)).* UNION ALL SELECT (aclexplode(t.attacl)).*
    FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attacl IS NOT NULL) a
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
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 1255 AND d.objid = p.oid AND d.deptype = 'e')),
'system', ARRAY(SELECT 'EXECUTE ON ROUTINE ' || p.title FROM routines p JOIN pg_init_privs i ON i.objoid = p.oid
        AND i.classoid = 1255 WHERE p.is_callable AND p.oid NOT IN (SELECT objoid FROM initial WHERE classoid = 1255)
    UNION ALL SELECT 'SELECT ON ' || c.oid::regclass FROM pg_class c
        WHERE (c.relkind = 't' OR c.oid IN (SELECT objoid FROM pg_init_privs WHERE classoid = 1259 AND objoid < 16384))
        AND c.relkind IN ('r', 'v', 't') AND c.oid NOT IN (SELECT objoid FROM initial WHERE classoid = 1259)
        AND EXISTS (SELECT FROM mine WHERE has_any_column_privilege(mine.oid, c.oid, 'SELECT')) AND NOT EXISTS
            (SELECT FROM pg_roles r WHERE r.rolname = 'pg_read_all_data' AND pg_has_role(login.oid, r.oid, 'MEMBER'))
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
'types', ARRAY(SELECT typname FROM pg_type WHERE (oid < 16384 AND typname !~ '^(reg|aclitem)')
    OR (oid >= 16384 AND typtype <> 'c' AND typbasetype < 16384))
) FROM login
