"""Watches the store: changes by other processes, and whether it answers."""

import gc
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.decision.unknown_names import UnknownName, unknown_names
from pegboard.gateway.board import BoardState, Notice
from pegboard.gateway.operator import Operator, error_text
from pegboard.gateway.signals import contain_cancellation
from pegboard.memory import large_value_count, memory_trimmer
from pegboard.ports.providers import ChangeCallback, Clock
from pegboard.ports.stores import PolicyStore

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


# Memory that was only needed for a moment: given back to the system, because the C library keeps it otherwise.

SETTLE_S: Final = 2.0
"""Seconds from a change to when it is looked at: a list of tools is followed by its approvals."""

MANY_TOOLS: Final = 500
"""Tools more or less than before. Reading a list takes several times the memory that the list has."""

LARGE_VALUE_POLL_S: Final = 10.0
"""Seconds from one look to the next at whether a large message was read, which no board tells of."""


YOUNG_OBJECTS: Final = 50_000
"""Objects after which those made last are looked through for rings. A call makes some dozens, and lets go of them."""


def freeze_startup_objects() -> None:
    """For a process that now begins its long work: what is there stays, and is not looked through again and again.

    What the start alone needed goes back to the system.
    """
    gc.collect()
    if give_back := memory_trimmer():
        give_back()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)


async def trim_memory(board: BoardState) -> None:
    """After each change of many tools, and after large messages. In a thread, because it takes some milliseconds."""
    give_back = memory_trimmer()
    if give_back is None:
        return
    known, read = 0, large_value_count()
    with board.changes.subscribe() as bell:
        while True:
            with anyio.move_on_after(LARGE_VALUE_POLL_S):
                await bell.wait()
            await anyio.sleep(SETTLE_S)
            if abs((now := len(board.catalogue.tools)) - known) >= MANY_TOOLS or large_value_count() != read:
                read, known = large_value_count(), now
                await anyio.to_thread.run_sync(give_back)


# Showing names in settings that no tool has: in the log once, and as a notice for as long as they stay (ADR 16).
#
# A notice is in the answers of the operator's API, in the output of every command and in the banner of the web UI.

UNKNOWN_NAMES: Final = "unknown_names"
"""The subject of the notice."""
_MAX_SHOWN: Final = 20


class UnknownNames:
    """Follows the board. Wildcards that fit nothing may be meant for tools that are still to come, so they are logged
    and make no notice."""

    def __init__(self, board: BoardState, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._turn = anyio.Lock()
        self._stamp: object = None
        self._logged: frozenset[str] = frozenset()

    async def run(self) -> None:
        with self._board.changes.subscribe() as bell:
            while True:
                await self.refresh()
                await bell.wait()

    async def refresh(self) -> None:
        """Bring the notice up to date. Does nothing while the board stays as it is."""
        async with self._turn:
            if self._stamp is self._board.revision:
                return
            stamp = self._board.revision
            work = partial(unknown_names, self._board.catalogue, self._board.policy)
            found = await anyio.to_thread.run_sync(work)
            self._stamp = stamp
            self._show(found)

    def _show(self, found: tuple[UnknownName, ...]) -> None:
        texts = {str(entry): entry for entry in found}
        for text, entry in texts.items():
            if text not in self._logged:
                log.warning("%s %s", text, entry.fix)
        self._logged = frozenset(texts)
        errors = [text for text, entry in texts.items() if not entry.is_pattern]
        if errors:
            self._board.add_notice(Notice(UNKNOWN_NAMES, notice_text(errors), self._clock()))
        else:
            self._board.remove_notice(UNKNOWN_NAMES)


def notice_text(errors: list[str]) -> str:
    if len(errors) == 1:
        return errors[0]
    more = [f"and {len(errors) - _MAX_SHOWN} more: pegboard doctor"] if len(errors) > _MAX_SHOWN else []
    return "\n".join((f"{len(errors)} names in the settings match nothing.", *errors[:_MAX_SHOWN], *more))
