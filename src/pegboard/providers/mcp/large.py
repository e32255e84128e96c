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

from .messages import LONGEST, SMALL, Reader, asked_in
from .sieve import Sieve

_KEY: Final = "pegboard/large"
_MOST_HELD: Final = 64
_BLANK: Final = re.compile(rb"(?>\r\n|\n|\r){2}")
_OVERLAP: Final = 3
"""Bytes that the end of one chunk and the beginning of the next may share a blank line over."""


class LargeMessages:
    """Of one server. What it holds is on its way through the SDK."""

    def __init__(self, whose: str) -> None:
        self._sieve = Sieve()
        self._asked = Reader(whose, lambda: True, self._sieve.takes)
        self._answered = Reader(whose, lambda: True)
        self._held: dict[str, JSONRPCMessage] = {}

    def ask(self, body: bytes) -> None:
        """This is about to be sent, and if it is a request, somebody waits for the answer."""
        if (id := asked_in(body)) is not None:
            self._sieve.ask(id)

    async def body(self, text: bytes) -> bytes | None:
        """What the SDK gets in place of the body of an answer; None for what is no message."""
        return await self._in_place_of(text, self._answered)

    async def events(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same stream, whole events at a time, with small events in place of large ones."""
        parts: list[bytes] = []
        size = 0
        async for chunk in chunks:
            tail = parts[-1][-_OVERLAP:] if parts else b""
            if chunk.endswith((b"\n\n", b"\r\n\r\n")):
                end = len(chunk)
            else:
                end = max((found.end() for found in _BLANK.finditer(tail + chunk)), default=0) - len(tail)
            if end <= 0:
                parts.append(chunk)
                size += len(chunk)
                if size > LONGEST:
                    # The SDK has words for an event without end.
                    yield b"".join(parts)
                    parts, size = [], 0
                continue
            whole = b"".join((*parts, chunk[:end]))
            rest = chunk[end:]
            parts, size = ([rest], len(rest)) if rest else ([], 0)
            if len(whole) <= SMALL:
                yield whole
                continue
            begin = 0
            for found in _BLANK.finditer(whole):
                event, begin = whole[begin : found.end()], found.end()
                yield event if len(event) <= SMALL else await self._event(event)
            if begin < len(whole):
                yield whole[begin:]
        if parts:
            yield b"".join(parts)

    def exchanged(self, arrived: SessionMessage) -> SessionMessage:
        """The large message in whose place this one came, or this one."""
        message = arrived.message
        if isinstance(message, JSONRPCError):
            return arrived
        told = message.params if isinstance(message, JSONRPCRequest | JSONRPCNotification) else message.result
        token = None if not told else told.get(_KEY)
        held = self._held.pop(token, None) if isinstance(token, str) else None
        if held is None:
            return arrived
        if not isinstance(held, JSONRPCNotification) and not isinstance(message, JSONRPCNotification):
            held.id = message.id
        return SessionMessage(held, arrived.metadata)

    async def _event(self, event: bytes) -> bytes:
        lines = event.splitlines()
        fields = [line.partition(b":") for line in lines if line]
        text = b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
        kept = [line for line in lines if line and line.partition(b":")[0] != b"data"]
        small = text if len(text) <= SMALL else await self._in_place_of(text, self._asked)
        if small:
            kept += [b"data: " + line for line in small.split(b"\n")]
        return b"\n".join((*kept, b"", b""))

    async def _in_place_of(self, text: bytes, reader: Reader) -> bytes | None:
        read = await reader.message(text)
        if read is None:
            return None
        message = read.message
        if isinstance(message, JSONRPCError) and message.id is None:
            told_error = {"code": message.error.code, "message": message.error.message[:SMALL]}
            return json.dumps({"jsonrpc": "2.0", "id": None, "error": told_error}).encode()
        token = token_hex(16)
        if len(self._held) >= _MOST_HELD:
            del self._held[next(iter(self._held))]
        self._held[token] = message
        told: dict[str, object] = {"jsonrpc": "2.0"}
        if not isinstance(message, JSONRPCNotification):
            told["id"] = message.id
        if isinstance(message, JSONRPCRequest | JSONRPCNotification):
            told |= {"method": message.method, "params": {_KEY: token}}
        else:
            told["result"] = {_KEY: token}
        return json.dumps(told).encode()


def unpacked(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it was before it was compressed for the way. From now on the response is of that."""
    packed = httpx2.Response(
        response.status_code,
        headers={"content-encoding": response.headers.pop("content-encoding", "identity")},
        stream=response.stream,
        request=response.request,
    )
    return packed.aiter_bytes()
