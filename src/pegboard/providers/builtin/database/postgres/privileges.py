"""What the login of a source may do on its server, read from the catalog and held against what the board allows."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pegboard.core.database import Access, Finding, Severity

_MINE: Final = """
WITH RECURSIVE login AS (SELECT coalesce(max(oid::bigint), 0)::oid AS oid FROM pg_roles WHERE rolname = $1),
mine AS (SELECT oid FROM login UNION SELECT r.oid FROM pg_roles r, login
    WHERE pg_has_role(login.oid, r.oid, 'MEMBER') AND NOT pg_has_role(login.oid, r.oid, 'USAGE'))
"""
"""The login, and every role whose privileges it has only after SET ROLE. A login that does not exist yet is PUBLIC."""

_GRANTEES: Final = """ARRAY(SELECT DISTINCT coalesce(g.rolname, '') FROM aclexplode({0}) e
    LEFT JOIN pg_roles g ON g.oid = e.grantee WHERE ({1}) AND (e.grantee = 0
    OR pg_has_role((SELECT oid FROM login), e.grantee, 'MEMBER')))"""

_LOGIN: Final = f"""{_MINE}
SELECT json_build_object(
'version', current_setting('server_version'), 'database', current_database(),
'exists', (SELECT oid <> 0 FROM login), 'connects', has_database_privilege(login.oid, current_database(), 'CONNECT'),
'roles', ARRAY(SELECT json_build_object('name', r.rolname, 'is_super', r.rolsuper, 'is_first', r.oid = 10,
    'powers', ARRAY(SELECT p.name FROM (VALUES ('CREATEROLE', r.rolcreaterole), ('REPLICATION', r.rolreplication),
        ('BYPASSRLS', r.rolbypassrls), ('CREATEDB', r.rolcreatedb)) p(name, is_on) WHERE p.is_on),
    'is_granted', EXISTS (SELECT FROM pg_auth_members m WHERE m.member = login.oid AND m.roleid = r.oid),
    'reaches', ARRAY(SELECT x.rolname FROM pg_roles x WHERE pg_has_role(r.oid, x.oid, 'MEMBER')))
    FROM pg_roles r WHERE r.oid = login.oid OR (pg_has_role(login.oid, r.oid, 'MEMBER')
        AND NOT (SELECT bool_or(s.rolsuper) FROM pg_roles s WHERE s.oid = login.oid))),
'definers', ARRAY(SELECT json_build_array(format('%I.%I(%s)', n.nspname, p.proname,
        pg_get_function_identity_arguments(p.oid)),
        {_GRANTEES.format("coalesce(p.proacl, acldefault('f', p.proowner))", "true")})
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE (p.prosecdef OR p.proname ~ '^_postgis_(index_extent|stats|(join_)?selectivity)$')
    AND p.oid >= 16384 AND p.prorettype NOT IN (2279, 3838)
    AND EXISTS (SELECT FROM mine WHERE has_function_privilege(mine.oid, p.oid, 'EXECUTE'))),
'restricted', ARRAY(SELECT json_build_array(format('%I.%I(%s)', n.nspname, p.proname,
        pg_get_function_identity_arguments(p.oid)),
        ARRAY(SELECT DISTINCT coalesce(g.rolname, '') FROM aclexplode(p.proacl) e
            LEFT JOIN pg_roles g ON g.oid = e.grantee WHERE e.grantee IN (0, login.oid)))
    FROM pg_init_privs i JOIN pg_proc p ON p.oid = i.objoid
    JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE i.classoid = 1255
    AND NOT EXISTS (SELECT FROM aclexplode(i.initprivs) e WHERE e.grantee = 0)
    AND EXISTS (SELECT FROM aclexplode(p.proacl) e WHERE e.grantee IN (0, login.oid))),
'servers', ARRAY(SELECT json_build_array(quote_ident(s.srvname),
        {_GRANTEES.format("s.srvacl", "true")}) FROM pg_foreign_server s
    WHERE EXISTS (SELECT FROM mine WHERE has_server_privilege(mine.oid, s.oid, 'USAGE'))),
'creates', ARRAY(SELECT json_build_array('SCHEMA ' || quote_ident(n.nspname),
        {_GRANTEES.format("n.nspacl", "e.privilege_type = 'CREATE'")}) FROM pg_namespace n
    WHERE n.nspname NOT LIKE 'pg\\_%'
    AND EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'CREATE'))
    UNION ALL SELECT json_build_array('DATABASE ' || quote_ident(d.datname),
        {_GRANTEES.format("d.datacl", "e.privilege_type = 'CREATE'")}) FROM pg_database d
    WHERE d.datname = current_database()
    AND EXISTS (SELECT FROM mine WHERE has_database_privilege(mine.oid, d.oid, 'CREATE'))),
'owned', ARRAY(SELECT json_build_array(o.name, r.rolname) FROM (
    SELECT 'schema ' || nspname, nspowner FROM pg_namespace WHERE oid >= 16384 OR nspname = 'public' UNION ALL
    SELECT 'database ' || datname, datdba FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT 'function ' || proname, proowner FROM pg_proc WHERE oid >= 16384) o(name, owner)
    JOIN pg_roles r ON r.oid = o.owner WHERE pg_has_role(login.oid, o.owner, 'MEMBER')),
'defaults', ARRAY(SELECT json_build_array(r.rolname, coalesce(n.nspname, ''),
        {_GRANTEES.format("d.defaclacl", "e.privilege_type = 'SELECT'")}) FROM pg_default_acl d
    JOIN pg_roles r ON r.oid = d.defaclrole LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace
    WHERE d.defaclobjtype = 'r'),
'usage', ARRAY(SELECT n.nspname FROM pg_namespace n
    WHERE EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE')))
) FROM login
"""  # noqa: S608 - put together from constants

_RELATIONS: Final = f"""{_MINE}
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, o.rolname, pg_has_role(login.oid, c.relowner, 'MEMBER'),
    EXISTS (SELECT FROM pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'e'),
    c.relkind = 'v' AND coalesce(c.reloptions::text ~ 'security_invoker=(true|on|yes|1)', false), c.relrowsecurity,
    c.reltype::bigint, k.columns, k.types, p.reads,
    CASE WHEN p.reads THEN k.columns WHEN p.some THEN ARRAY(SELECT a.attname::text FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND EXISTS (SELECT FROM mine
        WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE')
        AND has_column_privilege(mine.oid, c.oid, a.attnum, 'SELECT')))
    ELSE '{{}}' END,
    ARRAY(SELECT w FROM unnest('{{INSERT,UPDATE,DELETE,TRUNCATE}}'::text[]) w WHERE EXISTS (SELECT FROM mine
        WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE') AND CASE WHEN c.relkind = 'S'
        THEN w = 'UPDATE' AND has_sequence_privilege(mine.oid, c.oid, w) WHEN w IN ('INSERT', 'UPDATE')
        THEN has_any_column_privilege(mine.oid, c.oid, w) ELSE has_table_privilege(mine.oid, c.oid, w) END)),
    ARRAY(SELECT DISTINCT coalesce(g.rolname, '') FROM (SELECT c.relacl UNION ALL
        SELECT a.attacl FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) l(acl),
        aclexplode(l.acl) e LEFT JOIN pg_roles g ON g.oid = e.grantee
        WHERE e.grantee = 0 OR pg_has_role(login.oid, e.grantee, 'MEMBER'))
FROM login, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_roles o ON o.oid = c.relowner
CROSS JOIN LATERAL (SELECT
    EXISTS (SELECT FROM mine WHERE has_schema_privilege(mine.oid, n.oid, 'USAGE') AND CASE WHEN c.relkind = 'S'
        THEN has_sequence_privilege(mine.oid, c.oid, 'SELECT')
        ELSE has_table_privilege(mine.oid, c.oid, 'SELECT') END) AS reads,
    EXISTS (SELECT FROM mine WHERE c.relkind <> 'S' AND has_any_column_privilege(mine.oid, c.oid, 'SELECT')) AS some) p
CROSS JOIN LATERAL (SELECT coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{{}}') AS columns,
        coalesce(array_agg(a.atttypid::bigint ORDER BY a.attnum), '{{}}') AS types FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) k
WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT LIKE 'pg\\_%'
    AND n.nspname <> 'information_schema' ORDER BY n.nspname, c.relname
"""  # noqa: S608 - put together from constants

_LINKS: Final = """
SELECT json_build_object(
'views', (SELECT json_agg(json_build_array(v.view, v.of, v.used, v.is_row)) FROM (
    SELECT r.ev_class::bigint AS view, d.refobjid::bigint AS of, array_agg(a.attname) AS used,
        bool_or(r.ev_action::text LIKE '%:varattno 0 %') AS is_row
    FROM pg_rewrite r JOIN pg_depend d ON d.classid = 2618 AND d.objid = r.oid
        AND d.refclassid = 1259 AND d.refobjid <> r.ev_class
    LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
    WHERE r.ev_type = '1' AND r.ev_class >= 16384 GROUP BY 1, 2) v),
'remote', (SELECT json_agg(DISTINCT r.ev_class::bigint) FROM pg_rewrite r
    JOIN pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1255
    JOIN pg_depend m ON m.classid = 1255 AND m.objid = d.refobjid AND m.deptype = 'e'
    JOIN pg_extension x ON x.oid = m.refobjid AND x.extname = 'dblink'),
'catalog', (SELECT json_agg(DISTINCT r.ev_class::bigint) FROM pg_rewrite r WHERE r.ev_class >= 16384
    AND r.ev_type = '1'
    AND r.ev_action::text ~ ':relid ([1-9]\\d{0,3}|1[0-5]\\d{3}|16[0-2]\\d\\d|163[0-7]\\d|1638[0-3]) '),
'parents', (SELECT json_agg(json_build_array(i.inhrelid::bigint, i.inhparent::bigint))
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind NOT IN ('i', 'I')),
'keys', (SELECT json_agg(json_build_array(p.partrelid::bigint, a.attname))
    FROM pg_partitioned_table p CROSS JOIN LATERAL unnest(p.partattrs::smallint[]) k(number)
    LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.number AND k.number > 0),
'generated', (SELECT json_agg(json_build_array(a.attrelid::bigint, a.attname, s.attname))
    FROM pg_attribute a
    LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
    JOIN pg_depend d ON d.refclassid = 1259 AND d.refobjid = a.attrelid AND d.refobjsubid > 0
        AND d.refobjsubid <> a.attnum AND ((d.classid = 2604 AND d.objid = f.oid)
        OR (d.classid = 1259 AND d.objid = a.attrelid AND d.objsubid = a.attnum))
    JOIN pg_attribute s ON s.attrelid = a.attrelid AND s.attnum = d.refobjsubid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''),
'types', (SELECT json_agg(json_build_array(t.oid::bigint, t.typname, ARRAY(
        SELECT u.oid::bigint FROM (SELECT t.typelem UNION ALL SELECT t.typbasetype UNION ALL
        SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 UNION ALL
        SELECT g.rngsubtype FROM pg_range g WHERE g.rngtypid = t.oid) u(oid) WHERE u.oid >= 16384)))
    FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid AND c.relkind = 'c'
    WHERE t.oid >= 16384 AND (t.typelem >= 16384 OR t.typbasetype >= 16384 OR c.oid IS NOT NULL OR t.typtype = 'r')),
'indexes', (SELECT json_agg(json_build_array(x.indrelid::bigint, i.relname, ARRAY(
        SELECT a.attname FROM pg_attribute a WHERE a.attrelid = x.indrelid AND a.attnum > 0
        AND (a.attnum = ANY (x.indkey::smallint[]) OR 0 = ANY (x.indkey::smallint[]) OR x.indpred IS NOT NULL))))
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid >= 16384),
'cascades', (SELECT json_agg(json_build_array(k.confrelid::bigint, k.conrelid::bigint))
    FROM pg_constraint k WHERE k.contype = 'f'
    AND (k.confdeltype NOT IN ('a', 'r') OR k.confupdtype NOT IN ('a', 'r'))),
'reactions', (SELECT json_agg(t.oid) FROM (
    SELECT g.tgrelid::bigint FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid AND p.prosecdef
    WHERE g.tgrelid >= 16384 AND g.tgenabled <> 'D' UNION SELECT r.ev_class::bigint FROM pg_rewrite r
    WHERE r.ev_type <> '1' AND r.ev_class >= 16384) t(oid)),
'sequences', (SELECT json_agg(json_build_array(d.refobjid::bigint, d.objid::bigint))
    FROM pg_depend d WHERE d.classid = 1259 AND d.refclassid = 1259 AND d.deptype = 'a' AND d.refobjsubid > 0)
)
"""

_GROUPS: Final = {
    "pg_execute_server_program": "may run programs on the server",
    "pg_read_server_files": "may read the server's files",
    "pg_write_server_files": "may write the server's files",
    "pg_read_all_data": "reads every table",
    "pg_write_all_data": "may change every table",
    "pg_signal_backend": "may end other people's sessions",
    "pg_checkpoint": "may order checkpoints",
    "pg_maintain": "may rebuild every table",
    "pg_create_subscription": "may subscribe to other servers",
    "pg_monitor": "sees what other sessions ask",
    "pg_read_all_stats": "sees what other sessions ask",
    "pg_read_all_settings": "sees every setting of the server",
}
_ONLY_IF_CLOSED: Final = frozenset({"pg_read_all_data", "pg_monitor", "pg_read_all_stats", "pg_read_all_settings"})
_READS_ALL: Final = frozenset(
    {"pg_execute_server_program", "pg_read_server_files", "pg_write_server_files"} | _ONLY_IF_CLOSED
)
_POWERS: Final = {
    "CREATEROLE": "may create roles, and so give itself more",
    "REPLICATION": "may replicate, and so read everything",
    "CREATEDB": "may create databases",
}


@dataclass(frozen=True)
class PgRelation:
    """A table, view, foreign table or sequence, with what the login may do with it."""

    oid: int
    schema: str
    name: str
    kind: str
    owner: str
    is_owned: bool
    is_of_extension: bool
    is_invoker: bool
    """A view that reads with the rights of its caller."""
    has_row_security: bool
    row_type: int
    columns: tuple[str, ...]
    types: tuple[int, ...]
    is_read: bool
    """SELECT on the whole of it."""
    readable: tuple[str, ...]
    changes: tuple[str, ...]
    grantees: tuple[str, ...]
    """Those of the login's roles that have privileges on it; PUBLIC is an empty text."""

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def sql(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def reads(self) -> bool:
        return self.is_read or bool(self.readable)


@dataclass(frozen=True)
class Catalog:
    """What a server's catalog says of one login."""

    role: str
    login: Mapping[str, Any]
    relations: tuple[PgRelation, ...]
    links: Mapping[str, Sequence[Any]]


async def read_catalog(connection: Any, role: str | None = None) -> Catalog:
    """Three questions, whatever the number of tables."""
    role = role or str(await connection.fetchval("SELECT current_user"))
    await connection.execute("SET LOCAL search_path = pg_catalog")
    login = json.loads(await connection.fetchval(_LOGIN, role))
    rows = await connection.fetch(_RELATIONS, role)
    links = json.loads(await connection.fetchval(_LINKS))
    values: Any = [[tuple(one) if isinstance(one, list) else one for one in row] for row in rows]
    relations = tuple(PgRelation(*row) for row in values)
    return Catalog(role, login, relations, {name: found or () for name, found in links.items()})


@dataclass(frozen=True)
class Closed:
    """What of a database is closed: by a pattern, or because it is made of something that a pattern closes."""

    relations: frozenset[int]
    derived: frozenset[int]
    """Those of the relations that no pattern names."""
    columns: Mapping[int, frozenset[str]]
    """Of relations that are open otherwise."""
    names: frozenset[str]
    """Names that only something closed has: of tables, columns and indexes."""
    types: frozenset[str]
    """Names of types in which rows of something closed lie."""
    partial: frozenset[str]
    """Names of tables with closed columns."""
    catalog: frozenset[str]
    """Names of views over the system catalog."""


def closed(catalog: Catalog, access: Access) -> Closed:
    if access.is_whole:
        nothing = frozenset[str]()
        return Closed(frozenset(), frozenset(), {}, nothing, nothing, nothing, nothing)
    known = {each.oid: each for each in catalog.relations}
    named = {oid for oid, each in known.items() if access.allows_by_name(each.schema, each.name)}
    # What extensions bring, as PostGIS its systems of reference, is closed where a pattern denies it.
    rules = {False: access, True: Access(deny=access.deny)}
    shut = {oid for oid, each in known.items() if not rules[each.is_of_extension].opens(each.schema, each.name)}
    columns = defaultdict[int, set[str]](set)
    for oid in known.keys() - shut:
        schema, name = known[oid].schema, known[oid].name
        rule = rules[known[oid].is_of_extension]
        columns[oid] |= {one for one in known[oid].columns if not rule.opens_column(schema, name, one)}
    by_pattern, links = frozenset(shut), catalog.links
    parents, children = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for child, parent in links["parents"]:
        parents[child].add(parent)
        children[parent].add(child)
    keys = defaultdict[int, set[str | None]](set)
    for parent, column in links["keys"]:
        keys[parent].add(column)
    first = {oid: frozenset(found) for oid, found in columns.items() if found}
    for oid in known.keys() - shut - named:
        above = reached(oid, parents)
        if any(first.get(one) and (None in keys[one] or keys[one] & first[one]) for one in above):
            shut.add(oid)  # its rows are those with certain values in a closed column
        for relative in above | reached(oid, children):
            if relative in by_pattern:
                shut.add(oid)
            columns[oid] |= first.get(relative, frozenset()) & set(known[oid].columns)
    types: set[int] = set()
    size = -1
    while size != (size := len(shut) + len(types) + sum(map(len, columns.values()))):
        for oid, column, of in links["generated"]:
            if of in columns[oid]:
                columns[oid].add(column)
        types |= {known[oid].row_type for oid in known if oid in shut or columns[oid]} - {0}
        types |= {oid for oid, _, parts in links["types"] if not types.isdisjoint(parts)}
        for oid in known.keys() - shut - named:
            each = known[oid]
            columns[oid] |= {one for one, kind in zip(each.columns, each.types, strict=True) if kind in types}
        for view, of, used, is_row in links["views"]:
            is_reading = of in shut or columns[of].intersection(used) or (is_row and columns[of])
            if is_reading and view not in named and view in known and not known[view].is_invoker:
                shut.add(view)
    open_names = {word for oid, each in known.items() if oid not in shut for word in (each.name, each.schema)}
    open_names |= {
        one for oid, each in known.items() if oid not in shut for one in each.columns if one not in columns[oid]
    }
    names = {word for oid in shut for word in (known[oid].name, known[oid].schema, *known[oid].columns)}
    names |= {one for oid in known.keys() - shut for one in columns[oid]}
    names |= {name for oid, name, over in links["indexes"] if oid in shut or columns[oid].intersection(over)}
    return Closed(
        frozenset(shut & known.keys()),
        frozenset((shut & known.keys()) - by_pattern),
        {oid: frozenset(found) for oid, found in columns.items() if found and oid not in shut},
        frozenset(names - open_names),
        frozenset(name for oid, name, _ in links["types"] if oid in types)
        | {word for oid in shut & known.keys() | {o for o in columns if columns[o]} for word in (known[oid].name,)},
        frozenset(known[oid].name for oid, found in columns.items() if found and oid not in shut),
        frozenset(known[oid].name for oid in links["catalog"] if oid in known),
    )


def reached(start: int, ways: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    ahead = [start]
    while ahead:
        fresh = ways.get(ahead.pop(), set()) - found
        found |= fresh
        ahead += fresh
    return found


def findings(catalog: Catalog, access: Access, hidden: Closed, *, writes: bool) -> tuple[Finding, ...]:
    """What the login may do that it should not, with the statements that take it away; one for each kind."""
    judgement = _Judgement(catalog, access, hidden, writes)
    found = [one for one in judgement.kinds() if one[1]]
    login = f"The login {catalog.role!r}"
    return tuple(
        Finding(f"{login} {words.replace('{0}', _some(names))}.", severity, tuple(dict.fromkeys(statements)))
        for words, names, severity, statements in found
    )


_Kind: TypeAlias = tuple[str, Sequence[str], Severity, Iterable[str]]
"""Words with a place for names, the names, and the statements; nothing was found where there is no name."""


class _Judgement:
    def __init__(self, catalog: Catalog, access: Access, hidden: Closed, writes: bool) -> None:
        self._login, self._relations, self._links = catalog.login, catalog.relations, catalog.links
        self._role = catalog.role
        self._catalog = catalog
        self._hidden = hidden
        self._is_whole = access.is_whole
        self._writes = writes
        self._worst = Severity.REFUSED_UNLESS_FORCED if access.is_whole else Severity.REFUSED
        self._granted = {each["name"]: each["reaches"] for each in self._login["roles"] if each["is_granted"]}

    def kinds(self) -> Iterator[_Kind]:
        itself = next((each for each in self._login["roles"] if each["name"] == self._role), None)
        if itself is not None and itself["is_super"]:
            words = "is a superuser and reads everything; write a login of its own into the URL of the source"
            fix = [] if itself["is_first"] else [f"ALTER ROLE {quoted(self._role)} NOSUPERUSER"]
            yield words, [self._role], self._worst, fix
            return
        for role in self._login["roles"]:
            yield from self._powers(role["name"], role)
        yield from self._reads()
        yield from self._changes()

    def _powers(self, name: str, role: Mapping[str, Any]) -> Iterator[_Kind]:
        through = "" if name == self._role else f" as a member of {name!r}"
        if role["is_super"]:
            yield f"may do everything on the server{through}, a superuser", [name], self._worst, self._without(name)
        for power in role["powers"]:
            fix = self._without(name) if through else [f"ALTER ROLE {quoted(name)} NO{power}"]
            if power == "BYPASSRLS":
                guarded = [one.title for one in self._relations if one.has_row_security and one.reads]
                level = Severity.REFUSED_UNLESS_FORCED if guarded else Severity.WARNING
                where = " ({0})" if guarded else ""
                yield f"reads past row security (BYPASSRLS){where}{through}", guarded or [name], level, fix
            elif not role["is_super"]:
                level = Severity.REFUSED_UNLESS_FORCED if power == "CREATEDB" else self._worst
                yield f"{_POWERS[power]} ({power}){through}", [name], level, fix
        is_fine = self._is_whole and (name in _ONLY_IF_CLOSED or (name == "pg_write_all_data" and self._writes))
        if name in _GROUPS and not is_fine:
            level = self._worst if name in _READS_ALL else Severity.REFUSED_UNLESS_FORCED
            yield f"{_GROUPS[name]} ({name})", [name], level, self._without(name)

    def _reads(self) -> Iterator[_Kind]:
        login, forced, refused = self._login, Severity.REFUSED_UNLESS_FORCED, Severity.REFUSED
        mine = [each for each in self._relations if each.is_owned]
        owners = {each.owner for each in mine} | {owner for _, owner in login["owned"]}
        fix = [f"REASSIGN OWNED BY {quoted(self._role)} TO CURRENT_USER"] if self._role in owners else []
        fix += [one for owner in sorted(owners - {self._role}) for one in self._without(owner)]
        names = [*(each.title for each in mine), *(name for name, _ in login["owned"])]
        level = refused if any(self._is_closed(each) for each in mine) else forced
        yield "owns what it asks, and so may do everything with it: {0}", names, level, fix

        shut = [each for each in self._relations if each.oid in self._hidden.relations and each.reads]
        views = [each for each in shut if each.oid in self._hidden.derived]
        columns = [(each, one) for each in self._relations for one in each.readable if one in self._columns(each)]
        tables = [*(each for each in shut if each not in views), *dict.fromkeys(each for each, _ in columns)]
        names = [*(each.title for each in tables if each in shut), *(f"{each.title}.{one}" for each, one in columns)]
        yield (
            "can read what the board closes: {0}",
            names,
            refused,
            [one for each in tables for one in self._close(each)],
        )
        words = "can read {0}, which show what the board closes. Name one in `allow` if that is meant"
        yield words, [each.title for each in views], refused, [one for each in views for one in self._close(each)]

        functions = login["definers"] if not self._is_whole else ()
        fix = [one for what, by in functions for one in self._revoke(f"EXECUTE ON ROUTINE {what}", by)]
        yield "may call functions that read with other rights than its own: {0}", _firsts(functions), refused, fix
        fix = [one for what, by in login["restricted"] for one in self._revoke(f"EXECUTE ON FUNCTION {what}", by)]
        words = "may call functions that the server keeps to administrators: {0}"
        yield words, _firsts(login["restricted"]), self._worst, fix

        remote = [
            each for each in self._relations if each.reads and (each.kind == "f" or each.oid in self._links["remote"])
        ]
        fix = [one for each in remote for one in self._close(each)]
        fix += [one for what, by in login["servers"] for one in self._revoke(f"USAGE ON FOREIGN SERVER {what}", by)]
        names = [*(each.title for each in remote), *_firsts(login["servers"])]
        yield "reaches other servers, which no read-only transaction protects: {0}", names, forced, fix

        fix = []
        for owner, schema, by in login["defaults"] if not self._is_whole else ():
            where = f" IN SCHEMA {quoted(schema)}" if schema else ""
            begin = f"ALTER DEFAULT PRIVILEGES FOR ROLE {quoted(owner)}{where} REVOKE SELECT ON TABLES FROM"
            fix += [f"{begin} {quoted(one) if one else 'PUBLIC'}" for one in by if one in ("", self._role)]
        names = [owner for owner, _, by in login["defaults"] if by and not self._is_whole]
        yield "may read every table that {0} will create", names, Severity.WARNING, fix

    def _changes(self) -> Iterator[_Kind]:
        forced = Severity.REFUSED_UNLESS_FORCED
        changed = [each for each in self._relations if each.changes and not each.is_owned]
        far = reaching(self._catalog, self._hidden) if self._writes and not self._is_whole else {}
        kinds: list[tuple[str, list[PgRelation], Severity]] = [
            (
                "rules and triggers with other rights",
                [one for one in changed if far.get(one.oid) is True],
                Severity.REFUSED,
            ),
            ("foreign keys", [one for one in changed if far.get(one.oid) is False], forced),
        ]
        kinds = [
            (f"may change tables from which {how} lead further: {{0}}", found, level) for how, found, level in kinds
        ]
        if self._writes:
            shut = [one for one in changed if self._is_closed(one)]
            kinds.append(("may change tables that the board closes: {0}", shut, forced))
        else:
            kinds.append(("may change tables: {0}", changed, forced))
        for words, found, level in kinds:
            fix = [one for each in found for one in self._revoke(_changes_of(each), each.grantees)]
            yield words, [each.title for each in found], level, fix
        creates = self._login["creates"]
        fix = [one for what, by in creates for one in self._revoke(f"CREATE ON {what}", by)]
        yield "may create tables in {0}", _firsts(creates), forced, fix

    def _columns(self, each: PgRelation) -> frozenset[str]:
        return self._hidden.columns.get(each.oid, frozenset())

    def _is_closed(self, each: PgRelation) -> bool:
        return each.oid in self._hidden.relations or bool(self._columns(each))

    def _close(self, each: PgRelation) -> Iterator[str]:
        yield from self._revoke(f"SELECT ON {'SEQUENCE ' if each.kind == 'S' else ''}{each.sql}", each.grantees)
        kept = [one for one in each.readable if one not in self._columns(each)]
        if kept and self._columns(each):
            yield f"GRANT SELECT ({', '.join(map(quoted, kept))}) ON {each.sql} TO {quoted(self._role)}"

    def _revoke(self, what: str, grantees: Iterable[str]) -> Iterator[str]:
        for one in grantees:
            if one in ("", self._role):
                yield f"REVOKE {what} FROM {quoted(one) if one else 'PUBLIC'}"
            else:
                yield from self._without(one)

    def _without(self, role: str) -> list[str]:
        """Membership taken away, through which the login reaches a role."""
        through = sorted(granted for granted, reaches in self._granted.items() if role in reaches)
        return [f"REVOKE {quoted(granted)} FROM {quoted(self._role)}" for granted in through]


def _firsts(found: Iterable[Sequence[Any]]) -> list[str]:
    return [str(name) for name, *_ in found]


def reaching(catalog: Catalog, hidden: Closed) -> dict[int, bool]:
    """Tables whose changes reach further than they say; true where something may be read by that."""
    children, cascades = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for child, parent in catalog.links["parents"]:
        children[parent].add(child)
    for parent, child in catalog.links["cascades"]:
        cascades[parent].add(child)
    reactions = set(catalog.links["reactions"])
    found: dict[int, bool] = {}
    for each in catalog.relations:
        if reactions & {each.oid, *reached(each.oid, children)}:
            found[each.oid] = True
        elif not hidden.relations.isdisjoint(reached(each.oid, cascades)):
            found[each.oid] = False
    return found


def _changes_of(each: PgRelation) -> str:
    return f"{', '.join(each.changes)} ON {'SEQUENCE ' if each.kind == 'S' else ''}{each.sql}"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")
