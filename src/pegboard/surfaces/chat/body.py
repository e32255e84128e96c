"""The body of a request: read whole, or refused before it is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import anyio

from .faults import Refused
from .gate import Gate

if TYPE_CHECKING:
    from starlette.types import Receive

JSON: Final = "application/json"
MOST_DISCARDED: Final = 64 * 1024 * 1024
"""Bytes of a body that is too large which are read all the same, so that its client hears why."""
_CLOSE: Final = ((b"connection", b"close"),)


async def body_of(receive: "Receive", headers: Mapping[bytes, bytes], gate: Gate) -> bytes | Refused | None:
    """`None` when the client left before it had sent all of it."""
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind != JSON:
        return Refused(415, f"Content-Type is {kind[:100]!r}. Send {JSON}.", headers=_CLOSE)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        return Refused(415, "Compressed requests are not taken. Send the body as it is.", headers=_CLOSE)
    parts: list[bytes] = []
    size, more = 0, True
    with anyio.move_on_after(gate.patience) as waiting:
        while more and size <= MOST_DISCARDED:
            message = await receive()
            if message["type"] != "http.request":
                return None
            more = message.get("more_body", False)
            part: bytes = message.get("body", b"")
            size += len(part)
            if size <= gate.largest_body:
                parts.append(part)
            else:
                parts.clear()
    if waiting.cancelled_caught:
        return Refused(408, f"No body within {gate.patience:g} seconds. Send the request again.", headers=_CLOSE)
    if size > gate.largest_body:
        told = f"The body is larger than {gate.largest_body} bytes. Send less at once."
        return Refused(413, told, headers=_CLOSE if more else ())
    return b"".join(parts)
