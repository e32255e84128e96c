"""The body of a request: read whole, or read past when it is too large, so that its client gets to hear why."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from pegboard.core.tool import Json
from pegboard.memory import undisturbed

from .door import CLOSE, Door, Refused
from .excess import SMALL, Opening, Values, excess
from .protocol import INVALID_PARAMS, PARSE_ERROR
from .wire import Unreadable, read, unpassable

if TYPE_CHECKING:
    from starlette.types import Receive


async def body_of(receive: "Receive", door: Door) -> bytes | Refused | None:
    """The body, when it is one readable message; `None` when the client left before it had sent all of it."""
    parts: list[bytes] = []
    size = 0
    more = True
    with anyio.move_on_after(door.patience) as waiting:
        while more and size <= door.largest_body:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
            size += len(parts[-1])
    if waiting.cancelled_caught:
        return too_late(door)
    if size > door.largest_body:
        parts.clear()
        return await _read_past(receive, door, door.too_large(), size) if more else _kept_open(door.too_large())
    body = b"".join(parts)
    if len(body) > door.most_values and (refused := await to_thread.run_sync(door.too_many, body)) is not None:
        return refused
    if len(body) <= SMALL:
        value = read(body)
    else:
        match await to_thread.run_sync(excess, body, door.most_values):
            case Opening() as opening:
                return Refused(400, opening.why, INVALID_PARAMS, id=opening.id)
            case Values() as values:
                return Refused(413, values.why, INVALID_PARAMS, id=values.id)
        value = await to_thread.run_sync(_read_large, body)
    if isinstance(value, Unreadable):
        if value.id is not None:
            return Refused(400, unpassable(value), INVALID_PARAMS, id=value.id)
        return Refused(400, f"The body cannot be read as JSON: {value.why}. Correct it.", PARSE_ERROR)
    if not isinstance(value, dict):
        return Refused(400, "The body is not one JSON-RPC message. Send each message in a request of its own.")
    return body


def _read_large(body: bytes) -> "Json | Unreadable":
    with undisturbed():
        return read(body)


def too_late(door: Door) -> Refused:
    return Refused(408, f"No body within {door.patience:g} seconds. Send the request again.", headers=CLOSE)


async def heard_out(receive: "Receive", door: Door, headers: Mapping[bytes, bytes], refused: Refused) -> Refused:
    """The refusal of a body that says it is too large, once that body has passed.

    A client that asked first has sent nothing yet, and to read would be to tell it to go ahead.
    """
    if b"expect" in headers or int(headers[b"content-length"][:20]) > door.most_discarded:
        return refused
    return await _read_past(receive, door, refused, 0)


async def _read_past(receive: "Receive", door: Door, refused: Refused, size: int) -> Refused:
    """Clients that still send when the connection closes see it break, and never read the answer."""
    with anyio.move_on_after(door.patience):
        while size <= door.most_discarded:
            message = await receive()
            if message["type"] != "http.request":
                break
            if not message.get("more_body", False):
                return _kept_open(refused)
            size += len(message.get("body", b""))
    return refused


def _kept_open(refused: Refused) -> Refused:
    return replace(refused, headers=())
