"""When each API token and each standing permission was used last: noted in memory, written once in a while."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import anyio

from pegboard.ports import Clock, StoreUnavailable, TokenUsageStore

WRITE_INTERVAL_S: Final = 60.0
"""Seconds. A busy one is written once a minute, however often it is used."""
_STORE_TIMEOUT_S: Final = 5.0
MAX_UNWRITTEN: Final = 10_000

log = logging.getLogger(__name__)


class UsageTracker:
    def __init__(self, store: TokenUsageStore | None, clock: Clock, *, of: str = "tokens") -> None:
        self._subject = of
        self._store = store
        self._clock = clock
        self._unwritten: dict[str, datetime] = {}

    def record_use(self, id: str) -> None:
        if len(self._unwritten) < MAX_UNWRITTEN or id in self._unwritten:
            self._unwritten[id] = self._clock()

    async def last_uses(self) -> Mapping[str, datetime]:
        kept = {} if self._store is None else await self._store.last_uses()
        return {**kept, **self._unwritten}

    async def write(self) -> None:
        written, self._unwritten = self._unwritten, {}
        if self._store is None or not written:
            return
        try:
            with anyio.fail_after(_STORE_TIMEOUT_S):
                await self._store.save_uses(written)
        except (StoreUnavailable, TimeoutError) as error:
            log.info("The last uses of %s cannot be written now: %s", self._subject, error)
            self._unwritten = {**written, **self._unwritten}

    async def run(self) -> None:
        try:
            while True:
                await anyio.sleep(WRITE_INTERVAL_S)
                await self.write()
        finally:
            with anyio.CancelScope(shield=True):
                await self.write()
