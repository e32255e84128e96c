"""What a connection sends to say in whose name it asks, beside the headers that were configured for it."""

from collections.abc import Mapping
from typing import Protocol

from pegboard.core.ids import ServerKey


class Authorization(Protocol):
    """Of one server. The raw path and the SDK's sessions ask the same object."""

    @property
    def server(self) -> ServerKey:
        """The one that a person signs in to."""
        ...

    def headers(self) -> Mapping[str, str]:
        """For the next request, at once and without waiting; empty while nobody is signed in."""
        ...

    async def handle_unauthorized(self, sent: Mapping[str, str] | None = None, challenge: str = "") -> bool:
        """A request was answered with 401. True: the credentials are renewed, so ask again, once.

        `sent` are the headers that the request had from here, by which a renewal that came meanwhile is not repeated;
        `challenge` is the answer's `WWW-Authenticate`. Many may ask at once: one renewal serves them all.
        """
        ...

    def mark_rejected(self, challenge: str = "") -> None:
        """The request was answered with 401 again after that: only a person can help."""
        ...

    def handle_forbidden(self, challenge: str) -> bool:
        """A request was answered with 403. Whether it is for want of rights that a person could grant."""
        ...

    async def keep_fresh(self) -> float:
        """Renew ahead of the end, again and again, until that is refused. Then: for how many seconds more what we have
        may still be taken."""
        ...

    def mark_lapsed(self) -> None:
        """What we have is not used any longer: only a person can help."""
        ...
