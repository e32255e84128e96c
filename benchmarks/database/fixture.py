"""Nine databases with 239 tables, as companies and offices have them, and a hundred questions that people ask of them.

The tables lie in `fixture/*.txt`, a database a file: `schema.table -- comment`, and below it the columns as
`name type`, where `*` marks the key, `>table` what it refers to, and a text in quotes is its comment. The questions lie
in `fixture/questions.tsv`, each with the tables that answer it; they were written before any of them was asked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, ForeignKey, TableColumn, TableName
from pegboard.core.model.databases import DatabaseId, Dialect

FOLDER: Final = Path(__file__).parent / "fixture"
_TYPES: Final = {
    "i": "bigint",
    "t": "text",
    "n": "numeric",
    "d": "date",
    "ts": "timestamp",
    "b": "boolean",
    "j": "json",
}
_COLUMN: Final = re.compile(r'(?P<name>\S+) (?P<type>[a-z]+)(?P<key>\*?)(?:>(?P<to>[\w.]+))?(?: "(?P<comment>[^"]*)")?')
_COMMA: Final = re.compile(r",\s*(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)")


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    tables: frozenset[tuple[DatabaseId, TableName]]


def databases() -> Mapping[DatabaseId, DatabaseSchema]:
    return {DatabaseId(file.stem): _schema(file) for file in sorted(FOLDER.glob("*.txt"))}


def questions() -> Sequence[Question]:
    lines = (FOLDER / "questions.tsv").read_text(encoding="utf-8").splitlines()
    return [
        Question(text, frozenset(map(_meant, tables.split(", ")))) for text, tables in (x.split("\t") for x in lines)
    ]


def _meant(written: str) -> tuple[DatabaseId, TableName]:
    source, _, name = written.partition(":")
    return DatabaseId(source), _named(name)


def _named(written: str, schema: str = "") -> TableName:
    first, dot, rest = written.partition(".")
    return TableName(first, rest) if dot else TableName(schema, first)


def _schema(file: Path) -> DatabaseSchema:
    tables: list[DatabaseTable] = []
    relations: list[ForeignKey] = []
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    for heading, columns in zip(lines[::2], lines[1::2], strict=True):
        name, _, comment = heading.partition(" -- ")
        table, own = _table(_named(name), comment, columns)
        tables.append(table)
        relations += own
    keys = {table.name: table.key for table in tables}
    known = tuple(
        ForeignKey(each.table, each.columns, each.to_table, keys[each.to_table] or each.columns) for each in relations
    )
    return DatabaseSchema(Dialect.POSTGRESQL, tuple(tables), known, "public")


def _table(name: TableName, comment: str, columns: str) -> tuple[DatabaseTable, Sequence[ForeignKey]]:
    found = [_COLUMN.fullmatch(each.strip()) for each in _COMMA.split(columns)]
    read = [each for each in found if each is not None]
    assert len(read) == len(found), columns
    own = tuple(TableColumn(each["name"], _TYPES[each["type"]], True, each["comment"] or "") for each in read)
    key = tuple(each["name"] for each in read if each["key"])
    return DatabaseTable(name, own, key, comment), [*_relations(name, read)]


def _relations(name: TableName, columns: Sequence[re.Match[str]]) -> Iterator[ForeignKey]:
    for each in columns:
        if each["to"]:
            yield ForeignKey(name, (each["name"],), _named(each["to"], name.schema), ())
