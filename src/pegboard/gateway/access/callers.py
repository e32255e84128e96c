"""Who may call tools over HTTP just now, by the hashes of their tokens."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeAlias

from pegboard.core.api_token import ApiToken
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import Policy
from pegboard.core.principal import Principal
from pegboard.core.scope import TokenScope
from pegboard.gateway.board import BoardState
from pegboard.ports import Clock

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
        self._until: datetime | None = None
        self._hashes: TokenHashes = {}

    @property
    def hashes(self) -> TokenHashes:
        policy = self._board.policy
        if (
            policy.declared.principals is self._declared
            and policy.decisions.tokens is self._tokens
            and policy.requires_tokens is self._required
            and (self._until is None or self._clock() < self._until)
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
        self._until = min(ahead, default=None)
        fresh = caller_token_hashes(policy, now)
        if fresh != self._hashes:
            self._hashes = fresh
        return self._hashes

    def seconds_to_expiry(self) -> float | None:
        """Until the next token ends by itself."""
        _ = self.hashes
        return None if self._until is None else max(0.0, (self._until - self._clock()).total_seconds())
