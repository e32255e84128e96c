"""Search over the board: an index of everything on it, kept up to date part by part, asked for one view at a time."""

from collections.abc import Collection
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from anyio import to_thread

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import ToolId
from pegboard.core.playground import SearchEvaluation, evaluate_search
from pegboard.core.policy import Policy
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.retrieval import RankTools, ToolSearchQuery, search_tools
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.memory import pause_garbage_collection

from .board import BoardState
from .meanings import EmbeddableTools, EmbeddingIndex

if TYPE_CHECKING:
    from pegboard.search.rank import SearchResults, SemanticScores
    from pegboard.search.upkeep import IncrementalIndex


class ToolSearch:
    """Works beside the event loop: to take thousands of tools apart takes longer than a call may wait."""

    def __init__(self, board: BoardState, meanings: EmbeddingIndex | None = None) -> None:
        self._board = board
        self._embeddings = meanings
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
        if self._embeddings is None:
            return None
        self._embeddings.wake()
        return await self._embeddings.semantic_scores(query)

    def _embeddable(self, catalogue: Catalogue, policy: Policy) -> EmbeddableTools:
        with self._lock:
            listed = self._updated_index(catalogue, policy).listings
        if self._embeddings is None or not self._embeddings.encoder.traits.is_remote:
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
        from pegboard.search.upkeep import IncrementalIndex

        if self._index is None:
            self._index = IncrementalIndex()
        if not self._index.is_for(catalogue, policy):
            with pause_garbage_collection():
                self._index.index(catalogue, policy)
        return self._index
