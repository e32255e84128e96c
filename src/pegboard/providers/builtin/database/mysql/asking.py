"""What a MySQL or MariaDB server says of the names in a statement: one question, put in the transaction that runs it.

Each table is asked for by itself, because such a server looks through every table of every schema where one question
names two.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Ask: TypeAlias = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
Pair: TypeAlias = tuple[str, str]

_TEXT: Final = "CONVERT({} USING utf8mb4) COLLATE utf8mb4_bin"
"""So that servers which compare names in several ways put them in one list."""


def _telling(*expressions: str) -> str:
    return f"SELECT {', '.join(map(_TEXT.format, expressions))}"


_SERVER: Final = _telling("'server'", "@@lower_case_table_names", "VERSION()", "@@version_comment", "NULL")
_TABLE: Final = (
    _telling("'table'", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "ENGINE")
    + " FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
_FUNCTION: Final = (
    _telling("'function'", "ROUTINE_NAME", "NULL", "NULL", "NULL")
    + " FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s AND ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_NAME IN "
)
_COLUMN: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, EXTRA, GENERATION_EXPRESSION, COLUMN_DEFAULT
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""


@dataclass(frozen=True)
class Server:
    lower: bool
    """It does not count capitals in names of tables."""
    is_mariadb: bool


@dataclass(frozen=True)
class Said:
    server: Server
    pairs: tuple[Pair, ...]
    """What was asked for."""
    tables: tuple[tuple[str, str, str, str | None], ...]
    """Schema, name, kind and engine."""
    functions: tuple[str, ...]
    """Those with a name that was asked for, stored by somebody."""


def asked(ask: Ask, pairs: Sequence[Pair], schema: str, calls: Sequence[str]) -> Said:
    """`calls`: functions that would be looked for in `schema`. Whoever may call one is told of it."""
    parts, given = [_SERVER], list[object]()
    for pair in pairs:
        parts.append(_TABLE)
        given += pair
    if calls:
        parts.append(f"{_FUNCTION}({', '.join(['%s'] * len(calls))})")
        given += [schema, *calls]
    server = Server(lower=False, is_mariadb=False)
    tables, functions = list[tuple[str, str, str, str | None]](), list[str]()
    for kind, *told in ask(" UNION ALL ".join(parts), given):
        match kind:
            case "server":
                # A server may be behind something that greets in its place.
                server = Server(told[0] != "0", "mariadb" in f"{told[1]} {told[2]}".lower())
            case "table":
                tables.append((told[0], told[1], told[2], told[3]))
            case "function":
                functions.append(told[0])
    return Said(server, tuple(pairs), tuple(tables), tuple(functions))


def columns_of(ask: Ask, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Schema, table and name of each, and what it is made of, in the tables' own order."""
    return [row for pair in pairs for row in ask(_COLUMN, pair)]
