"""Bearer authentication of the MCP endpoint, and revocation of open streams."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Final

import anyio

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.gateway.access.attempts import FailedAttempts, too_many_attempts_message
from pegboard.gateway.access.tokens import CallerTokens, TokenHashes, UsageTracker
from pegboard.gateway.board import BoardState
from pegboard.ports.providers import Clock
from pegboard.surfaces.mcp.request_checks import CLOSE_HEADERS, HttpRejection

AUTHORIZATION: Final = b"authorization"
CHALLENGE: Final = b"www-authenticate"
BEARER_REALM: Final = b'Bearer realm="pegboard"'
MAX_CACHED_HEADERS: Final = 4_096
_MISSING_CALL_SCOPE: Final = HttpRejection(
    403,
    "This token does not call tools: it lacks the scope call. Ask the operator of this gateway for one that has it.",
    headers=((CHALLENGE, BEARER_REALM + b', error="insufficient_scope", scope="call"'),),
)


def match_principal(authorization: bytes | None, callers: TokenHashes) -> PrincipalId | HttpRejection:
    """Every hash is compared, each in constant time, so that the time taken tells nothing of any of them."""
    if not callers:
        return LOCAL_PRINCIPAL
    if authorization is None:
        return HttpRejection(
            401,
            "This gateway asks who calls. Send Authorization: Bearer TOKEN with the token that its operator gave you.",
            headers=((CHALLENGE, BEARER_REALM),),
        )
    digest = _token_hash(authorization)
    found: PrincipalId | None = None
    for principal, hashes in callers.items():
        for known in hashes:
            if hmac.compare_digest(digest, known):
                found = principal
    if found is None:
        return HttpRejection(
            401,
            "The token is not one that this gateway knows. Send Authorization: Bearer TOKEN with the token that its "
            "operator gave you, or ask for a new one.",
            headers=((CHALLENGE, BEARER_REALM + b', error="invalid_token"'),),
        )
    return found


def _token_hash(authorization: bytes) -> bytes:
    """The hash of the token; of what is no bearer token, a hash that no token has."""
    scheme, _, token = authorization.strip(b" \t").partition(b" ")
    return hashlib.sha256(token.strip(b" \t")).digest() if scheme.lower() == b"bearer" else b""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class BearerAuthentication:
    """Follows the board: a token that is taken back or expires is a stranger's with the next request."""

    def __init__(
        self,
        board: BoardState,
        clock: Clock = _utc_now,
        attempts: FailedAttempts | None = None,
        uses: UsageTracker | None = None,
    ) -> None:
        self._board = board
        self._clock = clock
        self._attempts = FailedAttempts() if attempts is None else attempts
        self._token_usage = UsageTracker(None, clock) if uses is None else uses
        self.token_index: Final = CallerTokens(board, clock)
        self._hashes: TokenHashes = {}
        self._principals_by_header: dict[bytes, PrincipalId] = {}
        """Headers that were recognised, so that a caller's token is hashed once and not at every call."""

    @property
    def is_required(self) -> bool:
        """Whether callers must say who they are."""
        return bool(self.token_index.hashes)

    def principal_of(self, authorization: bytes | None, address: str = "") -> PrincipalId | HttpRejection:
        """The caller of a request with this header, from this address. Cheap for whoever came in before."""
        hashes = self.token_index.hashes
        if not hashes:
            return LOCAL_PRINCIPAL
        if hashes is not self._hashes:
            self._hashes = hashes
            self._principals_by_header.clear()
        if authorization is None:
            return match_principal(None, hashes)
        if (known := self._principals_by_header.get(authorization)) is not None:
            return known
        found = match_principal(authorization, hashes)
        if isinstance(found, HttpRejection):
            return self._reject(authorization, address, found)
        self._record_use(authorization)
        if len(self._principals_by_header) >= MAX_CACHED_HEADERS:
            self._principals_by_header.clear()
        self._principals_by_header[authorization] = found
        return found

    def forget_callers(self) -> None:
        """Whoever comes again is recognised anew."""
        self._principals_by_header.clear()

    def forwardable_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
        """What a call may carry on in its caller's name; several of one name become one, as lists in headers do.

        Never the token for this gateway itself: no server is to have that.
        """
        own: dict[bytes, bytes] = {}
        for name, value in headers:
            own[name] = value if name not in own else b"%b, %b" % (own[name], value)
        if self.is_required:
            own.pop(AUTHORIZATION, None)
        return own

    def _record_use(self, authorization: bytes) -> None:
        digest = _token_hash(authorization)
        for token in self._board.policy.tokens.values():
            if hmac.compare_digest(token.digest, digest):
                self._token_usage.record_use(token.id)

    def _reject(self, authorization: bytes, address: str, refused: HttpRejection) -> HttpRejection:
        """Who has a token for something else is told so. Others are counted: whoever guesses is to wait."""
        digest, policy, now = _token_hash(authorization), self._board.policy, self._clock()
        others = [digest_ for one in policy.declared.principals.values() for digest_ in one.hashes]
        others += [token.digest for token in policy.tokens.values() if not token.is_inactive(now)]
        if sum(hmac.compare_digest(known, digest) for known in others):
            return _MISSING_CALL_SCOPE
        wait = self._attempts.record_failure(address)
        if wait is None:
            return refused
        return HttpRejection(
            429, too_many_attempts_message(wait), headers=((b"retry-after", b"%d" % wait), *CLOSE_HEADERS)
        )


# Principals whose token is taken back, or expires, or is another now: what is open in their name ends.


class RevocationWatcher:
    def __init__(self, board: BoardState, callers: CallerTokens) -> None:
        self._board = board
        self._token_index = callers
        self._events: dict[PrincipalId, anyio.Event] = {}

    def event_for(self, principal: PrincipalId) -> anyio.Event:
        """Set when whoever came in as this principal by now would have to come in anew."""
        return self._events.setdefault(principal, anyio.Event())

    async def watch(self, close: Callable[[PrincipalId], Awaitable[None]]) -> None:
        """`close` ends what cannot wait for the event."""
        hashes = self._token_index.hashes
        with self._board.changes.subscribe() as bell:
            while True:
                before, hashes = hashes, self._token_index.hashes
                if hashes is not before:
                    for principal in revoked_principals(before, hashes):
                        self._events.pop(principal, anyio.Event()).set()
                        await close(principal)
                with anyio.move_on_after(self._token_index.seconds_to_expiry()):
                    await bell.wait()


def revoked_principals(before: TokenHashes, now: TokenHashes) -> Iterable[PrincipalId]:
    """Whose tokens let somebody in before that they would not let in now. Nobody has names, or everybody has one."""
    if not before:
        return [LOCAL_PRINCIPAL] if now else []
    return [id for id, hashes in before.items() if not set(hashes).issubset(now.get(id, ()))]
