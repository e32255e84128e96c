"""The entrance of the HTTP endpoint: which principal a request comes from, by the token it carries."""

import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.core.principal import Principal
from pegboard.gateway.board import Board

from .door import CLOSE, Refused

AUTHORIZATION: Final = b"authorization"
CHALLENGE: Final = b"www-authenticate"
REALM: Final = b'Bearer realm="pegboard"'

WINDOW: Final = 60.0
MOST_FAILURES: Final = 20
"""Wrong tokens from one address within a window that are answered one by one."""

MOST_ADDRESSES: Final = 4_096
MOST_KNOWN: Final = 4_096

log = logging.getLogger(__name__)

Now: TypeAlias = Callable[[], float]


def principal_of(authorization: bytes | None, principals: Mapping[PrincipalId, Principal]) -> PrincipalId | Refused:
    """Every hash is compared, each in constant time, so that the time taken tells nothing of any of them."""
    if not principals:
        return LOCAL
    if authorization is None:
        return Refused(
            401,
            "This gateway asks who calls. Send Authorization: Bearer TOKEN with the token that its operator gave you.",
            headers=((CHALLENGE, REALM),),
        )
    scheme, _, token = authorization.strip(b" \t").partition(b" ")
    digest = hashlib.sha256(token.strip(b" \t")).digest()
    found: PrincipalId | None = None
    for principal in principals.values():
        for known in principal.hashes:
            if hmac.compare_digest(digest, known):
                found = principal.id
    if found is None or scheme.lower() != b"bearer":
        return Refused(
            401,
            "The token is not one that this gateway knows. Send Authorization: Bearer TOKEN with the token that its "
            "operator gave you, or ask for a new one.",
            headers=((CHALLENGE, REALM + b', error="invalid_token"'),),
        )
    return found


@dataclass
class _Failures:
    since: float
    count: int = 0


class Entrance:
    """Follows the board: a token that the operator takes out of the file is a stranger's with the next request."""

    def __init__(self, board: Board, now: Now = time.monotonic) -> None:
        self._board = board
        self._now = now
        self._principals: Mapping[PrincipalId, Principal] = {}
        self._known: dict[bytes, PrincipalId] = {}
        """Headers that were recognised, so that a caller's token is hashed once and not at every call."""
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    @property
    def asks(self) -> bool:
        """Whether callers must say who they are."""
        return bool(self._board.policy.declared.principals)

    def principal_of(self, authorization: bytes | None, address: str = "") -> PrincipalId | Refused:
        """The caller of a request with this header, from this address. Cheap for whoever came in before."""
        principals = self._board.policy.declared.principals
        if not principals:
            return LOCAL
        if principals is not self._principals:
            self._principals = principals
            self._known.clear()
        if authorization is None:
            return principal_of(None, principals)
        if (known := self._known.get(authorization)) is not None:
            return known
        found = principal_of(authorization, principals)
        if isinstance(found, Refused):
            return self._failed(address) or found
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[authorization] = found
        return found

    def forget(self) -> None:
        """Whoever comes again is recognised anew."""
        self._known.clear()

    def own_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
        """What a call may carry on in its caller's name; several of one name become one, as lists in headers do.

        Never the token for this gateway itself: no server is to have that.
        """
        own: dict[bytes, bytes] = {}
        for name, value in headers:
            own[name] = value if name not in own else b"%b, %b" % (own[name], value)
        if self.asks:
            own.pop(AUTHORIZATION, None)
        return own

    def _failed(self, address: str) -> Refused | None:
        """Wrong tokens are counted by address. A right one always comes in: behind a proxy all have one address, and a
        stranger must not be able to shut the others out."""
        now = self._now()
        failures = self._failures.get(address)
        if failures is None or now - failures.since >= WINDOW:
            failures = self._failures[address] = _Failures(now)
            self._failures.move_to_end(address)
            if len(self._failures) > MOST_ADDRESSES:
                self._failures.popitem(last=False)
        failures.count += 1
        if failures.count <= MOST_FAILURES:
            return None
        if failures.count == MOST_FAILURES + 1:
            log.warning("More than %d wrong tokens within a minute from %s", MOST_FAILURES, address or "one address")
        wait = max(1, round(failures.since + WINDOW - now))
        return Refused(
            429,
            f"Too many wrong tokens came from your address. Try again in {wait} seconds, with a token that is right.",
            headers=((b"retry-after", b"%d" % wait), *CLOSE),
        )


def user_of(principal: PrincipalId) -> AuthenticatedUser | None:
    """By this the SDK ties a session to the one who opened it: to anybody else it does not exist."""
    if principal == LOCAL:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[], subject=principal))
