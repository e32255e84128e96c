"""The requests of one pipe that wait for their answer: how many there may be, and whether any are left."""

from collections import Counter
from typing import Final

import anyio
from mcp_types import JSONRPCRequest, RequestId

MOST: Final = 1_000
"""A client that sends more without reading the answers is not read further until it does."""
STANDING: Final = "subscriptions/listen"
"""Answered only when it ends, so nobody waits for it."""


class Unanswered:
    def __init__(self, most: int = MOST) -> None:
        self._slots = anyio.Semaphore(most)
        self._waiting: Counter[RequestId] = Counter()
        self._standing: set[RequestId] = set()
        self._fewer = anyio.Event()

    async def add(self, request: JSONRPCRequest) -> None:
        await self._slots.acquire()
        self._waiting[request.id] += 1
        if request.method == STANDING:
            self._standing.add(request.id)

    def answered(self, id: RequestId) -> None:
        """Errors about lines that were no request answer nothing that was added."""
        if id not in self._waiting:
            return
        self._waiting[id] -= 1
        if not self._waiting[id]:
            del self._waiting[id]
            self._standing.discard(id)
        self._slots.release()
        self._fewer.set()

    async def given_up(self, id: RequestId) -> None:
        self.answered(id)

    async def none(self) -> None:
        while self._waiting.keys() - self._standing:
            self._fewer = anyio.Event()
            await self._fewer.wait()
