"""Large messages over HTTP: built here, beside the event loop and within bounds, and let past the SDK's own reader.

That one holds everybody up, and builds whatever comes. In place of a large message it gets a small one of its kind,
which is exchanged for the large one when it comes out on the other side.
"""

import json
import re
from collections.abc import AsyncIterator
from secrets import token_hex
from typing import Final

import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

from .messages import MAX_MESSAGE_BYTES, MAX_ON_LOOP_BYTES, McpMessageReader, request_id_in
from .sieve import UnsolicitedFilter

_PLACEHOLDER_KEY: Final = "pegboard/large"
_MAX_HELD: Final = 64
_BLANK_LINE: Final = re.compile(rb"(?>\r\n|\n|\r){2}")
_OVERLAP_BYTES: Final = 3
"""Bytes that the end of one chunk and the beginning of the next may share a blank line over."""


class LargeMessageExchange:
    """Of one server. What it holds is on its way through the SDK."""

    def __init__(self, whose: str) -> None:
        self._filter = UnsolicitedFilter()
        self._event_reader = McpMessageReader(whose, lambda: True, self._filter.take_expected)
        self._body_reader = McpMessageReader(whose, lambda: True)
        self._messages: dict[str, JSONRPCMessage] = {}

    def register_request(self, body: bytes) -> None:
        """This is about to be sent, and if it is a request, somebody waits for the answer."""
        if (id := request_id_in(body)) is not None:
            self._filter.expect(id)

    async def replace_body(self, text: bytes) -> bytes | None:
        """What the SDK gets in place of the body of an answer; None for what is no message."""
        return await self._substitute(text, self._body_reader)

    async def replace_events(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same stream, whole events at a time, with small events in place of large ones."""
        parts: list[bytes] = []
        size = 0
        async for chunk in chunks:
            tail = parts[-1][-_OVERLAP_BYTES:] if parts else b""
            if chunk.endswith((b"\n\n", b"\r\n\r\n")):
                end = len(chunk)
            else:
                end = max((found.end() for found in _BLANK_LINE.finditer(tail + chunk)), default=0) - len(tail)
            if end <= 0:
                parts.append(chunk)
                size += len(chunk)
                if size > MAX_MESSAGE_BYTES:
                    # The SDK has words for an event without end.
                    yield b"".join(parts)
                    parts, size = [], 0
                continue
            whole = b"".join((*parts, chunk[:end]))
            rest = chunk[end:]
            parts, size = ([rest], len(rest)) if rest else ([], 0)
            if len(whole) <= MAX_ON_LOOP_BYTES:
                yield whole
                continue
            begin = 0
            for found in _BLANK_LINE.finditer(whole):
                event, begin = whole[begin : found.end()], found.end()
                yield event if len(event) <= MAX_ON_LOOP_BYTES else await self._replace_event(event)
            if begin < len(whole):
                yield whole[begin:]
        if parts:
            yield b"".join(parts)

    def restore(self, arrived: SessionMessage) -> SessionMessage:
        """The large message in whose place this one came, or this one."""
        message = arrived.message
        if isinstance(message, JSONRPCError):
            return arrived
        told = message.params if isinstance(message, JSONRPCRequest | JSONRPCNotification) else message.result
        token = None if not told else told.get(_PLACEHOLDER_KEY)
        held = self._messages.pop(token, None) if isinstance(token, str) else None
        if held is None:
            return arrived
        if not isinstance(held, JSONRPCNotification) and not isinstance(message, JSONRPCNotification):
            held.id = message.id
        return SessionMessage(held, arrived.metadata)

    async def _replace_event(self, event: bytes) -> bytes:
        lines = event.splitlines()
        fields = [line.partition(b":") for line in lines if line]
        text = b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
        kept = [line for line in lines if line and line.partition(b":")[0] != b"data"]
        small = text if len(text) <= MAX_ON_LOOP_BYTES else await self._substitute(text, self._event_reader)
        if small:
            kept += [b"data: " + line for line in small.split(b"\n")]
        return b"\n".join((*kept, b"", b""))

    async def _substitute(self, text: bytes, reader: McpMessageReader) -> bytes | None:
        read = await reader.read_message(text)
        if read is None:
            return None
        message = read.message
        if isinstance(message, JSONRPCError) and message.id is None:
            told_error = {"code": message.error.code, "message": message.error.message[:MAX_ON_LOOP_BYTES]}
            return json.dumps({"jsonrpc": "2.0", "id": None, "error": told_error}).encode()
        token = token_hex(16)
        if len(self._messages) >= _MAX_HELD:
            del self._messages[next(iter(self._messages))]
        self._messages[token] = message
        told: dict[str, object] = {"jsonrpc": "2.0"}
        if not isinstance(message, JSONRPCNotification):
            told["id"] = message.id
        if isinstance(message, JSONRPCRequest | JSONRPCNotification):
            told |= {"method": message.method, "params": {_PLACEHOLDER_KEY: token}}
        else:
            told["result"] = {_PLACEHOLDER_KEY: token}
        return json.dumps(told).encode()


def decompress_body(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it was before it was compressed for the way. From now on the response is of that."""
    packed = httpx2.Response(
        response.status_code,
        headers={"content-encoding": response.headers.pop("content-encoding", "identity")},
        stream=response.stream,
        request=response.request,
    )
    return packed.aiter_bytes()
