"""What a PostgreSQL server says of a failure, as an answer that names nothing which the login may not read."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import asyncpg
from pglast.parser import scan

from pegboard.core.database import Failed, Fault, Rows
from pegboard.providers.builtin.database.unreadable import DENIED

from .privileges import OpenNames
from .statement import Statement

_FAULTS: Final = {
    **dict.fromkeys(("42P01", "3F000"), Fault.NO_TABLE),
    **dict.fromkeys(("42P02", "08P01", "42P18"), Fault.PARAMETERS),
    **dict.fromkeys(("55P03", "40001", "40P01"), Fault.BUSY),
    **dict.fromkeys(("53200", "54001"), Fault.MEMORY),
    **{"42601": Fault.SYNTAX, "42703": Fault.NO_COLUMN, "57014": Fault.TIME},
}
_NAME: Final = re.compile(r'(?:relation|column) (?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s("]+))')
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r'"([^"]*)"')
ABSENT_STATES: Final = frozenset({"42P01", "42703"})
"""A table or a column that does not exist."""
DENIED_STATE: Final = "42501"
_UNCLEAR_STATES: Final = frozenset({DENIED_STATE, "42704", "3F000"})
"""Something that is closed, or a type or schema that does not exist."""
_ROW_STATES: Final = frozenset({"42601", "42804", "42P10"})
"""These may count the columns of a row, or tell their types."""
_ABSENT: Final = re.compile(r"pegboard_absent_(\d+)_")


def server_failure(error: BaseException, *, hints: bool = True) -> Failed:
    """The hint is the server's too; of names it may be one that is closed. Details are left out, because they bring
    values of rows."""
    if not isinstance(error, asyncpg.PostgresError):
        return Failed(
            f"The connection to the server was lost: {error or type(error).__name__}.", None, Fault.UNAVAILABLE
        )
    state, message = error.sqlstate or "", str(getattr(error, "message", None) or error)
    hint, position = getattr(error, "hint", None), getattr(error, "position", None)
    fault = _FAULTS.get(state, Fault.UNAVAILABLE if state.startswith(("08", "57P")) else Fault.OTHER)
    named = _NAME.search(message) if fault in {Fault.NO_TABLE, Fault.NO_COLUMN} else None
    name = (named["quoted"] or named["bare"]) if named else None
    words = f"{message}. {hint}" if hint and (hints or name is None) else message
    return Failed(words, int(position) - 1 if position else None, fault, name)


@dataclass(frozen=True)
class RenamedStatement:
    """A statement with names that nothing has in place of closed ones: what the server says of it is what it would say
    if they were absent. A table that does not exist takes the same way."""

    text: str
    names: tuple[str, ...]
    """That were replaced, in the order of the numbers in the others."""
    growth: tuple[tuple[int, int], ...]
    """Where a name was, and how much longer the other one is."""

    def as_written(self, failure: Failed) -> Failed:
        """What the server said, about the statement as it was."""
        message, name = [
            _ABSENT.sub(lambda found: self.names[int(found[1])], words)
            for words in (failure.message, failure.name or "")
        ]
        moved = 0
        for start, longer in self.growth:
            moved += longer if failure.position is not None and start + moved < failure.position else 0
        position = None if failure.position is None else failure.position - moved
        return Failed(message, position, failure.fault, name or None)


def rename_closed(statement: Statement, open_names: OpenNames) -> RenamedStatement:
    text, tables = statement.text, statement.tables - open_names.tables
    tokens = [token for token in scan(text) if not token.name.endswith("COMMENT")]
    words = [_word(text[token.start : token.end + 1]) for token in tokens]
    columns = _columns(words, open_names.closed_columns) - _columns(words, open_names.columns)
    closed, numbers = set[int](), dict[str, int]()
    for place, word in enumerate(words):
        is_qualified = place > 1 and words[place - 1] == "."
        if is_qualified and f"{words[place - 2]}.{word}" in tables:
            closed |= {place - 2, place}
        elif word in columns or (word in tables and not is_qualified):
            closed.add(place)
    growth = list[tuple[int, int]]()
    for place in sorted(closed, reverse=True):
        start, end = tokens[place].start, tokens[place].end + 1
        name = f"pegboard_absent_{numbers.setdefault(words[place], len(numbers))}_"
        text = text[:start] + name + text[end:]
        growth.insert(0, (start, len(name) - (end - start)))
    return RenamedStatement(text, tuple(numbers), tuple(growth))


def _word(token: str) -> str:
    """A name as the server knows it, unless it is written in escapes. No other token is like one."""
    return token[1:-1].replace('""', '"') if token.startswith('"') else token.lower()


def _columns(words: Iterable[str], tables: Mapping[str, Iterable[str]]) -> set[str]:
    return {column for table in words for column in tables.get(table, ())}


def discreet_failure(answer: Failed, state: str, statement: Statement, open_names: OpenNames) -> Failed:
    """The same answer for what is closed as for what does not exist."""
    if state == DENIED_STATE and statement.writes:
        return Failed(DENIED)
    written = dict.fromkeys(_word(statement.text[token.start : token.end + 1]) for token in scan(statement.text))
    tables = [name for name in written if name in open_names.columns]
    is_of_rows = state in _ROW_STATES and any(open_names.closed_columns.get(name) for name in tables)
    if is_of_rows or ('u&"' in statement.text.lower() and state.startswith("42")):
        state = DENIED_STATE
    if state in _UNCLEAR_STATES | ABSENT_STATES:
        lists = [f"; {name} has {', '.join(open_names.columns[name])}" for name in tables]
        if state in _UNCLEAR_STATES:
            why = "Something that the statement names does not exist or cannot be read, and * means every column"
            return Failed(why + "".join(lists))
        return replace(answer, message=f"{answer.message} (or cannot be read){''.join(lists)}")
    foreign = next((found for found in _QUOTED.finditer(answer.message) if found[1] not in statement.text), None)
    if foreign is None:
        return answer
    # A value or a name that the statement does not hold: nothing between it and the last quote is shown.
    words = f'{answer.message[: foreign.start()]}"…"{answer.message[answer.message.rindex(chr(34)) + 1 :]}'
    return Failed(words, answer.position, answer.fault, answer.name)


def names_closed(plan: Rows, statement: Statement, open_names: OpenNames | None) -> bool:
    """Whether a plan names something closed that the statement does not."""
    words = {word for row in plan.rows for value in row for word in _WORD.findall(str(value))}
    known = (*_WORD.findall(statement.text), "cost", "rows", "width", "on", "using")
    return open_names is not None and not open_names.closed.isdisjoint(words.difference(known))
