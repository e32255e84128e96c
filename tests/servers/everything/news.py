"""Who is told when tools, prompts or a resource change, in both eras."""

from typing import Final

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import (
    PromptListChangedNotification,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    ServerNotification,
    ToolListChangedNotification,
)

Event = ToolsListChanged | PromptsListChanged | ResourceUpdated

MOST_SESSIONS: Final = 1000


class News:
    """Streams of the newer era listen at the bus; a session of the older one is told on its standing stream."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listen: Final = ListenHandler(self._bus)
        self._sessions: dict[str, ServerSession] = {}
        self._watching: dict[str, set[str]] = {}

    def opened(self, key: str, session: ServerSession) -> None:
        self._sessions[key] = session
        if len(self._sessions) > MOST_SESSIONS:
            self.closed(next(iter(self._sessions)))

    def closed(self, key: str) -> None:
        self._sessions.pop(key, None)
        self._watching.pop(key, None)

    def watch(self, key: str, uri: str) -> None:
        self._watching.setdefault(key, set()).add(uri)

    def unwatch(self, key: str, uri: str) -> None:
        self._watching.get(key, set()).discard(uri)

    async def tell(self, event: Event) -> None:
        await self._bus.publish(event)
        for key, session in list(self._sessions.items()):
            if isinstance(event, ResourceUpdated) and event.uri not in self._watching.get(key, ()):
                continue
            try:
                await session.send_notification(_notification(event))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.closed(key)


def _notification(event: Event) -> ServerNotification:
    match event:
        case ToolsListChanged():
            return ToolListChangedNotification()
        case PromptsListChanged():
            return PromptListChangedNotification()
        case ResourceUpdated(uri):
            return ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=uri))
