"""Streams that somebody listens to for hours: they end with the token, or the visit, that opened them."""

from typing import Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pegboard.gateway.access.reception import OperatorAuthentication
from pegboard.gateway.access.who import Identity
from pegboard.gateway.bell import Subscription

CHECK_INTERVAL_S: Final = 10.0
"""Seconds after which a stream is looked at even though nothing was decided: tokens expire, and visits end."""


async def serve_while_authorized(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, reception: OperatorAuthentication, who: Identity
) -> None:
    """Serves the request. If its answer is a stream of events, only while whoever asked would be let in again."""
    over = revoked = False
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            nonlocal revoked
            listener = Subscription()
            with reception.tokens.changes.attach(listener), reception.sessions.end_signal.attach(listener):
                while reception.is_still_valid(who, scope["headers"]):
                    with anyio.move_on_after(CHECK_INTERVAL_S):
                        await listener.wait()
            revoked = True
            tasks.cancel_scope.cancel()

        async def send_and_watch(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start" and _is_stream(message):
                tasks.start_soon(watch, name="token of a stream")
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        await app(scope, receive, send_and_watch)
        tasks.cancel_scope.cancel()
    if revoked and not over:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_stream(message: Message) -> bool:
    kind = dict(message["headers"]).get(b"content-type", b"")
    return bool(kind.lower().startswith(b"text/event-stream"))
