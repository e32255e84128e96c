"""What sources behind a server share: engines and role managers of PostgreSQL, MySQL and MariaDB build on it.

The privileges of the login decide what can be read (ADR 18): here are the tables and views of a catalog, and which of
their columns a board opens. Nothing here knows the SQL of one server.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, Final, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from pegboard.core.databases.rows import (
    DatabaseCheck,
    DatabaseFinding,
    FindingSeverity,
    QueryAnswer,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.model.databases import DatabaseAccess, QueryLimits
from pegboard.ports.databases import Parameters, SourceError
from pegboard.providers.database.common import is_unicode, parameter_count_message

MAX_STATEMENT_LENGTH: Final = 100_000
CATALOG_TIMEOUT_S: Final = 60.0
QUERIES_ONLY: Final = "Only queries are answered here: SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN, SHOW."
QUERIES_AND_WRITES: Final = f"{QUERIES_ONLY.removesuffix('.')}; and INSERT, UPDATE and DELETE."
NEW_LOGIN_PHRASE: Final = "choose-a-long-one"
"""In place of the password of a login that is to be created."""


P = TypeVar("P", bound="Privileges[Any]")


class ServerEngine(ABC, Generic[P]):
    """One source. What `check` finds is acted on by the caller."""

    def __init__(self, url: str, access: DatabaseAccess, *, writes: bool = False) -> None:
        self._url = url
        self._access = access
        self._writes = writes
        self._privileges: P | None = None
        """As of the last check."""

    async def check(self) -> DatabaseCheck:
        try:
            self._privileges = known = await self._read_privileges()
        except SourceError as away:
            words = f"{away} If the login does not exist yet, `pegboard db role NAME` creates it."
            return DatabaseCheck("", None, (DatabaseFinding(words, FindingSeverity.REFUSED_UNLESS_FORCED),))
        # In a thread, because tens of thousands of columns are held against patterns.
        return DatabaseCheck(known.version, known.role, await anyio.to_thread.run_sync(known.findings))

    async def run(
        self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
    ) -> QueryAnswer:
        if refusal := unreadable_text(statement):
            return refusal
        with anyio.move_on_after(limits.seconds):
            try:
                if self._privileges is None and not self._access.is_unrestricted:
                    # The gateway checks before it asks; other callers are served as well.
                    self._privileges = await self._read_privileges()
                answer = await self._run(statement, parameters, limits, write=write)
            except SourceError as away:
                return StatementFailure(str(away), None, StatementFault.UNAVAILABLE)
            if isinstance(answer, StatementRefusal) and answer.fix == QUERIES_ONLY and self._writes:
                return replace(answer, fix=QUERIES_AND_WRITES)
            return answer
        return out_of_time(limits)

    @abstractmethod
    async def _read_privileges(self) -> P:
        """Of the login of the source. Raises `SourceError`."""

    @abstractmethod
    async def _run(self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool) -> QueryAnswer:
        """Runs one statement; one that writes only with `write`. Raises `SourceError`."""


def names(text: str) -> frozenset[str]:
    """A list of names, written as text so that it can be read. Lines that begin with `#` are comments."""
    return frozenset(re.sub(r"^#.*", "", text, flags=re.MULTILINE).split())


def read_names(package: str, file: str) -> frozenset[str]:
    return names(files(package).joinpath(file).read_text(encoding="ascii"))


def unreachable(title: str, error: BaseException, words: str) -> SourceError:
    """`title`: where the source is, without its password; `words`: what the driver says."""
    first = words.strip().split("\n")[0].rstrip(".") or type(error).__name__
    fix = "Check that the server runs, and the address, user, password and database in the URL."
    return SourceError(f"{title} cannot be reached: {first}. {fix}")


def unreadable_text(statement: str) -> StatementRefusal | None:
    if len(statement) > MAX_STATEMENT_LENGTH:
        why = f"The statement has {len(statement):,} characters; {MAX_STATEMENT_LENGTH:,} are taken."
        return StatementRefusal(why, "Bind long values as parameters, and ask in several statements.")
    if "\0" in statement or not is_unicode(statement):
        why = "The statement holds a character that no database takes (NUL or half a surrogate)."
        return StatementRefusal(why, "Leave it out.")
    return None


def writes_refused(verb: str) -> StatementRefusal:
    return StatementRefusal(f"{verb.upper()} changes rows.", QUERIES_ONLY, is_write=True)


def out_of_time(limits: QueryLimits) -> StatementFailure:
    return StatementFailure(f"The statement was stopped after {limits.seconds:g} s.", None, StatementFault.TIME)


def too_large(size: int) -> StatementFailure:
    return StatementFailure(f"A row of the answer is larger than {size // 2**20} MB.", None, StatementFault.MEMORY)


def values_in_order(parameters: Parameters, count: int, marks: str) -> list[Any] | StatementFailure:
    """One value for each mark of a statement, which are for example `$1, $2, …`."""
    if isinstance(parameters, Mapping) and parameters:
        why = f"Parameters have no names here. Give them as a list, and write {marks} in the statement."
        return StatementFailure(why, None, StatementFault.PARAMETERS)
    if len(parameters) != count:
        return StatementFailure(parameter_count_message(count, len(parameters), marks), None, StatementFault.PARAMETERS)
    return list(parameters)


def first_names(names: Iterable[str]) -> str:
    """Three of them, and how many more there are."""
    every = [*dict.fromkeys(names)]
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


def administrator_url(url: str, *schemes: str) -> str:
    """Raises `SourceError` where a URL is not one of this kind of server: a driver may take it for its own defaults."""
    if urlsplit(url).scheme not in schemes or "://" not in url:
        raise SourceError(f"The URL of the administrator is not one of this server. Begin it with {schemes[0]}://.")
    return url


@dataclass(frozen=True)
class CatalogRelation:
    """A table or view. Nothing of it needs to be visible to the login."""

    id: Hashable
    schema: str
    name: str
    is_view: bool
    is_of_extension: bool
    """It came with an extension, so it need not be on a list of what is allowed."""
    is_derived: bool
    """It shows rows of its sources to callers who may not read those."""
    sources: tuple[Hashable, ...]
    """What a view reads, or tables that share rows with a table. An id that no relation has is never open."""
    columns: tuple[str, ...]
    computed_columns: tuple[tuple[str, str], ...] = ()
    """Generated columns, each with one that it is computed from."""
    has_more_columns: bool = False
    """The catalog shows not all of its columns."""
    has_triggers: bool = False
    """With other rights than those of the login that writes."""

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    def is_whole(self, opened: Mapping[Hashable, tuple[str, ...]]) -> bool:
        """Whether all of it is open."""
        return opened.get(self.id) == self.columns and not self.has_more_columns


def open_columns(relations: Iterable[CatalogRelation], access: DatabaseAccess) -> Mapping[Hashable, tuple[str, ...]]:
    """Of relations of which something is open. A view is closed if anything below it is, unless `allow` names it."""
    known = {each.id: each for each in relations}
    if access.is_unrestricted:
        return {id: each.columns for id, each in known.items()}
    rules = {False: access, True: DatabaseAccess(deny=access.deny)}
    named = {id for id, each in known.items() if access.allows_by_name(each.schema, each.name)}
    opened: dict[Hashable, tuple[str, ...]] = {}
    for id, each in known.items():
        rule = rules[each.is_of_extension]
        is_alone = each.is_view or id in named
        family = [each, *(known[one] for one in each.sources if one in known and not is_alone)]
        if all(rule.allows_table(one.schema, one.name) for one in family):
            shut = {
                name for name in each.columns for one in family if not rule.allows_column(one.schema, one.name, name)
            }
            if each.has_more_columns:
                shut |= {name for name, _ in each.computed_columns}
            while more := {name for name, source in each.computed_columns if source in shut} - shut:
                shut |= more
            opened[id] = tuple(name for name in each.columns if name not in shut)
    kept = {id: opened[id] for id in named if id in opened}
    derived = [each for each in known.values() if each.is_derived]
    size = -1
    while size != (size := len(opened)):
        whole = {id for id, each in known.items() if each.is_whole(opened)}
        for each in derived:
            if not whole.issuperset(each.sources):
                opened.pop(each.id, None)
    # What `allow` names is open itself, and not the views over it.
    return {id: columns for id, columns in (opened | kept).items() if columns or not known[id].columns}


R = TypeVar("R", bound=CatalogRelation)

LoginFault: TypeAlias = tuple[str, Sequence[str], FindingSeverity]
"""What a login may do and should not, with a place for names, which there are none of where it is not so."""


@dataclass(frozen=True)
class Privileges(ABC, Generic[R]):
    """What a login may do on its server, compared with what the board wants of it."""

    access: DatabaseAccess
    writes: bool
    role: str
    """The login."""
    version: str
    """Of the server, with its name."""
    relations: Sequence[R]

    @cached_property
    def open_columns_by_id(self) -> Mapping[Hashable, tuple[str, ...]]:
        """Of each relation of which something is open."""
        return open_columns(self.relations, self.access)

    def is_open(self, each: R) -> bool:
        """The whole of it."""
        return each.is_whole(self.open_columns_by_id)

    def is_triggered(self, each: R) -> bool:
        """Changes of it run what has other rights than the login, while something is closed."""
        return not self.access.is_unrestricted and not self._triggered.isdisjoint((each.id, *each.sources))

    @cached_property
    def _triggered(self) -> frozenset[Hashable]:
        own = frozenset(each.id for each in self.relations if each.has_triggers)
        return own | {each.id for each in self.relations if not own.isdisjoint(each.sources)}

    def closed_names(self, each: R, columns: Iterable[str]) -> list[str]:
        """What of these columns is closed."""
        opened = self.open_columns_by_id.get(each.id)
        return [f"{each.title}.{name}" for name in columns if name not in opened] if opened else [each.title]

    def findings(self) -> tuple[DatabaseFinding, ...]:
        """The first has the script, which ends them all."""
        found = [(words.format(first_names(names)), severity) for words, names, severity in self._faults() if names]
        scripts = [() if self.is_administrator else tuple(self.script()), *[()] * len(found)]
        faults = (
            DatabaseFinding(f"The login {self.account} {words}.", severity, statements)
            for (words, severity), statements in zip(found, scripts, strict=False)
        )
        return (*faults, *map(DatabaseFinding, self.warnings()))

    def warnings(self) -> Iterable[str]:
        """What an operator should know besides."""
        return ()

    def refusal(self) -> str:
        """The first finding that nothing overrides."""
        refused = (each.message for each in self.findings() if each.severity is FindingSeverity.REFUSED)
        return next(refused, "")

    @property
    @abstractmethod
    def account(self) -> str:
        """The login, in quotes."""

    @property
    @abstractmethod
    def is_administrator(self) -> bool:
        """Of the whole server: nothing is taken from it."""

    @abstractmethod
    def _faults(self) -> Iterator[LoginFault]: ...

    @abstractmethod
    def script(self) -> Iterator[str]:
        """What makes the login right, whatever it could do before."""
