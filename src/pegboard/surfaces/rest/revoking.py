"""Streams that somebody listens to for hours: they end with the token, or the visit, that opened them."""

from typing import Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pegboard.gateway.access.reception import Reception
from pegboard.gateway.access.who import Who
from pegboard.gateway.bell import Listener

LOOK_EVERY: Final = 10.0
"""Seconds after which a stream is looked at even though nothing was decided: tokens expire, and visits end."""


async def while_it_may(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, reception: Reception, who: Who
) -> None:
    """Serves the request. If its answer is a stream of events, only while whoever asked would be let in again."""
    over = revoked = False
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            nonlocal revoked
            listener = Listener()
            with reception.keys.changed.ringing(listener), reception.visits.ended.ringing(listener):
                while reception.stays(who, scope["headers"]):
                    with anyio.move_on_after(LOOK_EVERY):
                        await listener.wait()
            revoked = True
            tasks.cancel_scope.cancel()

        async def sending(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start" and _is_stream(message):
                tasks.start_soon(watch, name="token of a stream")
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        await app(scope, receive, sending)
        tasks.cancel_scope.cancel()
    if revoked and not over:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_stream(message: Message) -> bool:
    kind = dict(message["headers"]).get(b"content-type", b"")
    return bool(kind.lower().startswith(b"text/event-stream"))
