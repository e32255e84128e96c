"""Visits of browsers: a token was shown once, and a cookie stands for it until somebody signs out or time is up."""

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.gateway.bell import Bell

DAY: Final = 24 * 3600.0
IDLE: Final = 7 * DAY
LONGEST: Final = 30 * DAY
MOST: Final = 1_000
_WRONG_CLOCK: Final = 300.0
"""Seconds by which a visit may have begun after now: clocks are set right now and then."""
_START_UP: Final = b"start-up"
"""Instead of a mark: each start has a start-up token of its own, and all of them are the same person's."""

Now: TypeAlias = Callable[[], float]


@dataclass
class Visit:
    mark: bytes
    """Of the token that began it."""
    token: bytes | None
    """The token's hash, once it is known which token that is."""
    began: float
    seen: float


class Visits:
    """Of each secret only a mark, by which nobody makes a cookie.

    A visit remembers which token began it and nothing of what that allows, so that one which is revoked ends it.
    """

    def __init__(self, now: Now = time.time, key: Callable[[], bytes] = secrets.token_bytes) -> None:
        """`key` is asked for when the first visit begins, or comes from an earlier run."""
        self.now: Final = now
        self._make = key
        self._key: bytes | None = None
        self._visits: OrderedDict[bytes, Visit] = OrderedDict()
        self.start_up = b""
        """The hash of this run's start-up token."""
        self.ended: Final = Bell()
        self.fresh: Final = Bell()
        """Rings when one began or ended, which should be written down at once."""
        self.seen_since: Final = set[bytes]()
        self.gone: Final = set[bytes]()

    def begin(self, token: bytes) -> str:
        """The secret for a cookie: always a new one, whatever the browser showed before."""
        now = self.now()
        self._forget(now)
        while len(self._visits) >= MOST:
            self.drop(next(iter(self._visits)))
        if self._key is None:
            self._key = self._make()
        secret = secrets.token_urlsafe(32)
        self._put(self._marked(secret.encode()), Visit(self._mark(token), token, now, now))
        self.fresh.ring()
        return secret

    def restore(self, kept: Iterable[tuple[bytes, Visit]], key: bytes) -> None:
        """Those of an earlier run, the one that was seen last at the end."""
        self._key = key
        now = self.now()
        for mark, visit in [*kept][-MOST:]:
            if not _is_over(visit, now):
                self._visits[mark] = visit

    def token_of(self, secret: str, known: Iterable[bytes] = ()) -> bytes | None:
        """The hash of the token that began this visit, if it still lasts. By being asked for it goes on.

        `known` are the hashes of all tokens that there are, among which that of an earlier run is found again.
        """
        now, mark = self.now(), self._marked(secret.encode("utf-8", "surrogatepass"))
        visit = self._visits.get(mark)
        if visit is None:
            return None
        if _is_over(visit, now):
            self.drop(mark)
            return None
        if visit.token is None:
            visit.token = next((each for each in known if hmac.compare_digest(self._mark(each), visit.mark)), None)
        visit.seen = now
        self._put(mark, visit)
        self._visits.move_to_end(mark)
        return visit.token

    def lasts(self, secret: str) -> bool:
        """Whether it still does, without making it last any longer."""
        visit = self._visits.get(self._marked(secret.encode("utf-8", "surrogatepass")))
        return visit is not None and not _is_over(visit, self.now())

    def end(self, secret: str) -> None:
        self.drop(self._marked(secret.encode("utf-8", "surrogatepass")))

    def end_all(self) -> None:
        for mark in [*self._visits]:
            self.drop(mark)

    def marked(self) -> Iterable[tuple[bytes, Visit]]:
        """What was seen since it was last written down."""
        return [(mark, self._visits[mark]) for mark in self.seen_since if mark in self._visits]

    def _put(self, mark: bytes, visit: Visit) -> None:
        self._visits[mark] = visit
        self.seen_since.add(mark)

    def drop(self, mark: bytes) -> None:
        """By the mark of its secret."""
        if self._visits.pop(mark, None) is not None:
            self.seen_since.discard(mark)
            self.gone.add(mark)
            self.ended.ring()
            self.fresh.ring()

    def _forget(self, now: float) -> None:
        for mark in [mark for mark, visit in self._visits.items() if _is_over(visit, now)]:
            self.drop(mark)

    def _marked(self, secret: bytes) -> bytes:
        """Found by it: the time that takes tells of the mark alone, from which nobody makes a secret."""
        return b"" if self._key is None else hmac.digest(self._key, b"secret " + secret, "sha256")

    def _mark(self, token: bytes) -> bytes:
        assert self._key is not None
        return _START_UP if token == self.start_up else hmac.digest(self._key, b"token " + token, "sha256")


def _is_over(visit: Visit, now: float) -> bool:
    return now - visit.seen >= IDLE or not -_WRONG_CLOCK <= now - visit.began < LONGEST
