"""Finds the principal of a token by its hash, and records when tokens are used."""

import hashlib
import hmac
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeAlias

import anyio

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.principals import ALL_SCOPES, ApiToken, Principal, TokenScope, with_implied
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import ChangeSignal
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.providers import Clock
from pegboard.ports.stores import TokenUsageStore

NOBODY: Final = PrincipalId("")
"""Stands for the callers of a board that requires tokens and has none. No token is this principal's."""
TokenHashes: TypeAlias = Mapping[PrincipalId, tuple[bytes, ...]]


def caller_token_hashes(policy: Policy, now: datetime) -> TokenHashes:
    """Everybody with a name, also those of whom no token holds: nobody is let in as them, and nobody without a name."""
    found: dict[PrincipalId, tuple[bytes, ...]] = dict.fromkeys(sorted(policy.callers), ())
    for principal in policy.declared.principals.values():
        if TokenScope.CALL in principal.scopes:
            found[principal.id] += principal.hashes
    for token in policy.tokens.values():
        if TokenScope.CALL in token.scopes and not token.is_inactive(now):
            found[token.principal] += (token.digest,)
    # Whoever had to show a token must go on doing so, even if there is none left that would be taken.
    return found or ({NOBODY: ()} if policy.requires_tokens else {})


class CallerTokens:
    """Follows the board and the clock. The same object for as long as the same tokens hold."""

    def __init__(self, board: BoardState, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._declared: Mapping[PrincipalId, Principal] | None = None
        self._tokens: Mapping[str, ApiToken] | None = None
        self._required = False
        self.next_expiry: datetime | None = None
        """When the next token ends by itself, as of the last look."""
        self._hashes: TokenHashes = {}

    @property
    def hashes(self) -> TokenHashes:
        policy = self._board.policy
        if (
            policy.declared.principals is self._declared
            and policy.decisions.tokens is self._tokens
            and policy.requires_tokens is self._required
            and (self.next_expiry is None or self._clock() < self.next_expiry)
        ):
            return self._hashes
        self._declared, self._tokens = policy.declared.principals, policy.decisions.tokens
        self._required = policy.requires_tokens
        now = self._clock()
        ahead = [
            token.expires_at
            for token in policy.tokens.values()
            if token.expires_at is not None and token.expires_at > now
        ]
        self.next_expiry = min(ahead, default=None)
        fresh = caller_token_hashes(policy, now)
        if fresh != self._hashes:
            self._hashes = fresh
        return self._hashes

    def seconds_to_expiry(self) -> float | None:
        """Until the next token ends by itself."""
        _ = self.hashes
        return None if self.next_expiry is None else max(0.0, (self.next_expiry - self._clock()).total_seconds())


# When each API token and each standing permission was used last: noted in memory, written once in a while.

WRITE_INTERVAL_S: Final = 60.0
"""Seconds. A busy one is written once a minute, however often it is used."""
_STORE_TIMEOUT_S: Final = 5.0
MAX_UNWRITTEN: Final = 10_000

log = logging.getLogger(__name__)


class UsageTracker:
    def __init__(self, store: TokenUsageStore | None, clock: Clock, *, of: str = "tokens") -> None:
        self._subject = of
        self._store = store
        self._clock = clock
        self._unwritten: dict[str, datetime] = {}

    def record_use(self, id: str) -> None:
        if len(self._unwritten) < MAX_UNWRITTEN or id in self._unwritten:
            self._unwritten[id] = self._clock()

    async def last_uses(self) -> Mapping[str, datetime]:
        kept = {} if self._store is None else await self._store.last_uses()
        return {**kept, **self._unwritten}

    async def write(self) -> None:
        written, self._unwritten = self._unwritten, {}
        if self._store is None or not written:
            return
        try:
            with anyio.fail_after(_STORE_TIMEOUT_S):
                await self._store.save_uses(written)
        except (StoreUnavailable, TimeoutError) as error:
            log.info("The last uses of %s cannot be written now: %s", self._subject, error)
            self._unwritten = {**written, **self._unwritten}

    async def run(self) -> None:
        try:
            while True:
                await anyio.sleep(WRITE_INTERVAL_S)
                await self.write()
        finally:
            with anyio.CancelScope(shield=True):
                await self.write()


# Whoever a request comes from, and what it may do.


@dataclass(frozen=True, slots=True)
class Identity:
    principal: PrincipalId
    scopes: frozenset[TokenScope]
    """With the lesser ones that each brings."""
    token: str | None = None
    """The id of the API token that was shown; `None` for the start-up token and for those of the file."""
    digest: bytes = field(default=b"", repr=False, compare=False)
    """Of the token that was shown, by which its holder is recognised again."""


OPERATOR: Final = Identity(LOCAL_PRINCIPAL, ALL_SCOPES)
"""Whoever holds the start-up token works at this machine."""


# The tokens that open something, as hashes: the start-up token, those of the file, and those made at run time.


def hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _utc() -> datetime:
    return datetime.now(UTC)


class TokenIndex:
    """Follows the board: a token that is taken back is a stranger's with the next request."""

    def __init__(
        self, board: BoardState, startup_token_hash: bytes, clock: Clock = _utc, uses: UsageTracker | None = None
    ) -> None:
        self._board = board
        self.startup_token_hash: Final = startup_token_hash
        self._clock = clock
        self.usage: Final = UsageTracker(None, clock) if uses is None else uses

    @property
    def changes(self) -> ChangeSignal:
        """Rings when somebody's token may have been taken back."""
        return self._board.changes

    def all_hashes(self) -> Iterator[bytes]:
        """The hashes of all tokens, those that are over as well."""
        yield self.startup_token_hash
        for principal in self._board.policy.declared.principals.values():
            yield from principal.hashes
        for token in self._board.policy.tokens.values():
            yield token.digest

    def identify(self, token: str) -> Identity | None:
        return self.identify_by_hash(hash_token(token))

    def identify_by_hash(self, digest: bytes) -> Identity | None:
        """Every hash is compared, each in constant time, so that the time taken tells nothing of any of them."""
        policy, now = self._board.policy, self._clock()
        found: Identity | None = None
        if hmac.compare_digest(digest, self.startup_token_hash):
            found = Identity(OPERATOR.principal, OPERATOR.scopes, digest=digest)
        for principal in policy.declared.principals.values():
            for known in principal.hashes:
                if hmac.compare_digest(digest, known):
                    found = Identity(principal.id, with_implied(principal.scopes), digest=digest)
        for token in policy.tokens.values():
            if hmac.compare_digest(digest, token.digest) and not token.is_inactive(now):
                found = Identity(token.principal, with_implied(token.scopes), token.id, digest)
                self.usage.record_use(token.id)
        return found
