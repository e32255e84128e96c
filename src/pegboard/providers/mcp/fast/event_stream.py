"""The event stream of one call: its answer, notifications and questions."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

import anyio
import msgspec
from anyio.abc import TaskGroup
from mcp_types import INVALID_PARAMS

from pegboard.core.json.values import JsonObject
from pegboard.http_parsing import EventStreamParser, ServerSentEvent
from pegboard.ports.providers import PeerRequestError
from pegboard.providers.mcp.fast.connections import EVENT_STREAM_TYPE, HttpReply
from pegboard.providers.mcp.fast.response import DECODE_ERRORS, ServerMessage, try_decode_message
from pegboard.providers.mcp.in_flight import (
    MAX_OPEN_QUESTIONS,
    NOTIFICATION_METHODS,
    CallsInFlight,
    PendingRequest,
    PendingRequests,
)
from pegboard.providers.mcp.messages import LARGE_MESSAGE_BYTES, MAX_MESSAGE_BYTES, begins_with_method


class StreamEnd:
    """An event stream that was over before the answer."""


STREAM_END: Final = StreamEnd()

ForwardMessage = Callable[[bytes], None]
"""Hands a message that is none of a call's to the session."""


class QuestionHandler(Protocol):
    """Puts a server's own request to whoever made the call."""

    def handle_question(self, ticket: PendingRequest, message: ServerMessage) -> None: ...

    def withdraw(self, ticket: PendingRequest, id: int | str) -> None: ...


class _ProgressParams(msgspec.Struct):
    token: str | int = msgspec.field(name="progressToken")
    progress: float
    total: float | None = None
    message: str | None = None


class _CancelParams(msgspec.Struct):
    id: str | int = msgspec.field(name="requestId")


_decode_progress: Final = msgspec.json.Decoder(_ProgressParams).decode
_decode_cancel: Final = msgspec.json.Decoder(_CancelParams).decode
_decode_params: Final = msgspec.json.Decoder(dict[str, object]).decode


class CallEventStream:
    def __init__(
        self, ticket: PendingRequest, tickets: PendingRequests, forward: ForwardMessage, asks: QuestionHandler
    ) -> None:
        self._request = ticket
        self._pending = tickets
        self._forward_to_session = forward
        self._questions = asks
        self._parser = EventStreamParser(MAX_MESSAGE_BYTES)
        self.event_count = 0

    @property
    def last_event_id(self) -> bytes | None:
        """From where the stream can be resumed."""
        return self._parser.last_event_id

    @property
    def retry_s(self) -> float | None:
        return self._parser.retry_s

    def restart(self) -> "CallEventStream":
        """For a stream that goes on where the last one ended."""
        before, self._parser = self._parser, EventStreamParser(MAX_MESSAGE_BYTES)
        self._parser.last_event_id, self._parser.retry_s = before.last_event_id, before.retry_s
        return self

    def feed(self, chunk: bytes) -> None:
        for event in self._parser.feed(chunk):
            self.event_count += 1
            if event.kind == b"message":
                self._handle_event(event)

    def end(self) -> None:
        self._request.resolve(STREAM_END)

    def _handle_event(self, event: ServerSentEvent) -> None:
        text = event.text
        if len(text) > LARGE_MESSAGE_BYTES:
            # Nobody asked for a request or a notification of that size, and an answer is read beside the event loop.
            if not begins_with_method(text):
                self._request.resolve(HttpReply(200, EVENT_STREAM_TYPE, text))
            return
        message = try_decode_message(text)
        if message is None:
            if not begins_with_method(text):
                self._request.resolve(HttpReply(200, EVENT_STREAM_TYPE, text))
        elif not message.method:
            if message.id == self._request.id or (message.id is None and message.error):
                self._request.resolve(HttpReply(200, EVENT_STREAM_TYPE, text))
        elif message.id is not None:
            self._questions.handle_question(self._request, message)
        elif not deliver_progress(message, self._pending) and not self._deliver_to_caller(message):
            self._forward_to_session(text)

    def _deliver_to_caller(self, message: ServerMessage) -> bool:
        """Whether this was said to the caller: what is said on the stream of its call is meant for it."""
        with suppress(*DECODE_ERRORS):
            if message.method in NOTIFICATION_METHODS:
                if self._pending.in_flight.allows(message.method, self._request):
                    self._pending.in_flight.notify(message.method, _decode_params(message.params), self._request)  # type: ignore[arg-type]
                return True
            if message.method == "notifications/cancelled":
                self._questions.withdraw(self._request, _decode_cancel(message.params).id)
                return True
        return False


def deliver_progress(message: ServerMessage, tickets: PendingRequests) -> bool:
    """Whether this was progress of a call in ticket here, which is told now."""
    if message.method != "notifications/progress":
        return False
    try:
        step = _decode_progress(message.params)
    except DECODE_ERRORS:
        return False
    ticket = tickets.get(step.token)
    if ticket is None:
        return False
    tickets.report_progress(ticket, step.progress, step.total, step.message)
    return True


# What a server asks on the stream of a call, put to whoever made the call, and the answer to it.

log: Final = logging.getLogger(__name__)


class QuestionForwarder:
    """`answer` sends a message to the server. The tasks belong to the connection, and end with it."""

    def __init__(self, in_flight: CallsInFlight, tasks: TaskGroup, answer: Callable[[bytes], Awaitable[None]]) -> None:
        self._in_flight = in_flight
        self._tasks = tasks
        self._send_answer = answer
        self._open_questions: dict[tuple[PendingRequest, int | str | None], anyio.CancelScope] = {}

    def handle_question(self, ticket: PendingRequest, message: ServerMessage) -> None:
        if len(self._open_questions) < 2 * MAX_OPEN_QUESTIONS and (ticket, message.id) not in self._open_questions:
            self._open_questions[ticket, message.id] = scope = anyio.CancelScope()
            self._tasks.start_soon(self._answer_question, ticket, message, scope)

    def withdraw(self, ticket: PendingRequest, id: int | str) -> None:
        """The server does not want to know any more."""
        if (scope := self._open_questions.get((ticket, id))) is not None:
            scope.cancel()

    async def _answer_question(self, ticket: PendingRequest, message: ServerMessage, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._send_answer(await self._encode_answer(ticket, message))
        except Exception:
            # A question is supervised here: it must not cost the connection.
            log.exception("A question of a server could not be answered.")
        finally:
            self._open_questions.pop((ticket, message.id), None)

    async def _encode_answer(self, ticket: PendingRequest, message: ServerMessage) -> bytes:
        start = b'{"jsonrpc":"2.0","id":' + msgspec.json.encode(message.id)
        try:
            result = {} if message.method == "ping" else await self._ask_caller(ticket, message)
            return start + b',"result":' + msgspec.json.encode(result) + b"}"
        except PeerRequestError as error:
            told = {"code": error.code, "message": error.message}
            return start + b',"error":' + msgspec.json.encode(told) + b"}"

    async def _ask_caller(self, ticket: PendingRequest, message: ServerMessage) -> JsonObject:
        try:
            params: JsonObject = _decode_params(message.params) if message.params else {}  # type: ignore[assignment]
        except DECODE_ERRORS:
            raise PeerRequestError(INVALID_PARAMS, "The params of a request are an object.") from None
        return dict(await self._in_flight.ask(message.method, params, ticket))
