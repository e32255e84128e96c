"""How much something that sleeps is in demand: how many use it now, and since when nobody does."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class IdleTracker:
    def __init__(self) -> None:
        self.user_count = 0
        self._last_used_at = -math.inf
        self._became_unused = anyio.Event()
        self._became_used = anyio.Event()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        self.user_count += 1
        self._became_used.set()
        try:
            yield
        finally:
            self.user_count -= 1
            self._last_used_at = anyio.current_time()
            if not self.user_count:
                self._became_used = anyio.Event()
                self._became_unused.set()
                self._became_unused = anyio.Event()

    async def wait_until_used(self) -> None:
        """Until somebody uses it."""
        while not self.user_count:
            await self._became_used.wait()

    async def wait_until_idle(self, seconds: float) -> None:
        """Until nobody has used it for so long. What never was in use is idle at once.

        Whoever waited acts before anything else can run, so nobody has come to use it in between.
        """
        while True:
            if self.user_count:
                await self._became_unused.wait()
            elif (rest := self._last_used_at + seconds - anyio.current_time()) > 0:
                await anyio.sleep(rest)
            else:
                return
