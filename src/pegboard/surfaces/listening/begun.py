"""A connection on which an answer has been begun before it is known: what is written next goes on from there."""

import asyncio
from typing import Any, Final

STATUS_LINE_START: Final = b"HTTP/1.1 "
"""How every answer begins, to a client of HTTP/1.0 as well."""


class EarlyStatusTransport:
    """Begins an answer, and leaves its beginning out of the first thing that is written."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_due = True
        transport.write(STATUS_LINE_START)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, text: bytes) -> None:
        if self._is_due and text:
            self._is_due = False
            text = text.removeprefix(STATUS_LINE_START)
        self._transport.write(text)
