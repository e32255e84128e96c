"""The built-in `execute_sql`: one statement in one database, read by whoever may call it, changed after a person's yes.

Whether a statement changes anything is what the engine finds, and never what a caller says.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import anyio
import anyio.to_thread

from pegboard.core.call import Admitted, Outcome
from pegboard.core.database import Answer, Failed, Fault, Limits, Refused, Rows, SourceId
from pegboard.core.database.hints import Hints, hints_for
from pegboard.core.database.source import database_tool
from pegboard.core.database.table_text import one_line
from pegboard.core.database.valueless import valueless
from pegboard.core.tool import Json, JsonObject, Tool
from pegboard.core.view import View
from pegboard.gateway.builtins import MustConfirm
from pegboard.ports import Peer, Progress
from pegboard.ports.databases import Engine, Parameters, SourceError

from .results import FailureKind, failure_result, refused_text, rows_result, run_aside, without_folders
from .schema_search import SchemaFinder
from .source import Source
from .specs import EXECUTE, execute_spec

if TYPE_CHECKING:
    from .toolbox import Toolbox


_BY_NAMES: Final = frozenset({Fault.NO_TABLE, Fault.NO_COLUMN, Fault.SYNTAX, Fault.OTHER})
"""Where it helps to be told what there is."""
_LONGEST: Final = 2_000
_NEXT: Final = {
    Fault.TIME: "Ask for less: fewer tables, a condition, or a total instead of rows.",
    Fault.MEMORY: "Ask for less: fewer rows, or shorter values.",
    Fault.BUSY: "Try again in a moment.",
    Fault.NO_FUNCTION: "Use one that the database has, and that may be used here.",
}

_EXPLAIN: Final = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
GRACE: Final = 90.0
"""Seconds beyond those of a statement, in which it may wait for its turn and be stopped."""


class ExecuteSql:
    def __init__(self, toolbox: "Toolbox", sources: Sequence[Source]) -> None:
        self._toolbox = toolbox
        self.tool: Tool = database_tool(EXECUTE, execute_spec, [source.told for source in sources])

    def told(self, sent: Mapping[str, Json], whole: Mapping[str, Json]) -> JsonObject | None:
        """The statement without its values, and not its parameters: what was asked, and not what was looked for."""
        id, sql = whole.get("source"), sent.get("sql")
        source = self._toolbox.sources.get(SourceId(id)) if isinstance(id, str) else None
        if source is None or source.dialect is None or not isinstance(sql, str):
            return None
        said: JsonObject = {"source": id} if "source" in sent else {}
        return {**said, "sql": valueless(sql, source.dialect)}

    async def call(
        self, admitted: Admitted, view: View, progress: Progress | None, peer: Peer | None
    ) -> Outcome | MustConfirm:
        given = admitted.call.arguments
        id, sql, most = str(given["source"]), str(given["sql"]), given.get("max_rows")
        try:
            source = self._toolbox.source(id, admitted)
            limits = source.database.limits_of_call(most if isinstance(most, int) else None)
            explains = is_explain(sql)
            limits = limits.for_plan() if explains else limits
            said = given.get("parameters")
            parameters = said if isinstance(said, Mapping | list | tuple) else ()
            ran = partial(execute, sql, parameters, limits, writes=source.database.writes, said_yes=admitted.confirm)
            answer = await source.asked(ran)
        except SourceError as error:
            return failure_result(
                f"Database {id[:64]!r} cannot be asked: {without_folders(str(error))}", FailureKind.AWAY
            )
        match answer:
            case MustConfirm():
                return answer
            case Rows():
                return await run_aside(
                    len(answer.rows), partial(rows_result, source.database, answer, is_plan=explains)
                )
            case Refused():
                return failure_result(
                    self._toolbox.worded(refused_text(source.database, answer), view), FailureKind.REFUSED
                )
            case Failed():
                told = self._toolbox.worded(await failure_text(self._toolbox.finder, source, sql, answer), view)
                if answer.fault is not Fault.UNAVAILABLE:
                    return failure_result(told)
                source.away()
                return failure_result(told, FailureKind.AWAY)
            case _:
                assert_never(answer)


async def execute(
    sql: str, parameters: Parameters, limits: Limits, engine: Engine, *, writes: bool, said_yes: bool
) -> Rows | Refused | Failed | MustConfirm:
    """As one that only reads first: the engine refuses what does more than that, and says so."""
    answer = await _run(engine, sql, parameters, limits)
    if not (isinstance(answer, Refused) and answer.is_write and writes):
        return answer
    return await _run(engine, sql, parameters, limits, write=True) if said_yes else MustConfirm()


async def _run(engine: Engine, sql: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
    """The engine keeps the time itself. Should it not, nobody waits for it without end."""
    with anyio.move_on_after(limits.seconds + GRACE):
        return await engine.run(sql, parameters, limits, write=write)
    return Failed(f"The database did not answer within {limits.seconds + GRACE:g} seconds.", fault=Fault.UNAVAILABLE)


def is_explain(statement: str) -> bool:
    """Whether the answer is a plan; by the first word, which every engine has alike."""
    return _EXPLAIN.match(statement) is not None


async def failure_text(finder: SchemaFinder, source: Source, statement: str, failed: Failed) -> str:
    schema = await finder.schema(source.database.id) if failed.fault in _BY_NAMES else None
    work = None if schema is None else partial(hints_for, schema, statement, failed.fault, failed.name)
    found = None if work is None else await anyio.to_thread.run_sync(work)
    return "\n".join(_lines(source, statement, failed, found))


def _lines(source: Source, statement: str, failed: Failed, found: Hints | None) -> Iterator[str]:
    words = without_folders(failed.message) if failed.fault is Fault.UNAVAILABLE else failed.message
    words = words if len(words) <= _LONGEST else words[:_LONGEST] + "…"
    yield f"{source.database.id} answers: {words}{_place(statement, failed.position)}"
    if (following := _NEXT.get(failed.fault)) is not None:
        yield following
    if found is None:
        return
    yield from found.sentences
    yield from map(one_line, found.tables)


def _place(statement: str, position: int | None) -> str:
    if position is None or not 0 <= position <= len(statement):
        return ""
    before = statement[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return f" (line {line}, column {column})"
