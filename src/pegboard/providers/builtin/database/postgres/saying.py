"""What a PostgreSQL server says of a failure, as an answer: its own words and the place that it means."""

import re
from typing import Final

import asyncpg

from pegboard.core.database import Access, Failed, Fault
from pegboard.core.pattern import fits
from pegboard.providers.builtin.database.unreadable import DENIED, REFERRED, REFERS, TWICE

from .rewriting import Rewritten

_FAULTS: Final = {
    "42601": Fault.SYNTAX,
    "42P01": Fault.NO_TABLE,
    "3F000": Fault.NO_TABLE,
    "42703": Fault.NO_COLUMN,
    "42P02": Fault.PARAMETERS,
    "08P01": Fault.PARAMETERS,
    "42P18": Fault.PARAMETERS,
    "57014": Fault.TIME,
    "55P03": Fault.BUSY,
    "40001": Fault.BUSY,
    "40P01": Fault.BUSY,
    "53200": Fault.MEMORY,
    "54000": Fault.MEMORY,
    "54001": Fault.MEMORY,
}
_NAME: Final = re.compile(r'(?:relation|column|function|schema|type) (?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s("]+))')

_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r'"([^"]+)"')
_REFUSED: Final = "The server refused the statement, in words that tell of more than it names."
_KEPT: Final = "The server refused the statement: a rule of its own keeps it."
_DISCREET: Final = {
    "duplicate key": TWICE,
    "insert or update on table": REFERS,
    "update or delete on table": REFERRED,
}


def failed(error: BaseException, text: Rewritten) -> Failed:
    """The hint is the server's too; details are not told, because they bring values of rows."""
    if not isinstance(error, asyncpg.PostgresError):
        return Failed(f"The connection to the server was lost: {error or type(error).__name__}.", None, Fault.AWAY)
    state = error.sqlstate or ""
    words = said = str(getattr(error, "message", None) or error)
    if hint := getattr(error, "hint", None):
        words = f"{words}. {hint}"
    at = getattr(error, "position", None)
    position = text.written(int(at) - 1) if at else None
    fault = _FAULTS.get(state, Fault.AWAY if state.startswith(("08", "57P")) else Fault.OTHER)
    if state == "54000" and "character" in words:
        # A limit of what a text can hold, not of how much.
        words, fault = (
            f"{words}. chr() makes characters that a text can hold: not 0, none beyond the encoding",
            Fault.OTHER,
        )
    # A function that is not there was told before: the server finds one whose arguments are of other types. That is
    # mended by knowing the types of columns.
    named = _NAME.search(said) if fault in {Fault.NO_TABLE, Fault.NO_COLUMN} else None
    return Failed(words, position, fault, (named["quoted"] or named["bare"]) if named else None)


def discreet(answer: Failed, statement: str, access: Access) -> Failed:
    """Without a name that is closed and that the statement did not bring itself: a constraint may tell of another
    table."""
    if answer.words.startswith("permission denied"):
        return Failed(DENIED, answer.position, answer.fault)
    brought = {word.casefold() for word in _WORD.findall(statement)}
    said = {word.casefold() for word in _WORD.findall(answer.words)} - brought
    quoted = {word.casefold() for word in _QUOTED.findall(answer.words)} - brought
    closed = {part for each in access.deny for part in (each.table, each.column) if part and part != "*"}
    # Where some are allowed, whatever else a rule of the server names may be closed.
    beside = bool(access.allow) and "violates" in answer.words
    if said & closed or beside or any(fits(part, word) for part in closed for word in quoted):
        kept = _KEPT if "violates" in answer.words else _REFUSED
        told = next((said for begin, said in _DISCREET.items() if answer.words.startswith(begin)), kept)
        return Failed(told, answer.position, answer.fault)
    return answer
