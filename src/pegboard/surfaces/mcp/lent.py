"""Headers that servers are called with in a caller's name: each must be clear."""

from collections import Counter
from collections.abc import Sequence

from pegboard.config.references import header_references
from pegboard.core.server import Http
from pegboard.gateway.gateway import Gateway

from .lending import credential_header_names


def duplicate_credential_header(gateway: Gateway, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """A header that some server is to be called with, if it is not clear which of two values that would be."""
    times = Counter(name for name, _ in headers)
    twice = [name for name in times if times[name] > 1]
    if not twice:
        return None
    lent = {
        asked.header.lower().encode()
        for server in gateway.board.policy.servers.values()
        if isinstance(server.connection, Http)
        for text in server.connection.headers.values()
        for asked in header_references(text)
    } | credential_header_names(gateway.board.policy)
    return next((name for name in twice if name in lent), None)
