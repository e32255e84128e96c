"""The built-in `execute_sql`: one statement in one database, read by whoever may call it, changed after a person's yes.

Whether a statement changes anything is what the engine finds, and never what a caller says.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import anyio

from pegboard.core.call import Admitted, Outcome
from pegboard.core.database import Limits, SourceId
from pegboard.core.database.limits import for_plan, is_plan
from pegboard.core.database.sourced import over
from pegboard.core.database.valueless import valueless
from pegboard.core.tool import Json, JsonObject, Tool
from pegboard.core.view import View
from pegboard.gateway.builtins import MustConfirm
from pegboard.ports import Peer, Progress
from pegboard.ports.databases import Answer, Engine, Failed, Fault, Parameters, Refused, Rows, SourceAway

from .answering import ROWS, Fell, aside, failed, placeless, refused_text, rows_returned
from .helping import helped
from .source import Source
from .specs import EXECUTE, execute_spec

if TYPE_CHECKING:
    from .toolbox import Toolbox


GRACE: Final = 90.0
"""Seconds beyond those of a statement, in which it may wait for its turn and be stopped."""


class ExecuteSql:
    def __init__(self, toolbox: "Toolbox", sources: Sequence[Source]) -> None:
        self._toolbox = toolbox
        self.tool: Tool = over(EXECUTE, partial(execute_spec, ROWS), [source.told for source in sources])

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
            limits = source.database.limited(most if isinstance(most, int) else None)
            explains = is_plan(sql)
            limits = for_plan(limits) if explains else limits
            ran = partial(
                answered, sql, parameters_of(given), limits, writes=source.database.writes, said_yes=admitted.confirm
            )
            answer = await source.asked(ran)
        except SourceAway as error:
            return failed(f"Database {id[:64]!r} cannot be asked: {placeless(str(error))}", Fell.AWAY)
        match answer:
            case MustConfirm():
                return answer
            case Rows():
                return await aside(len(answer.rows), partial(rows_returned, source.database, answer, is_plan=explains))
            case Refused():
                return failed(self._toolbox.worded(refused_text(source.database, answer), view), Fell.REFUSED)
            case Failed():
                told = self._toolbox.worded(await helped(self._toolbox.finder, source, sql, answer), view)
                if answer.fault is not Fault.AWAY:
                    return failed(told)
                source.away()
                return failed(told, Fell.AWAY)
            case _:
                assert_never(answer)


async def answered(
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
    return Failed(f"The database did not answer within {limits.seconds + GRACE:g} seconds.", fault=Fault.AWAY)


def parameters_of(given: Mapping[str, object]) -> Parameters:
    said = given.get("parameters")
    return said if isinstance(said, Mapping | list | tuple) else ()
