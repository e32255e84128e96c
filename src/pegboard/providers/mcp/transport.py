"""What every transport gives: a stream of messages that arrive and one of messages that leave."""

from typing import TypeAlias

from mcp.client._transport import TransportStreams

Streams: TypeAlias = TransportStreams
