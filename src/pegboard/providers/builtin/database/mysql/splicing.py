"""A statement as it was written, with some of its tables read through something else and values in its places."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from .reading import Reading, is_defined, is_no_table
from .words import Unreadable, Word

_PLAIN_PARTS: Final = frozenset({"this", "db", "alias", "joins", "laterals"})
_CLAUSES: Final = {
    "partition": "PARTITION",
    "version": "FOR SYSTEM_TIME",
    "when": "FOR SYSTEM_TIME",
    "hints": "An index hint",
    "sample": "TABLESAMPLE",
}
_BEFORE_TABLES: Final = frozenset({"FROM", "JOIN", "STRAIGHT_JOIN", "TABLE", "INTO", "UPDATE"})
_KNOWN_BY: Final = 24
"""Characters by which what stands in for a table is found again in what a server says, which may be cut."""

Inner = Callable[[str | None, str], str | None]


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    new: str
    is_table: bool = False


@dataclass(frozen=True)
class Edited:
    text: str
    tables: tuple[tuple[str, str], ...] = ()
    """What stands in for a table, and how that was written."""

    def as_written(self, said: str) -> str:
        """What a server says of the text, in the words of the statement: headings, and what it does not understand."""
        for new, old in self.tables:
            place = 0
            while (place := said.find(new[:_KNOWN_BY], place)) >= 0:
                said = said[:place] + old + said[place + _alike(said[place:], new) :]
                place += len(old)
        return said


def _alike(one: str, other: str) -> int:
    """How many characters at the beginning are the same."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def edited(text: str, edits: Iterable[Edit]) -> Edited:
    told, tables, last = [], [], 0
    for edit in sorted(edits, key=lambda one: one.start):
        told += [text[last : edit.start], edit.new]
        last = edit.end
        if edit.is_table:
            tables.append((edit.new, text[edit.start : edit.end]))
    return Edited("".join((*told, text[last:])), tuple(tables))


def table_edits(reading: Reading, inner: Inner) -> tuple[Edit, ...] | Unreadable:
    """`inner` tells of a table, by its schema and name as written, the query that it is read through."""
    assert reading.tree is not None
    begin = reading.begin
    places = {word.start: place for place, word in enumerate(reading.words)}
    edits, seen, replaced = [], set(), set()
    for table in reading.tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            continue
        schema = table.args.get("db")
        first = schema if schema is not None else table.this
        place = places.get(first.meta.get("start", -1) + begin) if isinstance(first, exp.Identifier) else None
        if place is not None:
            seen.add(place if schema is None else place + 2)
        is_other = is_defined(table) or is_no_table(table)
        query = None if is_other else inner(schema.name if schema is not None else None, table.name)
        if query is None:
            continue
        if lost := sorted(part for part, value in table.args.items() if value and part not in _PLAIN_PARTS):
            return Unreadable(
                f"{_CLAUSES.get(lost[0], 'A clause like that')} cannot be asked of {table.name!r} here.",
                "Leave it out.",
            )
        parts = () if place is None else reading.words[place : place + (1 if schema is None else 3)]
        names = [word.name for word in parts[::2]]
        if names != [one.name for one in (schema, table.this) if one is not None]:
            return _plainly(table.name)
        replaced.add(table.name.casefold())
        edits.append(_edit(reading.words, places[parts[0].start], parts[-1].end, query, table))
    for place, word in enumerate(reading.words):
        if word.name.casefold() in replaced and place not in seen and _is_read(reading.words, place):
            return _plainly(word.name)
    return (*edits, *_unqualified(reading, places, inner))


def _edit(words: tuple[Word, ...], place: int, end: int, query: str, table: exp.Table) -> Edit:
    new = f"({query})" if table.args.get("alias") else f"({query}) AS {quoted(table.name)}"
    if place and words[place - 1].upper == "TABLE":
        return Edit(words[place - 1].start, end, f"SELECT * FROM {new}", True)  # noqa: S608 - as it was judged
    return Edit(words[place].start, end, new, True)


def _is_read(words: tuple[Word, ...], place: int) -> bool:
    while place >= 2 and words[place - 1].text == ".":
        place -= 2
    return place > 0 and words[place - 1].upper in _BEFORE_TABLES


def _unqualified(reading: Reading, places: dict[int, int], inner: Inner) -> Iterable[Edit]:
    """What stands in for a table has no schema, so its columns are named without."""
    assert reading.tree is not None
    begin = reading.begin
    for column in reading.tree.find_all(exp.Column):
        schema, table = column.args.get("db"), column.args.get("table")
        if schema is None or table is None or inner(schema.name, table.name) is None:
            continue
        place = places.get(schema.meta.get("start", -1) + begin)
        if place is not None and [word.name for word in reading.words[place : place + 3 : 2]] == [
            schema.name,
            table.name,
        ]:
            yield Edit(reading.words[place].start, reading.words[place + 2].start, "")


def _plainly(name: str) -> Unreadable:
    return Unreadable(f"The name of {name!r} is written in a way that is not read here.", "Write it plainly.")


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
