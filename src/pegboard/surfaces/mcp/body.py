"""The body of a request: read whole, or read past when it is too large, so that its client gets to hear why."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from pegboard.core.tool import Json
from pegboard.memory import pause_garbage_collection

from .door import CLOSE_HEADERS, HttpRejection, RequestChecks
from .excess import SMALL_BODY_BYTES, InitializeTooLarge, TooManyValues, find_excess
from .protocol import INVALID_PARAMS, PARSE_ERROR
from .wire import UnreadableJson, describe_unreadable, parse_strict_json

if TYPE_CHECKING:
    from starlette.types import Receive


async def read_body(receive: "Receive", door: RequestChecks) -> bytes | HttpRejection | None:
    """The body, when it is one readable message; `None` when the client left before it had sent all of it."""
    parts: list[bytes] = []
    size = 0
    more = True
    with anyio.move_on_after(door.client_timeout_s) as waiting:
        while more and size <= door.max_body_bytes:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
            size += len(parts[-1])
    if waiting.cancelled_caught:
        return body_timeout(door)
    if size > door.max_body_bytes:
        parts.clear()
        return (
            await _discard_body(receive, door, door.body_too_large(), size)
            if more
            else _without_close(door.body_too_large())
        )
    body = b"".join(parts)
    if len(body) > door.max_values and (refused := await to_thread.run_sync(door.check_value_count, body)) is not None:
        return refused
    if len(body) <= SMALL_BODY_BYTES:
        value = parse_strict_json(body)
    else:
        match await to_thread.run_sync(find_excess, body, door.max_values):
            case InitializeTooLarge() as opening:
                return HttpRejection(400, opening.why, INVALID_PARAMS, id=opening.id)
            case TooManyValues() as values:
                return HttpRejection(413, values.why, INVALID_PARAMS, id=values.id)
        value = await to_thread.run_sync(_parse_large, body)
    if isinstance(value, UnreadableJson):
        if value.id is not None:
            return HttpRejection(400, describe_unreadable(value), INVALID_PARAMS, id=value.id)
        return HttpRejection(400, f"The body cannot be read as JSON: {value.why}. Correct it.", PARSE_ERROR)
    if not isinstance(value, dict):
        return HttpRejection(400, "The body is not one JSON-RPC message. Send each message in a request of its own.")
    return body


def _parse_large(body: bytes) -> "Json | UnreadableJson":
    with pause_garbage_collection():
        return parse_strict_json(body)


def body_timeout(door: RequestChecks) -> HttpRejection:
    return HttpRejection(
        408, f"No body within {door.client_timeout_s:g} seconds. Send the request again.", headers=CLOSE_HEADERS
    )


async def reject_after_body(
    receive: "Receive", door: RequestChecks, headers: Mapping[bytes, bytes], refused: HttpRejection
) -> HttpRejection:
    """The refusal of a body that says it is too large, once that body has passed.

    A client that asked first has sent nothing yet, and to read would be to tell it to go ahead.
    """
    if b"expect" in headers or int(headers[b"content-length"][:20]) > door.max_discarded_bytes:
        return refused
    return await _discard_body(receive, door, refused, 0)


async def _discard_body(receive: "Receive", door: RequestChecks, refused: HttpRejection, size: int) -> HttpRejection:
    """Clients that still send when the connection closes see it break, and never read the answer."""
    with anyio.move_on_after(door.client_timeout_s):
        while size <= door.max_discarded_bytes:
            message = await receive()
            if message["type"] != "http.request":
                break
            if not message.get("more_body", False):
                return _without_close(refused)
            size += len(message.get("body", b""))
    return refused


def _without_close(refused: HttpRejection) -> HttpRejection:
    return replace(refused, headers=())
