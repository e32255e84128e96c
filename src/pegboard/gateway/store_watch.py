"""The watch over the store: what other processes decide, and whether it answers at all."""

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import anyio

from pegboard.ports import Clock, PolicyStore, Ring

from .board import Board, Notice
from .cancellation import contained
from .operate import Operator, in_words

log = logging.getLogger(__name__)

STORE: Final = "store"
RETRY: Final = 2.0
"""Seconds between two questions to a store that does not answer."""


@dataclass(frozen=True)
class StoreWatch:
    """A store that is away is told on the board, and asked again; what was decided before still holds."""

    store: PolicyStore
    operator: Operator
    board: Board
    clock: Clock
    back: Ring
    """Rung when the store answers again, for whoever could not record something."""

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hear_changes, name="store changes")
            tasks.start_soon(self._clear_doubts, name="store doubts")

    async def _hear_changes(self) -> None:
        while True:
            if await self._reloaded():
                try:
                    with contained():
                        await self._hear_until_away()
                except Exception as error:  # noqa: BLE001  supervised: the gateway outlives its store
                    self._tell(error)
            await anyio.sleep(RETRY)

    async def _hear_until_away(self) -> None:
        async with AsyncExitStack() as stack:
            changes = self.store.changes()
            if isinstance(changes, AsyncGenerator):
                stack.push_async_callback(changes.aclose)
            async for _ in changes:
                if not await self._reloaded():
                    return

    async def _clear_doubts(self) -> None:
        while True:
            await self.operator.doubt.wait()
            if await self._reloaded():
                self.back()
            else:
                await anyio.sleep(RETRY)
                self.operator.doubt.ring()

    async def _reloaded(self) -> bool:
        try:
            await self.operator.reload()
        except Exception as error:  # noqa: BLE001  supervised: the gateway outlives its store
            self._tell(error)
            return False
        if STORE in self.board.notices:
            log.warning("The store answers again")
            self.board.forget_notice(STORE)
            self.back()
        return True

    def _tell(self, error: Exception) -> None:
        text = f"The store does not answer: {in_words(error)} What was decided before still holds."
        known = self.board.notices.get(STORE)
        # Asked every other second, it would fill the log with one and the same trace.
        if known is None or known.text != text:
            log.error("%s", text, exc_info=error)
            self.board.notice(Notice(STORE, text, self.clock()))
