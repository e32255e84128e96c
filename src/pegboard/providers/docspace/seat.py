"""The seat that a call has while it holds a large answer."""

from contextlib import AsyncExitStack
from types import TracebackType

from .shares import Crowd


class Seat:
    """Taken once, however many large answers the call reads, and given back when it ends."""

    def __init__(self, crowd: Crowd, place: str) -> None:
        self._crowd = crowd
        self._place = place
        self._held: AsyncExitStack | None = None

    async def take(self) -> None:
        """Raises `Crowded`."""
        if self._held is None:
            held = AsyncExitStack()
            await held.enter_async_context(self._crowd.large(self._place))
            self._held = held

    async def __aenter__(self) -> "Seat":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            await self._held.aclose()
