"""Answers on the wire: one JSON document, or server-sent events as the API has them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.tool import JsonObject
from pegboard.gateway.chat.conversation import ChatAnswer, ChatEvent
from pegboard.gateway.chat.report import ChatReport

from .answer import CompletionEnvelope
from .faults import ChatRejection, HeaderTuple

if TYPE_CHECKING:
    from starlette.types import Send

PING_INTERVAL_S: Final = 15.0
"""Seconds after which a silent stream says that it is still there: proxies close what says nothing."""


class ClientGoneError(Exception):
    """The client does not read its answer."""


class ChatStream:
    """Begins with the first thing to tell, so that whatever goes wrong before has a status of its own."""

    def __init__(self, send: "Send", frame: CompletionEnvelope, report: ChatReport) -> None:
        self._send = send
        self._frame = frame
        self._report = report
        self._lock = anyio.Lock()
        self.has_started = False

    async def send_event(self, event: ChatEvent) -> None:
        await self._send_chunk(self._frame.event_chunk(event, self._report))

    async def finish(self, answer: ChatAnswer, *, tells_usage: bool) -> None:
        for piece in self._frame.last_chunks(answer, self._report):
            await self._send_chunk(piece)
        if tells_usage:
            await self._send_chunk(self._frame.usage_chunk(self._report))
        await self._end()

    async def fail(self, refused: ChatRejection) -> None:
        """By an event that clients of this API take for the error it is."""
        more: JsonObject = {"pegboard": self._report.as_json} if self._report.calls else {}
        await self._send_chunk({**refused.body, **more})
        await self._end()

    @asynccontextmanager
    async def keep_alive(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ping)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def _ping(self) -> None:
        while True:
            await anyio.sleep(PING_INTERVAL_S)
            if self.has_started:
                async with self._lock:
                    await self._send_bytes(b": still there\n\n")

    async def _send_chunk(self, piece: JsonObject) -> None:
        async with self._lock:
            if not self.has_started:
                self.has_started = True
                await self._start()
                await self._send_json(self._frame.first_chunk(self._report))
            await self._send_json(piece)

    async def _end(self) -> None:
        async with self._lock:
            await self._send_bytes(b"data: [DONE]\n\n")
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _start(self) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _send_json(self, piece: JsonObject) -> None:
        await self._send_bytes(b"data: " + encode_json(piece) + b"\n\n")

    async def _send_bytes(self, content: bytes) -> None:
        await self._send({"type": "http.response.body", "body": content, "more_body": True})


async def send_json(send: "Send", status: int, body: JsonObject, headers: HeaderTuple = ()) -> None:
    content = encode_json(body)
    length = (b"content-length", b"%d" % len(content))
    pairs = [(b"content-type", b"application/json"), length, *headers]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})


def encode_json(body: JsonObject) -> bytes:
    """Escaped where a text is not one that could be sent: half of a character, which a model may well write."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()
