"""The databases that the file declares, and where each of them is once its references are followed."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from pegboard.core.database import Access, BadPattern, Dialect, Limits, NamePattern, SourceId, name_pattern
from pegboard.core.database.source import DEFAULT_LIMITS, Database
from pegboard.ports import Expand, Unresolved

from . import database_keys as keys
from .declaring import Place
from .problem import Problem
from .references import Literal, Malformed, parts, under_home
from .section import Values
from .telling import Placed, Telling

_SCHEMES: Final = {
    "sqlite": Dialect.SQLITE,
    "duckdb": Dialect.DUCKDB,
    "postgresql": Dialect.POSTGRESQL,
    "postgres": Dialect.POSTGRESQL,
    "mysql": Dialect.MYSQL,
    "mariadb": Dialect.MYSQL,
}
_IN_FILES: Final = frozenset({Dialect.SQLITE, Dialect.DUCKDB})
_USER: Final = re.compile(r"([a-z]+://)((?:\$\{[^}]*\}|[^/@])*)(?=@)")
_UNREADABLE: Final = (
    "its url cannot be read as scheme://user:password@host:port/database. In a user or a password write / @ : ? # [ ] "
    "as %2F %40 %3A %3F %23 %5B %5D."
)
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{(?:(?!:-)[^}])+\}")


@dataclass(frozen=True)
class Located:
    """Where a source is: a file's path, or the whole address of a server, which may hold a password."""

    dialect: Dialect
    where: str

    def __repr__(self) -> str:
        return f"Located({self.dialect})"


def databases(values: Values, place: Place, tell: Telling) -> Mapping[SourceId, Database]:
    found = values.value(keys.DATABASES, {})
    return {SourceId(id): _database(SourceId(id), said, place, tell) for id, said in found.items()}


def database_warnings(values: Values, place: Place) -> Iterator[Problem]:
    """References that stand for nothing now: what is unreachable is told, and keeps nothing else from starting."""
    for said in values.value(keys.DATABASES, {}).values():
        url = said.value.get(keys.URL)
        if url is not None:
            for missing in place.unresolved(url.value):
                yield Problem(place.file, url.line, url.at, _without_default(missing.why), here=True)


def _without_default(why: str) -> str:
    """A default, which the usual words advise, would stand in the file; of a password it is refused there."""
    return f"{why.partition(', or write ${')[0].rstrip('.')}."


def dialect_of(url: str) -> Dialect | None:
    return _SCHEMES.get(url.partition(":")[0].lower())


def located(database: Database, expand: Expand, folder: Path, environ: Mapping[str, str]) -> Located | Unresolved:
    url = _expanded(database.url, expand)
    if isinstance(url, Unresolved):
        return Unresolved(_without_default(url.why))
    dialect = dialect_of(url)
    if dialect is None:
        known = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        return Unresolved(f"its url does not begin with one of {known}. Correct it.")
    if dialect not in _IN_FILES:
        try:
            urlsplit(url).port  # noqa: B018 - it raises for what is no number
        except ValueError:
            return Unresolved(_UNREADABLE)
        return Located(dialect, url)
    # `sqlite:///file.db` is a file of the folder, `sqlite:////file.db` one of the root.
    path = unquote(url.partition(":///")[2].partition("?")[0])
    if not path:
        return Unresolved(f"its url names no file. Write {dialect.value}:///file.db.")
    return Located(dialect, os.path.normpath(os.path.join(folder, under_home(path, environ))))


def shown_url(url: str) -> str:
    """Where it is, without who asks there: neither a user nor a password, nor what follows a question mark."""
    scheme, separator, rest = url.partition("://")
    if url.startswith("${") or not separator:
        return url if _REFERENCE.fullmatch(url) else "…"
    rest = rest.partition("?")[0]
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _expanded(url: str, expand: Expand) -> str | Unresolved:
    """What stands for a user or a password is itself, whatever characters it has: it is no part of a URL yet."""
    who = _USER.match(url)
    split = () if who is None else parts(who[2])
    if who is None or isinstance(split, Malformed):
        return expand(url)
    texts = [part.text if isinstance(part, Literal) else expand(part.written) for part in split]
    if (missing := next((text for text in texts if isinstance(text, Unresolved)), None)) is not None:
        return missing
    rest = expand(url[who.end() :])
    if isinstance(rest, Unresolved):
        return rest
    quoted = (
        str(text) if isinstance(part, Literal) else quote(str(text), safe="")
        for part, text in zip(split, texts, strict=True)
    )
    return f"{who[1]}{''.join(quoted)}{rest}"


def _database(id: SourceId, said: Placed[Values], place: Place, tell: Telling) -> Database:
    values = said.value
    url, writes = values.get(keys.URL), values.get(keys.WRITES)
    if url is not None and writes is not None and writes.value and dialect_of(url.value) is Dialect.DUCKDB:
        tell.wrong(
            writes.line, writes.at, "DuckDB is only read here: one process alone can change its file. Remove it."
        )
    return Database(
        id,
        "" if url is None else url.value,
        place.at(said),
        enabled=values.value(keys.ENABLED, True),
        description=" ".join(values.value(keys.DESCRIPTION, "").split()),
        access=Access(
            tuple(_patterns(values.value(keys.ALLOW, ()), tell)), tuple(_patterns(values.value(keys.DENY, ()), tell))
        ),
        limits=Limits(
            rows=values.value(keys.ROWS, DEFAULT_LIMITS.rows),
            bytes=values.value(keys.BYTES, DEFAULT_LIMITS.bytes),
            cell=values.value(keys.CELL, DEFAULT_LIMITS.cell),
            seconds=values.value(keys.TIME, DEFAULT_LIMITS.seconds),
        ),
        samples=values.value(keys.SAMPLES, False),
        writes=values.value(keys.WRITES, False),
        force=values.value(keys.FORCE, False),
    )


def _patterns(written: Iterable[Placed[str]], tell: Telling) -> Iterator[NamePattern]:
    for text in written:
        match name_pattern(text.value):
            case NamePattern() as read:
                yield read
            case BadPattern(_, why):
                tell.wrong(text.line, text.at, f"{why}.")
