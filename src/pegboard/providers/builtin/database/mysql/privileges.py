"""What the login of a MySQL or MariaDB source may do, compared with what the board allows.

The server does not check the privileges on columns that JOIN … USING compares, and runs views with the rights of those
who defined them. So a view that reads something closed is closed, whatever its SQL SECURITY, unless `allow` names it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Final, TypeAlias

import pymysql
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from pegboard.core.database import Access, Checked, Finding, FindingSeverity
from pegboard.providers.builtin.database.names import names

from .connection import MeteredConnection, fetch, is_mariadb

Ask: TypeAlias = Callable[[str], Sequence[tuple[Any, ...]]]
Pair: TypeAlias = tuple[str, str]
"""Schema and name of a table or view."""

SYSTEM_SCHEMAS: Final = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
NOT_SYSTEM: Final = "TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')"
_COLUMNS: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, EXTRA, GENERATION_EXPRESSION, COLUMN_DEFAULT
FROM information_schema.COLUMNS WHERE {NOT_SYSTEM} AND PRIVILEGES <> '' ORDER BY 1, 2, ORDINAL_POSITION
"""  # noqa: S608 - constants
_TABLES: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, coalesce(ENGINE, TABLE_TYPE) FROM information_schema.TABLES WHERE {NOT_SYSTEM}
"""  # noqa: S608 - constants
_VIEWS: Final = f"SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE {NOT_SYSTEM}"  # noqa: S608
_ROWS_ELSEWHERE: Final = names("MRG_MYISAM FEDERATED CONNECT SPIDER")
"""Storage engines whose rows lie in other tables."""
_ALL: Final = "ALL PRIVILEGES"
_OF_COLUMNS: Final = frozenset({"SELECT", "INSERT", "UPDATE", "REFERENCES", _ALL})
_ROWS: Final = ("INSERT", "UPDATE", "DELETE")
_READS: Final = frozenset({"USAGE", "SELECT", "SHOW VIEW"})
_MINOR: Final = frozenset({"LOCK TABLES", "CREATE TEMPORARY TABLES", "REFERENCES", "SHOW DATABASES"})
_ADMIN: Final = frozenset({_ALL, "SUPER", "CREATE USER", "GRANT OPTION"})
"""On the whole server: a login that others depend on, from which nothing is to be revoked."""

QUOTED_GRANTS: Final = "SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1"
"""So that SHOW GRANTS can be read."""
_NAME: Final = r"`(?:[^`]|``)*`"
_ACCOUNT: Final = rf"{_NAME}(?:@{_NAME})?"
_GRANT: Final = re.compile(
    rf"GRANT (?P<what>(?:{_NAME}|[^`])+?) ON (?P<place>(?:{_NAME}|'[^']*'|[^`'])+?) TO "
    rf"(?P<grantee>{_ACCOUNT}|PUBLIC|'.*'@'.*')(?P<rest>.*)"
)
_ROLES: Final = re.compile(rf"GRANT (?P<roles>{_ACCOUNT}(?:, ?{_ACCOUNT})*) TO ")
_PRIVILEGE: Final = re.compile(rf"(?P<name>[A-Z_]+(?: [A-Z_]+)*)(?: ?\((?P<columns>(?:{_NAME}|[^)`])+)\))?")
_PLACE: Final = re.compile(rf"(?:\w+ )*(?P<schema>\*|{_NAME})\.(?P<table>\*|{_NAME})")
_STORED_CALL: Final = re.compile(rf"{_NAME}\s*\(")
_WORD: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?P<column>(?:[^`]|``)+)`")


def quote(*parts: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _bare(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


@dataclass(frozen=True)
class Privilege:
    """One privilege as SHOW GRANTS tells it."""

    name: str
    place: str
    """`*.*`, a schema, a table or a routine, quoted as the server does it."""
    grantee: str
    columns: tuple[str, ...] = ()
    """None: all of the table."""
    role: str = ""
    """The role by which the login has it."""

    @cached_property
    def table(self) -> Pair:
        """Its schema, which may be a pattern, and table; `*` for all, and nothing for another kind of place."""
        found = _PLACE.fullmatch(self.place)
        return (_bare(found["schema"]), _bare(found["table"])) if found else ("", "")

    def covers(self, table: Pair) -> bool:
        schema, name = self.table
        if name != "*" or schema == "*":
            return schema == "*" or (schema.casefold(), name.casefold()) == (table[0].casefold(), table[1].casefold())
        # In a grant on a schema `%` and `_` are wildcards, unless a backslash stands before them.
        parts = re.findall(r"\\?.", schema, re.DOTALL)
        pattern = "".join({"%": ".*", "_": "."}.get(part, re.escape(part.lstrip("\\"))) for part in parts)
        return re.fullmatch(pattern, table[0], re.DOTALL | re.IGNORECASE) is not None

    def gives(self, wanted: "Privilege") -> bool:
        """Whether it includes another privilege on a schema or table."""
        same = self.covers((wanted.table[0].replace("\\", ""), wanted.table[1]))
        columns = not self.columns or (wanted.columns != () and {*wanted.columns} <= {*self.columns})
        return same and columns and self.name in (wanted.name, _ALL)

    def __str__(self) -> str:
        return f"{self.name} on {self.place}"


def parse_grants(lines: Iterable[str], role: str = "") -> Iterator[Privilege]:
    for line in lines:
        if found := _GRANT.match(line):
            for each in _PRIVILEGE.finditer(
                found["what"] + (", GRANT OPTION" if "GRANT OPTION" in found["rest"] else "")
            ):
                columns = tuple(_bare(name) for name in re.findall(_NAME, each["columns"] or ""))
                yield Privilege(each["name"], found["place"], found["grantee"], columns, role)


def granted_roles(lines: Iterable[str]) -> list[str]:
    found = (_ROLES.match(line) for line in lines if not _GRANT.match(line))
    return [role for each in found if each for role in re.findall(_ACCOUNT, each["roles"])]


def _statements(form: str, privileges: Iterable[Privilege]) -> Iterator[str]:
    for (place, grantee), group in groupby(privileges, key=lambda each: (each.place, each.grantee)):
        parts = (f"{p.name} ({', '.join(map(quote, p.columns))})" if p.columns else p.name for p in group)
        yield form.format(", ".join(parts), place, grantee)


@dataclass
class Catalog:
    """Tables and views that somebody sees, and what of them is open."""

    access: Access
    columns: Mapping[Pair, Mapping[str, frozenset[str] | None]]
    """Each with the names in the expression that it is computed from, in small letters; none where that is hidden."""
    kinds: Mapping[Pair, str]
    """The storage engine, or VIEW."""
    definitions: Mapping[Pair, str]
    hidden: set[Pair] = field(default_factory=set)
    """Views that read what the login cannot look through."""
    _open: dict[Pair, Mapping[str, str]] = field(default_factory=dict)

    def covered_by(self, each: Privilege) -> Sequence[Pair]:
        if each.table[1] in ("*", ""):
            return [table for table in self.kinds if each.covers(table)]
        return self._by_name.get((each.table[0].casefold(), each.table[1].casefold()), ())

    @cached_property
    def _by_name(self) -> Mapping[Pair, Sequence[Pair]]:
        found: dict[Pair, list[Pair]] = defaultdict(list)
        for schema, name in self.kinds:
            found[schema.casefold(), name.casefold()].append((schema, name))
        return found

    def open_columns(self, table: Pair) -> Mapping[str, str]:
        """By their names in small letters. None where the whole table is closed."""
        if table not in self._open:
            self._open[table] = {}
            self._open[table] = self._find_open(table)
        return self._open[table]

    def _find_open(self, table: Pair) -> Mapping[str, str]:
        columns = self.columns.get(table, {})
        is_named = self.access.is_whole or self.access.allows_by_name(*table)
        if not self.access.opens(*table) or (not is_named and not self._has_open_rows(table)):
            return {}
        known = {name.casefold(): sources for name, sources in columns.items()}
        closed = {name for name in known if not self.access.opens_column(*table, name)}
        # What is computed from a closed column is closed, and what is computed from one that nobody sees here.
        while (
            more := {name for name, used in known.items() if used is None or not used <= known.keys() - closed} - closed
        ):
            closed |= more
        return {name.casefold(): name for name in columns if name.casefold() not in closed}

    def _has_open_rows(self, table: Pair) -> bool:
        """Whether its rows are its own, or all is open that a view reads, which servers print with qualified names."""
        if self.kinds.get(table) != "VIEW":
            return self.kinds.get(table, "").upper() not in _ROWS_ELSEWHERE
        definition = self.definitions.get(table, "")
        if not definition:
            self.hidden.add(table)
        try:
            tree = parse_one(definition, dialect="mysql")
        except (SqlglotError, RecursionError, ValueError):
            return False
        aliases: dict[str, set[Pair]] = defaultdict(set)
        for each in tree.find_all(exp.Table):
            if each.db:
                aliases[each.alias_or_name].add((each.db, each.name))
        tables = set[Pair]().union(*aliases.values())
        closed = {each for each in tables if not self.open_columns(each)}
        if closed & self.hidden:
            self.hidden.add(table)
        own = {each.alias for each in tree.find_all(exp.Alias)}
        used = [each for each in tree.find_all(exp.Column) if each.table or each.name not in own]
        return (
            not closed
            and not _STORED_CALL.search(definition)
            and all(
                each.name.casefold() in self.open_columns(pair)
                for each in used
                for pair in (aliases.get(each.table, ()) if each.table else tables)
            )
        )


def read_catalog(ask: Ask, access: Access, *, defaults: bool) -> Catalog:
    """`defaults`: the server computes DEFAULT(column) of a row, as MariaDB does."""
    columns: dict[Pair, dict[str, frozenset[str] | None]] = defaultdict(dict)
    for schema, table, name, extra, generated, default in () if access.is_whole else ask(_COLUMNS):
        text = generated or (default if defaults else "") or ""
        text = text.decode() if isinstance(text, bytes) else text
        found = (word["column"] for word in _WORD.finditer(text) if word["column"])
        is_hidden = not text and re.search(r"\b(VIRTUAL|STORED|PERSISTENT) GENERATED\b", extra or "", re.IGNORECASE)
        sources = None if is_hidden else frozenset(word.replace("``", "`").casefold() for word in found)
        columns[schema, table][name] = sources
    if access.is_whole:
        return Catalog(access, columns, {}, {})
    kinds = {(schema, name): kind for schema, name, kind in ask(_TABLES)}
    definitions = {(schema, name): str(definition or "") for schema, name, definition in ask(_VIEWS)}
    return Catalog(access, columns, kinds, definitions)


@dataclass(frozen=True)
class Review:
    """The privileges of one login against a catalog: what is too much, and what is missing."""

    account: str
    privileges: Sequence[Privilege]
    catalog: Catalog
    database: str
    """The schema of the source's URL; empty for all."""
    writes: bool
    is_complete: bool = False
    """The catalog is an administrator's; a login sees only what it may read."""

    @property
    def administers(self) -> list[Privilege]:
        return [each for each in self.privileges if each.place == "*.*" and each.name in _ADMIN]

    def closed_by(self, each: Privilege) -> list[str]:
        """What a privilege gives the login, or tells it of, that the board closes."""
        schema, _ = each.table
        if self.catalog.access.is_whole or each.name == "USAGE":
            return []
        if schema == "*":
            return [] if each.name in _MINOR else [str(each)]
        if each.name in ("EXECUTE", "PROXY") or schema.replace("\\", "").casefold() in SYSTEM_SCHEMAS:
            return [str(each)]
        return [part for table in self.catalog.covered_by(each) for part in self._closed_in(table, each)]

    def _closed_in(self, table: Pair, each: Privilege) -> list[str]:
        opened, title = self.catalog.open_columns(table), ".".join(table)
        if not opened:
            return [title] if table not in self.catalog.hidden or each.name not in _READS else []
        held = (each.columns or self.catalog.columns[table]) if each.name in _OF_COLUMNS else ()
        return [f"{title}.{name}" for name in held if name.casefold() not in opened]

    def is_excess(self, each: Privilege) -> bool:
        return bool(self.closed_by(each)) or each.name not in (*_READS, *(_ROWS if self.writes else ()))

    def fix(self, excess: Sequence[Privilege]) -> tuple[str, ...]:
        """Statements that revoke these, and grant what would be lost or is missing."""
        roles = (f"REVOKE {role} FROM {self.account}" for role in dict.fromkeys(p.role for p in excess if p.role))
        own = [each for each in excess if not each.role]
        return (
            *roles,
            *_statements("REVOKE {} ON {} FROM {}", own),
            *_statements("GRANT {} ON {} TO {}", self._missing()),
        )

    def _missing(self) -> Iterator[Privilege]:
        lost = [each for each in self.privileges if self.is_excess(each)]
        # To revoke a privilege on a table revokes it on the columns, too.
        taken = {(each.name, each.place) for each in lost}
        kept = _by_place(p for p in self.privileges if taken.isdisjoint(((p.name, p.place), (_ALL, p.place))))
        gone = _by_place(lost)
        for each in self._wanted():
            is_known = self.is_complete or any(one.gives(each) for one in (*gone[each.place], *gone["*"]))
            if is_known and not any(one.gives(each) for one in (*kept[each.place], *kept["*"])):
                yield each

    def _wanted(self) -> Iterator[Privilege]:
        """What the board opens."""
        rows = _ROWS if self.writes else ()
        if self.catalog.access.is_whole:
            place = quote(re.sub(r"([_%\\])", r"\\\1", self.database)) + ".*"
            yield from (Privilege(name, place, self.account) for name in ("SELECT", "SHOW VIEW", *rows))
        for table in sorted(self.catalog.kinds):
            opened = [*self.catalog.open_columns(table).values()]
            if not opened or self.database not in ("", table[0]):
                continue
            is_whole = len(opened) == len(self.catalog.columns[table])
            more: tuple[str, ...] = rows if is_whole else ()
            if self.catalog.kinds[table] == "VIEW":
                more = () if self.catalog.access.allows_by_name(*table) else ("SHOW VIEW",)
            for name in ("SELECT", *more):
                columns = () if is_whole or name not in _OF_COLUMNS else tuple(opened)
                yield Privilege(name, quote(*table), self.account, columns)

    def findings(self) -> Iterator[Finding]:
        refused, unless_forced = FindingSeverity.REFUSED, FindingSeverity.REFUSED_UNLESS_FORCED
        if self.administers:
            words = f"administers the server ({_some(self.administers)}). Write one that only reads into the URL"
            reader = replace(self, account="'pegboard_reader'@'%'", privileges=(), is_complete=True)
            statements = (f"CREATE USER {reader.account} IDENTIFIED BY 'choose-a-long-one'", *reader.fix(()))
            yield self._finding(words, unless_forced if self.catalog.access.is_whole else refused, statements)
            return
        closed = {each: titles for each in self.privileges if (titles := self.closed_by(each))}
        titles, statements = [title for some in closed.values() for title in some], self.fix([*closed])
        own = [each for each in self.privileges if each.name != "USAGE"]
        explained = {table for each in own for table in self.catalog.covered_by(each)}
        unseen = [table for table in self.catalog.kinds if not self.catalog.open_columns(table)]
        if closed_too := [".".join(table) for table in unseen if table not in explained]:
            # The privileges of an anonymous user apply to everybody, and SHOW GRANTS does not tell them.
            titles += closed_too
            statements = (*statements, "DELETE FROM mysql.db WHERE User = ''", "FLUSH PRIVILEGES")
        if titles:
            yield self._finding(f"can reach what this board closes: {_some(titles)}", refused, statements)
        kept = [each for each in own if each not in closed]
        hidden = [
            quote(*view)
            for view in sorted(self.catalog.hidden)
            if not self.catalog.definitions.get(view) and any(each.covers(view) for each in kept)
        ]
        if hidden:
            shown = tuple(f"GRANT SHOW VIEW ON {place} TO {self.account}" for place in hidden)
            yield self._finding(f"may read views, and not see what they read: {_some(hidden)}", refused, shown)
        rest = [each for each in self.privileges if each not in closed and self.is_excess(each)]
        writing = [each for each in rest if each.name in _ROWS]
        minor = [each for each in rest if each.name in _MINOR]
        powers = [each for each in rest if each not in writing and each not in minor]
        for words, some, severity in (
            ("can change rows while writes are off", writing, unless_forced),
            ("has powers that no reader needs", powers, unless_forced),
            ("has privileges that are not needed", minor, FindingSeverity.WARNING),
        ):
            if some:
                lost = replace(self, privileges=some) if not self.is_complete else self
                yield self._finding(f"{words}: {_some(some)}", severity, lost.fix(some))

    def _finding(self, words: str, severity: FindingSeverity, statements: tuple[str, ...]) -> Finding:
        return Finding(f"The login {self.account} {words}.", severity, statements)


def _by_place(privileges: Iterable[Privilege]) -> Mapping[str, list[Privilege]]:
    """Those on tables by these, and the others at `*`: there may be thousands."""
    found: dict[str, list[Privilege]] = defaultdict(list)
    for each in privileges:
        found["*" if each.table[1] in ("*", "") else each.place].append(each)
    return found


def _some(things: Iterable[object]) -> str:
    every = [*dict.fromkeys(map(str, things))]
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


def account_of(connection: MeteredConnection) -> str:
    user, _, host = str(fetch(connection, "SELECT CURRENT_USER()")[0][0]).rpartition("@")
    return f"{quote(user)}@{quote(host)}"


def review_login(connection: MeteredConnection, access: Access, database: str, *, writes: bool) -> Review:
    """What the login of a connection may do itself and as any role that it can take on. The connection is spent."""
    connection.is_spent = True
    connection.query(QUOTED_GRANTS)
    privileges: dict[tuple[object, ...], Privilege] = {}
    catalogs, roles = list[Catalog](), ["NONE"]
    for role in roles:
        # A server may have no roles, and MySQL forgets by SET ROLE what the user may do in the database that is in use.
        for statement in (f"SET ROLE {role}", f"USE {quote(database)}"):
            with suppress(pymysql.MySQLError):
                connection.query(statement)
        lines = [str(row[0]) for row in fetch(connection, "SHOW GRANTS")]
        roles += granted_roles(lines) if role == "NONE" else []
        for each in parse_grants(lines, "" if role == "NONE" else role):
            privileges.setdefault((each.name, each.place, each.columns), each)
        defaults = is_mariadb(connection)
        catalogs.append(read_catalog(lambda text: fetch(connection, text), access, defaults=defaults))
    first = catalogs[0]
    for other in catalogs[1:]:
        columns = {
            **other.columns,
            **{table: {**other.columns.get(table, {}), **own} for table, own in first.columns.items()},
        }
        definitions = {**first.definitions, **{view: text for view, text in other.definitions.items() if text}}
        first = Catalog(access, columns, {**first.kinds, **other.kinds}, definitions)
    return Review(account_of(connection), [*privileges.values()], first, database, writes)


def check_login(connection: MeteredConnection, access: Access, database: str, *, writes: bool) -> Checked:
    product = "MariaDB" if is_mariadb(connection) else "MySQL"
    ((version, role),) = fetch(connection, "SELECT VERSION(), CURRENT_USER()")
    review = review_login(connection, access, database, writes=writes)
    return Checked(f"{product} {str(version).split('-')[0]}", str(role), tuple(review.findings()))
