"""When each API token and each standing permission was used last: noted in memory, written once in a while."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import anyio

from pegboard.ports import Clock, StoreAway, TokenUses

WRITE_EVERY: Final = 60.0
"""Seconds. A busy one is written once a minute, however often it is used."""
_WITHIN: Final = 5.0
MOST: Final = 10_000

log = logging.getLogger(__name__)


class Uses:
    def __init__(self, store: TokenUses | None, clock: Clock, *, of: str = "tokens") -> None:
        self._of = of
        self._store = store
        self._clock = clock
        self._unwritten: dict[str, datetime] = {}

    def seen(self, id: str) -> None:
        if len(self._unwritten) < MOST or id in self._unwritten:
            self._unwritten[id] = self._clock()

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
            log.info("The last uses of %s cannot be written now: %s", self._of, error)
            self._unwritten = {**written, **self._unwritten}

    async def run(self) -> None:
        try:
            while True:
                await anyio.sleep(WRITE_EVERY)
                await self.write()
        finally:
            with anyio.CancelScope(shield=True):
                await self.write()
