"""When each API token was used last: told by every door, written down once in a while."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import anyio

from pegboard.ports import Clock, StoreAway, TokenUses

WRITE_EVERY: Final = 60.0
"""Seconds. A busy token is written down once a minute, however often it is shown."""
_WITHIN: Final = 5.0
MOST: Final = 10_000

log = logging.getLogger(__name__)


class Uses:
    def __init__(self, store: TokenUses | None, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._unwritten: dict[str, datetime] = {}

    def seen(self, token: str) -> None:
        if len(self._unwritten) < MOST or token in self._unwritten:
            self._unwritten[token] = self._clock()

    async def latest(self) -> Mapping[str, datetime]:
        kept = {} if self._store is None else await self._store.latest()
        return {**kept, **self._unwritten}

    async def write(self) -> None:
        written, self._unwritten = self._unwritten, {}
        if self._store is None or not written:
            return
        try:
            with anyio.fail_after(_WITHIN):
                await self._store.keep(written)
        except (StoreAway, TimeoutError) as error:
            log.info("When tokens were used last is not written down: %s", error)
            self._unwritten = {**written, **self._unwritten}

    async def run(self) -> None:
        try:
            while True:
                await anyio.sleep(WRITE_EVERY)
                await self.write()
        finally:
            with anyio.CancelScope(shield=True):
                await self.write()
