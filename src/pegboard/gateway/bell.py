"""Bells without data: many may listen, each hears at least one stroke after every change."""

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
