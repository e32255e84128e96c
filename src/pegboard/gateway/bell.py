"""Bells without data: many may listen, each hears at least one stroke after every change."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Listener:
    """Strokes between two waits are one: whoever wakes asks for the state, not for the strokes."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        rung = self._rung
        await rung.wait()
        # Whoever waits beside this one may have laid out the next event already, and it may have been rung.
        if self._rung is rung:
            self._rung = anyio.Event()


class Bell:
    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def ring(self) -> None:
        for listener in tuple(self._listeners):
            listener.ring()

    @property
    def is_unheard(self) -> bool:
        return not self._listeners

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        with self.ringing(listener := Listener()):
            yield listener

    @contextmanager
    def ringing(self, listener: Listener) -> Iterator[None]:
        """For whoever listens to another bell as well."""
        self._listeners.add(listener)
        try:
            yield
        finally:
            self._listeners.discard(listener)
