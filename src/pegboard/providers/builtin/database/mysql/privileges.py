"""What the login of a MySQL or MariaDB source may do, compared with what the board allows.

The server does not check column privileges for JOIN … USING, and runs views and triggers with the rights of those who
defined them. So a view that reads something closed is closed too, whatever its SQL SECURITY, unless `allow` names it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
_OF_USERS: Final = "TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')"
_COLUMNS: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, EXTRA, GENERATION_EXPRESSION, COLUMN_DEFAULT
FROM information_schema.COLUMNS WHERE {_OF_USERS} AND PRIVILEGES <> ''
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""  # noqa: S608 - constants
_TABLES: Final = f"SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE {_OF_USERS}"  # noqa: S608 - constants
_VIEWS: Final = f"SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE {_OF_USERS}"  # noqa: S608 - constants
_TRIGGERS: Final = "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS"
_KEYS: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE {_OF_USERS} AND REFERENCED_TABLE_NAME IS NOT NULL
"""  # noqa: S608 - constants

_ROWS_ELSEWHERE: Final = names("MRG_MYISAM FEDERATED CONNECT SPIDER")
"""Storage engines whose rows lie in other tables."""
_ALL: Final = "ALL PRIVILEGES"
_OF_COLUMNS: Final = frozenset({"SELECT", "INSERT", "UPDATE", "REFERENCES", _ALL})
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "DELETE HISTORY", _ALL})
_ALLOWED: Final = frozenset({"USAGE", "SELECT", "SHOW VIEW"})
_MINOR: Final = frozenset({"LOCK TABLES", "CREATE TEMPORARY TABLES", "REFERENCES", "SHOW DATABASES"})
_ADMIN: Final = frozenset({_ALL, "SUPER", "CREATE USER", "GRANT OPTION"})
"""On the whole server: a login that others depend on, from which nothing is to be revoked."""

_NAME: Final = r"`(?:[^`]|``)*`"
_GRANTEE: Final = rf"{_NAME}(?:@{_NAME})?|PUBLIC|'[^']*'@'[^']*'"
_GRANT: Final = re.compile(
    rf"GRANT (?P<what>(?:{_NAME}|[^`])+?) ON (?P<place>(?:{_NAME}|'[^']*'|[^` ])+(?: (?!TO )(?:{_NAME}|[^` ])+)*) "
    rf"TO (?P<grantee>{_GRANTEE})(?P<rest>.*)"
)
_ROLES: Final = re.compile(rf"GRANT (?P<roles>{_NAME}(?:@{_NAME})?(?:, ?{_NAME}(?:@{_NAME})?)*) TO ")
_PRIVILEGE: Final = re.compile(rf"(?P<name>[A-Z_]+(?: [A-Z_]+)*)(?: ?\((?P<columns>(?:{_NAME}|[^)`])+)\))?")
_PLACE: Final = re.compile(rf"(?:(?:\w+ )+)?(?P<schema>\*|{_NAME})\.(?P<table>\*|{_NAME})")
_STORED_CALL: Final = re.compile(rf"{_NAME}\s*\(")
_WORD: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?P<quoted>(?:[^`]|``)+)`|(?P<bare>\w+)")


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


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

    def covers(self, table: Pair) -> bool:
        found = _PLACE.fullmatch(self.place)
        if found is None:
            return False
        schema, name = _bare(found["schema"]), _bare(found["table"])
        if name not in ("*", table[1]) and name.casefold() != table[1].casefold():
            return False
        return schema == "*" or _matches(schema if name == "*" else schema.replace("_", r"\_"), table[0])

    @property
    def schema(self) -> str:
        found = _PLACE.fullmatch(self.place)
        return _bare(found["schema"]).replace("\\", "").casefold() if found else ""

    @property
    def title(self) -> str:
        return f"{self.name} on {self.place}"


def _matches(pattern: str, schema: str) -> bool:
    """Whether a schema is meant by a grant, where `%` and `_` are wildcards unless a backslash stands before them."""
    parts = re.findall(r"\\?.", pattern, re.DOTALL)
    text = "".join({"%": ".*", "_": "."}.get(part, re.escape(part.removeprefix("\\") or part)) for part in parts)
    return re.fullmatch(text, schema, re.DOTALL | re.IGNORECASE) is not None


def parse_grants(lines: Iterable[str]) -> Iterator[Privilege]:
    for line in lines:
        if (found := _GRANT.match(line)) is None:
            continue
        place, grantee = found["place"], found["grantee"]
        for each in _PRIVILEGE.finditer(found["what"]):
            columns = tuple(_bare(name) for name in re.findall(_NAME, each["columns"] or ""))
            yield Privilege(each["name"], place, grantee, columns)
        if "GRANT OPTION" in found["rest"]:
            yield Privilege("GRANT OPTION", place, grantee)


def granted_roles(lines: Iterable[str]) -> tuple[str, ...]:
    found = (_ROLES.match(line) for line in lines if _GRANT.match(line) is None)
    return tuple(role for each in found if each for role in re.findall(rf"{_NAME}(?:@{_NAME})?", each["roles"]))


def revoke(privileges: Iterable[Privilege], account: str) -> Iterator[str]:
    roles = dict.fromkeys(each.role for each in privileges if each.role)
    yield from (f"REVOKE {role} FROM {account}" for role in roles)
    own = (each for each in privileges if not each.role)
    for (place, grantee), group in groupby(own, key=lambda each: (each.place, each.grantee)):
        yield f"REVOKE {_list(group)} ON {place} FROM {grantee}"


def grant(privileges: Iterable[Privilege]) -> Iterator[str]:
    for (place, grantee), group in groupby(privileges, key=lambda each: (each.place, each.grantee)):
        yield f"GRANT {_list(group)} ON {place} TO {grantee}"


def _list(privileges: Iterable[Privilege]) -> str:
    return ", ".join(
        f"{each.name} ({', '.join(map(quote, each.columns))})" if each.columns else each.name for each in privileges
    )


@dataclass(frozen=True)
class Column:
    name: str
    sources: frozenset[str] | None = frozenset()
    """Names in the expression that it is computed from, in small letters; none where the server hides it."""


@dataclass
class Catalog:
    """Tables and views that somebody sees, and which columns of them are open."""

    access: Access
    columns: Mapping[Pair, Sequence[Column]]
    kinds: Mapping[Pair, tuple[str, str]]
    """BASE TABLE, VIEW and the like, and the storage engine."""
    definitions: Mapping[Pair, str]
    triggered: frozenset[Pair] = frozenset()
    links: Sequence[tuple[str, str, str, str, str, str]] = ()
    hidden: set[Pair] = field(default_factory=set)
    """Views that cannot be looked through."""
    _open: dict[Pair, tuple[str, ...]] = field(default_factory=dict)

    def is_view(self, table: Pair) -> bool:
        return self.kinds.get(table, ("", ""))[0] == "VIEW"

    def open_columns(self, table: Pair) -> tuple[str, ...]:
        """None where the whole table is closed."""
        if table not in self._open:
            self._open[table] = ()  # a view that reads itself does not exist; this ends the search all the same
            self._open[table] = self._find_open(table)
        return self._open[table]

    def _find_open(self, table: Pair) -> tuple[str, ...]:
        if not self.access.opens(*table) or table not in self.kinds or table not in self.columns:
            return ()
        if not self.access.is_whole and not self.access.allows_by_name(*table):
            if self.kinds[table][1].upper() in _ROWS_ELSEWHERE:
                return ()
            if self.is_view(table) and not self._reads_open(table):
                return ()
        closed = {c.name.casefold() for c in self.columns[table] if not self.access.opens_column(*table, c.name)}

        def is_closed(column: Column) -> bool:
            if column.sources is None:
                return not self.access.is_whole
            known = column.sources & {each.name.casefold() for each in self.columns[table]}
            # A column that the login does not see may be closed by a pattern or, in turn, computed of one that is.
            unseen = any(not self.access.opens_column(*table, name) for name in column.sources - known)
            return unseen or not known.isdisjoint(closed)

        while more := {c.name.casefold() for c in self.columns[table] if is_closed(c)} - closed:
            closed |= more
        return tuple(column.name for column in self.columns[table] if column.name.casefold() not in closed)

    def _reads_open(self, view: Pair) -> bool:
        """Whether everything that a view reads is open; as the server prints it, every name in it is qualified."""
        definition = self.definitions.get(view, "")
        try:
            tree = parse_one(definition, dialect="mysql") if definition else None
        except (SqlglotError, RecursionError, ValueError):
            tree = None
        if not definition:
            self.hidden.add(view)
        if tree is None or _STORED_CALL.search(definition):
            return False
        aliases: dict[str, set[Pair]] = defaultdict(set)
        for table in tree.find_all(exp.Table):
            if table.db:
                aliases[table.alias_or_name].add((table.db, table.name))
        tables = {pair for pairs in aliases.values() for pair in pairs}
        if closed := [pair for pair in tables if not self.open_columns(pair)]:
            if not self.hidden.isdisjoint(closed):
                self.hidden.add(view)
            return False
        own = {each.alias for each in tree.find_all(exp.Alias)}
        for column in tree.find_all(exp.Column):
            if not column.table and column.name in own:
                continue
            for pair in aliases.get(column.table, ()) if column.table else tables:
                if column.name.casefold() not in {name.casefold() for name in self.open_columns(pair)}:
                    return False
        return not any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))

    def reaches_closed(self, table: Pair) -> bool:
        """Whether changing rows of it reads or changes something closed: by a trigger, which runs with the rights of
        whoever defined it, or by a foreign key."""
        if self.access.is_whole or self.access.allows_by_name(*table):
            return False
        for *names_, to_schema, to_table, to_column in self.links:
            own, other = (names_[0], names_[1]), (to_schema, to_table)
            if own == table and not self.access.opens_column(*other, to_column):
                return True
            if other == table and not self.open_columns(own):
                return True
        return table in self.triggered


def read_catalog(ask: Ask, access: Access, *, writes: bool, defaults: bool) -> Catalog:
    """`defaults`: the server computes DEFAULT(column) of a row, as MariaDB does."""
    columns = defaultdict[Pair, list[Column]](list)
    for schema, table, name, extra, expression, default in ask(_COLUMNS):
        text = _text(expression) or (_text(default) if defaults else "")
        is_hidden = not text and re.search(r"\b(VIRTUAL|STORED|PERSISTENT) GENERATED\b", extra or "", re.IGNORECASE)
        sources = None if is_hidden else frozenset(_words(text)) if text else frozenset[str]()
        columns[schema, table].append(Column(name, sources))
    kinds = {(schema, name): (kind, engine or "") for schema, name, kind, engine in ask(_TABLES)}
    definitions = {(schema, name): _text(definition) for schema, name, definition in ask(_VIEWS)}
    triggered = frozenset((schema, table) for schema, table in ask(_TRIGGERS)) if writes else frozenset[Pair]()
    links: Any = [*ask(_KEYS)] if writes else ()
    return Catalog(access, dict(columns), kinds, definitions, triggered, links)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


def _words(expression: str) -> Iterator[str]:
    for found in _WORD.finditer(expression):
        if word := found["quoted"] or found["bare"]:
            yield word.replace("``", "`").casefold()


@dataclass(frozen=True)
class Review:
    """The privileges of one login against a catalog: what is too much, and what is missing."""

    account: str
    privileges: Sequence[Privilege]
    catalog: Catalog
    database: str
    """The schema of the source's URL; empty for all."""
    writes: bool = False
    is_complete: bool = False
    """The catalog is an administrator's; a login sees only what it may read."""

    @property
    def access(self) -> Access:
        return self.catalog.access

    def reads_closed(self, each: Privilege) -> bool:
        """Whether it gives the login, or tells it of, something that the board closes."""
        if self.access.is_whole or each.name == "USAGE":
            return False
        if each.place == "*.*":
            return each.name not in _MINOR
        if each.name in ("EXECUTE", "PROXY") or each.schema in SYSTEM_SCHEMAS:
            return True
        return any(self._gives(each, table) for table in self.catalog.kinds if each.covers(table))

    def _gives(self, each: Privilege, table: Pair) -> bool:
        opened = self.catalog.open_columns(table)
        if not opened:
            return table not in self.catalog.hidden or each.name not in _ALLOWED
        if each.name in _WRITES and self.catalog.reaches_closed(table):
            return True
        held = each.columns or [column.name for column in self.catalog.columns.get(table, ())]
        return each.name in _OF_COLUMNS and not {name.casefold() for name in held} <= {n.casefold() for n in opened}

    def unexplained(self) -> list[Pair]:
        """Closed tables that the login sees though no privilege of its own covers them: an anonymous user's apply to
        everybody."""
        closed = (each for each in self.catalog.kinds if not self.catalog.open_columns(each))
        return [
            table
            for table in closed
            if table not in self.catalog.hidden and not any(each.covers(table) for each in self.privileges)
        ]

    def missing(self) -> list[Privilege]:
        """What the board opens and no privilege gives that is to be kept."""
        kept = [each for each in self.privileges if not self.is_excess(each)]
        lost = [each for each in self.privileges if self.is_excess(each) and not each.columns]
        return [
            each
            for each in self._wanted()
            if not any(_includes(one, each) for one in kept)
            and (self.is_complete or self.access.is_whole or any(_includes(one, each) for one in lost))
        ]

    def is_excess(self, each: Privilege) -> bool:
        allowed = _ALLOWED | (_WRITES - {_ALL} if self.writes else frozenset())
        return self.reads_closed(each) or each.name not in allowed or each.schema in SYSTEM_SCHEMAS

    def _wanted(self) -> Iterator[Privilege]:
        rows = ("INSERT", "UPDATE", "DELETE") if self.writes else ()
        if self.access.is_whole:
            schemas = [self.database] if self.database else sorted({schema for schema, _ in self.catalog.kinds})
            for schema in schemas:
                place = quote(re.sub(r"([_%\\])", r"\\\1", schema)) + ".*"
                yield from (Privilege(name, place, self.account) for name in ("SELECT", "SHOW VIEW", *rows))
            return
        for table in sorted(self.catalog.kinds):
            opened = self.catalog.open_columns(table)
            if not opened or (self.database and table[0] != self.database):
                continue
            place = f"{quote(table[0])}.{quote(table[1])}"
            is_view, whole = self.catalog.is_view(table), len(opened) == len(self.catalog.columns[table])
            own = ["SELECT", *(rows if not is_view and not self.catalog.reaches_closed(table) else ())]
            if is_view and not self.access.allows_by_name(*table):
                own.append("SHOW VIEW")
            for name in own:
                columns = () if whole or name not in _OF_COLUMNS else opened
                yield Privilege(name, place, self.account, columns)

    def statements(self, excess: Sequence[Privilege]) -> tuple[str, ...]:
        """To revoke these, and to grant what would be lost or is missing."""
        return (*revoke(excess, self.account), *grant(self.missing()))

    def administers(self) -> list[Privilege]:
        return [each for each in self.privileges if each.place == "*.*" and each.name in _ADMIN]

    def findings(self) -> Iterator[Finding]:
        if administers := self.administers():
            yield self._administrator(administers)
            return
        closed = [each for each in self.privileges if self.reads_closed(each)]
        unexplained = self.unexplained()
        if closed or unexplained:
            anonymous = ("DELETE FROM mysql.db WHERE User = ''", "FLUSH PRIVILEGES") if unexplained else ()
            things = [*dict.fromkeys(self._things(closed)), *(f"{'.'.join(table)}" for table in unexplained)]
            words = f"The login {self.account} can reach what this board closes: {_some(things)}."
            if unexplained:
                words += " Privileges of the anonymous user give it some of it."
            yield Finding(words, FindingSeverity.REFUSED, (*self.statements(closed), *anonymous))
        hidden = sorted(each for each in self.catalog.hidden if not self.catalog.definitions.get(each))
        if places := [f"{quote(schema)}.{quote(name)}" for schema, name in hidden]:
            shows = tuple(f"GRANT SHOW VIEW ON {place} TO {self.account}" for place in places)
            words = f"The login {self.account} does not see what these views read: {_some(places)}."
            yield Finding(words, FindingSeverity.REFUSED, shows)
        others = [each for each in self.privileges if each not in closed and each.name not in _ALLOWED]
        writing = [each for each in others if each.name in _WRITES]
        if writing and not self.writes:
            words = (
                f"The login {self.account} can change rows ({_some(p.title for p in writing)}) while writes are off."
            )
            yield Finding(words, FindingSeverity.REFUSED_UNLESS_FORCED, tuple(revoke(writing, self.account)))
        powers = [p for p in others if p not in writing and p.name not in _MINOR]
        powers += [p for p in self.privileges if p.schema in SYSTEM_SCHEMAS and p not in closed and p not in powers]
        if powers:
            words = f"The login {self.account} has powers that no reader needs: {_some(p.title for p in powers)}."
            yield Finding(words, FindingSeverity.REFUSED_UNLESS_FORCED, tuple(revoke(powers, self.account)))
        if minor := [p for p in others if p.name in _MINOR]:
            words = f"The login {self.account} has privileges that are not needed: {_some(p.title for p in minor)}."
            yield Finding(words, FindingSeverity.WARNING, tuple(revoke(minor, self.account)))

    def _administrator(self, powers: Sequence[Privilege]) -> Finding:
        reader = replace(self, account="'pegboard_reader'@'%'", privileges=())
        words = (
            f"The login {self.account} administers the server ({_some(p.title for p in powers)}). Create a login that "
            "only reads, and write it into the URL of the source."
        )
        severity = FindingSeverity.REFUSED_UNLESS_FORCED if self.access.is_whole else FindingSeverity.REFUSED
        return Finding(
            words,
            severity,
            (f"CREATE USER {reader.account} IDENTIFIED BY 'choose-a-long-one'", *grant(reader.missing())),
        )

    def _things(self, closed: Sequence[Privilege]) -> Iterator[str]:
        for each in closed:
            tables = [t for t in self.catalog.kinds if each.covers(t) and self._gives(each, t)]
            if not tables or each.place == "*.*":
                yield each.title
            for table in tables:
                opened = self.catalog.open_columns(table)
                names_ = each.columns or [column.name for column in self.catalog.columns.get(table, ())]
                columns = [name for name in names_ if name not in opened] if opened else [""]
                yield from (".".join(part for part in (*table, name) if part) for name in columns or [""])


def _table(place: str) -> Pair:
    found = _PLACE.fullmatch(place)
    assert found is not None
    return _bare(found["schema"]), _bare(found["table"])


def _includes(one: Privilege, wanted: Privilege) -> bool:
    schema, table = _table(wanted.place)
    same = one.place == wanted.place or (table != "*" and one.covers((schema, table)))
    columns = not one.columns or (bool(wanted.columns) and {*wanted.columns} <= {*one.columns})
    return same and columns and one.name in (wanted.name, _ALL)


def _some(things: Iterable[str]) -> str:
    every = list(things)
    rest = f" and {len(every) - 3} more" if len(every) > 3 else ""
    return ", ".join(every[:3]) + rest


def review_login(connection: MeteredConnection, access: Access, database: str, *, writes: bool) -> Review:
    """What the login of a connection may do itself and as any role that it can take on. The connection is spent."""
    connection.is_spent = True
    connection.query("SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1")
    account = account_of(connection)
    defaults = is_mariadb(connection)

    def take_role(role: str) -> None:
        with suppress(pymysql.MySQLError):  # a server without roles, or a role that was dropped meanwhile
            connection.query(f"SET ROLE {role}")
        if connection.db:
            # MySQL forgets by SET ROLE what the user may do in the database that is in use.
            with suppress(pymysql.MySQLError):
                connection.select_db(connection.db)

    def look() -> tuple[list[str], Catalog | None]:
        lines = [str(row[0]) for row in fetch(connection, "SHOW GRANTS")]
        ask: Ask = lambda question: fetch(connection, question)  # noqa: E731
        return lines, None if access.is_whole else read_catalog(ask, access, writes=writes, defaults=defaults)

    take_role("NONE")
    lines, catalog = look()
    privileges = [*parse_grants(lines)]
    own = {replace(each, grantee="") for each in privileges}
    catalog = catalog or Catalog(access, {}, {}, {})
    for role in granted_roles(lines):
        take_role(role)
        by_role, seen = look()
        added = [each for each in parse_grants(by_role) if replace(each, grantee="") not in own]
        privileges += [replace(each, role=role) for each in added if each.name != "USAGE"]
        catalog = catalog if seen is None else _merged(catalog, seen)
    return Review(account, privileges, catalog, database, writes)


def _merged(one: Catalog, other: Catalog) -> Catalog:
    columns = dict(one.columns)
    for table, more in other.columns.items():
        columns[table] = [*dict.fromkeys((*columns.get(table, ()), *more))]
    definitions = {**one.definitions, **{view: text for view, text in other.definitions.items() if text}}
    kinds, links = {**other.kinds, **one.kinds}, [*{*one.links, *other.links}]
    return Catalog(one.access, columns, kinds, definitions, one.triggered | other.triggered, links)


def account_of(connection: MeteredConnection) -> str:
    user, _, host = str(fetch(connection, "SELECT CURRENT_USER()")[0][0]).rpartition("@")
    return f"{quote(user)}@{quote(host)}"


def check_login(connection: MeteredConnection, access: Access, database: str, *, writes: bool) -> Checked:
    review = review_login(connection, access, database, writes=writes)
    version = str(fetch(connection, "SELECT VERSION()")[0][0]).split("-")[0]
    role = "@".join(_bare(part) for part in re.findall(_NAME, review.account))
    product = "MariaDB" if is_mariadb(connection) else "MySQL"
    return Checked(f"{product} {version}", role, tuple(review.findings()))
