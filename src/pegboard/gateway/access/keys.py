"""The tokens that open something, as hashes: the start-up token, those of the file, and those made at run time."""

import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from pegboard.core.scope import with_implied
from pegboard.gateway.bell import ChangeSignal
from pegboard.gateway.board import BoardState
from pegboard.ports import Clock

from .uses import UsageTracker
from .who import OPERATOR, Identity


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
