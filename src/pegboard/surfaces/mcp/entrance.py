"""The entrance of the HTTP endpoint: which principal a request comes from, by the token it carries."""

import hashlib
import hmac
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.gateway.access.attempts import Attempts, too_many
from pegboard.gateway.access.callers import Callers, Hashes
from pegboard.gateway.access.uses import Uses
from pegboard.gateway.board import Board
from pegboard.ports import Clock

from .door import CLOSE, Refused

AUTHORIZATION: Final = b"authorization"
CHALLENGE: Final = b"www-authenticate"
REALM: Final = b'Bearer realm="pegboard"'
MOST_KNOWN: Final = 4_096
_NO_CALLS: Final = Refused(
    403,
    "This token does not call tools: it lacks the scope call. Ask the operator of this gateway for one that has it.",
    headers=((CHALLENGE, REALM + b', error="insufficient_scope", scope="call"'),),
)


def principal_of(authorization: bytes | None, callers: Hashes) -> PrincipalId | Refused:
    """Every hash is compared, each in constant time, so that the time taken tells nothing of any of them."""
    if not callers:
        return LOCAL
    if authorization is None:
        return Refused(
            401,
            "This gateway asks who calls. Send Authorization: Bearer TOKEN with the token that its operator gave you.",
            headers=((CHALLENGE, REALM),),
        )
    digest = _shown(authorization)
    found: PrincipalId | None = None
    for principal, hashes in callers.items():
        for known in hashes:
            if hmac.compare_digest(digest, known):
                found = principal
    if found is None:
        return Refused(
            401,
            "The token is not one that this gateway knows. Send Authorization: Bearer TOKEN with the token that its "
            "operator gave you, or ask for a new one.",
            headers=((CHALLENGE, REALM + b', error="invalid_token"'),),
        )
    return found


def _shown(authorization: bytes) -> bytes:
    """The hash of the token; of what is no bearer token, a hash that no token has."""
    scheme, _, token = authorization.strip(b" \t").partition(b" ")
    return hashlib.sha256(token.strip(b" \t")).digest() if scheme.lower() == b"bearer" else b""


def _utc() -> datetime:
    return datetime.now(UTC)


class Entrance:
    """Follows the board: a token that is taken back or expires is a stranger's with the next request."""

    def __init__(
        self, board: Board, clock: Clock = _utc, attempts: Attempts | None = None, uses: Uses | None = None
    ) -> None:
        self._board = board
        self._clock = clock
        self._attempts = Attempts() if attempts is None else attempts
        self._uses = Uses(None, clock) if uses is None else uses
        self.callers: Final = Callers(board, clock)
        self._hashes: Hashes = {}
        self._known: dict[bytes, PrincipalId] = {}
        """Headers that were recognised, so that a caller's token is hashed once and not at every call."""

    @property
    def asks(self) -> bool:
        """Whether callers must say who they are."""
        return bool(self.callers.known)

    def principal_of(self, authorization: bytes | None, address: str = "") -> PrincipalId | Refused:
        """The caller of a request with this header, from this address. Cheap for whoever came in before."""
        hashes = self.callers.known
        if not hashes:
            return LOCAL
        if hashes is not self._hashes:
            self._hashes = hashes
            self._known.clear()
        if authorization is None:
            return principal_of(None, hashes)
        if (known := self._known.get(authorization)) is not None:
            return known
        found = principal_of(authorization, hashes)
        if isinstance(found, Refused):
            return self._turned_away(authorization, address, found)
        self._note(authorization)
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

    def _note(self, authorization: bytes) -> None:
        digest = _shown(authorization)
        for token in self._board.policy.tokens.values():
            if hmac.compare_digest(token.digest, digest):
                self._uses.seen(token.id)

    def _turned_away(self, authorization: bytes, address: str, refused: Refused) -> Refused:
        """Who has a token for something else is told so. Others are counted: whoever guesses is to wait."""
        digest, policy, now = _shown(authorization), self._board.policy, self._clock()
        others = [digest_ for one in policy.declared.principals.values() for digest_ in one.hashes]
        others += [token.digest for token in policy.tokens.values() if not token.is_over(now)]
        if sum(hmac.compare_digest(known, digest) for known in others):
            return _NO_CALLS
        wait = self._attempts.failed(address)
        if wait is None:
            return refused
        return Refused(429, too_many(wait), headers=((b"retry-after", b"%d" % wait), *CLOSE))
