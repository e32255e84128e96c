"""How much something that sleeps is in demand: how many use it now, and since when nobody does."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Demand:
    def __init__(self) -> None:
        self.users = 0
        self._last = -math.inf
        self._left = anyio.Event()
        self._wanted = anyio.Event()

    @contextmanager
    def used(self) -> Iterator[None]:
        self.users += 1
        self._wanted.set()
        try:
            yield
        finally:
            self.users -= 1
            self._last = anyio.current_time()
            if not self.users:
                self._wanted = anyio.Event()
                self._left.set()
                self._left = anyio.Event()

    async def wanted(self) -> None:
        """Until somebody uses it."""
        while not self.users:
            await self._wanted.wait()

    async def idle(self, seconds: float) -> None:
        """Until nobody has used it for so long. What never was in use is idle at once.

        Whoever waited acts before anything else can run, so nobody has come to use it in between.
        """
        while True:
            if self.users:
                await self._left.wait()
            elif (rest := self._last + seconds - anyio.current_time()) > 0:
                await anyio.sleep(rest)
            else:
                return
