"""Whose cancellation it is: the seeing task's own, or one that leaked out of something it called."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class LeakedCancellation(Exception):  # noqa: N818  it is named for what happened
    """Something that was called was cancelled, though nobody cancelled the call."""


@contextmanager
def contain_cancellation() -> Iterator[None]:
    """Turns a leaked cancellation into an error like any other.

    Awaiting a future that somebody else cancelled raises what also ends a task. Left alone it would end every other
    task of the group without a word, so whoever supervises must tell the two apart.
    """
    try:
        yield
    except anyio.get_cancelled_exc_class() as error:
        if is_cancelling():
            raise
        raise LeakedCancellation("it was cancelled from within") from error


def is_cancelling() -> bool:
    """Whether the current task is being cancelled, by a scope around it or by the event loop itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0 or anyio.current_effective_deadline() == -math.inf
