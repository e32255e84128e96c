"""Whoever made a call over HTTP, while it runs: told on the answer's own stream, and asked there."""

import asyncio
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from pegboard.core.tool import Json
from pegboard.ports import ClientPeer, PeerRequestError, Progress
from pegboard.surfaces.mcp.levels import LOG_MESSAGE_METHOD, meets_level
from pegboard.surfaces.mcp.protocol import METHOD_NOT_FOUND, REQUEST_TIMEOUT
from pegboard.surfaces.mcp.taking_back import CANCELLED_METHOD, cancel_question
from pegboard.surfaces.mcp.wire import sanitize_object, sanitize_text

from .asking import ClientQuestions
from .messages import encode, encode_notification, encode_request
from .reply import ResponseWriter

ANSWER_TIMEOUT_S: Final = 600.0
"""Seconds. A question is mostly for a person."""


class HttpClientPeer:
    """`asking` is that of a session of the handshake era; without one nothing can be asked on the way."""

    __slots__ = ("_level", "_questions", "_writer", "capabilities", "connection_key")

    def __init__(
        self,
        reply: ResponseWriter,
        capabilities: Mapping[str, Json],
        connection_key: Hashable,
        asking: ClientQuestions | None,
        level: str | None = None,
    ) -> None:
        self._writer = reply
        self._questions = asking
        self._level = level
        self.capabilities = capabilities
        self.connection_key = connection_key

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        if method != LOG_MESSAGE_METHOD or meets_level(params, self._level):
            self._writer.send_event(
                encode_notification(method, sanitize_object(dict(params))), must=method == CANCELLED_METHOD
            )

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        if self._questions is None:
            raise PeerRequestError(METHOD_NOT_FOUND, "This client takes no questions while a call runs.")
        id, answer = self._questions.open()
        try:
            self._writer.send_event(encode_request(id, method, sanitize_object(dict(params))), must=True)
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await answer
        except asyncio.CancelledError:
            cancel_question(id, self if last is None else last())
            raise
        except TimeoutError:
            cancel_question(id, self if last is None else last())
            raise PeerRequestError(
                REQUEST_TIMEOUT, f"The client did not answer within {ANSWER_TIMEOUT_S:g} s."
            ) from None
        finally:
            self._questions.close(id)


def progress_notifier(reply: ResponseWriter, token: str | int) -> Progress:
    def tell(done: float, total: float | None, words: str | None) -> None:
        if not math.isfinite(done):
            return
        params: dict[str, Json] = {"progressToken": token, "progress": done}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if words is not None:
            params["message"] = sanitize_text(words)
        reply.send_event(b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % encode(params))

    return tell
