"""Answers as plain text for small models: of rows a line each with cells between bars, of tables that were found a few.

Every line of the table begins with a bar and every remark does not, and no value can hold a line break or a bare bar:
so nothing that is in a database can make up a row, a heading or a remark.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pegboard.core.databases.rows import ResultTruncation, RowValues
from pegboard.core.json.values import Json, JsonObject

MAX_TABLE_CHARS: Final = 8_000
MAX_CELL_CHARS: Final = 120
MAX_PLAN_CHARS: Final = 16_000
_UNSAFE: Final = re.compile(
    "[\\\\|\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""What ends a line or a cell for one reader or another, and what nobody sees."""
_MAX_SAMPLES: Final = 5
_SHORT_ESCAPES: Final = {"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def format_table(
    columns: Sequence[str],
    rows: Sequence[RowValues],
    cut: ResultTruncation | None = None,
    *,
    letters: int = MAX_TABLE_CHARS,
    of_cell: int = MAX_CELL_CHARS,
) -> str:
    """At most about so many letters; what is left out is told in the last lines."""
    wide = _count_fitting_columns(columns, letters // 2, of_cell)
    if not wide:
        return "No columns."
    lines = [_line(_cell(name, of_cell) for name in columns[:wide]), "|" + "---|" * wide]
    room = letters - sum(map(len, lines))
    shown = 0
    for row in rows:
        line = _line(_cell(value, of_cell) for value in row[:wide])
        room -= len(line) + 1
        if room < 0 and shown:
            break
        if room < 0:
            # The beginning of one row is better than none. No value holds a bare bar, so it ends between two.
            line = (line[: max(0, room + len(line))].rpartition(" | ")[0] or "|") + " | …"
        lines.append(line)
        shown += 1
    return "\n".join([*lines, *_remarks(len(columns) - wide, len(rows), shown, cut)])


def format_plan(
    columns: Sequence[str],
    rows: Sequence[RowValues],
    cut: ResultTruncation | None = None,
    *,
    letters: int = MAX_PLAN_CHARS,
) -> str:
    """A plan: it helps when it is whole, so no value is shortened, and one of several lines takes as many."""
    lines = [_line(_cell(name, MAX_CELL_CHARS) for name in columns), "|" + "---|" * len(columns)]
    told = [line for row in rows for line in _plan_lines(row, letters)]
    room, shown = letters - sum(map(len, lines)), 0
    for line in told:
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
        shown += 1
    if shown < len(told):
        lines.append(
            f"{len(told) - shown} of {len(told)} lines of the plan are not shown here. Explain a simpler query."
        )
    return "\n".join([*lines, *_remarks(0, len(rows), len(rows), cut)])


def _plan_lines(row: RowValues, most: int) -> Iterator[str]:
    parts = [value.rstrip("\n").split("\n") if isinstance(value, str) and "\n" in value else [value] for value in row]
    for number in range(max(map(len, parts), default=0)):
        yield _line(_cell(part[number], most) if number < len(part) else "" for part in parts)


def to_one_line(text: str) -> str:
    """Without what ends a line, and without what nobody sees."""
    return _UNSAFE.sub(
        lambda found: found.group() if found.group() in "\\|" else _escape_character(found.group()), text
    )


def _count_fitting_columns(columns: Sequence[str], letters: int, of_cell: int) -> int:
    """How many columns a heading of so many letters has; one at least."""
    for number, name in enumerate(columns):
        letters -= len(_cell(name, of_cell)) + 3
        if letters < 0:
            return max(1, number)
    return len(columns)


def _remarks(columns_left: int, count: int, shown: int, cut: ResultTruncation | None) -> Iterator[str]:
    if not count:
        yield "No rows."
    if columns_left:
        yield f"{columns_left} more columns are not shown here. Name those that you need."
    if shown < count:
        yield f"{count - shown} of {count} rows are not shown here."
    if cut is not None and cut.rows:
        yield f"There are more rows than these {count}: the limit of {cut.limited_by} was met. Narrow the question."
    if cut is not None and cut.cells:
        longest = max(size for _, _, size in cut.cells)
        values = "1 value was" if len(cut.cells) == 1 else f"{len(cut.cells)} values were"
        yield f"{values} cut; the longest has {longest} bytes."


def _line(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Json, most: int) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            # Text that reads as nothing is told from nothing.
            return f"'{value}'" if value in ("", "NULL") else _safe(value, most)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            return _safe(json.dumps(value, ensure_ascii=False, separators=(",", ":")), most)


def _safe(text: str, most: int) -> str:
    kept = text if len(text) <= most else text[:most]
    safe = _UNSAFE.sub(lambda found: _escape_character(found.group()), kept)
    return safe if kept is text else f"{safe}… (+{len(text) - most})"


def _escape_character(letter: str) -> str:
    return _SHORT_ESCAPES.get(letter) or f"\\u{{{ord(letter):x}}}"


def format_search_answer(answer: JsonObject) -> str:
    """Tables that a search found, from the answer that programs get. Each name and comment is kept on its line."""
    blocks = ["\n".join(_found_table(each)) for each in _objects(answer.get("tables"))]
    notices = [to_one_line(str(each)) for each in _list(answer.get("notices"))]
    return "\n\n".join([*blocks, *notices]) or "Nothing was found."


def _found_table(table: Mapping[str, Json]) -> Iterator[str]:
    rows = table.get("rows_about")
    size = f", about {rows} rows" if isinstance(rows, int) else ""
    kind = "view" if table.get("is_view") else "table"
    comment = f": {_text_member(table, 'comment')}" if table.get("comment") else ""
    yield (
        f"{kind} {_text_member(table, 'table')} in {_text_member(table, 'source')} "
        f"({_text_member(table, 'dialect')}{size}){comment}"
    )
    for column in _objects(table.get("columns")):
        yield f"- {_found_column(column)}"
    if left := table.get("columns_left"):
        yield f"- … and {left} more columns"
    joins = [to_one_line(str(each)) for each in _list(table.get("joins"))]
    if joins:
        more = f"; and {table['joins_left']} more" if "joins_left" in table else ""
        yield f"joins: {'; '.join(joins)}{more}"
    yield f"example: {_text_member(table, 'example')}"


def _found_column(column: Mapping[str, Json]) -> str:
    key = ", key" if column.get("is_key") else ""
    comment = f" -- {_text_member(column, 'comment')}" if column.get("comment") else ""
    samples = [to_one_line(str(each)) for each in _list(column.get("samples"))]
    such = f" (such as {', '.join(samples[:_MAX_SAMPLES])})" if samples else ""
    return f"{_text_member(column, 'name')} {_text_member(column, 'type')}{key}{such}{comment}"


def _text_member(entry: Mapping[str, Json], member: str) -> str:
    return to_one_line(str(entry.get(member, "")))


def _list(value: Json | None) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _objects(value: Json | None) -> Iterator[Mapping[str, Json]]:
    return (each for each in _list(value) if isinstance(each, dict))
