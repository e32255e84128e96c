"""Questions put to a client of the handshake era that wait for its answer, by their ids."""

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import Final

from pegboard.core.tool import Json
from pegboard.ports import CannotAsk
from pegboard.surfaces.mcp.protocol import CONNECTION_CLOSED, INTERNAL_ERROR

from .messages import NOTHING, UNREADABLE, Message, read_fault, read_object

MOST: Final = 64
"""Questions to one client that may wait at the same time."""


class Asking:
    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Mapping[str, Json]]] = {}
        self._numbers = count(1)

    def open(self) -> tuple[str, asyncio.Future[Mapping[str, Json]]]:
        if len(self._waiting) >= MOST:
            raise CannotAsk(INTERNAL_ERROR, f"{MOST} questions wait for the client already.")
        id = f"pegboard-{next(self._numbers)}"
        future: asyncio.Future[Mapping[str, Json]] = asyncio.get_running_loop().create_future()
        self._waiting[id] = future
        return id, future

    def close(self, id: str) -> None:
        self._waiting.pop(id, None)

    def answered(self, id: str, message: Message) -> bool:
        """Whether this is the answer to a question that waits."""
        future = self._waiting.pop(id, None)
        if future is None:
            return False
        if future.done():
            return True
        try:
            if message.error is NOTHING:
                future.set_result(read_object(message.result))
            else:
                fault = read_fault(message.error)
                future.set_exception(CannotAsk(fault.code, fault.message))
        except UNREADABLE:
            future.set_exception(CannotAsk(INTERNAL_ERROR, "The client's answer cannot be read."))
        return True

    def end(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CannotAsk(CONNECTION_CLOSED, "The client has ended its session."))
        self._waiting.clear()
