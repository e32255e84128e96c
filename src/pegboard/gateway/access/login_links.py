"""Addresses that sign a browser in once. Only the start-up token makes them, so no other site can know one, and nobody
can lead an operator's browser into a session of somebody else."""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

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
