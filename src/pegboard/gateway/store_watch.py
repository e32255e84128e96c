"""The watch over the store: what other processes decide, and whether it answers at all."""

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import anyio

from pegboard.ports import ChangeCallback, Clock, PolicyStore

from .board import BoardState, Notice
from .cancellation import contain_cancellation
from .operate import Operator, error_text

log = logging.getLogger(__name__)

STORE_NOTICE: Final = "store"
RETRY_INTERVAL_S: Final = 2.0
"""Seconds between two questions to a store that does not answer."""


@dataclass(frozen=True)
class StoreWatch:
    """A store that is away is told on the board, and asked again; what was decided before still holds."""

    store: PolicyStore
    operator: Operator
    board: BoardState
    clock: Clock
    on_return: ChangeCallback
    """Rung when the store answers again, for whoever could not record something."""

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_changes, name="store changes")
            tasks.start_soon(self._resolve_uncertainty, name="store doubts")

    async def _watch_changes(self) -> None:
        while True:
            if await self._try_reload():
                try:
                    with contain_cancellation():
                        await self._watch_until_unavailable()
                except Exception as error:  # noqa: BLE001  supervised: the gateway outlives its store
                    self._report_unavailable(error)
            await anyio.sleep(RETRY_INTERVAL_S)

    async def _watch_until_unavailable(self) -> None:
        async with AsyncExitStack() as stack:
            changes = self.store.changes()
            if isinstance(changes, AsyncGenerator):
                stack.push_async_callback(changes.aclose)
            async for _ in changes:
                if not await self._try_reload():
                    return

    async def _resolve_uncertainty(self) -> None:
        while True:
            await self.operator.store_uncertain.wait()
            if await self._try_reload():
                self.on_return()
            else:
                await anyio.sleep(RETRY_INTERVAL_S)
                self.operator.store_uncertain.notify()

    async def _try_reload(self) -> bool:
        try:
            await self.operator.reload()
        except Exception as error:  # noqa: BLE001  supervised: the gateway outlives its store
            self._report_unavailable(error)
            return False
        if STORE_NOTICE in self.board.notices:
            log.warning("The store answers again")
            self.board.remove_notice(STORE_NOTICE)
            self.on_return()
        return True

    def _report_unavailable(self, error: Exception) -> None:
        text = f"The store does not answer: {error_text(error)} What was decided before still holds."
        known = self.board.notices.get(STORE_NOTICE)
        # Asked every other second, it would fill the log with one and the same trace.
        if known is None or known.text != text:
            log.error("%s", text, exc_info=error)
            self.board.add_notice(Notice(STORE_NOTICE, text, self.clock()))
