"""Browser sessions: started by a token or a login link, ended by sign-out or expiry."""

import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final, TypeAlias

import anyio

from pegboard.gateway.signals import ChangeSignal, Subscription
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.stores import SessionStore, StoredSession

DAY_S: Final = 24 * 3600.0
IDLE_TIMEOUT_S: Final = 7 * DAY_S
MAX_AGE_S: Final = 30 * DAY_S
MAX_SESSIONS: Final = 1_000
_CLOCK_TOLERANCE_S: Final = 300.0
"""Seconds by which a visit may have begun after now: clocks are set right now and then."""
_STARTUP_TOKEN_MARK: Final = b"start-up"
"""Instead of a mark: each start has a start-up token of its own, and all of them are the same person's."""

Now: TypeAlias = Callable[[], float]


@dataclass
class BrowserSession:
    token_mark: bytes
    """Of the token that began it."""
    token: bytes | None
    """The token's hash, once it is known which token that is."""
    began_at: float
    last_seen_at: float


class BrowserSessions:
    """Of each secret only a mark, by which nobody makes a cookie.

    A visit remembers which token began it and nothing of what that allows, so that one which is revoked ends it.
    """

    def __init__(self, now: Now = time.time, key: Callable[[], bytes] = secrets.token_bytes) -> None:
        """`key` is asked for when the first visit begins, or comes from an earlier run."""
        self.now: Final = now
        self._make_key = key
        self._key: bytes | None = None
        self._sessions: OrderedDict[bytes, BrowserSession] = OrderedDict()
        self.startup_token_hash = b""
        """The hash of this run's start-up token."""
        self.end_signal: Final = ChangeSignal()
        self.change_signal: Final = ChangeSignal()
        """Rings when one began or ended, which should be written down at once."""
        self.unsaved_marks: Final = set[bytes]()
        self.removed_marks: Final = set[bytes]()

    def begin(self, token: bytes) -> str:
        """The secret for a cookie: always a new one, whatever the browser showed before."""
        now = self.now()
        self._drop_expired(now)
        while len(self._sessions) >= MAX_SESSIONS:
            self.drop(next(iter(self._sessions)))
        if self._key is None:
            self._key = self._make_key()
        secret = secrets.token_urlsafe(32)
        self._mark_unsaved(self._secret_mark(secret.encode()), BrowserSession(self._token_mark(token), token, now, now))
        self.change_signal.notify()
        return secret

    def restore(self, kept: Iterable[tuple[bytes, BrowserSession]], key: bytes) -> None:
        """Those of an earlier run, the one that was seen last at the end."""
        self._key = key
        now = self.now()
        for mark, visit in [*kept][-MAX_SESSIONS:]:
            if not _is_expired(visit, now):
                self._sessions[mark] = visit

    def token_of(self, secret: str, known: Iterable[bytes] = ()) -> bytes | None:
        """The hash of the token that began this visit, if it still lasts. By being asked for it goes on.

        `known` are the hashes of all tokens that there are, among which that of an earlier run is found again.
        """
        now, mark = self.now(), self._secret_mark(secret.encode("utf-8", "surrogatepass"))
        visit = self._sessions.get(mark)
        if visit is None:
            return None
        if _is_expired(visit, now):
            self.drop(mark)
            return None
        if visit.token is None:
            visit.token = next(
                (each for each in known if hmac.compare_digest(self._token_mark(each), visit.token_mark)), None
            )
        visit.last_seen_at = now
        self._mark_unsaved(mark, visit)
        self._sessions.move_to_end(mark)
        return visit.token

    def is_active(self, secret: str) -> bool:
        """Whether it still does, without making it last any longer."""
        visit = self._sessions.get(self._secret_mark(secret.encode("utf-8", "surrogatepass")))
        return visit is not None and not _is_expired(visit, self.now())

    def end(self, secret: str) -> None:
        self.drop(self._secret_mark(secret.encode("utf-8", "surrogatepass")))

    def end_all(self) -> None:
        for mark in [*self._sessions]:
            self.drop(mark)

    def unsaved_sessions(self) -> Iterable[tuple[bytes, BrowserSession]]:
        """What was seen since it was last written down."""
        return [(mark, self._sessions[mark]) for mark in self.unsaved_marks if mark in self._sessions]

    def _mark_unsaved(self, mark: bytes, visit: BrowserSession) -> None:
        self._sessions[mark] = visit
        self.unsaved_marks.add(mark)

    def drop(self, mark: bytes) -> None:
        """By the mark of its secret."""
        if self._sessions.pop(mark, None) is not None:
            self.unsaved_marks.discard(mark)
            self.removed_marks.add(mark)
            self.end_signal.notify()
            self.change_signal.notify()

    def _drop_expired(self, now: float) -> None:
        for mark in [mark for mark, visit in self._sessions.items() if _is_expired(visit, now)]:
            self.drop(mark)

    def _secret_mark(self, secret: bytes) -> bytes:
        """Found by it: the time that takes tells of the mark alone, from which nobody makes a secret."""
        return b"" if self._key is None else hmac.digest(self._key, b"secret " + secret, "sha256")

    def _token_mark(self, token: bytes) -> bytes:
        assert self._key is not None
        return (
            _STARTUP_TOKEN_MARK
            if token == self.startup_token_hash
            else hmac.digest(self._key, b"token " + token, "sha256")
        )


def _is_expired(visit: BrowserSession, now: float) -> bool:
    return now - visit.last_seen_at >= IDLE_TIMEOUT_S or not -_CLOCK_TOLERANCE_S <= now - visit.began_at < MAX_AGE_S


# Visits that outlast the gateway: read at its start, written down when one begins or ends and once in a while.

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
        """Raises `StoreUnavailable` where those of earlier runs may be left: whoever asked must not think that none
        is."""
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


# Addresses that sign a browser in once. Only the start-up token makes them, so no other site can know one, and
# nobody
# can lead an operator's browser into a session of somebody else.

LINK_SECONDS: Final = 900.0
MAX_LINKS: Final = 100
LOGIN_PARAMETER: Final = "login"


class LoginLinks:
    """Of each code only the hash, and until when it may be used."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._links: OrderedDict[bytes, float] = OrderedDict()

    def mint(self) -> str:
        """A new code. The oldest makes room for it."""
        while len(self._links) >= MAX_LINKS:
            self._links.popitem(last=False)
        code = secrets.token_urlsafe(32)
        self._links[_digest(code)] = self._now() + LINK_SECONDS
        return code

    def is_valid(self, code: str) -> bool:
        """Without using it up."""
        until = self._links.get(_digest(code))
        return until is not None and self._now() < until

    def redeem(self, code: str) -> bool:
        """Whether it may sign in. It is used up then."""
        valid = self.is_valid(code)
        self._links.pop(_digest(code), None)
        return valid


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).digest()
