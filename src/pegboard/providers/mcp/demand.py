"""What a server offers beside tools, while the server may sleep."""

from collections.abc import Awaitable, Callable

from pegboard.children.demand import IdleTracker
from pegboard.core.ask import ResourceAnswer, RoutedRequest
from pegboard.ports import ClientPeer, Progress, ResourceCallback, ResourceProvider


class LazyResourceProvider:
    """A library whose server may sleep: whoever asks it wakes the server, and keeps it awake until it has answered."""

    def __init__(self, library: ResourceProvider, demand: IdleTracker, settled: Callable[[], Awaitable[None]]) -> None:
        self._resources = library
        self._idle_tracker = demand
        self._wait_until_settled = settled

    async def request(
        self, directed: RoutedRequest, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceAnswer:
        with self._idle_tracker.in_use():
            await self._wait_until_settled()
            return await self._resources.request(directed, progress, peer)

    async def subscribe(self, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        with self._idle_tracker.in_use():
            await self._wait_until_settled()
            return await self._resources.subscribe(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        await self._resources.unsubscribe(uri)
