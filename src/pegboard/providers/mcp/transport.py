"""What every transport offers: incoming and outgoing messages, and optionally a fast path for calls."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.ports.providers import ClientPeer, Progress

HeaderMap: TypeAlias = Mapping[tuple[str, ...], str]
"""Which arguments a tool wants repeated in HTTP headers, by their path in the arguments."""

HeaderMaps: TypeAlias = Mapping[str, HeaderMap]
"""By the name of the tool; those of the list that is valid now."""

Streams: TypeAlias = TransportStreams


class ToolCallRoute(Protocol):
    """A way to call the tools of a server."""

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        """Raises `MCPError` for an error answer, `TimeoutError` when there is none in time, and
        `UnsendableArgumentsError`. Cancelled, it tells the server to stop."""
        ...

    def close(self) -> None:
        """Take no more calls, and let go of those who wait."""
        ...


class McpTransport(NamedTuple):
    incoming: ReadStream[SessionMessage | Exception]
    outgoing: WriteStream[SessionMessage]
    open_calls: Callable[[str, HeaderMaps], ToolCallRoute] | None = None
    """The shorter way, once the protocol's version is known; None where calls go through the session."""
