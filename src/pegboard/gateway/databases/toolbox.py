"""The databases in use and their tools; on the board while there is at least one database."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.core.calls.call import AdmittedCall, BadArguments, Outcome
from pegboard.core.databases.text import format_search_answer
from pegboard.core.model.databases import DatabaseId, DatabaseSettings, DatabaseTool, build_database_tool
from pegboard.core.model.ids import BuiltinKey, ToolId, WireName
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool
from pegboard.gateway.builtins import BuiltinRegistry
from pegboard.gateway.databases.execute_sql import ExecuteSql
from pegboard.gateway.databases.results import FailureKind, failure_result, success_result
from pegboard.gateway.databases.schema_search import SchemaFinder
from pegboard.gateway.databases.source import DEFAULT_TABLES, EXECUTE, SEARCH, ManagedDatabase, search_spec
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.ports.databases import EngineFactory, SourceError
from pegboard.ports.providers import ClientPeer, Progress

_SEARCH_ID: Final = ToolId(BuiltinKey(), SEARCH)
_SEARCH_ADVICE: Final = re.compile(rf"\b(Use|with|that) {SEARCH}\b")
_RETIRED_MESSAGE: Final = (
    "it was switched off, or its settings were changed. See in the list of tools what there is now."
)


class DatabaseToolbox:
    def __init__(
        self,
        builtins: BuiltinRegistry,
        engines: EngineFactory,
        meanings: EmbeddingIndex | None,
        names: Callable[[View], Mapping[ToolId, WireName]],
    ) -> None:
        """`names` are those by which a caller calls tools."""
        self._names = names
        self._builtins = builtins
        self._engines = engines
        self.finder: Final = SchemaFinder(lambda: self.sources, meanings)
        self.sources: Mapping[DatabaseId, ManagedDatabase] = {}
        """In use, in the order of their ids."""
        self._retired: list[ManagedDatabase] = []

    def sources_for(self, admitted: AdmittedCall) -> Mapping[DatabaseId, ManagedDatabase]:
        """Those in use that the tool is over, as its caller sees it. To this caller there are no others."""
        tool = admitted.tool
        ids = tool.ids if isinstance(tool, DatabaseTool) else ()
        return {id: self.sources[id] for id in ids if id in self.sources}

    def with_caller_tool_name(self, text: str, view: View) -> str:
        """What is told of a failure, with the name that this caller has for the tool that finds tables."""
        name = self._names(view).get(_SEARCH_ID, SEARCH)
        return text if name == SEARCH else _SEARCH_ADVICE.sub(rf"\1 {name}", text)

    def source(self, id: str, admitted: AdmittedCall) -> ManagedDatabase:
        """Raises `SourceError` for one that is not in use."""
        known = self.sources_for(admitted)
        found = known.get(DatabaseId(id))
        if found is not None:
            return found
        near = closest_names(id, known)
        there = ", ".join(known) or "none"
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {there}."
        raise SourceError(f"there is no database {id[:64]!r} here. {hint}")

    def reconcile(self, wanted: Mapping[DatabaseId, DatabaseSettings]) -> None:
        """Take up what is new, and leave what is gone or changed: whoever asks those is told so at once."""
        former = self.sources
        now = {id: self._reuse_or_open(former.get(id), database) for id, database in wanted.items()}
        if list(now.values()) == list(former.values()):
            return
        self.sources = now
        gone = [source for id, source in former.items() if now.get(id) is not source]
        if not now:
            self._builtins.withdraw(SEARCH, EXECUTE)
        else:
            self._builtins.register(SearchSchemas(self, tuple(now.values())), ExecuteSql(self, tuple(now.values())))
        for source in gone:
            source.retire(_RETIRED_MESSAGE)
        self._retired += gone

    def close_unused(self, tasks: TaskGroup) -> None:
        """Close what nobody uses any more, beside whatever else is going on."""
        leaving, self._retired = self._retired, []
        for source in (*leaving, *self.sources.values()):
            if source.has_discarded:
                tasks.start_soon(source.close_discarded, name=f"closing database {source.database.id}")

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            sources = (*self._retired, *self.sources.values())
            for source in sources:
                source.retire(_RETIRED_MESSAGE)
            async with anyio.create_task_group() as tasks:
                for source in sources:
                    tasks.start_soon(source.close_discarded, name=f"closing database {source.database.id}")

    def _reuse_or_open(self, former: ManagedDatabase | None, database: DatabaseSettings) -> ManagedDatabase:
        same = former is not None and former.database.without_origin() == database.without_origin()
        return former if former is not None and same else ManagedDatabase(database, self._engines)


class SearchSchemas:
    """The built-in `search_schemas`: tables and columns by what they mean, in one database or in all."""

    def __init__(self, toolbox: DatabaseToolbox, sources: Sequence[ManagedDatabase]) -> None:
        self._toolbox = toolbox
        self.tool: Tool = build_database_tool(SEARCH, search_spec, [source.tool_database for source in sources])

    async def call(
        self, admitted: AdmittedCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | BadArguments:
        given = admitted.call.arguments
        query, id, limit = str(given["query"]), given.get("source"), given.get("limit", DEFAULT_TABLES)
        assert isinstance(limit, int | float)
        if not query.strip():
            return BadArguments(admitted.tool.id, ("query: it is blank; say what you want to know",))
        try:
            known = self._toolbox.sources_for(admitted)
            asked = [*known] if id is None else [self._toolbox.source(str(id), admitted).database.id]
        except SourceError as error:
            return failure_result(f"Nothing was searched: {error}", FailureKind.UNAVAILABLE)
        answer = await self._toolbox.finder.search(query, asked, int(limit))
        tables = answer["tables"]
        assert isinstance(tables, list)
        return success_result(
            format_search_answer(answer), answer, f"{len(tables)} table{'' if len(tables) == 1 else 's'}."
        )
