"""Opens and closes databases as the settings say."""

from typing import TYPE_CHECKING

from anyio import create_task_group

from pegboard.core.model.databases import enabled_databases
from pegboard.gateway.board import BoardState
from pegboard.gateway.builtins import BuiltinRegistry
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.ports.providers import Clock

if TYPE_CHECKING:
    from pegboard.gateway.databases.toolbox import DatabaseToolbox
    from pegboard.ports.databases import EngineFactory


class DatabaseTools:
    def __init__(
        self,
        board: BoardState,
        builtins: BuiltinRegistry,
        engines: "EngineFactory | None",
        clock: Clock,
        meanings: EmbeddingIndex | None,
    ) -> None:
        self._board = board
        self._builtins = builtins
        self._engines = engines
        self._clock = clock
        self._embeddings = meanings
        self.toolbox: DatabaseToolbox | None = None
        """Once there was a database in use."""
        self.reconcile()

    def reconcile(self) -> None:
        """Bring what is open, and the tools over it, in line with what the policy says."""
        wanted = enabled_databases(self._board.policy.declared.databases)
        if self.toolbox is None:
            if not wanted or self._engines is None:
                return
            from pegboard.gateway.databases.toolbox import DatabaseToolbox

            # Of its own, by the same encoder: what is read of tools says nothing of how far tables are read.
            known = self._embeddings
            meanings = None if known is None else EmbeddingIndex(known.encoder, known.store, self._clock)
            self.toolbox = DatabaseToolbox(
                self._builtins, self._engines, meanings, lambda view: self._board.resolution(view).names
            )
        self.toolbox.reconcile(wanted)

    async def run(self) -> None:
        """Until cancelled. What is left is closed meanwhile, and at the end everything is."""
        try:
            async with create_task_group() as tasks:
                searches = False
                with self._board.changes.subscribe() as bell:
                    while True:
                        self.reconcile()
                        if self.toolbox is not None:
                            self.toolbox.close_unused(tasks)
                            if not searches:
                                tasks.start_soon(self.toolbox.finder.run, name="schemas of databases")
                                searches = True
                        await bell.wait()
        finally:
            if self.toolbox is not None:
                await self.toolbox.aclose()
