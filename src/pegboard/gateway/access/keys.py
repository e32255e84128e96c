"""The tokens that open something, as hashes: the start-up token, those of the file, and those made at run time."""

import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from pegboard.core.scope import with_lesser
from pegboard.gateway.bell import Bell
from pegboard.gateway.board import Board
from pegboard.ports import Clock

from .uses import Uses
from .who import OPERATOR, Who


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _utc() -> datetime:
    return datetime.now(UTC)


class Keys:
    """Follows the board: a token that is taken back is a stranger's with the next request."""

    def __init__(self, board: Board, start_up: bytes, clock: Clock = _utc, uses: Uses | None = None) -> None:
        self._board = board
        self.start_up: Final = start_up
        self._clock = clock
        self.uses: Final = Uses(None, clock) if uses is None else uses

    @property
    def changed(self) -> Bell:
        """Rings when somebody's token may have been taken back."""
        return self._board.changed

    def known(self) -> Iterator[bytes]:
        """The hashes of all tokens, those that are over as well."""
        yield self.start_up
        for principal in self._board.policy.declared.principals.values():
            yield from principal.hashes
        for token in self._board.policy.tokens.values():
            yield token.digest

    def holder(self, token: str) -> Who | None:
        return self.holder_by(hashed(token))

    def holder_by(self, digest: bytes) -> Who | None:
        """Every hash is compared, each in constant time, so that the time taken tells nothing of any of them."""
        policy, now = self._board.policy, self._clock()
        found: Who | None = None
        if hmac.compare_digest(digest, self.start_up):
            found = Who(OPERATOR.principal, OPERATOR.scopes, digest=digest)
        for principal in policy.declared.principals.values():
            for known in principal.hashes:
                if hmac.compare_digest(digest, known):
                    found = Who(principal.id, with_lesser(principal.scopes), digest=digest)
        for token in policy.tokens.values():
            if hmac.compare_digest(digest, token.digest) and not token.is_over(now):
                found = Who(token.principal, with_lesser(token.scopes), token.id, digest)
                self.uses.seen(token.id)
        return found
