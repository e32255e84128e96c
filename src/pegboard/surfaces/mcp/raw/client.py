"""Whoever made a call over HTTP, while it runs: told on the answer's own stream, and asked there."""

import asyncio
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from pegboard.core.tool import Json
from pegboard.ports import CannotAsk, Peer, Progress
from pegboard.surfaces.mcp.levels import MESSAGE, is_heard
from pegboard.surfaces.mcp.protocol import METHOD_NOT_FOUND, REQUEST_TIMEOUT
from pegboard.surfaces.mcp.taking_back import TAKEN_BACK, take_back
from pegboard.surfaces.mcp.wire import sound_object, sound_text

from .asking import Asking
from .messages import encode, notification, question
from .reply import Reply

ANSWER_WITHIN: Final = 600.0
"""Seconds. A question is mostly for a person."""


class Client:
    """`asking` is that of a session of the handshake era; without one nothing can be asked on the way."""

    __slots__ = ("_asking", "_level", "_reply", "can", "who")

    def __init__(
        self, reply: Reply, can: Mapping[str, Json], who: Hashable, asking: Asking | None, level: str | None = None
    ) -> None:
        self._reply = reply
        self._asking = asking
        self._level = level
        self.can = can
        self.who = who

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        if method != MESSAGE or is_heard(params, self._level):
            self._reply.tell(notification(method, sound_object(dict(params))), must=method == TAKEN_BACK)

    async def ask(
        self, method: str, params: Mapping[str, Json], last: Callable[[], Peer] | None = None
    ) -> Mapping[str, Json]:
        if self._asking is None:
            raise CannotAsk(METHOD_NOT_FOUND, "This client takes no questions while a call runs.")
        id, answer = self._asking.open()
        try:
            self._reply.tell(question(id, method, sound_object(dict(params))), must=True)
            async with asyncio.timeout(ANSWER_WITHIN):
                return await answer
        except asyncio.CancelledError:
            take_back(id, self if last is None else last())
            raise
        except TimeoutError:
            take_back(id, self if last is None else last())
            raise CannotAsk(REQUEST_TIMEOUT, f"The client did not answer within {ANSWER_WITHIN:g} s.") from None
        finally:
            self._asking.close(id)


def progress_to(reply: Reply, token: str | int) -> Progress:
    def tell(done: float, total: float | None, words: str | None) -> None:
        if not math.isfinite(done):
            return
        params: dict[str, Json] = {"progressToken": token, "progress": done}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if words is not None:
            params["message"] = sound_text(words)
        reply.tell(b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % encode(params))

    return tell
