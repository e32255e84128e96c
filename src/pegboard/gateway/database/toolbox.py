"""The databases in use, and the tools over them: on the board while there is at least one."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.core.call import Admitted, BadArguments, Outcome
from pegboard.core.database import Database, SourceId
from pegboard.core.database.source import DatabaseTool, database_tool
from pegboard.core.database.table_text import found_text
from pegboard.core.ids import BuiltinKey, ToolId, WireName
from pegboard.core.reference import closest
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.gateway.builtins import Builtins
from pegboard.gateway.meanings import Meanings
from pegboard.ports import Peer, Progress
from pegboard.ports.databases import SourceError
from pegboard.ports.opening import Engines

from .execute_sql import ExecuteSql
from .results import FailureKind, failure_result, success_result
from .schema_search import SchemaFinder
from .source import Source
from .specs import EXECUTE, SEARCH, USUAL_TABLES, search_spec

_SEARCH_ID: Final = ToolId(BuiltinKey(), SEARCH)
_ADVISED: Final = re.compile(rf"\b(Use|with|that) {SEARCH}\b")
_LEFT: Final = "it was switched off, or its settings were changed. See in the list of tools what there is now."


class Toolbox:
    def __init__(
        self,
        builtins: Builtins,
        engines: Engines,
        meanings: Meanings | None,
        names: Callable[[View], Mapping[ToolId, WireName]],
    ) -> None:
        """`names` are those by which a caller calls tools."""
        self._names = names
        self._builtins = builtins
        self._engines = engines
        self.finder: Final = SchemaFinder(lambda: self.sources, meanings)
        self.sources: Mapping[SourceId, Source] = {}
        """In use, in the order of their ids."""
        self._leaving: list[Source] = []

    def among(self, admitted: Admitted) -> Mapping[SourceId, Source]:
        """Those in use that the tool is over, as its caller sees it. To this caller there are no others."""
        tool = admitted.tool
        ids = tool.ids if isinstance(tool, DatabaseTool) else ()
        return {id: self.sources[id] for id in ids if id in self.sources}

    def worded(self, text: str, view: View) -> str:
        """What is told of a failure, with the name that this caller has for the tool that finds tables."""
        name = self._names(view).get(_SEARCH_ID, SEARCH)
        return text if name == SEARCH else _ADVISED.sub(rf"\1 {name}", text)

    def source(self, id: str, admitted: Admitted) -> Source:
        """Raises `SourceError` for one that is not in use."""
        known = self.among(admitted)
        found = known.get(SourceId(id))
        if found is not None:
            return found
        near = closest(id, known)
        there = ", ".join(known) or "none"
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {there}."
        raise SourceError(f"there is no database {id[:64]!r} here. {hint}")

    def follow(self, wanted: Mapping[SourceId, Database]) -> None:
        """Take up what is new, and leave what is gone or changed: whoever asks those is told so at once."""
        former = self.sources
        now = {id: self._kept(former.get(id), database) for id, database in wanted.items()}
        if list(now.values()) == list(former.values()):
            return
        self.sources = now
        gone = [source for id, source in former.items() if now.get(id) is not source]
        if not now:
            self._builtins.withdraw(SEARCH, EXECUTE)
        else:
            self._builtins.register(SearchSchemas(self, tuple(now.values())), ExecuteSql(self, tuple(now.values())))
        for source in gone:
            source.leave(_LEFT)
        self._leaving += gone

    def tidy(self, tasks: TaskGroup) -> None:
        """Close what nobody uses any more, beside whatever else is going on."""
        leaving, self._leaving = self._leaving, []
        for source in (*leaving, *self.sources.values()):
            if source.has_lost:
                tasks.start_soon(source.close_lost, name=f"closing database {source.database.id}")

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            sources = (*self._leaving, *self.sources.values())
            for source in sources:
                source.leave(_LEFT)
            async with anyio.create_task_group() as tasks:
                for source in sources:
                    tasks.start_soon(source.close_lost, name=f"closing database {source.database.id}")

    def _kept(self, former: Source | None, database: Database) -> Source:
        same = former is not None and former.database.without_origin() == database.without_origin()
        return former if former is not None and same else Source(database, self._engines)


class SearchSchemas:
    """The built-in `search_schemas`: tables and columns by what they mean, in one database or in all."""

    def __init__(self, toolbox: Toolbox, sources: Sequence[Source]) -> None:
        self._toolbox = toolbox
        self.tool: Tool = database_tool(SEARCH, search_spec, [source.told for source in sources])

    async def call(
        self, admitted: Admitted, view: View, progress: Progress | None, peer: Peer | None
    ) -> Outcome | BadArguments:
        given = admitted.call.arguments
        query, id, limit = str(given["query"]), given.get("source"), given.get("limit", USUAL_TABLES)
        assert isinstance(limit, int | float)
        if not query.strip():
            return BadArguments(admitted.tool.id, ("query: it is blank; say what you want to know",))
        try:
            known = self._toolbox.among(admitted)
            asked = [*known] if id is None else [self._toolbox.source(str(id), admitted).database.id]
        except SourceError as error:
            return failure_result(f"Nothing was searched: {error}", FailureKind.AWAY)
        answer = await self._toolbox.finder.search(query, asked, int(limit))
        tables = answer["tables"]
        assert isinstance(tables, list)
        return success_result(found_text(answer), answer, f"{len(tables)} table{'' if len(tables) == 1 else 's'}.")
