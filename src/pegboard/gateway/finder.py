"""Search over the board: an index of everything on it, kept up to date part by part, asked for one view at a time."""

from collections.abc import Collection
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from anyio import to_thread

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import ToolId
from pegboard.core.playground import Played, played
from pegboard.core.policy import Policy
from pegboard.core.resolve import Open, Resolution
from pegboard.core.retrieval import Rank, Retrieval, retrieved
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.memory import undisturbed

from .board import Board
from .meanings import Meanings, Readable

if TYPE_CHECKING:
    from pegboard.search.rank import Dense, Ranked
    from pegboard.search.upkeep import Upkeep


class Finder:
    """Works beside the event loop: to take thousands of tools apart takes longer than a call may wait."""

    def __init__(self, board: Board, meanings: Meanings | None = None) -> None:
        self._board = board
        self._meanings = meanings
        self._one = Lock()
        self._upkeep: Upkeep | None = None

    async def retrieve(self, asked: Retrieval, view: View) -> JsonObject:
        """The answer on the board as it is now, for this view."""
        board, dense = self._board, await self._dense(asked.query)
        resolution = await board.worked_out(view)
        work = partial(self._retrieved, asked, resolution, board.catalogue, board.policy, dense)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def played(self, asked: Retrieval, view: View) -> Played:
        """The same search laid open, for whoever may see what is locked."""
        board, dense = self._board, await self._dense(asked.query)
        resolution = await board.worked_out(view)
        work = partial(self._played, asked, resolution, board.catalogue, board.policy, dense)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def readable(self) -> Readable:
        """The board as it is now, for whoever reads it for its meaning."""
        work = partial(self._readable, self._board.catalogue, self._board.policy)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def _dense(self, query: str) -> "Dense | None":
        if self._meanings is None:
            return None
        self._meanings.wake()
        return await self._meanings.asked(query)

    def _readable(self, catalogue: Catalogue, policy: Policy) -> Readable:
        with self._one:
            listed = self._up_to_date(catalogue, policy).listed
        if self._meanings is None or not self._meanings.encoder.traits.is_remote:
            return Readable(listed, frozenset())
        judged = (self._board.judged(listing, policy) for listing in catalogue.listings.values())
        found = (id for verdicts in judged for id, verdict in verdicts.items() if isinstance(verdict, Open))
        return Readable(listed, frozenset(found))

    def _retrieved(
        self,
        asked: Retrieval,
        resolution: Resolution,
        catalogue: Catalogue,
        policy: Policy,
        dense: "Dense | None" = None,
    ) -> JsonObject:
        return retrieved(asked, resolution, policy, self._rank(catalogue, policy, dense))

    def _played(
        self,
        asked: Retrieval,
        resolution: Resolution,
        catalogue: Catalogue,
        policy: Policy,
        dense: "Dense | None" = None,
    ) -> Played:
        return played(asked, resolution, policy, self._rank(catalogue, policy, dense))

    def _rank(self, catalogue: Catalogue, policy: Policy, dense: "Dense | None") -> Rank:
        # Only here, because of numpy: a gateway that nobody searches does without.
        from pegboard.search.rank import ranked

        def rank(query: str, among: Collection[ToolId]) -> "Ranked":
            with self._one:
                chosen = self._up_to_date(catalogue, policy).chosen(among)
            return ranked(query, chosen, dense)

        return rank

    def _up_to_date(self, catalogue: Catalogue, policy: Policy) -> "Upkeep":
        """For one at a time."""
        from pegboard.search.upkeep import Upkeep

        if self._upkeep is None:
            self._upkeep = Upkeep()
        if not self._upkeep.is_of(catalogue, policy):
            with undisturbed():
                self._upkeep.index(catalogue, policy)
        return self._upkeep
