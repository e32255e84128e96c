"""The event stream of one call: its answer, and what the server says and asks on the way."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from pegboard.providers.mcp.asking import NOTIFICATION_METHODS
from pegboard.providers.mcp.messages import LARGE_MESSAGE_BYTES, begins_with_method

from .events import EventStreamParser, ServerSentEvent
from .exchange import EVENT_STREAM_TYPE, HttpReply
from .reply import DECODE_ERRORS, ServerMessage, try_decode_message
from .tickets import PendingRequest, PendingRequests


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
        self._parser = EventStreamParser()
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
        before, self._parser = self._parser, EventStreamParser()
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
