"""The tokens that open something, as hashes: the start-up token, those of the file, and those made at run time."""

import hashlib
import hmac

from pegboard.core.scope import with_lesser
from pegboard.gateway.bell import Bell
from pegboard.gateway.board import Board

from .who import OPERATOR, Who


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Keys:
    """Follows the board: a token that is taken back is a stranger's with the next request."""

    def __init__(self, board: Board, start_up: bytes) -> None:
        self._board = board
        self._start_up = start_up

    @property
    def changed(self) -> Bell:
        """Rings when somebody's token may have been taken back."""
        return self._board.changed

    def holder(self, token: str) -> Who | None:
        return self.holder_by(hashed(token))

    def holder_by(self, digest: bytes) -> Who | None:
        """Every hash is compared, each in constant time, so that the time taken tells nothing of any of them."""
        found: Who | None = None
        if hmac.compare_digest(digest, self._start_up):
            found = Who(OPERATOR.principal, OPERATOR.scopes, digest=digest)
        for principal in self._board.policy.declared.principals.values():
            for known in principal.hashes:
                if hmac.compare_digest(digest, known):
                    found = Who(principal.id, with_lesser(principal.scopes), digest=digest)
        return found
