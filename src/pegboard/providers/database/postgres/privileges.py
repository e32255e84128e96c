"""What the login of a source may do on its server, held against what the board allows, and SQL that makes both equal.

Tables are judged as wholes: a view is closed if anything below it is. Not looked into: what foreign keys do, columns
that hold copies of rows, sequences, and who else may read.
"""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import groupby
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pegboard.core.databases.rows import DatabaseFinding, FindingSeverity
from pegboard.core.model.databases import DatabaseAccess
from pegboard.ports.databases import RoleScript, SourceError
from pegboard.providers.database import server
from pegboard.providers.database.common import quote_name
from pegboard.providers.database.postgres.connection import DRIVER_ERRORS, connect, place

_LOGIN: Final = files(__package__).joinpath("login.sql").read_text(encoding="ascii")
_RELATIONS: Final = files(__package__).joinpath("relations.sql").read_text(encoding="ascii")
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
    unexplained: frozenset[str]
    """Tables and views whose plans can show more than is open. Each with its schema, and without one."""
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
        shut_ids = {each.id for each in shut}
        hiding = [each for each in self.relations if not self._is_explained(each, shut_ids)]
        unexplained = frozenset(name for each in hiding for name in (each.title, each.name))
        types = frozenset(self.login["types"]) | whole
        return OpenNames(frozenset(tables), columns, closed_columns, unexplained, types)

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
        powers = [*login["attributes"], *login["system"], *(one for one in login["inherited"] if one not in harmless)]
        yield "has powers that a source does not need, of its own or as a member: {0}", powers, worst
        yield "owns what it asks, and so may do everything with it: {0}", login["owned"], worst
        words = "can read what the board closes, or what shows it: {0}. Name a view in `allow` if that is meant"
        names = [name for each in self._read_too_much() for name in self.closed_names(each, each.readable)]
        yield words, names, refused
        if not is_whole:
            yield "may call functions that read with other rights than its own: {0}", login["definers"], refused
            words = "reaches functions that read with other rights through a type, an operator or a cast: {0}"
            yield words, login["unchecked"], refused
            defaults = [f"{where} TO {grantee}" for grantee, where in login["defaults"]]
            yield "will read tables that are made later, by default privileges: {0}", defaults, refused
        more = [f"{what} ON {each.title}" for each in self.relations for what in self._excess(each)]
        words = "may change tables whose triggers or rules run with other rights, and may show what is closed: {0}"
        yield words, [each.title for each in self.relations if each.changes and self.is_triggered(each)], refused
        words = "may do more than a source does, by rights of its own or of PUBLIC: {0}"
        yield words, [*more, *login["more"]], forced

    def _read_too_much(self) -> list[PgRelation]:
        return [
            each for each in self.relations if set(each.readable).difference(self.open_columns_by_id.get(each.id, ()))
        ]

    def _excess(self, each: PgRelation) -> tuple[str, ...]:
        if each.kind == "f":
            return (*(("SELECT",) if each.readable else ()), *each.changes)
        is_fine = self.writes and self.is_open(each) and not self.is_triggered(each)
        return tuple(one for one in each.changes if not is_fine or one == "TRUNCATE")

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
        if self.writes and (changed := [one for one in whole if one.kind in "rp" and not self.is_triggered(one)]):
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
