"""Change signals without data: every subscriber wakes at least once after each change."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Subscription:
    """Strokes between two waits are one: whoever wakes asks for the state, not for the strokes."""

    def __init__(self) -> None:
        self._notified = anyio.Event()

    def notify(self) -> None:
        self._notified.set()

    async def wait(self) -> None:
        rung = self._notified
        await rung.wait()
        # Whoever waits beside this one may have laid out the next event already, and it may have been rung.
        if self._notified is rung:
            self._notified = anyio.Event()


class ChangeSignal:
    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def notify(self) -> None:
        for listener in tuple(self._subscriptions):
            listener.notify()

    @property
    def has_no_subscribers(self) -> bool:
        return not self._subscriptions

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        with self.attach(listener := Subscription()):
            yield listener

    @contextmanager
    def attach(self, listener: Subscription) -> Iterator[None]:
        """For whoever listens to another bell as well."""
        self._subscriptions.add(listener)
        try:
            yield
        finally:
            self._subscriptions.discard(listener)


# Whose cancellation it is: the seeing task's own, or one that leaked out of something it called.


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
