"""Visits that outlast the gateway: read at its start, written down when one begins or ends and once in a while."""

import hmac
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio

from pegboard.gateway.bell import Subscription
from pegboard.ports import StoreUnavailable
from pegboard.ports.visits import SessionStore, StoredSession

from .visits import IDLE_TIMEOUT_S, BrowserSession, BrowserSessions

WRITE_INTERVAL_S: Final = 60.0
"""Seconds after which it is written down again who looked at the board."""
_STORE_TIMEOUT_S: Final = 5.0

log = logging.getLogger(__name__)


class SessionPersistence:
    def __init__(
        self, sessions: BrowserSessions, store: SessionStore, key: Callable[[], bytes | None], place: str
    ) -> None:
        """`key` is that of the gateway's visits, `None` while there is none; `place` tells this gateway from others
        on the same store, which cannot know when a visit here ends."""
        self.sessions: Final = sessions
        self._store = store
        self._key = key
        self._place = place
        self._lock = anyio.Lock()
        self._saved_marks: Final = set[bytes]()
        """What the store has of these visits. One that is not there any more was ended by another process."""

    async def load(self) -> None:
        if (key := self._key()) is None:
            return
        try:
            with anyio.fail_after(_STORE_TIMEOUT_S):
                kept = await self._store.load(self._stored_place(key))
        except (StoreUnavailable, TimeoutError) as error:
            log.warning("Browsers that were signed in must sign in again: %s", error)
            return
        self._saved_marks.update(bytes.fromhex(each.secret) for each in kept)
        self.sessions.restore([(bytes.fromhex(each.secret), _restored_session(each)) for each in kept], key)

    async def write(self) -> None:
        """What the store does not take now is written the next time."""
        async with self._lock:
            visits, key = self.sessions, self._key()
            if key is None or not (visits.unsaved_marks or visits.removed_marks):
                return
            await self._drop_sessions_ended_elsewhere(self._stored_place(key))
            seen, gone = dict(visits.unsaved_sessions()), {*visits.removed_marks}
            visits.unsaved_marks.clear()
            visits.removed_marks.clear()
            kept = [_stored_session(mark, visit) for mark, visit in seen.items()]
            oldest = _to_datetime(visits.now()) - timedelta(seconds=IDLE_TIMEOUT_S)
            try:
                with anyio.fail_after(_STORE_TIMEOUT_S):
                    await self._store.save(self._stored_place(key), kept, {mark.hex() for mark in gone}, oldest)
            except (StoreUnavailable, TimeoutError) as error:
                log.warning("Who is signed in, and who is no longer, is not written down: %s", error)
                visits.unsaved_marks.update(seen.keys() - visits.removed_marks)
                visits.removed_marks.update(gone)
            else:
                self._saved_marks.difference_update(gone)
                self._saved_marks.update(seen)

    async def _drop_sessions_ended_elsewhere(self, place: str) -> None:
        try:
            with anyio.fail_after(_STORE_TIMEOUT_S):
                there = {bytes.fromhex(each.secret) for each in await self._store.load(place)}
        except (StoreUnavailable, TimeoutError):
            return  # told when it is written
        for mark in self._saved_marks - there:
            self.sessions.drop(mark)
        self._saved_marks.intersection_update(there)

    async def end_all(self) -> None:
        """Raises `StoreAway` where those of earlier runs may be left: whoever asked must not think that none is."""
        self.sessions.end_all()
        async with self._lock:
            await self._store.end_all()
            self._saved_marks.clear()

    async def run(self) -> None:
        with self.sessions.change_signal.subscribe() as fresh:
            try:
                while True:
                    await self._wait_for_change(fresh)
                    await self.write()
            finally:
                with anyio.CancelScope(shield=True):
                    await self.write()

    async def _wait_for_change(self, fresh: Subscription) -> None:
        with anyio.move_on_after(WRITE_INTERVAL_S):
            await fresh.wait()

    def _stored_place(self, key: bytes) -> str:
        return hmac.digest(key, b"place " + self._place.encode("utf-8", "surrogateescape"), "sha256").hex()


def _restored_session(kept: StoredSession) -> BrowserSession:
    return BrowserSession(bytes.fromhex(kept.token), None, kept.began_at.timestamp(), kept.last_seen_at.timestamp())


def _stored_session(mark: bytes, visit: BrowserSession) -> StoredSession:
    return StoredSession(
        mark.hex(), visit.token_mark.hex(), _to_datetime(visit.began_at), _to_datetime(visit.last_seen_at)
    )


def _to_datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
