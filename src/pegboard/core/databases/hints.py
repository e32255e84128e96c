"""Hints for a statement that failed: the columns of the tables that it names, and names like the wrong one.

They come from the schema that may be read, so a closed table and one that does not exist get the same hints. The
statement is not understood, only searched for names: nothing is decided by this.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, TypeAlias

from pegboard.core.databases.rows import StatementFault
from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, TableName, quote_identifier, quote_table

MAX_TABLES: Final = 5
MAX_COLUMNS: Final = 60
_MAX_LISTED_TABLES: Final = 30
"""Up to so many tables are listed by name where none is like the one that was written."""
_MAX_STATEMENT_LENGTH: Final = 20_000

_Path: TypeAlias = tuple[str, ...]
"""A name with the names before its dots."""

_NAME: Final = r"""(?:[^\W\d][\w$]*|"(?:[^"]|"")*"|`[^`]*`|\[[^\]\[]*\])"""
_PATH: Final = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_NO_SQL: Final = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)", re.DOTALL)
_TABLE: Final = re.compile(
    rf"(?:\b(?:from|join|into|update)\b|,)\s*(?P<path>{_PATH})(?:\s+(?:as\s+)?(?P<alias>{_NAME}))?", re.IGNORECASE
)
_PARTS: Final = re.compile(_NAME)
_NO_ALIASES: Final = frozenset(
    """
    cross except fetch from full group having inner intersect join left limit natural offset on order outer returning
    right select set union using values where window
    """.split()  # noqa: SIM905 - a list of one word a line would be a page long
)


@dataclass(frozen=True, slots=True)
class StatementHints:
    sentences: tuple[str, ...]
    """Which name is wrong, and which may be meant."""
    tables: tuple[str, ...]
    """Those that the statement names, or may mean, each with its columns."""


def hints_for(schema: DatabaseSchema, statement: str, fault: StatementFault, name: str | None = None) -> StatementHints:
    """`name` is what was not found, as the engine reports it."""
    tables, aliases = _tables_named(schema, statement)
    meant = [*dict.fromkeys(table.name for table in tables)]
    sentences: list[str] = []
    path = _path(name) if name else ()
    if path and fault is StatementFault.NO_TABLE:
        likely = _near_tables(schema, path[-1])
        sentences.append(_about_table(schema, path, likely))
        meant += [table for table in likely if table not in meant]
    elif path and fault is StatementFault.NO_COLUMN:
        sentences += _about_column(schema, path, tables, aliases)
        if sentences and not sentences[-1].endswith("?") and len(path) == 1 and f'"{path[0]}"' in statement:
            text = path[0].replace("'", "''")
            sentences.append(f"Double quotes are for names. If a text is meant, write it in single quotes: '{text}'.")
    return StatementHints(
        tuple(sentences), tuple(_outline(schema, schema.by_name[name]) for name in meant[:MAX_TABLES])
    )


def _tables_named(schema: DatabaseSchema, statement: str) -> tuple[list[DatabaseTable], Mapping[str, DatabaseTable]]:
    """The tables that a statement names, and what it calls them, in lower case."""
    tables: list[DatabaseTable] = []
    aliases: dict[str, DatabaseTable] = {}
    for found in _TABLE.finditer(_NO_SQL.sub(" ", statement[:_MAX_STATEMENT_LENGTH])):
        table = _table(schema, _path(found["path"]))
        if table is None:
            continue
        tables.append(table)
        alias = found["alias"]
        if alias is not None and alias.lower() not in _NO_ALIASES:
            aliases.setdefault(_path(alias)[-1].lower(), table)
    return tables, aliases


def _path(text: str) -> _Path:
    return tuple(part.strip("\"`[]'").replace('""', '"') for part in _PARTS.findall(text)) or (text,)


def _table(schema: DatabaseSchema, path: _Path) -> DatabaseTable | None:
    """By its schema, or in the default one; case does not matter here."""
    fitting = [
        each
        for name, each in schema.by_name.items()
        if name.table.casefold() == path[-1].casefold()
        and (len(path) < 2 or name.schema.casefold() == path[-2].casefold())
    ]
    return min(fitting, key=lambda each: each.name.schema != schema.default_schema, default=None)


def _near_tables(schema: DatabaseSchema, name: str) -> Sequence[TableName]:
    by_name: dict[str, list[TableName]] = {}
    for each in schema.by_name:
        by_name.setdefault(each.table, []).append(each)
    return [table for found in similar_names(name, by_name) for table in by_name[found]][:3]


def _about_table(schema: DatabaseSchema, path: _Path, likely: Sequence[TableName]) -> str:
    missing = f"There is no table {'.'.join(path)!r} here."
    if likely:
        return f"{missing} Did you mean {_either_text([quote_table(name, schema) for name in likely])}?"
    if 0 < len(schema.by_name) <= _MAX_LISTED_TABLES:
        return f"{missing} The tables are {', '.join(quote_table(name, schema) for name in schema.by_name)}."
    return f"{missing} Find one with search_schemas."


def _about_column(
    schema: DatabaseSchema, path: _Path, tables: Sequence[DatabaseTable], aliases: Mapping[str, DatabaseTable]
) -> Iterator[str]:
    column, among = path[-1], [*dict.fromkeys(tables)]
    if len(path) > 1:
        owner = path[-2].lower()
        own = [aliases[owner]] if owner in aliases else [t for t in tables if t.name.table.lower() == owner]
        other_names = [alias for alias, table in aliases.items() if table.name.table.lower() == owner]
        if other_names and owner not in aliases and any(_has(table, column) for table in own):
            yield f"{path[-2]!r} is called {_either_text(other_names)} in this statement."
        if not own and tables:
            known = [*aliases, *dict.fromkeys(quote_table(table.name, schema) for table in tables)]
            yield f"{path[-2]!r} names no table of this statement; it has {_either_text(known)}."
        among = own or among
    if not among or any(_has(table, column) for table in among):
        return
    by_name: dict[str, list[str]] = {}
    for table in among:
        for each in table.columns:
            place = f"{quote_table(table.name, schema)}.{quote_identifier(each.name, schema.dialect)}"
            by_name.setdefault(each.name, []).append(place)
    missing = f"There is no column {column!r} in {_either_text([quote_table(table.name, schema) for table in among])}"
    likely = [place for found in similar_names(column, by_name) for place in by_name[found]][:3]
    if likely:
        yield f"{missing}. Did you mean {_either_text(likely)}?"
    else:
        joined = [quote_table(table.name, schema) for table in _tables_joined_to(schema, among) if _has(table, column)]
        yield f"{missing}, and none like it.{f' {_either_text(joined)} has one of that name.' if joined else ''}"


def _has(table: DatabaseTable, column: str) -> bool:
    return any(each.name.casefold() == column.casefold() for each in table.columns)


def _tables_joined_to(schema: DatabaseSchema, tables: Sequence[DatabaseTable]) -> Sequence[DatabaseTable]:
    names = {table.name: None for table in tables}
    found: dict[TableName, None] = {}
    for name in names:
        found |= dict.fromkeys(each.to_table for each in schema.relations_from(name))
        found |= dict.fromkeys(each.table for each in schema.relations_to(name))
    return [schema.by_name[name] for name in found if name not in names]


def _outline(schema: DatabaseSchema, table: DatabaseTable) -> str:
    """Name and type of each column."""
    columns = (
        f"{quote_identifier(each.name, schema.dialect)} {each.type}".rstrip() for each in table.columns[:MAX_COLUMNS]
    )
    left = len(table.columns) - MAX_COLUMNS
    return f"{quote_table(table.name, schema)} has {', '.join(columns)}{f', and {left} more' if left > 0 else ''}"


def _either_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else ""


_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")
_CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MIN_SCORE: Final = 0.6
_WORD_WEIGHT: Final = 0.75
_MAX_COMPARED: Final = 100
_MIN_PART: Final = 3


def similar_names(name: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """Names like a name: misspelt, shortened, or with its words in another order. The best first."""
    wanted, own_words = name[:_MAX_COMPARED].casefold(), _words(name)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    found: list[tuple[float, int, str]] = []
    for place, candidate in enumerate(dict.fromkeys(candidates)):
        if (score := _score(matcher, wanted, own_words, candidate[:_MAX_COMPARED])) >= _MIN_SCORE:
            found.append((-score, place, candidate))
    return [candidate for _, _, candidate in sorted(found)[:limit]]


def _score(matcher: SequenceMatcher[str], wanted: str, own_words: frozenset[str], candidate: str) -> float:
    folded, words = candidate.casefold(), _words(candidate)
    if folded == wanted:
        return 1.0
    shared = own_words & words
    by_words = 0.5 + 0.5 * len(shared) / max(len(own_words), len(words)) if shared else 0.0
    shorter, longer = sorted((wanted, folded), key=len)
    by_part = 0.6 + 0.4 * len(shorter) / len(longer) if shorter in longer and len(shorter) >= _MIN_PART else 0.0
    # One word of it may be what was misspelt: `nme` is near `full_name`.
    by_letters = max((_WORD_WEIGHT * _ratio(matcher, word) for word in words - {folded}), default=0.0)
    return max(by_words, by_part, by_letters, _ratio(matcher, folded))


def _ratio(matcher: SequenceMatcher[str], text: str) -> float:
    matcher.set_seq1(text)
    is_likely = matcher.real_quick_ratio() >= _MIN_SCORE and matcher.quick_ratio() >= _MIN_SCORE
    return matcher.ratio() if is_likely else 0.0


def _words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for part in _CAMEL_CASE.split(name) for word in _WORDS.findall(part))
