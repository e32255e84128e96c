"""Progress on its way to a client: a provider tells it without waiting, and a slow client holds up nothing."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import anyio

from pegboard.ports import Progress

from .wire import sound_text

WAITING: Final = 32
"""What waits for a slow client at most; beyond it the oldest is dropped, because only the newest says how far it is."""

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


@asynccontextmanager
async def progress_to(report: Report) -> AsyncIterator[Progress]:
    """What was told within the block is delivered, in order, before the block ends."""
    send, receive = anyio.create_memory_object_stream[tuple[float, float | None, str | None]](WAITING)
    over = False

    def tell(done: float, total: float | None, words: str | None) -> None:
        if over or not math.isfinite(done):
            return
        if send.statistics().current_buffer_used == WAITING:
            receive.receive_nowait()
        known_total = total if total is not None and math.isfinite(total) else None
        send.send_nowait((done, known_total, None if words is None else sound_text(words)))

    async def deliver() -> None:
        async for done, total, words in receive:
            await report(done, total, words)

    with receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliver, name="progress")
            try:
                yield tell
            finally:
                # A provider may still tell of a call that has ended; nobody listens then.
                over = True
                send.close()
