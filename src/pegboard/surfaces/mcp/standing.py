"""The stream that a client of the handshake era opens to hear from its server: it is told there of its changed list."""

from typing import TYPE_CHECKING, Final

import anyio

from .watch import Watch, cancel_when

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CHANGED: Final = b'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\r\n\r\n'


async def standing_stream(
    app: "ASGIApp", scope: "Scope", receive: "Receive", send: "Send", watch: Watch, ending: anyio.Event
) -> None:
    """Serves the stream as the SDK does, and writes each change between its events.

    It is written here and not through the session, because the stream has a view of its own, and because a client
    that does not read its stream must not hold up the answers of its session.
    """
    turn = anyio.Lock()
    opened = anyio.Event()
    over = False

    async def sending(message: "Message") -> None:
        nonlocal over
        async with turn:
            if over:
                return
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)
        if message["type"] == "http.response.start" and message["status"] == 200:
            opened.set()

    async def tell() -> None:
        await opened.wait()
        while True:
            await watch.changed()
            await sending({"type": "http.response.body", "body": CHANGED, "more_body": True})

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell, name="changes")
        tasks.start_soon(cancel_when, ending, tasks.cancel_scope, name="ending")
        await app(scope, receive, sending)
        tasks.cancel_scope.cancel()
    if opened.is_set() and ending.is_set():
        await sending({"type": "http.response.body", "body": b"", "more_body": False})
