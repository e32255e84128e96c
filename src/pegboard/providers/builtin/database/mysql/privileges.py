"""What the login of a MySQL or MariaDB source may do, compared with what the board allows, and the script that puts it
right: everything is revoked, then exactly what is open is granted.

Decided by tables, and on the safe side: a view that reads a closed table, or one with a closed column, is closed unless
`allow` names it; so are the generated columns of a table with a closed column. A login has no roles.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from pegboard.core.database import Access, Finding, FindingSeverity
from pegboard.providers.builtin.database.names import names

Ask: TypeAlias = Callable[[str], Sequence[tuple[Any, ...]]]
Pair: TypeAlias = tuple[str, str]
"""Schema and name of a table or view."""

NOT_SYSTEM: Final = "TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')"
_SEEN: Final = "TABLE_SCHEMA NOT IN ('performance_schema', 'information_schema')"
_TABLES: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, coalesce(ENGINE, TABLE_TYPE) FROM information_schema.TABLES WHERE {_SEEN}
"""  # noqa: S608 - constants
_COLUMNS: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, EXTRA FROM information_schema.COLUMNS
WHERE {_SEEN} AND PRIVILEGES <> '' ORDER BY 1, 2, ORDINAL_POSITION
"""  # noqa: S608 - constants
_VIEWS: Final = f"SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE {_SEEN}"  # noqa: S608
_GENERATED: Final = re.compile(r"\b(VIRTUAL|STORED|PERSISTENT)\b", re.IGNORECASE)
_ROWS_ELSEWHERE: Final = names("MRG_MYISAM FEDERATED CONNECT SPIDER")
"""Storage engines whose rows lie in other tables."""
_READS: Final = ("SELECT", "SHOW VIEW")
_WRITES: Final = ("INSERT", "UPDATE", "DELETE")
_ADMIN: Final = frozenset({"ALL PRIVILEGES", "SUPER", "CREATE USER", "GRANT OPTION"})
"""On the whole server: a login that others depend on, from which nothing is to be revoked."""

QUOTED_GRANTS: Final = "SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1"
"""So that SHOW GRANTS can be read."""
_NAME: Final = r"`(?:[^`]|``)*`"
_ANY: Final = rf"(?:{_NAME}|'[^']*'|[^`'])+?"
_GRANT: Final = re.compile(
    rf"GRANT (?P<names>{_ANY})(?: ON (?P<place>{_ANY}))? TO (?P<grantee>PUBLIC|(?:{_NAME}|'[^']*')\S*)(?P<rest>.*)"
)
_TABLE: Final = re.compile(rf"({_NAME})\.({_NAME})")
_COLUMN_LIST: Final = re.compile(rf" ?\((?:{_NAME}|[^)`])*\)")
_STORED_CALL: Final = re.compile(rf"{_NAME}\s*\(")


def quote(*parts: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _folded(pair: Pair) -> Pair:
    return pair[0].casefold(), pair[1].casefold()


@dataclass(frozen=True)
class Grant:
    """A line of SHOW GRANTS."""

    privileges: tuple[str, ...]
    """Roles, where it has no place."""
    place: str
    grantee: str
    is_of_columns: bool
    """It lets some columns of a table be read."""

    @property
    def table(self) -> Pair:
        """As in the catalog; nothing for another kind of place."""
        found = _TABLE.fullmatch(self.place)
        schema, name = (part[1:-1].replace("``", "`") for part in found.groups()) if found else ("", "")
        return schema, name

    @property
    def revocation(self) -> str:
        place = f" ON {self.place}" if self.place else ""
        return f"REVOKE {', '.join(self.privileges)}{place} FROM {self.grantee}"


def parse_grants(lines: Iterable[str]) -> list[Grant]:
    found = list[Grant]()
    for line in lines:
        if grant := _GRANT.match(line):
            place = grant["place"] or ""
            listed = _COLUMN_LIST.sub("", grant["names"]) if place else grant["names"]
            more = ["GRANT OPTION"] if place and "GRANT OPTION" in grant["rest"] else []
            privileges = (*listed.split(", "), *more)
            is_of_columns = place != "" and re.search(r"\bSELECT ?\(", grant["names"]) is not None
            found.append(Grant(privileges, place, grant["grantee"], is_of_columns))
    return found


@lru_cache(maxsize=10_000)
def _tables_of_view(definition: str) -> frozenset[Pair] | None:
    """None where that cannot be known, or a stored function reads more."""
    try:
        tree = parse_one(definition, dialect="mysql")
    except (SqlglotError, RecursionError, ValueError):
        return None
    tables = frozenset((each.db, each.name) for each in tree.find_all(exp.Table) if each.db)
    return None if _STORED_CALL.search(definition) else tables


@dataclass(frozen=True)
class Catalog:
    """Tables and views that somebody sees, and what of them is open."""

    access: Access
    kinds: Mapping[Pair, str] = field(default_factory=dict)
    """The storage engine, or VIEW."""
    columns: Mapping[Pair, Mapping[str, bool]] = field(default_factory=dict)
    """Each with whether it is generated."""
    definitions: Mapping[Pair, str] = field(default_factory=dict)
    partial: frozenset[Pair] = frozenset()
    """Of which a login was granted columns, and may not see the others; in small letters."""
    _known: dict[Pair, Sequence[str]] = field(default_factory=dict)

    def open_columns(self, table: Pair) -> Sequence[str]:
        """None where the whole table is closed."""
        if table not in self._known:
            self._known[table] = ()
            self._known[table] = self._find_open(table)
        return self._known[table]

    def is_whole(self, table: Pair) -> bool:
        every = self.columns.get(table, {})
        return bool(every) and not self._is_partial(table) and len(self.open_columns(table)) == len(every)

    def _is_partial(self, table: Pair) -> bool:
        return _folded(table) in self.partial

    def _find_open(self, table: Pair) -> Sequence[str]:
        every = self.columns.get(table, {})
        if self.access.is_whole:
            return [*every]
        if not self.access.opens(*table) or not (self.access.allows_by_name(*table) or self._has_open_rows(table)):
            return ()
        opened = [name for name in every if self.access.opens_column(*table, name)]
        if self._is_partial(table) or len(opened) < len(every):
            return [name for name in opened if not every[name]]
        return opened

    def _has_open_rows(self, table: Pair) -> bool:
        if table[0] in ("mysql", "sys"):
            return False
        if self.kinds.get(table) != "VIEW":
            return self.kinds.get(table, "").upper() not in _ROWS_ELSEWHERE
        sources = _tables_of_view(self.definitions.get(table, ""))
        return sources is not None and all(self.is_whole(each) and self._has_open_rows(each) for each in sources)

    @cached_property
    def readable(self) -> Mapping[str, frozenset[str]]:
        """The columns of tables, both by their bare names in small letters."""
        found: dict[str, frozenset[str]] = defaultdict(frozenset)
        for (_, name), columns in self.columns.items():
            found[name.casefold()] |= {column.casefold() for column in columns}
        return found

    @cached_property
    def partial_tables(self) -> frozenset[tuple[str, frozenset[str]]]:
        """The same of those that the login may read in part."""
        partial = filter(self._is_partial, self.columns)
        return frozenset((pair[1].casefold(), frozenset(map(str.casefold, self.columns[pair]))) for pair in partial)


def read_catalog(ask: Ask, access: Access, grants: Iterable[Grant] = ()) -> Catalog:
    """`grants`: those of the login that asks, unless it is an administrator."""
    if access.is_whole:
        return Catalog(access)
    columns: dict[Pair, dict[str, bool]] = defaultdict(dict)
    for schema, table, name, extra in ask(_COLUMNS):
        columns[schema, table][name] = bool(_GENERATED.search(extra or ""))
    kinds = {(schema, name): kind for schema, name, kind in ask(_TABLES)}
    definitions = {(schema, name): str(definition or "") for schema, name, definition in ask(_VIEWS)}
    partial = frozenset(_folded(each.table) for each in grants if each.is_of_columns)
    return Catalog(access, kinds, columns, definitions, partial)


@dataclass(frozen=True)
class Login:
    """An account with its grants, against a catalog."""

    account: str
    grants: Sequence[Grant]
    catalog: Catalog
    database: str
    """The schema of the source's URL; empty for all."""
    writes: bool

    @property
    def is_administrator(self) -> bool:
        return any(each.place == "*.*" and not _ADMIN.isdisjoint(each.privileges) for each in self.grants)

    @property
    def _allowed(self) -> tuple[str, ...]:
        return (*_READS, *(_WRITES if self.writes else ()))

    def _powers(self, each: Grant) -> list[str]:
        """What a grant gives beyond the privileges that a source needs."""
        if not each.place:
            return [f"the role {role}" for role in each.privileges]
        return [f"{name} on {each.place}" for name in each.privileges if name not in ("USAGE", *self._allowed)]

    def script(self) -> tuple[str, ...]:
        """What makes the login right, whatever it could do before."""
        return (
            *(each.revocation for each in self.grants if self._outlives_reset(each)),
            f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {self.account}",
            *(f"GRANT {what} ON {place} TO {self.account}" for what, place in self._wanted()),
        )

    def _outlives_reset(self, each: Grant) -> bool:
        """REVOKE ALL leaves roles, proxies and what everyone may do."""
        if each.grantee == "PUBLIC":
            is_known = self.catalog.access.is_whole or self.catalog.is_whole(each.table)
            return each.privileges != ("USAGE",) and (bool(self._powers(each)) or not is_known)
        return not each.place or "PROXY" in each.privileges

    def _wanted(self) -> Iterator[tuple[str, str]]:
        if self.catalog.access.is_whole and self.database:
            place = quote(re.sub(r"([_%\\])", r"\\\1", self.database))
            yield ", ".join(self._allowed), f"{place}.*"
        for table in sorted(self.catalog.kinds):
            opened = self.catalog.open_columns(table)
            if not opened or self.database not in ("", table[0]):
                continue
            if not self.catalog.is_whole(table):
                yield f"SELECT ({', '.join(map(quote, opened))})", quote(*table)
            else:
                is_view = self.catalog.kinds[table] == "VIEW"
                yield (
                    ", ".join(_READS if is_view else [name for name in self._allowed if name != "SHOW VIEW"]),
                    quote(*table),
                )

    def findings(self) -> Iterator[Finding]:
        refused, unless_forced = FindingSeverity.REFUSED, FindingSeverity.REFUSED_UNLESS_FORCED
        is_whole = self.catalog.access.is_whole
        if self.is_administrator:
            advice = "Write another login into the URL of the source; `pegboard db role` creates it."
            severity = unless_forced if is_whole else refused
            yield Finding(f"The login {self.account} administers the server. {advice}", severity)
            return
        statements = self.script()
        if not is_whole and (reached := [*self._reached()]):
            words = f"The login {self.account} can reach what this board closes: {_some(reached)}."
            yield Finding(words, refused, statements)
            statements = ()
        if powers := [power for each in self.grants for power in self._powers(each)]:
            is_only_of_rows = all(power.split(" on ")[0] in _WRITES for power in powers)
            severity = unless_forced if is_whole or is_only_of_rows else refused
            words = f"The login {self.account} may do more than this source needs: {_some(powers)}."
            yield Finding(words, severity, statements)

    def _reached(self) -> Iterator[str]:
        """A server lists what a login has any privilege on, by whatever way."""
        for table in sorted(self.catalog.kinds):
            opened = self.catalog.open_columns(table)
            if not opened:
                yield ".".join(table)
            else:
                yield from (".".join((*table, name)) for name in self.catalog.columns[table] if name not in opened)


def _some(things: Sequence[str]) -> str:
    every = [*dict.fromkeys(things)]
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


def account_of(ask: Ask) -> str:
    user, _, host = str(ask("SELECT CURRENT_USER()")[0][0]).rpartition("@")
    return f"{quote(user)}@{quote(host)}"


def read_login(ask: Ask, access: Access, database: str, *, writes: bool) -> Login:
    """The one that asks."""
    grants = parse_grants(str(row[0]) for row in ask("SHOW GRANTS"))
    return Login(account_of(ask), grants, read_catalog(ask, access, grants), database, writes)
