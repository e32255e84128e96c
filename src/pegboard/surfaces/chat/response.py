"""Chat answers as JSON or server-sent events."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.json.values import Json, JsonObject
from pegboard.gateway.chat.conversation import CallEnd, CallStart, ChatAnswer, ChatEvent, ChatTicketWait
from pegboard.gateway.chat.report import ChatReport
from pegboard.gateway.chat.turn import ModelCall, TurnText, TurnThought
from pegboard.ports.models import ModelFault, ModelServerError

if TYPE_CHECKING:
    from starlette.types import Send


# An answer in the shapes of the API: whole, or piece by piece. What is ours is in `pegboard`, beside them.

MAX_EVENT_TEXT_CHARS: Final = 2_000
"""Characters of arguments and of a result in a stream: for people to see what is done. The tool and the model have all
of them."""


@dataclass(frozen=True, slots=True)
class CompletionEnvelope:
    """What every piece of one answer says of it."""

    id: str
    created: int

    def completion(self, answer: ChatAnswer, report: ChatReport) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": answer.text or None}
        if not answer.calls:
            message["content"] = answer.text
        if thinking := answer.thinking_text:
            message["reasoning_content"] = thinking
        if answer.calls:
            message["tool_calls"] = [_tool_call_json(call) for call in answer.calls]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": report.model,
            "choices": [choice],
            "usage": report.usage,
            "pegboard": report.as_json,
        }

    def first_chunk(self, report: ChatReport) -> JsonObject:
        return self.chunk(report, {"role": "assistant", "content": ""})

    def event_chunk(self, event: ChatEvent, report: ChatReport) -> JsonObject:
        match event:
            case TurnText(text):
                return self.chunk(report, {"content": text})
            case TurnThought(text):
                return self.chunk(report, {"reasoning_content": text})
            case _:
                # With an empty delta: many clients take for granted that there is one.
                return {**self.chunk(report, {}), "pegboard": {"event": _event_json(event)}}

    def last_chunks(self, answer: ChatAnswer, report: ChatReport) -> list[JsonObject]:
        pieces: list[JsonObject] = []
        if answer.calls:
            calls: list[Json] = [{"index": at, **_tool_call_json(call)} for at, call in enumerate(answer.calls)]
            pieces.append(self.chunk(report, {"tool_calls": calls}))
        return [*pieces, {**self.chunk(report, {}, answer.finish), "pegboard": report.as_json}]

    def usage_chunk(self, report: ChatReport) -> JsonObject:
        return {**self.chunk(report, None), "usage": report.usage}

    def chunk(self, report: ChatReport, delta: JsonObject | None, finish: str | None = None) -> JsonObject:
        choices: list[Json] = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": report.model,
            "choices": choices,
        }


def _tool_call_json(call: ModelCall) -> JsonObject:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}


def _event_json(event: CallStart | ChatTicketWait | CallEnd) -> JsonObject:
    match event:
        case CallStart(id, name, tool, arguments):
            told = None if tool is None else str(tool)
            shown = arguments[:MAX_EVENT_TEXT_CHARS]
            return {"type": "call", "id": id, "name": name, "tool": told, "arguments": shown, "length": len(arguments)}
        case ChatTicketWait(id, ticket):
            return {"type": "ticket", "id": id, "ticket": ticket}
        case CallEnd(made, text):
            return {"type": "result", **made.as_json, "text": text[:MAX_EVENT_TEXT_CHARS], "length": len(text)}


# What a client is told that gets no answer, in the words of the API: what was wrong, where, and what to do.

HeaderTuple = tuple[tuple[bytes, bytes], ...]

INVALID_REQUEST: Final = "invalid_request_error"
_STATUSES: Final = {
    ModelFault.UNREACHABLE: 502,
    ModelFault.TIMEOUT: 504,
    ModelFault.BAD_KEY: 502,
    ModelFault.NO_MODEL: 404,
    ModelFault.BUSY: 503,
    ModelFault.REFUSED: 400,
    ModelFault.MALFORMED: 502,
    ModelFault.TRUNCATED: 502,
}
_CODES: Final = {ModelFault.NO_MODEL: "model_not_found", ModelFault.REFUSED: "model_server_refused"}
NO_RETRY: Final[HeaderTuple] = ((b"x-should-retry", b"false"),)
"""Clients of this API repeat what failed by themselves. Where tools have run, that would run them again."""


@dataclass(frozen=True)
class ChatRejection:
    """An answer in place of the request's own."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    headers: HeaderTuple = field(default=(), repr=False)

    @property
    def body(self) -> JsonObject:
        kind = INVALID_REQUEST if self.status < 500 else "api_error"
        match self.status:
            case HTTPStatus.UNAUTHORIZED:
                kind = "authentication_error"
            case HTTPStatus.TOO_MANY_REQUESTS:
                kind = "rate_limit_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def bad_request(message: str, param: str | None = None, code: str | None = None) -> ChatRejection:
    return ChatRejection(400, message, param, code)


def models_unavailable(trouble: ModelServerError) -> ChatRejection:
    """There is no list, whatever its server has against the question: the client asked for nothing wrong."""
    told = model_error_rejection(trouble, have_run=False)
    return told if told.status >= 500 else ChatRejection(502, told.message, code=f"model_server_{trouble.fault.value}")


def model_error_rejection(trouble: ModelServerError, *, have_run: bool) -> ChatRejection:
    """`have_run`: tools were called before the trouble."""
    told = "Tools have been called before that: see pegboard.calls. " if have_run else ""
    headers: HeaderTuple = NO_RETRY if have_run else ()
    if trouble.retry_after is not None and trouble.retry_after.isdigit():
        headers = (*headers, (b"retry-after", trouble.retry_after[:10].encode()))
    code = _CODES.get(trouble.fault, f"model_server_{trouble.fault.value}")
    return ChatRejection(_STATUSES[trouble.fault], f"{told}{trouble.why}", code=code, headers=headers)


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
