"""What of a plan is told where something is closed: a key bears a name, and often its column's."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pegboard.core.database import Access

from .asking import Ask
from .listing import Open, Row

_KEYS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
WHERE INDEX_NAME <> 'PRIMARY' AND TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')
"""
_OF_KEY: Final = ("key_len", "ref")


def hidden_keys(ask: Ask, opened: Open, access: Access) -> frozenset[str]:
    """The names of keys over something that is closed, and those that hold its name; one of the same name elsewhere is
    hidden with it."""
    columns = {(schema, table): {*names} for schema, table, names in opened}
    closed = {(each.column or each.table).casefold() for each in access.deny}
    return frozenset(
        str(key)
        for schema, table, key, column in ask(_KEYS, ())
        if column not in columns.get((schema, table), ()) or any(part in str(key).casefold() for part in closed)
    )


def told_plan(hidden: Iterable[str]) -> Callable[[Sequence[str]], Callable[[Row], Row]]:
    """Of the columns of a plan, and then of each of its rows, what is told."""
    names = sorted(hidden, key=len, reverse=True)

    def of(columns: Sequence[str]) -> Callable[[Row], Row]:
        return lambda row: _without(dict(zip(columns, row, strict=True)), names)

    return of


def _without(row: dict[str, object], hidden: Sequence[str]) -> Row:
    if row.get("key") in hidden:
        row |= dict.fromkeys(("key", *_OF_KEY))
    told = dict(row)
    for name, value in row.items():
        if not isinstance(value, str) or not any(key in value for key in hidden):
            continue
        if name in ("possible_keys", "key"):
            told[name] = ",".join(each for each in value.split(",") if each not in hidden) or None
        elif name == "Extra":
            for key in hidden:
                value = value.replace(key, "…")
            told[name] = value
    return tuple(told.values())


def names_hidden(rows: Iterable[Row], hidden: Iterable[str]) -> bool:
    """Whether a plan as JSON holds one of them."""
    texts = [str(value) for row in rows for value in row]
    return any(f'"{key}' in text or f'{key}"' in text for key in hidden for text in texts)
