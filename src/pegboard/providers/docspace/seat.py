"""The seat that a call has while it holds a large answer."""

from contextlib import AsyncExitStack
from types import TracebackType

from .shares import DocSpaceLimiter


class LargeAnswerSlot:
    """Taken once, however many large answers the call reads, and given back when it ends."""

    def __init__(self, crowd: DocSpaceLimiter, place: str) -> None:
        self._limiter = crowd
        self._place = place
        self._acquired: AsyncExitStack | None = None

    async def acquire(self) -> None:
        """Raises `Crowded`."""
        if self._acquired is None:
            held = AsyncExitStack()
            await held.enter_async_context(self._limiter.large_answer_slot(self._place))
            self._acquired = held

    async def __aenter__(self) -> "LargeAnswerSlot":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._acquired is not None:
            await self._acquired.aclose()
