"""Answers on the wire: one JSON document, or server-sent events as the API has them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.tool import JsonObject
from pegboard.gateway.chat.conversation import Answer, Event
from pegboard.gateway.chat.report import Report

from .answer import Frame
from .faults import Headers, Refused

if TYPE_CHECKING:
    from starlette.types import Send

EVERY: Final = 15.0
"""Seconds after which a silent stream says that it is still there: proxies close what says nothing."""


class Gone(Exception):  # noqa: N818 - nobody is left to be told
    """The client does not read its answer."""


class Stream:
    """Begins with the first thing to tell, so that whatever goes wrong before has a status of its own."""

    def __init__(self, send: "Send", frame: Frame, report: Report) -> None:
        self._send = send
        self._frame = frame
        self._report = report
        self._one = anyio.Lock()
        self.began = False

    async def tell(self, event: Event) -> None:
        await self._write(self._frame.event(event, self._report))

    async def ended(self, answer: Answer, *, tells_usage: bool) -> None:
        for piece in self._frame.last(answer, self._report):
            await self._write(piece)
        if tells_usage:
            await self._write(self._frame.usage(self._report))
        await self._end()

    async def broken(self, refused: Refused) -> None:
        """By an event that clients of this API take for the error it is."""
        more: JsonObject = {"pegboard": self._report.shape} if self._report.calls else {}
        await self._write({**refused.body, **more})
        await self._end()

    @asynccontextmanager
    async def kept_alive(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ping)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def _ping(self) -> None:
        while True:
            await anyio.sleep(EVERY)
            if self.began:
                async with self._one:
                    await self._body(b": still there\n\n")

    async def _write(self, piece: JsonObject) -> None:
        async with self._one:
            if not self.began:
                self.began = True
                await self._start()
                await self._event(self._frame.first(self._report))
            await self._event(piece)

    async def _end(self) -> None:
        async with self._one:
            await self._body(b"data: [DONE]\n\n")
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _start(self) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _event(self, piece: JsonObject) -> None:
        await self._body(b"data: " + encoded(piece) + b"\n\n")

    async def _body(self, content: bytes) -> None:
        await self._send({"type": "http.response.body", "body": content, "more_body": True})


async def answer_json(send: "Send", status: int, body: JsonObject, headers: Headers = ()) -> None:
    content = encoded(body)
    length = (b"content-length", b"%d" % len(content))
    pairs = [(b"content-type", b"application/json"), length, *headers]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})


def encoded(body: JsonObject) -> bytes:
    """Escaped where a text is not one that could be sent: half of a character, which a model may well write."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()
