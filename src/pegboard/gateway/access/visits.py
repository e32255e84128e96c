"""Visits of browsers: a token was shown once, and a cookie stands for it until somebody signs out or time is up."""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.gateway.bell import Bell

IDLE: Final = 12 * 3600.0
LONGEST: Final = 7 * 24 * 3600.0
MOST: Final = 1_000

Now: TypeAlias = Callable[[], float]


@dataclass
class _Visit:
    token: bytes
    began: float
    seen: float


class Visits:
    """Kept in memory, and of each secret only its hash: after a restart everybody signs in again.

    A visit remembers which token began it and nothing of what that allows, so that one which is revoked ends it.
    """

    def __init__(self, now: Now = time.monotonic) -> None:
        self._now = now
        self._visits: OrderedDict[bytes, _Visit] = OrderedDict()
        self._run = secrets.token_hex(4)
        self.ended: Final = Bell()

    def begin(self, token: bytes) -> str:
        """The secret for a cookie: always a new one, whatever the browser showed before."""
        now = self._now()
        self._forget(now)
        while len(self._visits) >= MOST:
            self._visits.popitem(last=False)
            self.ended.ring()
        secret = f"{self._run}.{secrets.token_urlsafe(32)}"
        self._visits[_hashed(secret)] = _Visit(token, now, now)
        return secret

    def token_of(self, secret: str) -> bytes | None:
        """The hash of the token that began this visit, if it still lasts. By being asked for it goes on."""
        now, key = self._now(), _hashed(secret)
        visit = self._visits.get(key)
        if visit is None:
            return None
        if _is_over(visit, now):
            del self._visits[key]
            return None
        visit.seen = now
        self._visits.move_to_end(key)
        return visit.token

    def is_earlier(self, secret: str) -> bool:
        """Whether another run of the gateway gave it out, or nobody did: this one does not know it."""
        return not secret.startswith(f"{self._run}.")

    def lasts(self, secret: str) -> bool:
        """Whether it still does, without making it last any longer."""
        visit = self._visits.get(_hashed(secret))
        return visit is not None and not _is_over(visit, self._now())

    def end(self, secret: str) -> None:
        if self._visits.pop(_hashed(secret), None) is not None:
            self.ended.ring()

    def _forget(self, now: float) -> None:
        for key in [key for key, visit in self._visits.items() if _is_over(visit, now)]:
            del self._visits[key]


def _is_over(visit: _Visit, now: float) -> bool:
    return now - visit.seen >= IDLE or now - visit.began >= LONGEST


def _hashed(secret: str) -> bytes:
    """Found by its hash: the time that takes tells of the hash alone, from which nobody makes a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
