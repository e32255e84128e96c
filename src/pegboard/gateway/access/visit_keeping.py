"""Visits that outlast the gateway: read at its start, written down when one begins or ends and once in a while."""

import hmac
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio

from pegboard.gateway.bell import Listener
from pegboard.ports import StoreAway
from pegboard.ports.visits import KeptVisit, VisitStore

from .visits import IDLE, Visit, Visits

WRITE_EVERY: Final = 60.0
"""Seconds after which it is written down again who looked at the board."""
_WITHIN: Final = 5.0

log = logging.getLogger(__name__)


class VisitKeeping:
    def __init__(self, visits: Visits, store: VisitStore, key: Callable[[], bytes | None], place: str) -> None:
        """`key` is that of the gateway's visits, `None` while there is none; `place` tells this gateway from others
        on the same store, which cannot know when a visit here ends."""
        self.visits: Final = visits
        self._store = store
        self._key = key
        self._place = place
        self._alone = anyio.Lock()
        self._written: Final = set[bytes]()
        """What the store has of these visits. One that is not there any more was ended by another process."""

    async def load(self) -> None:
        if (key := self._key()) is None:
            return
        try:
            with anyio.fail_after(_WITHIN):
                kept = await self._store.of(self._at(key))
        except (StoreAway, TimeoutError) as error:
            log.warning("Browsers that were signed in must sign in again: %s", error)
            return
        self._written.update(bytes.fromhex(each.secret) for each in kept)
        self.visits.restore([(bytes.fromhex(each.secret), _visit(each)) for each in kept], key)

    async def write(self) -> None:
        """What the store does not take now is written the next time."""
        async with self._alone:
            visits, key = self.visits, self._key()
            if key is None or not (visits.seen_since or visits.gone):
                return
            await self._end_what_others_ended(self._at(key))
            seen, gone = dict(visits.marked()), {*visits.gone}
            visits.seen_since.clear()
            visits.gone.clear()
            kept = [_kept(mark, visit) for mark, visit in seen.items()]
            oldest = _moment(visits.now()) - timedelta(seconds=IDLE)
            try:
                with anyio.fail_after(_WITHIN):
                    await self._store.keep(self._at(key), kept, {mark.hex() for mark in gone}, oldest)
            except (StoreAway, TimeoutError) as error:
                log.warning("Who is signed in, and who is no longer, is not written down: %s", error)
                visits.seen_since.update(seen.keys() - visits.gone)
                visits.gone.update(gone)
            else:
                self._written.difference_update(gone)
                self._written.update(seen)

    async def _end_what_others_ended(self, place: str) -> None:
        try:
            with anyio.fail_after(_WITHIN):
                there = {bytes.fromhex(each.secret) for each in await self._store.of(place)}
        except (StoreAway, TimeoutError):
            return  # told when it is written
        for mark in self._written - there:
            self.visits.drop(mark)
        self._written.intersection_update(there)

    async def end_all(self) -> None:
        """Raises `StoreAway` where those of earlier runs may be left: whoever asked must not think that none is."""
        self.visits.end_all()
        async with self._alone:
            await self._store.end_all()
            self._written.clear()

    async def run(self) -> None:
        with self.visits.fresh.listen() as fresh:
            try:
                while True:
                    await self._wait(fresh)
                    await self.write()
            finally:
                with anyio.CancelScope(shield=True):
                    await self.write()

    async def _wait(self, fresh: Listener) -> None:
        with anyio.move_on_after(WRITE_EVERY):
            await fresh.wait()

    def _at(self, key: bytes) -> str:
        return hmac.digest(key, b"place " + self._place.encode("utf-8", "surrogateescape"), "sha256").hex()


def _visit(kept: KeptVisit) -> Visit:
    return Visit(bytes.fromhex(kept.token), None, kept.began.timestamp(), kept.seen.timestamp())


def _kept(mark: bytes, visit: Visit) -> KeptVisit:
    return KeptVisit(mark.hex(), visit.mark.hex(), _moment(visit.began), _moment(visit.seen))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
