"""Events of HTTP streams, kept so that a client whose stream was closed can come back for the rest."""

from collections import OrderedDict
from typing import Final

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp_types import JSONRPCMessage

MOST_EVENTS: Final = 10_000


class RecentEvents(EventStore):
    def __init__(self) -> None:
        self._count = 0
        self._events: OrderedDict[EventId, tuple[StreamId, JSONRPCMessage | None]] = OrderedDict()

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        self._count += 1
        event = f"{self._count}"
        self._events[event] = stream_id, message
        if len(self._events) > MOST_EVENTS:
            self._events.popitem(last=False)
        return event

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        if last_event_id not in self._events:
            return None
        stream, _ = self._events[last_event_id]
        for event, (of, message) in list(self._events.items()):
            if of == stream and int(event) > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, event))
        return stream
