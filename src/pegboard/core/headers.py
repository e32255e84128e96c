"""Which headers of a request to a server are the transport's own, so that nobody else may set them."""

from typing import Final

TRANSPORT_HEADERS: Final = frozenset(
    {
        # Where a message goes, where it ends, and how the connection is used.
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"),
        *("te", "trailer", "upgrade", "expect", "content-type", "content-encoding", "accept", "accept-encoding"),
        # What the protocol says beside the message, and from which event a stream goes on.
        *("mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"),
    }
)
PARAMETER_HEADER_PREFIX: Final = "mcp-param-"
"""Arguments that a tool wants in headers travel under names that begin so."""


def is_transport_header(name: str) -> bool:
    return (lowered := name.lower()) in TRANSPORT_HEADERS or lowered.startswith(PARAMETER_HEADER_PREFIX)
