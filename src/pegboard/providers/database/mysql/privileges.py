"""What the login of a MySQL or MariaDB source may do, compared with what the board allows, and the script that puts it
right: everything is revoked, then exactly what is open is granted.

Decided by tables, and on the safe side: a view that reads a closed table, or one with a closed column, is closed unless
`allow` names it; so are the generated columns of a table with a closed column. A login has no roles.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Final, TypeAlias

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from pegboard.core.databases.rows import FindingSeverity
from pegboard.core.model.databases import DatabaseAccess
from pegboard.providers.database import server
from pegboard.providers.database.mysql.connection import DRIVER_ERRORS

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it logs what it cannot read

Ask: TypeAlias = Callable[..., Sequence[tuple[Any, ...]]]
"""A question of our own, and values for it."""
Pair: TypeAlias = tuple[str, str]
"""Schema and name of a table or view."""

_UNKNOWN: Final[Collection[Pair]] = (("", ""),)
"""No table: what a view or table shows cannot be known."""
_SYSTEM: Final = ("mysql", "sys")
NOT_SYSTEM: Final = "TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')"
_VISIBLE: Final = "TABLE_SCHEMA NOT IN ('performance_schema', 'information_schema')"
_TABLES: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, coalesce(ENGINE, TABLE_TYPE) FROM information_schema.TABLES WHERE {_VISIBLE}
"""  # noqa: S608 - constants
_COLUMNS: Final = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, EXTRA FROM information_schema.COLUMNS
WHERE {_VISIBLE} AND PRIVILEGES <> '' ORDER BY 1, 2, ORDINAL_POSITION
"""  # noqa: S608 - constants
_VIEWS: Final = f"SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE {_VISIBLE}"  # noqa: S608
_TRIGGERS: Final = "SELECT DISTINCT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS"
_OF_ANY_USER: Final = """
SELECT DISTINCT concat("DELETE FROM mysql.db WHERE User = '' AND Host = ", quote(d.Host), " AND Db = ", quote(d.Db))
FROM mysql.db d JOIN information_schema.SCHEMATA s ON s.SCHEMA_NAME LIKE d.Db
WHERE d.User = ''
"""
"""They end what a server lets everyone do without showing it as a grant, which REVOKE does not."""
_NO_SUCH_GRANT: Final = 1141
_GENERATED_COLUMN: Final = re.compile(r"\b(VIRTUAL|STORED|PERSISTENT)\b", re.IGNORECASE)
_OWN_ROWS: Final = server.names(
    "ARCHIVE ARIA BLACKHOLE COLUMNSTORE CSV INNODB MEMORY MYISAM NDBCLUSTER ROCKSDB SEQUENCE TOKUDB"
)
"""Storage engines that keep the rows of a table themselves. Those of others may lie in other tables."""
_WRITES: Final = ("INSERT", "UPDATE", "DELETE")
_ADMIN: Final = frozenset({"ALL PRIVILEGES", "SUPER", "CREATE USER", "GRANT OPTION"})
"""On the whole server: a login that others depend on, from which nothing is to be revoked."""

_QUOTED_GRANTS: Final = "SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1"
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


@dataclass(frozen=True)
class MysqlGrant:
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


def parse_grants(lines: Iterable[str]) -> list[MysqlGrant]:
    found = list[MysqlGrant]()
    for line in lines:
        if grant := _GRANT.match(line):
            place = grant["place"] or ""
            listed = _COLUMN_LIST.sub("", grant["names"]) if place else grant["names"]
            more = ["GRANT OPTION"] if place and "GRANT OPTION" in grant["rest"] else []
            privileges = (*listed.split(", "), *more)
            is_of_columns = place != "" and re.search(r"\bSELECT ?\(", grant["names"]) is not None
            found.append(MysqlGrant(privileges, place, grant["grantee"], is_of_columns))
    return found


@lru_cache(maxsize=10_000)
def _sources(definition: str) -> Collection[Pair]:
    """What a view reads, as far as that can be known: a stored function may read more."""
    try:
        tree = parse_one(definition, dialect="mysql")
    except (SqlglotError, RecursionError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return _UNKNOWN  # it falls over what it does not know
    if _STORED_CALL.search(definition) or not isinstance(tree, exp.Query):
        return _UNKNOWN
    return frozenset((each.db, each.name) for each in tree.find_all(exp.Table) if each.db)


def _relations(ask: Ask, grants: Iterable[MysqlGrant]) -> Iterator[server.CatalogRelation]:
    """`grants`: those of the login that asks, unless it is an administrator."""
    columns, generated = defaultdict[Pair, list[str]](list), defaultdict[Pair, list[str]](list)
    for schema, table, name, extra in ask(_COLUMNS):
        columns[schema, table].append(name)
        generated[schema, table] += [name] if _GENERATED_COLUMN.search(extra or "") else []
    # A login does not see the columns that it was not granted.
    granted = {".".join(each.table).casefold() for each in grants if each.is_of_columns}
    views = {(schema, name): _sources(definition or "") for schema, name, definition in ask(_VIEWS)}
    triggered = {*ask(_TRIGGERS)}
    for schema, name, kind in sorted(ask(_TABLES)):
        id = (schema, name)
        is_view = kind.upper() == "VIEW"
        is_elsewhere = schema in _SYSTEM or not (is_view or kind.upper() in _OWN_ROWS)
        sources = views.get(id, _UNKNOWN) if is_view and not is_elsewhere else _UNKNOWN if is_elsewhere else ()
        # Which columns a generated one is computed from is not looked at.
        computed = tuple(product(generated[id], columns[id]))
        has_more = not columns[id] or ".".join(id).casefold() in granted
        is_derived = is_view or is_elsewhere
        of_table = (is_view, False, is_derived, tuple(sources), tuple(columns[id]), computed, has_more)
        yield server.CatalogRelation(id, schema, name, *of_table, id in triggered)


@dataclass(frozen=True)
class MysqlPrivileges(server.Privileges[server.CatalogRelation]):
    """The grants of an account, against a catalog, which is empty where nothing is closed."""

    grants: Sequence[MysqlGrant]
    database: str
    """The schema of the source's URL; empty for all."""
    deletions: Sequence[str]
    """Of privileges that all users have; an administrator sees them."""

    @property
    def account(self) -> str:
        user, _, host = self.role.rpartition("@")
        return f"{quote(user)}@{quote(host)}"

    @cached_property
    def unexplained_tables(self) -> frozenset[str]:
        """Names, in small letters, of what a plan shows more of than is open: keys, and what is below a view."""
        fine = {each.id for each in self.relations if self.is_open(each)}
        while more := {each.id for each in self.relations if each.id in fine and not fine.issuperset(each.sources)}:
            fine -= more
        return frozenset(each.name.casefold() for each in self.relations if each.id not in fine)

    @cached_property
    def partial_tables(self) -> Sequence[tuple[str, frozenset[str]]]:
        """Tables of which the login may read these columns and no others, in small letters."""
        some = [each for each in self.relations if each.has_more_columns and each.columns]
        return [(each.name.casefold(), frozenset(map(str.casefold, each.columns))) for each in some]

    def readable_columns(self, tables: Collection[str]) -> list[str]:
        """Of all tables and views with one of these names, in small letters."""
        found = (each.columns for each in self.relations if each.name.casefold() in tables)
        return [column.casefold() for columns in found for column in columns]

    @property
    def is_administrator(self) -> bool:
        return any(each.place == "*.*" and not _ADMIN.isdisjoint(each.privileges) for each in self.grants)

    @property
    def _needed_privileges(self) -> tuple[str, ...]:
        return ("SELECT", "SHOW VIEW", *(_WRITES if self.writes else ()))

    def _powers(self, each: MysqlGrant) -> list[str]:
        """What a grant gives beyond the privileges that a source needs."""
        if not each.place:
            return [f"the role {role}" for role in each.privileges]
        return [
            f"{name} on {each.place}" for name in each.privileges if name not in ("USAGE", *self._needed_privileges)
        ]

    def script(self) -> Iterator[str]:
        yield from (each.revocation for each in self.grants if self._outlives_reset(each))
        yield from (*self.deletions, "FLUSH PRIVILEGES") if self.deletions else ()
        yield f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {self.account}"
        yield from (f"GRANT {what} ON {place} TO {self.account}" for what, place in self._grants_to_make())

    def _may_change(self, table: server.CatalogRelation) -> bool:
        places = [each for each in self.grants if each.place.endswith(".*") or each.table == table.id]
        return any(name in _WRITES for each in places for name in each.privileges)

    def _outlives_reset(self, each: MysqlGrant) -> bool:
        """REVOKE ALL leaves roles, proxies and what everyone may do."""
        if each.grantee == "PUBLIC":
            open_tables = {(table.schema, table.name) for table in self.relations if self.is_open(table)}
            is_open = self.access.is_unrestricted or each.table in open_tables
            return each.privileges != ("USAGE",) and (bool(self._powers(each)) or not is_open)
        return not each.place or "PROXY" in each.privileges

    def _grants_to_make(self) -> Iterator[tuple[str, str]]:
        if self.access.is_unrestricted and self.database:
            place = quote(re.sub(r"([_%\\])", r"\\\1", self.database))
            yield ", ".join(self._needed_privileges), f"{place}.*"
        for table in self.relations:
            opened = self.open_columns_by_id.get(table.id)
            if opened and self.database in ("", table.schema):
                left_out = _WRITES if table.is_view or self.is_triggered(table) else ()
                needed = [name for name in self._needed_privileges if name not in left_out]
                every = ", ".join(name for name in needed if table.is_view or name != "SHOW VIEW")
                some = f"SELECT ({', '.join(map(quote, opened))})"
                yield every if self.is_open(table) else some, quote(table.schema, table.name)

    def _faults(self) -> Iterator[server.LoginFault]:
        refused, forced = FindingSeverity.REFUSED, FindingSeverity.REFUSED_UNLESS_FORCED
        worst = forced if self.access.is_unrestricted else refused
        if self.is_administrator:
            words = (
                "administers the server. Write another login into the URL of the source; `pegboard db role` creates it"
            )
            yield words, [self.account], worst
            return
        # A server lists what a login has any privilege on, by whatever way.
        reached = [name for table in self.relations for name in self.closed_names(table, table.columns)]
        yield "can reach what this board closes: {0}", reached, refused
        words = "may change tables whose triggers run with other rights, and may show what is closed: {0}"
        changed = [table.title for table in self.relations if self.is_triggered(table) and self._may_change(table)]
        yield words, changed, refused
        powers = [power for each in self.grants for power in self._powers(each)]
        is_only_of_rows = all(power.split(" on ")[0] in _WRITES for power in powers)
        yield "may do more than this source needs: {0}", powers, forced if is_only_of_rows else worst


def read_privileges(
    ask: Ask, access: DatabaseAccess, database: str, role: str | None = None, *, writes: bool
) -> MysqlPrivileges:
    """Of the login that asks, or of another as an administrator sees it; that one need not exist yet."""
    ask(_QUOTED_GRANTS)
    # Views look otherwise in one that writes.
    ask("START TRANSACTION READ ONLY")
    ((version, asking),) = ask("SELECT VERSION(), CURRENT_USER()")
    number, _, product = str(version).partition("-")
    title = f"{'MariaDB' if 'MariaDB' in product else 'MySQL'} {number}"
    known = MysqlPrivileges(access, writes, role or str(asking), title, (), (), database, ())
    rows, deletions = list[tuple[Any, ...]](), list[str]()
    for grantee in (f" FOR {known.account}", " FOR PUBLIC") if role else ("",):
        try:
            rows += ask(f"SHOW GRANTS{grantee}")
        except DRIVER_ERRORS as error:
            if error.args[0] != _NO_SUCH_GRANT:
                raise
    grants = parse_grants(str(row[0]) for row in rows)
    relations = () if access.is_unrestricted else tuple(_relations(ask, () if role else grants))
    if relations and role:
        with suppress(*DRIVER_ERRORS):  # not every administrator may read it
            deletions = [str(row[0]) for row in ask(_OF_ANY_USER)]
    return replace(known, relations=relations, grants=grants, deletions=deletions)
