"""Visits of browsers: a token was shown once, and a cookie stands for it until somebody signs out or time is up."""

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.gateway.bell import ChangeSignal

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
