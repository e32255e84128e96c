"""Whose cancellation it is: the seeing task's own, or one that leaked out of something it called."""

import asyncio
import math

import anyio


def was_asked_to_end() -> bool:
    """Whether the current task is being cancelled, by a scope around it or by the event loop itself.

    Awaiting a future that somebody else cancelled raises the same exception. Inside a task group that would end every
    other task with it, so whoever supervises must tell the two apart.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0 or anyio.current_effective_deadline() == -math.inf
