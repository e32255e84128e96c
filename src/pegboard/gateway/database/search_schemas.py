"""The built-in `search_schemas`: tables and columns by what they mean, in one database or in all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pegboard.core.call import Admitted, BadArguments, Outcome
from pegboard.core.database.found_text import found_text
from pegboard.core.database.tool import database_tool
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.ports import Peer, Progress
from pegboard.ports.databases import SourceError

from .results import FailureKind, failure_result, success_result
from .source import Source
from .specs import SEARCH, USUAL_TABLES, search_spec

if TYPE_CHECKING:
    from .toolbox import Toolbox


class SearchSchemas:
    def __init__(self, toolbox: "Toolbox", sources: Sequence[Source]) -> None:
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
