"""The stream that a client of the handshake era opens to hear from its server: it is told there of changes."""

import json
from typing import TYPE_CHECKING

import anyio

from pegboard.core.tool import JsonObject
from pegboard.gateway.following import ResourceFollower

from .news import RESOURCE_UPDATED, notifications_of
from .watch import ListWatch, cancel_when

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def _encode_event(method: str, params: JsonObject | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
    return b"event: message\r\ndata: %b\r\n\r\n" % json.dumps(message, separators=(",", ":")).encode()


async def serve_get_stream(
    app: "ASGIApp",
    scope: "Scope",
    receive: "Receive",
    send: "Send",
    watch: ListWatch,
    follower: ResourceFollower,
    *endings: anyio.Event,
) -> None:
    """Serves the stream as the SDK does, and writes each change between its events, until one of the endings.

    It is written here and not through the session, because the stream has a view of its own, and because a client
    that does not read its stream must not hold up the answers of its session.
    """
    turn = anyio.Lock()
    opened = anyio.Event()
    over = False

    async def send_unless_closed(message: "Message") -> None:
        nonlocal over
        async with turn:
            if over:
                return
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)
        if message["type"] == "http.response.start" and message["status"] == 200:
            opened.set()

    async def tell(event: bytes) -> None:
        await send_unless_closed({"type": "http.response.body", "body": event, "more_body": True})

    async def tell_changes() -> None:
        await opened.wait()
        while True:
            for method in notifications_of(await watch.wait_for_changes()):
                await tell(_encode_event(method))

    async def tell_updates() -> None:
        await opened.wait()
        while True:
            await tell(_encode_event(RESOURCE_UPDATED, {"uri": await follower.next_update()}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell_changes, name="changes")
        tasks.start_soon(tell_updates, name="updates")
        for ending in endings:
            tasks.start_soon(cancel_when, ending, tasks.cancel_scope, name="ending")
        await app(scope, receive, send_unless_closed)
        tasks.cancel_scope.cancel()
    if opened.is_set() and any(ending.is_set() for ending in endings):
        await send_unless_closed({"type": "http.response.body", "body": b"", "more_body": False})
