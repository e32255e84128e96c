"""Search over the board: an index of everything on it, kept up to date part by part, asked for one view at a time."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from threading import Lock

from anyio import to_thread

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import Source, ToolId
from pegboard.core.policy import Policy
from pegboard.core.resolve import Resolution
from pegboard.core.retrieval import Retrieval, retrieved
from pegboard.core.tool import JsonObject, Tool
from pegboard.core.view import View
from pegboard.search.documents import documents
from pegboard.search.lexical import Index, Part

from .board import Board


@dataclass(frozen=True)
class _Listed:
    """The part of one source, and what it was made of."""

    tools: tuple[Tool, ...]
    policy: Policy
    part: Part


class Finder:
    """Works beside the event loop: to take thousands of tools apart takes longer than a call may wait."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._listed: dict[Source, _Listed] = {}
        self._index = Index()
        self._one = Lock()

    async def retrieve(self, asked: Retrieval, view: View) -> JsonObject:
        """The answer on the board as it is now, for this view."""
        board = self._board
        resolution, catalogue, policy = board.resolution(view), board.catalogue, board.policy
        return await to_thread.run_sync(self._retrieved, asked, resolution, catalogue, policy, abandon_on_cancel=True)

    def _retrieved(self, asked: Retrieval, resolution: Resolution, catalogue: Catalogue, policy: Policy) -> JsonObject:
        index = self._index_of(catalogue, policy)

        def rank(query: str, among: Collection[ToolId]) -> list[ToolId]:
            return [hit.key for hit in index.ranked(query, among)]

        return retrieved(asked, resolution, policy, rank)

    def _index_of(self, catalogue: Catalogue, policy: Policy) -> Index:
        with self._one:
            listed = {
                source: self._listed_anew(source, listing.tools, policy)
                for source, listing in catalogue.listings.items()
            }
            if not self._is_made_of(listed):
                self._index = Index(tuple(each.part for each in listed.values()))
            self._listed = listed
            return self._index

    def _listed_anew(self, source: Source, tools: tuple[Tool, ...], policy: Policy) -> _Listed:
        known = self._listed.get(source)
        if known is not None and known.tools is tools and known.policy is policy:
            return known
        told = documents(tools, policy)
        part = known.part if known is not None and known.part.documents == told else Part.of(told)
        return _Listed(tools, policy, part)

    def _is_made_of(self, listed: Mapping[Source, _Listed]) -> bool:
        parts = self._index.parts
        return len(parts) == len(listed) and all(
            known is each.part for known, each in zip(parts, listed.values(), strict=True)
        )
