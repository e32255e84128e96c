"""Tool search over the board: an index that is updated per listing and queried per view."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution
from pegboard.core.decision.status import explain_reason
from pegboard.core.decision.visibility import explain_hidden
from pegboard.core.json.values import JsonObject
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import ToolId, parse_tool_id
from pegboard.core.model.selection import View
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.evaluation import (
    MAX_QUERIES,
    QueryEvaluation,
    SavedQuery,
    SearchEvaluation,
    evaluate_search,
    expected_ranks,
)
from pegboard.core.presentations.retrieval import RankTools, ToolSearchQuery, search_tools
from pegboard.gateway.board import BoardState
from pegboard.gateway.embeddings import EmbeddableTools, EmbeddingIndex
from pegboard.memory import pause_garbage_collection

if TYPE_CHECKING:
    from pegboard.search.index import IncrementalIndex
    from pegboard.search.rank import SearchResults, SemanticScores


class ToolSearch:
    """Works beside the event loop: to take thousands of tools apart takes longer than a call may wait."""

    def __init__(self, board: BoardState, meanings: EmbeddingIndex | None = None) -> None:
        self._board = board
        self.embeddings = meanings
        self._lock = Lock()
        self._index: IncrementalIndex | None = None

    async def retrieve(self, asked: ToolSearchQuery, view: View) -> JsonObject:
        """The answer on the board as it is now, for this view."""
        board, dense = self._board, await self._semantic_scores(asked.query)
        resolution = await board.resolve_off_loop(view)
        work = partial(self._retrieve, asked, resolution, board.catalogue, board.policy, dense)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def explain_search(self, asked: ToolSearchQuery, view: View) -> SearchEvaluation:
        """The same search laid open, for whoever may see what is locked."""
        board, dense = self._board, await self._semantic_scores(asked.query)
        resolution = await board.resolve_off_loop(view)
        work = partial(self._explain_search, asked, resolution, board.catalogue, board.policy, dense)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def embeddable(self) -> EmbeddableTools:
        """The board as it is now, for whoever reads it for its meaning."""
        work = partial(self._embeddable, self._board.catalogue, self._board.policy)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def _semantic_scores(self, query: str) -> "SemanticScores | None":
        if self.embeddings is None:
            return None
        self.embeddings.wake()
        return await self.embeddings.semantic_scores(query)

    def _embeddable(self, catalogue: Catalogue, policy: Policy) -> EmbeddableTools:
        with self._lock:
            listed = self._updated_index(catalogue, policy).listings
        if self.embeddings is None or not self.embeddings.encoder.traits.is_remote:
            return EmbeddableTools(listed, frozenset())
        judged = (self._board.verdicts(listing, policy) for listing in catalogue.listings.values())
        found = (id for verdicts in judged for id, verdict in verdicts.items() if isinstance(verdict, OpenTool))
        return EmbeddableTools(listed, frozenset(found))

    def _retrieve(
        self,
        asked: ToolSearchQuery,
        resolution: Resolution,
        catalogue: Catalogue,
        policy: Policy,
        dense: "SemanticScores | None" = None,
    ) -> JsonObject:
        return search_tools(asked, resolution, policy, self._rank(catalogue, policy, dense))

    def _explain_search(
        self,
        asked: ToolSearchQuery,
        resolution: Resolution,
        catalogue: Catalogue,
        policy: Policy,
        dense: "SemanticScores | None" = None,
    ) -> SearchEvaluation:
        return evaluate_search(asked, resolution, policy, self._rank(catalogue, policy, dense))

    def _rank(self, catalogue: Catalogue, policy: Policy, dense: "SemanticScores | None") -> RankTools:
        # Only here, because of numpy: a gateway that nobody searches does without.
        from pegboard.search.rank import rank_documents

        def rank(query: str, among: Collection[ToolId]) -> "SearchResults":
            with self._lock:
                chosen = self._updated_index(catalogue, policy).choose(among)
            return rank_documents(query, chosen, dense)

        return rank

    def _updated_index(self, catalogue: Catalogue, policy: Policy) -> "IncrementalIndex":
        """For one at a time."""
        from pegboard.search.index import IncrementalIndex

        if self._index is None:
            self._index = IncrementalIndex()
        if not self._index.is_for(catalogue, policy):
            with pause_garbage_collection():
                self._index.index(catalogue, policy)
        return self._index


# Saved queries run against the board as it is: what each finds, and how good that is.

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
