"""Database sections of pegboard.yaml, and the location of each database after references are resolved."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from pegboard.config.declare import FileContext
from pegboard.config.keys import sources as keys
from pegboard.config.references import Literal, MalformedText, expand_home, parse_references
from pegboard.config.schema.document import FileProblem, LocatedValue, ProblemCollector
from pegboard.config.schema.section import ConfigValues
from pegboard.core.model.databases import (
    DEFAULT_QUERY_LIMITS,
    BadPattern,
    DatabaseAccess,
    DatabaseId,
    DatabaseSettings,
    Dialect,
    NamePattern,
    QueryLimits,
    parse_name_pattern,
)
from pegboard.ports.providers import Expand, UnresolvedReference

_SCHEMES: Final = {
    "sqlite": Dialect.SQLITE,
    "duckdb": Dialect.DUCKDB,
    "postgresql": Dialect.POSTGRESQL,
    "postgres": Dialect.POSTGRESQL,
    "mysql": Dialect.MYSQL,
    "mariadb": Dialect.MYSQL,
}
_FILE_DIALECTS: Final = frozenset({Dialect.SQLITE, Dialect.DUCKDB})
_USER: Final = re.compile(r"([a-z]+://)((?:\$\{[^}]*\}|[^/@])*)(?=@)")
_UNREADABLE: Final = (
    "its url cannot be read as scheme://user:password@host:port/database. In a user or a password write / @ : ? # [ ] "
    "as %2F %40 %3A %3F %23 %5B %5D."
)
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{(?:(?!:-)[^}])+\}")


@dataclass(frozen=True)
class DatabaseLocation:
    """Where a source is: a file's path, or the whole address of a server, which may hold a password."""

    dialect: Dialect
    location: str

    def __repr__(self) -> str:
        return f"Located({self.dialect})"


def read_databases(
    values: ConfigValues, place: FileContext, tell: ProblemCollector
) -> Mapping[DatabaseId, DatabaseSettings]:
    found = values.value(keys.DATABASES, {})
    return {DatabaseId(id): _database(DatabaseId(id), said, place, tell) for id, said in found.items()}


def database_warnings(values: ConfigValues, place: FileContext) -> Iterator[FileProblem]:
    """References that stand for nothing now: what is unreachable is told, and keeps nothing else from starting."""
    for said in values.value(keys.DATABASES, {}).values():
        url = said.value.get(keys.URL)
        if url is not None:
            for missing in place.unresolved_references(url.value):
                yield FileProblem(
                    place.file, url.line, url.key, _without_default_advice(missing.why), depends_on_environment=True
                )


def _without_default_advice(why: str) -> str:
    """A default, which the usual words advise, would stand in the file; of a password it is refused there."""
    return f"{why.partition(', or write ${')[0].rstrip('.')}."


def dialect_of(url: str) -> Dialect | None:
    return _SCHEMES.get(url.partition(":")[0].lower())


def locate_database(
    database: DatabaseSettings, expand: Expand, folder: Path, environ: Mapping[str, str]
) -> DatabaseLocation | UnresolvedReference:
    url = _expand_url(database.url, expand)
    if isinstance(url, UnresolvedReference):
        return UnresolvedReference(_without_default_advice(url.why))
    dialect = dialect_of(url)
    if dialect is None:
        known = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        return UnresolvedReference(f"its url does not begin with one of {known}. Correct it.")
    if dialect not in _FILE_DIALECTS:
        try:
            urlsplit(url).port  # noqa: B018 - it raises for what is no number
        except ValueError:
            return UnresolvedReference(_UNREADABLE)
        return DatabaseLocation(dialect, url)
    # `sqlite:///file.db` is a file of the folder, `sqlite:////file.db` one of the root.
    path = unquote(url.partition(":///")[2].partition("?")[0])
    if not path:
        return UnresolvedReference(f"its url names no file. Write {dialect.value}:///file.db.")
    return DatabaseLocation(dialect, os.path.normpath(os.path.join(folder, expand_home(path, environ))))


def display_url(url: str) -> str:
    """Where it is, without who asks there: neither a user nor a password, nor what follows a question mark."""
    scheme, separator, rest = url.partition("://")
    if url.startswith("${") or not separator:
        return url if _REFERENCE.fullmatch(url) else "…"
    rest = rest.partition("?")[0]
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _expand_url(url: str, expand: Expand) -> str | UnresolvedReference:
    """What stands for a user or a password is itself, whatever characters it has: it is no part of a URL yet."""
    who = _USER.match(url)
    split = () if who is None else parse_references(who[2])
    if who is None or isinstance(split, MalformedText):
        return expand(url)
    texts = [part.text if isinstance(part, Literal) else expand(part.source) for part in split]
    if (missing := next((text for text in texts if isinstance(text, UnresolvedReference)), None)) is not None:
        return missing
    rest = expand(url[who.end() :])
    if isinstance(rest, UnresolvedReference):
        return rest
    quoted = (
        str(text) if isinstance(part, Literal) else quote(str(text), safe="")
        for part, text in zip(split, texts, strict=True)
    )
    return f"{who[1]}{''.join(quoted)}{rest}"


def _database(
    id: DatabaseId, said: LocatedValue[ConfigValues], place: FileContext, tell: ProblemCollector
) -> DatabaseSettings:
    values = said.value
    url, writes = values.get(keys.URL), values.get(keys.WRITES)
    if url is not None and writes is not None and writes.value and dialect_of(url.value) is Dialect.DUCKDB:
        tell.add_problem(
            writes.line, writes.key, "DuckDB is only read here: one process alone can change its file. Remove it."
        )
    return DatabaseSettings(
        id,
        "" if url is None else url.value,
        place.declared_at(said),
        enabled=values.value(keys.ENABLED, True),
        description=" ".join(values.value(keys.DESCRIPTION, "").split()),
        access=DatabaseAccess(
            tuple(_patterns(values.value(keys.ALLOW, ()), tell)), tuple(_patterns(values.value(keys.DENY, ()), tell))
        ),
        limits=QueryLimits(
            rows=values.value(keys.ROWS, DEFAULT_QUERY_LIMITS.rows),
            bytes=values.value(keys.BYTES, DEFAULT_QUERY_LIMITS.bytes),
            cell_chars=values.value(keys.CELL, DEFAULT_QUERY_LIMITS.cell_chars),
            seconds=values.value(keys.TIME, DEFAULT_QUERY_LIMITS.seconds),
        ),
        samples=values.value(keys.SAMPLES, False),
        writes=values.value(keys.WRITES, False),
        force=values.value(keys.FORCE, False),
    )


def _patterns(written: Iterable[LocatedValue[str]], tell: ProblemCollector) -> Iterator[NamePattern]:
    for text in written:
        match parse_name_pattern(text.value):
            case NamePattern() as read:
                yield read
            case BadPattern(_, why):
                tell.add_problem(text.line, text.key, f"{why}.")
