"""Words on their way to a client: a provider says them without waiting, and a slow client holds up nothing."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import anyio

from pegboard.ports import Progress

from .wire import sanitize_text

MAX_QUEUED: Final = 256
"""What waits for a slow client at most; beyond it the oldest is dropped, because only the newest says how far it is.
More than a server may log at once: a burst that arrives in one piece is no sign of a slow client."""

ReportProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
SendNotification: TypeAlias = Callable[[], Awaitable[None]]
"""Sends one notification."""
EnqueueNotification: TypeAlias = Callable[[SendNotification], None]


@asynccontextmanager
async def open_notification_queue() -> AsyncIterator[EnqueueNotification]:
    """What was said within the block is delivered, in order, before the block ends."""
    send, receive = anyio.create_memory_object_stream[SendNotification](MAX_QUEUED)
    over = False

    def say(word: SendNotification) -> None:
        # A provider may still speak of a call that has ended; nobody listens then.
        if over:
            return
        if send.statistics().current_buffer_used == MAX_QUEUED:
            receive.receive_nowait()
        send.send_nowait(word)

    async def deliver() -> None:
        async for word in receive:
            await word()

    with receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliver, name="words")
            try:
                yield say
            finally:
                over = True
                send.close()


def progress_reporter(say: EnqueueNotification, report: ReportProgress) -> Progress:
    def tell(done: float, total: float | None, told: str | None) -> None:
        if not math.isfinite(done):
            return
        known_total = total if total is not None and math.isfinite(total) else None
        text = None if told is None else sanitize_text(told)
        say(lambda: report(done, known_total, text))

    return tell


@asynccontextmanager
async def open_progress_reporter(report: ReportProgress) -> AsyncIterator[Progress]:
    async with open_notification_queue() as say:
        yield progress_reporter(say, report)
