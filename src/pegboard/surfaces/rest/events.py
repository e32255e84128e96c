"""The one stream of events: which noun changed, and nothing of what it changed to. Whoever hears a bell asks again."""

from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any, Final

import anyio
from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from pegboard import __version__
from pegboard.gateway.bells import PAUSE, Bells
from pegboard.gateway.gateway import Gateway

from .answers import routes_about, written
from .problems import Problem

HEARTBEAT: Final = 15.0
"""Seconds of silence after which a comment tells that the stream is alive."""
MOST_LISTENERS: Final = 256

_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events: `hello` at once, then `bell` with the noun that changed.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: hello\ndata: {"version":"0.1.0"}\n\nevent: bell\ndata: {"noun":"board"}\n\n',
            }
        },
    }
}


def event_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("board")

    @routes.get("/events", response_class=StreamingResponse, responses=_STREAM)
    async def follow_events() -> StreamingResponse:
        """What changes, as server-sent events. A bell names one of board, servers, toolsets, approvals, tickets,
        activity, policy, settings, tokens and search, which is the saved queries, at most four times a second each;
        ask for what you show of it again. The stream ends when the gateway stops."""
        bells = gateway.bells
        if bells.listeners >= MOST_LISTENERS:
            told = f"{MOST_LISTENERS} listen to events already, and no more may. Close a page, or try again later."
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, told)
        return StreamingResponse(_stream(bells), media_type="text/event-stream", headers=_HEADERS)

    return routes


async def _stream(bells: Bells) -> AsyncGenerator[bytes, None]:
    with bells.listen() as hearing:
        yield b"retry: 1000\n" + _event(b"hello", {"version": __version__})
        while not hearing.is_over:
            rung = None
            with anyio.move_on_after(HEARTBEAT):
                rung = await hearing.wait()
            if rung is None:
                yield b": nothing new\n\n"
            elif rung:
                yield b"".join(_event(b"bell", {"noun": noun.value}) for noun in rung)
                await anyio.sleep(PAUSE)


def _event(name: bytes, body: dict[str, str]) -> bytes:
    return b"event: " + name + b"\ndata: " + written(body) + b"\n\n"
