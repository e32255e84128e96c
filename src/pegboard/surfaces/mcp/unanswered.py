"""The requests of one pipe that wait for their answer: how many there may be, and whether any are left."""

from collections import Counter
from typing import Final

import anyio
from mcp_types import JSONRPCRequest, RequestId

MAX_UNANSWERED: Final = 1_000
"""A client that sends more without reading the answers is not read further until it does."""
LISTEN_METHOD: Final = "subscriptions/listen"
"""Answered only when it ends, so nobody waits for it."""


class UnansweredRequests:
    def __init__(self, most: int = MAX_UNANSWERED) -> None:
        self._slots = anyio.Semaphore(most)
        self._counts: Counter[RequestId] = Counter()
        self._listen_ids: set[RequestId] = set()
        self._change = anyio.Event()

    async def add(self, request: JSONRPCRequest) -> None:
        await self._slots.acquire()
        self._counts[request.id] += 1
        if request.method == LISTEN_METHOD:
            self._listen_ids.add(request.id)

    def mark_answered(self, id: RequestId) -> None:
        """Errors about lines that were no request answer nothing that was added."""
        if id not in self._counts:
            return
        self._counts[id] -= 1
        if not self._counts[id]:
            del self._counts[id]
            self._listen_ids.discard(id)
        self._slots.release()
        self._change.set()

    async def mark_cancelled(self, id: RequestId) -> None:
        self.mark_answered(id)

    async def wait_until_none(self) -> None:
        while self._counts.keys() - self._listen_ids:
            self._change = anyio.Event()
            await self._change.wait()
