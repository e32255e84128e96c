"""What the login of a source may do on its server, held against what the board allows, and SQL that makes both equal.

Tables are judged as wholes: a view is closed if anything below it is. Not looked into: what triggers, rules and foreign
keys do, columns that hold copies of rows, sequences, and who else may read.
"""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pegboard.core.database import DatabaseAccess, DatabaseFinding, FindingSeverity
from pegboard.ports.databases import RoleScript, SourceError
from pegboard.providers.builtin.database import server
from pegboard.providers.builtin.database.common import quote_name

from .connection import DRIVER_ERRORS, connect, place

_MINE: Final = """
WITH RECURSIVE login AS (SELECT coalesce(max(oid::bigint), 0)::oid AS oid FROM pg_roles WHERE rolname = $1),
mine AS (SELECT oid FROM login UNION SELECT r.oid FROM pg_roles r, login
    WHERE pg_has_role(login.oid, r.oid, 'MEMBER') AND NOT pg_has_role(login.oid, r.oid, 'USAGE') AND NOT r.rolsuper)
"""
"""The login, and roles whose privileges it has only after SET ROLE, but for superusers. A login that does not exist yet
is PUBLIC."""

_LOGIN: Final = f"""{_MINE},
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
    AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls OR r.rolname LIKE 'pg\\_%')),
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
    UNION ALL SELECT 'CREATE ON SCHEMA ' || quote_ident(n.nspname) FROM pg_namespace n WHERE n.nspname NOT LIKE 'pg\\_%'
    AND EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'CREATE'))
    UNION ALL SELECT 'CREATE ON DATABASE ' || quote_ident(current_database()) FROM mine
    WHERE has_database_privilege(mine.oid, current_database(), 'CREATE')),
'schemas', ARRAY(SELECT nspname FROM pg_namespace WHERE oid >= 16384 AND nspname NOT LIKE 'pg\\_%' OR nspname = 'public'
    ORDER BY nspname),
'types', ARRAY(SELECT typname FROM pg_type WHERE (oid < 16384 AND typname !~ '^(reg|aclitem)')
    OR (oid >= 16384 AND typtype <> 'c' AND typbasetype < 16384))
) FROM login
"""  # noqa: S608 - put together from constants

_RELATIONS: Final = f"""{_MINE},
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
        OR r.tree ~ ':relid ([1-9]\\d{{0,3}}|1[0-5]\\d{{3}}|16[0-2]\\d\\d|163[0-7]\\d|1638[0-3]) '
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
    coalesce(sources.all, '{{}}'), k.columns, coalesce(computed.all, '{{}}'), false,
    EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = c.oid AND p.prosecdef)
        OR EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type <> '1'),
    c.relkind::text, c.relrowsecurity, o.rolname,
    ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE')
        AND has_column_privilege(mine.oid, c.oid, a.attnum, 'SELECT')) ORDER BY a.attnum),
    ARRAY(SELECT w FROM unnest('{{INSERT,UPDATE,DELETE,TRUNCATE}}'::text[]) w WHERE EXISTS (SELECT FROM mine
        WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE') AND CASE WHEN w IN ('INSERT', 'UPDATE')
        THEN has_any_column_privilege(mine.oid, c.oid, w) ELSE has_table_privilege(mine.oid, c.oid, w) END))
FROM login, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
LEFT JOIN sources ON sources.oid = c.oid LEFT JOIN computed ON computed.oid = c.oid
CROSS JOIN LATERAL (SELECT coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{{}}') AS columns
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) k
WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%'
    AND n.nspname <> 'information_schema' ORDER BY n.nspname, c.relname
"""  # noqa: S608 - put together from constants

CALLABLE: Final = server.read_names(__package__, "functions.txt")
"""Privileges do not cover what other functions do: wait, lock, reach files or other servers, run a text as SQL."""
_SCHEMES: Final = ("postgresql", "postgres")
_HARMLESS: Final = frozenset({"pg_read_all_data", "pg_monitor", "pg_read_all_stats", "pg_read_all_settings"})
"""Of the server's own roles, where nothing is closed."""


@dataclass(frozen=True)
class PgRelation(server.CatalogRelation):
    """A table, view or foreign table, with what the login may do with it. Its id is its oid. 0 stands for what cannot
    be known: the system catalog, other servers, the rows that a policy hides, and what functions of the database read.
    It is derived if it is a view that reads with its owner's rights, a materialized view, a partition or a foreign
    table."""

    kind: str = ""
    has_row_security: bool = False
    owner: str = ""
    readable: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenNames:
    """What statements may name of a database in which something is closed."""

    tables: frozenset[str]
    """Each with its schema, and without one if it is found so."""
    columns: Mapping[str, Sequence[str]]
    """That are open, by the name of their table."""
    closed_columns: Mapping[str, Sequence[str]]
    """By the name of a table of which others are open."""
    explained: frozenset[str]
    """Of the tables and views whose plans show nothing but what is open. With schemas, and without."""
    known: frozenset[str]
    """Of all tables and views, so."""
    types: frozenset[str]
    """But for rows that may hold something closed."""


@dataclass(frozen=True)
class Privileges(server.RelationCatalog[PgRelation]):
    """What a server's catalog says of one login, and what the board wants of it."""

    role: str
    path: tuple[str, ...]
    """Schemas of names without one, for the session that asks."""
    login: Mapping[str, Any]
    writes: bool

    @cached_property
    def overloads(self) -> frozenset[str]:
        """Names on the list of functions that the database has functions of its own for, which the login may call."""
        return CALLABLE.intersection(self.login["overloads"])

    @cached_property
    def open_names(self) -> OpenNames | None:
        """None where nothing is closed."""
        if self.access.is_unrestricted:
            return None
        columns, closed_columns = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        some = [each for each in self.relations if each.id in self.open_columns_by_id]
        for each in some:
            for name in each.columns:
                (columns if name in self.open_columns_by_id[each.id] else closed_columns)[each.name].append(name)
        tables = {each.title for each in some} | {each.name for each in some if each.schema in self.path}
        shut = [each for each in self.relations if not self.is_open(each)]
        whole = {each.name for each in self.relations if self.is_open(each)} - {each.name for each in shut}
        plain, other, shut_ids = set[str](), set[str](), {each.id for each in shut}
        for each in self.relations:
            (plain if self._is_explained(each, shut_ids) else other).update((each.title, each.name))
        types = frozenset(self.login["types"]) | whole
        return OpenNames(
            frozenset(tables), columns, closed_columns, frozenset(plain - other), frozenset(plain | other), types
        )

    def _is_explained(self, each: PgRelation, shut_ids: AbstractSet[Hashable]) -> bool:
        """A plan shows the conditions of views and of policies, and names of what is below."""
        is_known = self.open_columns_by_id.keys() >= {each.id, *each.sources}
        is_narrowed = each.has_row_security or (each.kind == "v" and not shut_ids.isdisjoint(each.sources))
        return is_known and not is_narrowed and each.kind != "f"

    def findings(self) -> tuple[DatabaseFinding, ...]:
        return server.login_findings(repr(self.role), self._faults(), () if self.login["is_first"] else self.script())

    def _faults(self) -> Iterator[server.LoginFault]:
        login, is_whole = self.login, self.access.is_unrestricted
        refused, forced = FindingSeverity.REFUSED, FindingSeverity.REFUSED_UNLESS_FORCED
        worst = forced if is_whole else refused
        if "SUPERUSER" in login["attributes"]:
            words = "is a superuser and reads everything; write a login of its own into the URL of the source"
            yield words, [self.role], worst
            return
        harmless = (_HARMLESS | ({"pg_write_all_data"} if self.writes else set())) if is_whole else frozenset[str]()
        powers = [*login["attributes"], *(one for one in login["inherited"] if one not in harmless)]
        powers += login["system"]
        yield "has powers that a source does not need, of its own or as a member: {0}", powers, worst
        yield "owns what it asks, and so may do everything with it: {0}", login["owned"], worst
        words = "can read what the board closes, or what shows it: {0}. Name a view in `allow` if that is meant"
        yield (
            words,
            [name for each in self._read_too_much() for name in self.closed_names(each, each.readable)],
            refused,
        )
        if not is_whole:
            yield "may call functions that read with other rights than its own: {0}", login["definers"], refused
            words = "reaches functions that read with other rights through a type, an operator or a cast: {0}"
            yield words, login["unchecked"], refused
            defaults = [f"{where} TO {grantee}" for grantee, where in login["defaults"]]
            yield "will read tables that are made later, by default privileges: {0}", defaults, refused
        more = [f"{what} ON {each.title}" for each in self.relations for what in self._excess(each)]
        words = "may change tables whose triggers or rules run with other rights, and may show what is closed: {0}"
        yield words, [each.title for each in self.relations if each.changes and self._is_triggered(each)], refused
        words = "may do more than a source does, by rights of its own or of PUBLIC: {0}"
        yield words, [*more, *login["more"]], forced

    def _read_too_much(self) -> list[PgRelation]:
        return [
            each for each in self.relations if set(each.readable).difference(self.open_columns_by_id.get(each.id, ()))
        ]

    def _excess(self, each: PgRelation) -> tuple[str, ...]:
        if each.kind == "f":
            return (*(("SELECT",) if each.readable else ()), *each.changes)
        is_fine = self.writes and self.is_open(each) and not self._is_triggered(each)
        return tuple(one for one in each.changes if not is_fine or one == "TRUNCATE")

    def _is_triggered(self, each: PgRelation) -> bool:
        """Changes of it run what has other rights than the login, while something is closed."""
        return not self.access.is_unrestricted and not self._triggered.isdisjoint((each.id, *each.sources))

    @cached_property
    def _triggered(self) -> AbstractSet[Hashable]:
        own = {each.id for each in self.relations if each.has_triggers}
        return {each.id for each in self.relations if not own.isdisjoint((each.id, *each.sources))}

    def script(self) -> Iterator[str]:
        """Takes everything from the login, and what is too much from everybody; then grants what is open."""
        login, role = self.login, quote_name(self.role)
        schemas, database = ", ".join(map(quote_name, login["schemas"])), quote_name(login["database"])
        if not login["exists"]:
            yield f"CREATE ROLE {role} LOGIN PASSWORD '{server.NEW_LOGIN_PHRASE}'"
        if login["attributes"]:
            yield f"ALTER ROLE {role} {' '.join(f'NO{one}' for one in login['attributes'])}"
        for group, grantor in login["groups"]:
            by = f" GRANTED BY {quote_name(grantor)}" if grantor else ""
            yield f"REVOKE {quote_name(group)} FROM {role}{by} CASCADE"
        grantees = {self.role: role} | ({} if self.access.is_unrestricted else {"PUBLIC": "PUBLIC"})
        for grantee, where in login["defaults"]:
            if grantee in grantees:
                yield f"ALTER DEFAULT PRIVILEGES {where} REVOKE ALL ON TABLES FROM {grantees[grantee]}"
        if login["owned"]:
            yield f"REASSIGN OWNED BY {role} TO CURRENT_USER"
        for what in ("TABLES", "SEQUENCES", "ROUTINES"):
            yield f"REVOKE ALL ON ALL {what} IN SCHEMA {schemas} FROM {role}"
        yield f"REVOKE ALL ON SCHEMA {schemas} FROM {role}"
        for privilege in (*login["more"], *login["system"]):
            yield f"REVOKE {privilege} FROM PUBLIC, {role}"
        for function in () if self.access.is_unrestricted else login["definers"]:
            yield f"REVOKE EXECUTE ON ROUTINE {function} FROM PUBLIC, {role}"
        for function in () if self.access.is_unrestricted else login["unchecked"]:
            yield f"ALTER ROUTINE {function} SECURITY INVOKER"
        changed = [each for each in self.relations if self._excess(each)]
        read = self._read_too_much() + [each for each in changed if each.kind == "f"]
        too_much = {each.id for each in (*read, *changed)}
        for id, table, grantor, is_of_all in login["grantors"]:
            if id in too_much or not is_of_all:
                grantee = "PUBLIC" if is_of_all else role
                yield f"SET ROLE {grantor}; REVOKE ALL ON {table} FROM {grantee}; RESET ROLE"
        for what, tables in (("SELECT", read), ("INSERT, UPDATE, DELETE, TRUNCATE", changed)):
            if tables:
                yield f"REVOKE {what} ON {_list(tables)} FROM PUBLIC"
        yield f"GRANT CONNECT ON DATABASE {database} TO {role}"
        opened = [each for each in self.relations if each.id in self.open_columns_by_id]
        # What extensions bring is open without a grant.
        opened = [each for each in opened if self.access.allows_table(each.schema, each.name)]
        for schema, found in groupby(opened, lambda each: each.schema):
            granted = list(found)
            yield f"GRANT USAGE ON SCHEMA {quote_name(schema)} TO {role}"
            yield from self._grants(schema, [each for each in granted if each.kind != "f"])
            for owner in sorted({each.owner for each in granted} - {self.role}) if self.access.is_unrestricted else ():
                begin = f"ALTER DEFAULT PRIVILEGES FOR ROLE {quote_name(owner)} IN SCHEMA {quote_name(schema)}"
                yield f"{begin} GRANT SELECT ON TABLES TO {role}"

    def _grants(self, schema: str, tables: list[PgRelation]) -> Iterator[str]:
        role = quote_name(self.role)
        whole = [each for each in tables if self.is_open(each)]
        if whole:
            yield f"GRANT SELECT ON {_list(whole)} TO {role}"
        for each in tables:
            if not self.is_open(each):
                yield (
                    f"GRANT SELECT ({', '.join(map(quote_name, self.open_columns_by_id[each.id]))}) ON "
                    f"{_list([each])} TO {role}"
                )
        if self.writes and (changed := [one for one in whole if one.kind in "rp" and not self._is_triggered(one)]):
            yield f"GRANT INSERT, UPDATE, DELETE ON {_list(changed)} TO {role}"
            yield f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {quote_name(schema)} TO {role}"


async def read_privileges(
    connection: Any, access: DatabaseAccess, role: str | None = None, *, writes: bool
) -> Privileges:
    """Few questions, whatever the number of tables."""
    user, path = await connection.fetchrow("SELECT current_user::text, current_schemas(true)::text[]")
    role = role or str(user)
    await connection.execute("SET LOCAL search_path = pg_catalog")
    login = json.loads(await connection.fetchval(_LOGIN, role))
    rows: Any = await connection.fetch(_RELATIONS, role, list(CALLABLE))
    relations = [PgRelation(*map(_freeze, row)) for row in rows]
    return Privileges(access, relations, role, tuple(path), login, writes)


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _list(tables: Iterable[PgRelation]) -> str:
    return ", ".join(quote_name(each.schema, each.name) for each in tables)


async def role_script(
    url: str, access: DatabaseAccess, admin_url: str | None, *, writes: bool, apply: bool
) -> RoleScript:
    """What `Engine.role_script` answers."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    role = unquote(parts.username or "") or options.get("user")
    if admin_url is not None and not role:
        raise SourceError(f"The URL of {place(url)} names no user. Write the login that the source uses into it.")
    asked = url if admin_url is None else _in_database(server.administrator_url(admin_url, *_SCHEMES), url)
    connection = await connect(asked)
    try:
        await connection.execute(f"BEGIN READ {'WRITE' if apply else 'ONLY'}")
        connection.meter.room = 1 << 40
        before = await read_privileges(connection, access, role, writes=writes)
        if before.login["is_first"]:
            words = "Write another user into the URL, for example pegboard_reader."
            raise SourceError(f"The login {before.role!r} is the server's own superuser. {words}")
        statements = tuple(before.script())
        if apply:
            password = unquote(parts.password or "") or options.get("password", "")
            for statement in statements:
                if statement.startswith("CREATE ROLE"):
                    by_password = f" PASSWORD '{password.replace(chr(39), chr(39) * 2)}'" if password else ""
                    statement = f"CREATE ROLE {quote_name(before.role)} LOGIN{by_password}"
                await connection.execute(statement)
            after = await read_privileges(connection, access, role, writes=writes)
            for finding in after.findings():
                if finding.severity is FindingSeverity.REFUSED:
                    words = f"The statements did not suffice, so nothing was changed: {finding.message}"
                    raise SourceError(f"{words} A superuser or the owner of what it names can do that.")
            await connection.execute("COMMIT")
        return RoleScript(before.role, statements)
    except DRIVER_ERRORS as error:
        is_denied = getattr(error, "sqlstate", None) == "42501"
        fix = " A superuser or the owner can do that: write one into --admin-url." if is_denied else ""
        raise SourceError(f"{place(asked)}: {error}. Nothing was changed.{fix}") from error
    finally:
        connection.terminate()


def _in_database(admin_url: str, url: str) -> str:
    """The administrator's URL, in the database of the source; on its server too, where it names none."""
    admin, own = urlsplit(admin_url), urlsplit(url)
    if admin.hostname or "host" in dict(parse_qsl(admin.query)):
        return urlunsplit(admin._replace(path=own.path))
    user, _, _ = admin.netloc.rpartition("@")
    return urlunsplit(own._replace(netloc=f"{user}@{own.netloc.rpartition('@')[2]}"))
