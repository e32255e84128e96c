"""A task in the background with an owner who ends it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

CANCEL_GRACE_S: Final = 2.0


@asynccontextmanager
async def run_in_background(name: str, work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Not a task group, because that would wrap every exception of the body in a group. The end is asked for through
    a cancel scope, so that a statement in flight is finished; who does not end in time is cancelled outright."""
    scope = anyio.CancelScope()

    async def run_scoped() -> None:
        with scope:
            await work()

    task = asyncio.create_task(run_scoped(), name=name)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            scope.cancel()
            await asyncio.wait([task], timeout=CANCEL_GRACE_S)
            task.cancel()
            await asyncio.wait([task])
    if not task.cancelled():
        task.result()
