"""Where visits of browsers are kept, so that a restart of the gateway ends none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredSession:
    """Both marks are made with a key that is not in the store: whoever reads or writes it can make no visit of it."""

    secret: str
    """Of what the cookie holds."""
    token: str
    """Of the token that began it."""
    began_at: datetime
    last_seen_at: datetime


class SessionStore(Protocol):
    """By the place of a gateway: no other gateway on the same store takes its visits. Raises `StoreAway`."""

    async def load(self, place: str) -> Sequence[StoredSession]:
        """The one that was seen last stands last."""
        ...

    async def save(
        self, place: str, visits: Sequence[StoredSession], ended: Collection[str], seen_after: datetime
    ) -> None:
        """Writes those, and forgets what has ended, by the marks of its secrets, and what nobody saw since then."""
        ...

    async def end_all(self) -> None:
        """Those of every gateway: whoever asks may not know the key or the place of the one that is meant."""
        ...
