"""The built-in `search_schemas`: tables and columns by what they mean, in one database or in all."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from pegboard.core.call import Admitted, BadArguments, Outcome
from pegboard.core.database.found_text import found_text
from pegboard.core.database.sourced import over
from pegboard.core.tool import JsonObject, Tool
from pegboard.core.view import View
from pegboard.ports import Peer, Progress
from pegboard.ports.databases import SourceAway

from .answering import Fell, failed, returned
from .source import Source
from .specs import SEARCH, USUAL_TABLES, search_spec

if TYPE_CHECKING:
    from .toolbox import Toolbox

TABLES: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "tables": {
            "type": "array",
            "description": "The best first.",
            "items": {
                "type": "object",
                "properties": {
                    "source": {"type": "string"},
                    "dialect": {"type": "string"},
                    "table": {"type": "string", "description": "As a statement writes it."},
                    "is_view": {"type": "boolean"},
                    "comment": {"type": "string"},
                    "rows_about": {"type": "integer"},
                    "columns": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "name": {"type": "string"},
                                "type": {"type": "string"},
                                "is_key": {"type": "boolean"},
                                "is_required": {"type": "boolean"},
                                "comment": {"type": "string"},
                                "samples": {"type": "array"},
                            },
                            "required": ["name", "type"],
                        },
                    },
                    "columns_left": {"type": "integer", "description": "How many more there are."},
                    "joins": {"type": "array", "items": {"type": "string"}},
                    "joins_left": {"type": "integer"},
                    "example": {"type": "string", "description": "A statement to begin with."},
                },
                "required": ["source", "table", "columns"],
            },
        },
        "ranker": {"type": "string"},
        "notices": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["tables"],
}
"""Of what a search answers."""


class SearchSchemas:
    def __init__(self, toolbox: "Toolbox", sources: Sequence[Source]) -> None:
        self._toolbox = toolbox
        self.tool: Tool = over(SEARCH, partial(search_spec, TABLES), [source.told for source in sources])

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
        except SourceAway as error:
            return failed(f"Nothing was searched: {error}", Fell.AWAY)
        answer = await self._toolbox.finder.search(query, asked, int(limit))
        tables = answer["tables"]
        assert isinstance(tables, list)
        return returned(found_text(answer), answer, f"{len(tables)} table{'' if len(tables) == 1 else 's'}.")
