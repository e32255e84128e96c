"""What DuckDB says when a statement fails, as answers."""

import re
from typing import Final

import duckdb

from pegboard.core.database import Failed, Fault

_FOUND: Final = (
    (re.compile(r"Table with name (.+?) does not exist"), Fault.NO_TABLE),
    (re.compile(r'Referenced (?:column|table) "?(.+?)"? not found'), Fault.NO_COLUMN),
    (re.compile(r'column "(.+?)" (?:does not exist|not found)', re.IGNORECASE), Fault.NO_COLUMN),
    (re.compile(r"does not have a column named \"(.+?)\""), Fault.NO_COLUMN),
    (re.compile(r"Function with name (.+?) does not exist"), Fault.NO_FUNCTION),
    (re.compile(r"^Parser Error()"), Fault.SYNTAX),
    (re.compile(r"^Out of Memory Error()|failed to allocate|maximum supported string size()"), Fault.MEMORY),
    (re.compile(r"^IO Error()"), Fault.AWAY),
)
_NAMED: Final = (Fault.NO_TABLE, Fault.NO_COLUMN, Fault.NO_FUNCTION)
_LINE: Final = re.compile(r"\n+LINE \d+: .*", re.DOTALL)
_AT: Final = re.compile(r'at or near "(.+?)"')
_LONGEST: Final = 1_000


def failed(error: Exception, statement: str) -> Failed:
    words = _LINE.sub("", str(error)).strip()[:_LONGEST]
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return Failed(words, fault=Fault.MEMORY)
    for pattern, fault in _FOUND:
        if (found := pattern.search(words)) is not None:
            name = found[1] if fault in _NAMED else None
            at = name or (near[1] if (near := _AT.search(words)) is not None else None)
            return Failed(words, None if at is None else _place(statement, at), fault, name)
    return Failed(words)


def _place(statement: str, name: str) -> int | None:
    """Where it stands; nowhere when it stands in several places."""
    last = name.rpartition(".")[2]
    found = [each.start() for each in re.finditer(rf"(?<!\w){re.escape(last)}(?!\w)", statement, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None
