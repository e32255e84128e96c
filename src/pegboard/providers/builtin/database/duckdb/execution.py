"""The rows of a statement of DuckDB as exact values, under the limits; and its errors."""

import re
from collections.abc import Sequence
from typing import Final

import duckdb

from pegboard.core.database import Catch, Failed, Fault, Limits, Rows
from pegboard.core.database.answered import answered
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.worker.watch import Watch


def fetch(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    values: list[Json] | dict[str, Json],
    limits: Limits,
    watch: Watch,
) -> Rows:
    """Raises as `duckdb` does."""
    connection.execute(statement, values)
    described = connection.description or ()
    names, types = [str(each[0]) for each in described], [str(each[1]) for each in described]
    exact = _with_exact_values(statement, types)
    if exact is not None:
        try:
            connection.execute(exact, values)
        except duckdb.Error:  # it cannot be part of another statement: its values are as exact as the driver's
            connection.execute(statement, values)
    catch = Catch(limits)
    while (wanted := catch.wanted) and (rows := connection.fetchmany(wanted)):
        catch.take(rows)
    return answered(names, types, catch, watch.seconds)


_LOSSY_TYPE: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(?P<type>INTERVAL|TIMESTAMP_NS|TIME_NS)(?=[,)\[]|$)"""
)
"""In the name of a type, not in that of a field or of an enum's value: the driver turns months into thirty days, and
drops the last three digits of nanoseconds."""
_END: Final = re.compile(r";(?:[\s;]|--[^\n]*|/\*.*?\*/)*\Z", re.DOTALL)


def _with_exact_values(statement: str, types: Sequence[str]) -> str | None:
    """The same rows with values of lossy types as text; `None` where there are none."""
    as_text = [_LOSSY_TYPE.sub(lambda found: "VARCHAR" if found["type"] else found.group(), each) for each in types]
    if as_text == [*types]:
        return None
    columns = ", ".join(
        f"#{place}" if type == given else f"CAST(#{place} AS {type})"
        for place, (type, given) in enumerate(zip(as_text, types, strict=True), 1)
    )
    return f"SELECT {columns} FROM ({_END.sub('', statement)}\n)"  # noqa: S608 - the statement has been judged


_FAULTS: Final = (
    (re.compile(r"Table with name (.+?) does not exist"), Fault.NO_TABLE),
    (re.compile(r'Referenced (?:column|table) "?(.+?)"? not found'), Fault.NO_COLUMN),
    (re.compile(r'column "(.+?)" (?:does not exist|not found)', re.IGNORECASE), Fault.NO_COLUMN),
    (re.compile(r"does not have a column named \"(.+?)\""), Fault.NO_COLUMN),
    (re.compile(r"Function with name (.+?) does not exist"), Fault.NO_FUNCTION),
    (re.compile(r"^Parser Error()"), Fault.SYNTAX),
    (re.compile(r"^Out of Memory Error()|failed to allocate|maximum supported string size()"), Fault.MEMORY),
    (re.compile(r"^IO Error()"), Fault.AWAY),
)
_NAMED_FAULTS: Final = (Fault.NO_TABLE, Fault.NO_COLUMN, Fault.NO_FUNCTION)
_SUGGESTIONS: Final = re.compile(r"\n+(?:LINE \d+:|Did you mean|Candidate).*", re.DOTALL)
"""They may name what is closed; the gateway suggests names itself."""
_NEAR: Final = re.compile(r'at or near "(.+?)"')
_MAX_LENGTH: Final = 1_000


def explain_error(error: Exception, statement: str) -> Failed:
    words = _SUGGESTIONS.sub("", str(error)).strip()[:_MAX_LENGTH]
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return Failed(words, fault=Fault.MEMORY)
    for pattern, fault in _FAULTS:
        if (found := pattern.search(words)) is not None:
            name = found[1] if fault in _NAMED_FAULTS else None
            near = name or (found[1] if (found := _NEAR.search(words)) is not None else None)
            return Failed(words, None if near is None else _position(statement, near), fault, name)
    return Failed(words)


def _position(statement: str, name: str) -> int | None:
    """Where it stands; `None` if it stands in several places."""
    last = name.rpartition(".")[2]
    found = [each.start() for each in re.finditer(rf"(?<!\w){re.escape(last)}(?!\w)", statement, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None
