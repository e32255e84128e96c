"""The built-in `execute_sql`: one statement in one database, read by whoever may call it, changed after a person's yes.

Whether a statement changes anything is what the engine finds, and never what a caller says.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import anyio
import anyio.to_thread

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.core.databases.hints import StatementHints, hints_for
from pegboard.core.databases.recorded_sql import remove_values
from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.databases.text import to_one_line
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.databases import DatabaseId, QueryLimits, build_database_tool
from pegboard.core.model.selection import View
from pegboard.core.model.text import truncate
from pegboard.core.model.tool import Tool
from pegboard.gateway.builtins import MustConfirm
from pegboard.gateway.databases.results import (
    FailureKind,
    failure_result,
    refused_text,
    rows_result,
    run_off_loop,
    without_folders,
)
from pegboard.gateway.databases.schema_search import SchemaFinder
from pegboard.gateway.databases.source import EXECUTE, ManagedDatabase, execute_spec
from pegboard.ports.databases import DatabaseEngine, Parameters, SourceError
from pegboard.ports.providers import ClientPeer, Progress

if TYPE_CHECKING:
    from pegboard.gateway.databases.toolbox import DatabaseToolbox


_FAULTS_OF_NAMES: Final = frozenset(
    {StatementFault.NO_TABLE, StatementFault.NO_COLUMN, StatementFault.SYNTAX, StatementFault.OTHER}
)
"""Where it helps to be told what there is."""
_MAX_STATEMENT_CHARS: Final = 2_000
_NEXT_STEPS: Final = {
    StatementFault.TIME: "Ask for less: fewer tables, a condition, or a total instead of rows.",
    StatementFault.MEMORY: "Ask for less: fewer rows, or shorter values.",
    StatementFault.BUSY: "Try again in a moment.",
    StatementFault.NO_FUNCTION: "Use one that the database has, and that may be used here.",
}

_EXPLAIN: Final = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
GRACE_S: Final = 90.0
"""Seconds beyond those of a statement, in which it may wait for its turn and be stopped."""


class ExecuteSql:
    def __init__(self, toolbox: "DatabaseToolbox", sources: Sequence[ManagedDatabase]) -> None:
        self._toolbox = toolbox
        self.tool: Tool = build_database_tool(EXECUTE, execute_spec, [source.tool_database for source in sources])

    def recorded_arguments(self, sent: Mapping[str, Json], whole: Mapping[str, Json]) -> JsonObject | None:
        """The statement without its values, and not its parameters: what was asked, and not what was looked for."""
        id, sql = whole.get("source"), sent.get("sql")
        source = self._toolbox.sources.get(DatabaseId(id)) if isinstance(id, str) else None
        if source is None or source.dialect is None or not isinstance(sql, str):
            return None
        said: JsonObject = {"source": id} if "source" in sent else {}
        return {**said, "sql": remove_values(sql, source.dialect)}

    async def call(
        self, admitted: AdmittedCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | MustConfirm:
        given = admitted.call.arguments
        id, sql, most = str(given["source"]), str(given["sql"]), given.get("max_rows")
        try:
            source = self._toolbox.source(id, admitted)
            limits = source.database.limits_for_call(most if isinstance(most, int) else None)
            explains = is_explain(sql)
            limits = limits.for_plan() if explains else limits
            said = given.get("parameters")
            parameters = said if isinstance(said, Mapping | list | tuple) else ()
            ran = partial(execute, sql, parameters, limits, writes=source.database.writes, said_yes=admitted.confirm)
            answer = await source.run_on_engine(ran)
        except SourceError as error:
            return failure_result(
                f"Database {id[:64]!r} cannot be asked: {without_folders(str(error))}", FailureKind.UNAVAILABLE
            )
        match answer:
            case MustConfirm():
                return answer
            case QueryRows():
                return await run_off_loop(
                    len(answer.rows), partial(rows_result, source.database, answer, is_plan=explains)
                )
            case StatementRefusal():
                return failure_result(
                    self._toolbox.with_caller_tool_name(refused_text(source.database, answer), view),
                    FailureKind.REFUSED,
                )
            case StatementFailure():
                told = self._toolbox.with_caller_tool_name(
                    await failure_text(self._toolbox.finder, source, sql, answer), view
                )
                if answer.fault is not StatementFault.UNAVAILABLE:
                    return failure_result(told)
                source.discard_engine()
                return failure_result(told, FailureKind.UNAVAILABLE)
            case _:
                assert_never(answer)


async def execute(
    sql: str, parameters: Parameters, limits: QueryLimits, engine: DatabaseEngine, *, writes: bool, said_yes: bool
) -> QueryRows | StatementRefusal | StatementFailure | MustConfirm:
    """As one that only reads first: the engine refuses what does more than that, and says so."""
    answer = await _run(engine, sql, parameters, limits)
    if not (isinstance(answer, StatementRefusal) and answer.is_write and writes):
        return answer
    return await _run(engine, sql, parameters, limits, write=True) if said_yes else MustConfirm()


async def _run(
    engine: DatabaseEngine, sql: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
) -> QueryAnswer:
    """The engine keeps the time itself. Should it not, nobody waits for it without end."""
    with anyio.move_on_after(limits.seconds + GRACE_S):
        return await engine.run(sql, parameters, limits, write=write)
    return StatementFailure(
        f"The database did not answer within {limits.seconds + GRACE_S:g} seconds.", fault=StatementFault.UNAVAILABLE
    )


def is_explain(statement: str) -> bool:
    """Whether the answer is a plan; by the first word, which every engine has alike."""
    return _EXPLAIN.match(statement) is not None


async def failure_text(finder: SchemaFinder, source: ManagedDatabase, statement: str, failed: StatementFailure) -> str:
    schema = await finder.schema(source.database.id) if failed.fault in _FAULTS_OF_NAMES else None
    work = None if schema is None else partial(hints_for, schema, statement, failed.fault, failed.name)
    found = None if work is None else await anyio.to_thread.run_sync(work)
    return "\n".join(_lines(source, statement, failed, found))


def _lines(
    source: ManagedDatabase, statement: str, failed: StatementFailure, found: StatementHints | None
) -> Iterator[str]:
    words = without_folders(failed.message) if failed.fault is StatementFault.UNAVAILABLE else failed.message
    words = truncate(words, _MAX_STATEMENT_CHARS)
    yield f"{source.database.id} answers: {words}{_position_text(statement, failed.position)}"
    if (following := _NEXT_STEPS.get(failed.fault)) is not None:
        yield following
    if found is None:
        return
    yield from found.sentences
    yield from map(to_one_line, found.tables)


def _position_text(statement: str, position: int | None) -> str:
    if position is None or not 0 <= position <= len(statement):
        return ""
    before = statement[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return f" (line {line}, column {column})"
