"""What the login of a source may do on its server, held against what the board allows, and SQL that makes both equal.

Tables are judged as wholes: a view is closed if anything below it is. Not looked into: what foreign keys do, columns
that hold copies of rows, sequences, and who else may read.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from pegboard.core.databases.rows import FindingSeverity
from pegboard.core.model.databases import DatabaseAccess
from pegboard.providers.database import server
from pegboard.providers.database.common import quote_name

_PRIVILEGES: Final = files(__package__).joinpath("privileges.sql").read_text(encoding="ascii")
CALLABLE: Final = server.read_names(__package__, "functions.txt")
"""Privileges do not cover what other functions do: wait, lock, reach files or other servers, run a text as SQL."""
_EXTENSIONS: Final = server.read_names(__package__, "extensions.txt")
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
class PgPrivileges(server.Privileges[PgRelation]):
    """What a server's catalog says of one login."""

    path: tuple[str, ...]
    """Schemas of names without one, for the session that asks."""
    login: Mapping[str, Any]

    @property
    def account(self) -> str:
        return repr(self.role)

    @property
    def is_administrator(self) -> bool:
        return bool(self.login["is_first"])

    @cached_property
    def overloads(self) -> frozenset[str]:
        """Names on the list of functions that the database has functions of its own for, which the login may call."""
        return CALLABLE.intersection(self.login["overloads"])

    @cached_property
    def open_tables(self) -> frozenset[str]:
        """Tables that statements may name: each with its schema, and without one if it is found so."""
        some = [each for each in self.relations if each.id in self.open_columns_by_id]
        return frozenset({each.title for each in some} | {each.name for each in some if each.schema in self.path})

    @cached_property
    def closed_tables(self) -> frozenset[str]:
        """By their names alone; also those of which parts are closed."""
        return frozenset(each.name for each in self._shut)

    @cached_property
    def columns_by_table(self) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
        """Open columns, and closed ones, by the names of tables of which something is open."""
        opened, closed = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for each in self.relations:
            for name in each.columns if each.id in self.open_columns_by_id else ():
                (opened if name in self.open_columns_by_id[each.id] else closed)[each.name].append(name)
        return opened, closed

    @cached_property
    def open_types(self) -> frozenset[str]:
        """But for rows that may hold something closed."""
        whole = {each.name for each in self.relations if self.is_open(each)}
        return frozenset(self.login["types"]) | (whole - self.closed_tables)

    @cached_property
    def unexplained_tables(self) -> frozenset[str]:
        """Tables and views whose plans can show more than is open: conditions of views and policies, estimates of rows
        that a policy hides, and names of what is below. Each with its schema, and without one."""
        secured = {each.id for each in self.relations if each.has_row_security}
        hiding = [each for each in self.relations if not secured.isdisjoint((each.id, *each.sources))]
        if not self.access.is_unrestricted:
            known, shut = self.open_columns_by_id.keys(), {each.id for each in self._shut}
            for each in self.relations:
                is_narrowed = each.kind == "f" or (each.kind == "v" and not shut.isdisjoint(each.sources))
                hiding += [each] if is_narrowed or not known >= {each.id, *each.sources} else []
        return frozenset(name for each in hiding for name in (each.title, each.name))

    @cached_property
    def _shut(self) -> Sequence[PgRelation]:
        """Closed, or parts of it are."""
        return [each for each in self.relations if not self.is_open(each)]

    def warnings(self) -> Iterator[str]:
        names = [(each.schema, each.name, name) for each in self.relations for name in each.columns]
        for pattern in self.access.unmatched_patterns(names) if self.access.deny else ():
            if pattern in self.access.deny:
                yield f"The pattern {str(pattern)!r} of deny fits no table and no column. Check how it is spelt."

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
        powers += ["files of the server, by postgis.enable_outdb_rasters"] if login["rasters"] else []
        yield "has powers that a source does not need, of its own or as a member: {0}", powers, worst
        yield "owns what it asks, and so may do everything with it: {0}", login["owned"], worst
        words = "can read what the board closes, or what shows it: {0}. Name a view in `allow` if that is meant"
        yield words, [name for each in self._overread for name in self.closed_names(each, each.readable)], refused
        if not is_whole:
            yield "may call functions that read with other rights than its own: {0}", login["definers"], refused
            words = "reaches functions that read with other rights through a type, an operator or a cast: {0}"
            yield words, login["unchecked"], refused
            defaults = [f"{where} TO {grantee}" for grantee, where in login["defaults"]]
            yield "will read tables that are made later, by default privileges: {0}", defaults, refused
            sequences = [f"{what} ON {title}" for what, title in self._excess_of_sequences()]
            yield "may use sequences that no open table takes values from: {0}", sequences, refused
        closed_ids = {each.id for each in self.relations} - self.open_columns_by_id.keys()
        more = {True: list[str](), False: list[str]()}
        for each in self.relations:
            more[each.id in closed_ids] += [f"{what} ON {each.title}" for what in self._excess(each)]
        yield "may change what the board closes: {0}", more[True], refused
        words = "may change tables whose triggers or rules run with other rights, and may show what is closed: {0}"
        yield words, [each.title for each in self.relations if each.changes and self.is_triggered(each)], refused
        words = "may do more than a source does, by rights of its own or of PUBLIC: {0}"
        yield words, [*more[False], *login["more"]], forced

    def _excess_of_sequences(self) -> Iterator[tuple[str, str]]:
        """Privileges and sequences: names and numbers of them tell of tables that are closed."""
        changed = {each.id for each in self.relations if self._may_change(each)}
        for title, tables, privileges in () if self.access.is_unrestricted else self.login["sequences"]:
            is_used = not changed.isdisjoint(tables)
            yield from ((one, title) for one in privileges if one != "USAGE" or not is_used)

    def _may_change(self, each: PgRelation) -> bool:
        return self.writes and each.kind in "rp" and self.is_open(each) and not self.is_triggered(each)

    @cached_property
    def _overread(self) -> Sequence[PgRelation]:
        """The login can read more of them than is open."""
        opened = self.open_columns_by_id
        return [each for each in self.relations if set(each.readable).difference(opened.get(each.id, ()))]

    def _excess(self, each: PgRelation) -> tuple[str, ...]:
        if each.kind == "f":
            return (*(("SELECT",) if each.readable else ()), *each.changes)
        is_fine = self.writes and self.is_open(each) and not self.is_triggered(each)
        return tuple(one for one in each.changes if not is_fine or one == "TRUNCATE")

    def script(self) -> Iterator[str]:
        """Takes everything from the login, and what is too much from everybody; then grants what is open."""
        login, role, is_whole = self.login, quote_name(self.role), self.access.is_unrestricted
        schemas, database = ", ".join(map(quote_name, login["schemas"])), quote_name(login["database"])
        if not login["exists"]:
            yield f"CREATE ROLE {role} LOGIN PASSWORD '{server.NEW_LOGIN_PHRASE}'"
        if login["attributes"]:
            yield f"ALTER ROLE {role} {' '.join(f'NO{one}' for one in login['attributes'])}"
        if login["rasters"]:
            yield f"ALTER ROLE {role} SET postgis.enable_outdb_rasters = off"
        for group, grantor in login["groups"]:
            by = f" GRANTED BY {quote_name(grantor)}" if grantor else ""
            yield f"REVOKE {quote_name(group)} FROM {role}{by} CASCADE"
        grantees = {self.role: role} | ({} if is_whole else {"PUBLIC": "PUBLIC"})
        for grantee, where in login["defaults"]:
            if grantee in grantees:
                yield f"ALTER DEFAULT PRIVILEGES {where} REVOKE ALL ON TABLES FROM {grantees[grantee]}"
        if login["owned"]:
            yield f"REASSIGN OWNED BY {role} TO CURRENT_USER"
        changed = [each for each in self.relations if self._excess(each)]
        read = [*self._overread, *(each for each in changed if each.kind == "f")]
        too_much = {each.id for each in (*read, *changed)}
        # From everybody first: what the login passed on goes with its own.
        for id, privileges, grantor, is_of_all in sorted(login["grantors"], key=lambda each: not each[3]):
            if id in too_much or not is_of_all:
                grantee = "PUBLIC" if is_of_all else f"{role} CASCADE"
                yield f"SET ROLE {grantor}; REVOKE {privileges} FROM {grantee}; RESET ROLE"
        for what in ("ALL TABLES IN ", "ALL SEQUENCES IN ", "ALL ROUTINES IN ", "") if schemas else ():
            yield f"REVOKE ALL ON {what}SCHEMA {schemas} FROM {role} CASCADE"
        for title in dict.fromkeys(title for _, title in self._excess_of_sequences()):
            yield f"REVOKE ALL ON SEQUENCE {title} FROM PUBLIC"
        definers = [f"EXECUTE ON ROUTINE {function}" for function in login["definers"]]
        for privilege in (*login["more"], *login["system"], *(() if is_whole else definers)):
            yield f"REVOKE {privilege} FROM PUBLIC, {role} CASCADE"
        for function in () if is_whole else login["unchecked"]:
            yield f"ALTER ROUTINE {function} SECURITY INVOKER"
        for what, tables in (("SELECT", read), ("INSERT, UPDATE, DELETE, TRUNCATE", changed)):
            if tables:
                yield f"REVOKE {what} ON {_list(tables)} FROM PUBLIC"
        yield f"GRANT CONNECT ON DATABASE {database} TO {role}"
        # What extensions bring is as open as they make it.
        named = self.access.allows_by_name
        opened = [each for each in self.relations if each.id in self.open_columns_by_id]
        opened = [each for each in opened if not each.is_of_extension or named(each.schema, each.name)]
        for schema, found in groupby(opened, lambda each: each.schema):
            tables = list(found)
            yield f"GRANT USAGE ON SCHEMA {quote_name(schema)} TO {role}"
            yield from self._grants([each for each in tables if each.kind != "f"])
            for owner in sorted({each.owner for each in tables} - {self.role}) if is_whole else ():
                begin = f"ALTER DEFAULT PRIVILEGES FOR ROLE {quote_name(owner)} IN SCHEMA {quote_name(schema)}"
                yield f"{begin} GRANT SELECT ON TABLES TO {role}"
        changed_ids = {each.id for each in self.relations if self._may_change(each)}
        used = [title for title, tables, _ in login["sequences"] if not changed_ids.isdisjoint(tables)]
        if used:
            yield f"GRANT USAGE ON SEQUENCE {', '.join(used)} TO {role}"

    def _grants(self, tables: Sequence[PgRelation]) -> Iterator[str]:
        role, whole = quote_name(self.role), [each for each in tables if self.is_open(each)]
        if whole:
            yield f"GRANT SELECT ON {_list(whole)} TO {role}"
        for each in tables:
            if not self.is_open(each):
                columns = ", ".join(map(quote_name, self.open_columns_by_id[each.id]))
                yield f"GRANT SELECT ({columns}) ON {_list([each])} TO {role}"
        if changed := [each for each in tables if self._may_change(each)]:
            yield f"GRANT INSERT, UPDATE, DELETE ON {_list(changed)} TO {role}"


async def read_privileges(
    connection: Any, access: DatabaseAccess, role: str | None = None, *, writes: bool
) -> PgPrivileges:
    """In one question, whatever the number of tables."""
    user, path = await connection.fetchrow("SELECT current_user::text, current_schemas(true)::text[]")
    await connection.execute("SET LOCAL search_path = pg_catalog")
    login = json.loads(await connection.fetchval(_PRIVILEGES, role or str(user), [*CALLABLE], [*_EXTENSIONS]))
    relations = [PgRelation(*map(_freeze, row)) for row in login.pop("relations")]
    version = f"PostgreSQL {login['version']}"
    return PgPrivileges(access, writes, role or str(user), version, relations, tuple(path), login)


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _list(tables: Iterable[PgRelation]) -> str:
    return ", ".join(quote_name(each.schema, each.name) for each in tables)
