"""Questions put to a client of the handshake era that wait for its answer, by their ids."""

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import Final

from pegboard.core.tool import Json
from pegboard.ports import PeerRequestError
from pegboard.surfaces.mcp.protocol import CONNECTION_CLOSED, INTERNAL_ERROR

from .messages import ABSENT, UNREADABLE, JsonRpcMessage, read_error, read_object

MAX_OPEN_QUESTIONS: Final = 64
"""Questions to one client that may wait at the same time."""


class ClientQuestions:
    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Mapping[str, Json]]] = {}
        self._numbers = count(1)

    def open(self) -> tuple[str, asyncio.Future[Mapping[str, Json]]]:
        if len(self._futures) >= MAX_OPEN_QUESTIONS:
            raise PeerRequestError(INTERNAL_ERROR, f"{MAX_OPEN_QUESTIONS} questions wait for the client already.")
        id = f"pegboard-{next(self._numbers)}"
        future: asyncio.Future[Mapping[str, Json]] = asyncio.get_running_loop().create_future()
        self._futures[id] = future
        return id, future

    def close(self, id: str) -> None:
        self._futures.pop(id, None)

    def accept_answer(self, id: str, message: JsonRpcMessage) -> bool:
        """Whether this is the answer to a question that waits."""
        future = self._futures.pop(id, None)
        if future is None:
            return False
        if future.done():
            return True
        try:
            if message.error is ABSENT:
                future.set_result(read_object(message.result))
            else:
                fault = read_error(message.error)
                future.set_exception(PeerRequestError(fault.code, fault.message))
        except UNREADABLE:
            future.set_exception(PeerRequestError(INTERNAL_ERROR, "The client's answer cannot be read."))
        return True

    def fail_all(self) -> None:
        for future in self._futures.values():
            if not future.done():
                future.set_exception(PeerRequestError(CONNECTION_CLOSED, "The client has ended its session."))
        self._futures.clear()
