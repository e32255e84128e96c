"""Showing names in settings that no tool has: in the log once, and as a notice for as long as they stay (ADR 16).

A notice is in the answers of the operator's API, in the output of every command and in the banner of the web UI.
"""

import logging
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.unknown_names import UnknownName, unknown_names
from pegboard.ports import Clock

from .board import BoardState, Notice

log = logging.getLogger(__name__)

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
