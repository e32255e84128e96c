"""The event stream of one call: its answer, and what the server says and asks on the way."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from pegboard.providers.mcp.asking import NOTES
from pegboard.providers.mcp.messages import LARGE, begins_with_method

from .events import Event, Events
from .exchange import EVENTS, Reply
from .reply import UNREAD, Message, message_in
from .tickets import Ticket, Tickets


class Ended:
    """An event stream that was over before the answer."""


ENDED: Final = Ended()

Forward = Callable[[bytes], None]
"""Hands a message that is none of a call's to the session."""


class Asks(Protocol):
    """Puts a server's own request to whoever made the call."""

    def put(self, ticket: Ticket, message: Message) -> None: ...

    def withdraw(self, ticket: Ticket, id: int | str) -> None: ...


class _Progress(msgspec.Struct):
    token: str | int = msgspec.field(name="progressToken")
    progress: float
    total: float | None = None
    message: str | None = None


class _Withdrawn(msgspec.Struct):
    id: str | int = msgspec.field(name="requestId")


_read_progress: Final = msgspec.json.Decoder(_Progress).decode
_read_withdrawn: Final = msgspec.json.Decoder(_Withdrawn).decode
_read_params: Final = msgspec.json.Decoder(dict[str, object]).decode


class Listening:
    def __init__(self, ticket: Ticket, tickets: Tickets, forward: Forward, asks: Asks) -> None:
        self._ticket = ticket
        self._tickets = tickets
        self._forward = forward
        self._asks = asks
        self._events = Events()
        self.heard = 0

    @property
    def last(self) -> bytes | None:
        """From where the stream can be resumed."""
        return self._events.last

    @property
    def retry(self) -> float | None:
        return self._events.retry

    def again(self) -> "Listening":
        """For a stream that goes on where the last one ended."""
        before, self._events = self._events, Events()
        self._events.last, self._events.retry = before.last, before.retry
        return self

    def feed(self, chunk: bytes) -> None:
        for event in self._events.feed(chunk):
            self.heard += 1
            if event.kind == b"message":
                self._hear(event)

    def end(self) -> None:
        self._ticket.settle(ENDED)

    def _hear(self, event: Event) -> None:
        text = event.text
        if len(text) > LARGE:
            # Nobody asked for a request or a notification of that size, and an answer is read beside the event loop.
            if not begins_with_method(text):
                self._ticket.settle(Reply(200, EVENTS, text))
            return
        message = message_in(text)
        if message is None:
            if not begins_with_method(text):
                self._ticket.settle(Reply(200, EVENTS, text))
        elif not message.method:
            if message.id == self._ticket.id or (message.id is None and message.error):
                self._ticket.settle(Reply(200, EVENTS, text))
        elif message.id is not None:
            self._asks.put(self._ticket, message)
        elif not told(message, self._tickets) and not self._said(message):
            self._forward(text)

    def _said(self, message: Message) -> bool:
        """Whether this was said to the caller: what is said on the stream of its call is meant for it."""
        with suppress(*UNREAD):
            if message.method in NOTES:
                if self._tickets.in_flight.has_time_for(message.method, self._ticket):
                    self._tickets.in_flight.note(message.method, _read_params(message.params), self._ticket)  # type: ignore[arg-type]
                return True
            if message.method == "notifications/cancelled":
                self._asks.withdraw(self._ticket, _read_withdrawn(message.params).id)
                return True
        return False


def told(message: Message, tickets: Tickets) -> bool:
    """Whether this was progress of a call in ticket here, which is told now."""
    if message.method != "notifications/progress":
        return False
    try:
        step = _read_progress(message.params)
    except UNREAD:
        return False
    ticket = tickets.get(step.token)
    if ticket is None:
        return False
    tickets.step(ticket, step.progress, step.total, step.message)
    return True
