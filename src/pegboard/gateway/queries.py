"""Saved queries run against the board as it is: what each finds, and how good that is."""

from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.core.evaluation import MAX_QUERIES, QueryEvaluation, SavedQuery, expected_ranks
from pegboard.core.ids import ToolId, parse_tool_id
from pegboard.core.removal import explain_hidden
from pegboard.core.resolve import HiddenTool, LockedTool
from pegboard.core.retrieval import ToolSearchQuery
from pegboard.core.status import explain_reason
from pegboard.core.view import View

from .board import BoardState
from .finder import ToolSearch

_NOT_ON_BOARD: Final = "it is not on the board"


class InMemoryQueryStore:
    """While the gateway runs, where there is no store for them."""

    def __init__(self) -> None:
        self._queries: dict[str, SavedQuery] = {}

    async def all(self) -> Sequence[SavedQuery]:
        return [self._queries[name] for name in sorted(self._queries)]

    async def save(self, query: SavedQuery) -> bool:
        if query.name not in self._queries and len(self._queries) >= MAX_QUERIES:
            return False
        self._queries[query.name] = query
        return True

    async def delete(self, name: str) -> bool:
        return self._queries.pop(name, None) is not None


async def evaluate_queries(
    finder: ToolSearch, board: BoardState, queries: Iterable[SavedQuery], limit: int
) -> list[QueryEvaluation]:
    """Each by the view of its caller, by the search that agents get."""
    found: list[QueryEvaluation] = []
    for query in queries:
        played = await finder.explain_search(ToolSearchQuery(query.query, limit), View(query.principal))
        ids = [str(hit.id) for hit in played.hits]
        placed = expected_ranks(query.expected_tools, ids)
        whys = {id: why for id, rank in placed.items() if rank is None and (why := _why(board, query, id))}
        found.append(QueryEvaluation(query, ids, placed, whys, played.tokens))
    return found


def _why(board: BoardState, query: SavedQuery, id: str) -> str:
    """Nothing, where the tool could have been found and others fit better."""
    read = parse_tool_id(id)
    verdict = board.resolution(View(query.principal)).verdicts.get(read) if isinstance(read, ToolId) else None
    match verdict:
        case None:
            return _NOT_ON_BOARD
        case LockedTool(_, reason):
            return explain_reason(reason)
        case HiddenTool(_, removed):
            return explain_hidden(removed)
        case _:
            return ""
