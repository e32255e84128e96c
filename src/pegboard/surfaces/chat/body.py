"""The body of a request: read whole, or refused before it is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import anyio

from .faults import ChatRejection
from .gate import ChatAccess

if TYPE_CHECKING:
    from starlette.types import Receive

JSON_TYPE: Final = "application/json"
MAX_DISCARDED_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a body that is too large which are read all the same, so that its client hears why."""
_CLOSE_HEADERS: Final = ((b"connection", b"close"),)


async def read_body(
    receive: "Receive", headers: Mapping[bytes, bytes], gate: ChatAccess
) -> bytes | ChatRejection | None:
    """`None` when the client left before it had sent all of it."""
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind != JSON_TYPE:
        return ChatRejection(415, f"Content-Type is {kind[:100]!r}. Send {JSON_TYPE}.", headers=_CLOSE_HEADERS)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        return ChatRejection(415, "Compressed requests are not taken. Send the body as it is.", headers=_CLOSE_HEADERS)
    parts: list[bytes] = []
    size, more = 0, True
    with anyio.move_on_after(gate.client_timeout_s) as waiting:
        while more and size <= MAX_DISCARDED_BYTES:
            message = await receive()
            if message["type"] != "http.request":
                return None
            more = message.get("more_body", False)
            part: bytes = message.get("body", b"")
            size += len(part)
            if size <= gate.max_body_bytes:
                parts.append(part)
            else:
                parts.clear()
    if waiting.cancelled_caught:
        return ChatRejection(
            408, f"No body within {gate.client_timeout_s:g} seconds. Send the request again.", headers=_CLOSE_HEADERS
        )
    if size > gate.max_body_bytes:
        told = f"The body is larger than {gate.max_body_bytes} bytes. Send less at once."
        return ChatRejection(413, told, headers=_CLOSE_HEADERS if more else ())
    return b"".join(parts)
