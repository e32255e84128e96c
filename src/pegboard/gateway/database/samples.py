"""Samples of values, for sources whose operator wants them: short texts that few columns share with few rows.

What has many different values is left out: it names people and things, where a word of a few is what somebody asks for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pegboard.core.database import Limits, Rows, Table, TableName
from pegboard.core.database.joins import Plan
from pegboard.core.database.quoting import called, quoted
from pegboard.ports.databases import Engine

if TYPE_CHECKING:
    from pegboard.search.schemas import Held

MOST_VALUES: Final = 20
"""Different ones in a column; one that has more gives none."""
LONGEST: Final = 40
_MOST_COLUMNS: Final = 20
_ROWS: Final = 500
_LIMITS: Final = Limits(rows=_ROWS, bytes=500_000, cell=4 * LONGEST, seconds=3.0)
_TEXTS: Final = ("char", "text", "string", "enum")


async def samples_of(
    engine: Engine, plan: Plan, tables: Iterable[Table]
) -> dict[TableName, dict[str, tuple[str, ...]]]:
    """Of the first rows of each table. A table that cannot be read in good time has none."""
    found: dict[TableName, dict[str, tuple[str, ...]]] = {}
    for table in tables:
        columns = _columns(table)
        if not columns or table.is_view:
            continue
        named = ", ".join(quoted(column, plan.schema.dialect) for column in columns)
        statement = f"SELECT {named} FROM {called(table.name, plan.schema)} LIMIT {_ROWS}"  # noqa: S608 - all is quoted
        answer = await engine.run(statement, (), _LIMITS)
        if isinstance(answer, Rows) and (values := _values(columns, answer)):
            found[table.name] = values
    return found


def _columns(table: Table) -> Sequence[str]:
    texts = (column.name for column in table.columns if any(text in column.type.casefold() for text in _TEXTS))
    return [name for name in texts if name not in table.key][:_MOST_COLUMNS]


def _values(columns: Sequence[str], answer: Rows) -> dict[str, tuple[str, ...]]:
    kept: dict[str, tuple[str, ...]] = {}
    for number, column in enumerate(columns):
        values = [row[number] for row in answer.rows if row[number] is not None]
        texts = sorted({value for value in values if isinstance(value, str)})
        # A list or an object is no word, even of a column whose type tells of texts.
        is_of_texts = all(isinstance(value, str) for value in values)
        if texts and is_of_texts and len(texts) <= MOST_VALUES and all(map(_is_short, texts)):
            kept[column] = tuple(texts)
    return kept


def _is_short(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable()


def kept_of(former: "Held | None", now: Plan) -> tuple[dict[TableName, Mapping[str, tuple[str, ...]]], list[Table]]:
    """The samples of tables that are as they were, and the tables that have to be read."""
    if former is None:
        return {}, [*now.tables.values()]
    before = former.plan.tables
    same = {name for name, table in now.tables.items() if before.get(name) == table}
    kept = {name: values for name, values in former.samples.items() if name in same}
    return kept, [table for name, table in now.tables.items() if name not in same]
