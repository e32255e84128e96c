"""What a server offers beside tools, while the server may sleep."""

from collections.abc import Awaitable, Callable

from pegboard.children.demand import Demand
from pegboard.core.ask import Answer, Directed
from pegboard.ports import Library, Peer, Progress, Updated


class Waking:
    """A library whose server may sleep: whoever asks it wakes the server, and keeps it awake until it has answered."""

    def __init__(self, library: Library, demand: Demand, settled: Callable[[], Awaitable[None]]) -> None:
        self._library = library
        self._demand = demand
        self._settled = settled

    async def ask(self, directed: Directed, progress: Progress | None = None, peer: Peer | None = None) -> Answer:
        with self._demand.used():
            await self._settled()
            return await self._library.ask(directed, progress, peer)

    async def subscribe(self, uri: str, updated: Updated) -> Answer:
        with self._demand.used():
            await self._settled()
            return await self._library.subscribe(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        await self._library.unsubscribe(uri)
