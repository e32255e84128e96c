"""Route: the event stream of changed topics."""

from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any, Final

import anyio
from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from pegboard import __version__
from pegboard.gateway.change_feed import BURST_PAUSE_S, ChangeNotifier
from pegboard.surfaces.rest.responses import ProblemError, encode_json, make_router

HEARTBEAT_S: Final = 15.0
"""Seconds of silence after which a comment tells that the stream is alive."""
MAX_LISTENERS: Final = 256

_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_STREAM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events: `hello` at once, then `changed` with the topic that changed.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: hello\ndata: {"version":"0.1.0"}\n\nevent: changed\ndata: {"topic":"board"}\n\n',
            }
        },
    }
}


def event_routes(change_notifier: ChangeNotifier) -> APIRouter:
    routes = make_router("board")

    @routes.get("/events", response_class=StreamingResponse, responses=_STREAM_RESPONSES)
    async def follow_events() -> StreamingResponse:
        """What changes, as server-sent events. `topic` is one of board, servers, toolsets, approvals, tickets,
        activity, policy, settings, tokens and search, which is the saved queries, at most four times a second each;
        ask for what you show of it again. The stream ends when the gateway stops."""
        changes = change_notifier
        if changes.subscriber_count >= MAX_LISTENERS:
            told = f"{MAX_LISTENERS} listen to events already, and no more may. Close a page, or try again later."
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, told)
        return StreamingResponse(_stream_events(changes), media_type="text/event-stream", headers=_HEADERS)

    return routes


async def _stream_events(changes: ChangeNotifier) -> AsyncGenerator[bytes, None]:
    with changes.subscribe() as subscription:
        yield b"retry: 1000\n" + _encode_event(b"hello", {"version": __version__})
        while not subscription.is_over:
            topics = None
            with anyio.move_on_after(HEARTBEAT_S):
                topics = await subscription.wait()
            if topics is None:
                yield b": nothing new\n\n"
            elif topics:
                yield b"".join(_encode_event(b"changed", {"topic": topic.value}) for topic in topics)
                await anyio.sleep(BURST_PAUSE_S)


def _encode_event(name: bytes, body: dict[str, str]) -> bytes:
    return b"event: " + name + b"\ndata: " + encode_json(body) + b"\n\n"
