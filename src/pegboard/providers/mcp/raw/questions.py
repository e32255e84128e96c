"""What a server asks on the stream of a call, put to whoever made the call, and the answer to it."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import msgspec
from anyio.abc import TaskGroup
from mcp_types import INVALID_PARAMS

from pegboard.core.tool import JsonObject
from pegboard.ports import PeerRequestError
from pegboard.providers.mcp.in_flight import MAX_OPEN_QUESTIONS, CallsInFlight

from .reply import DECODE_ERRORS, ServerMessage
from .tickets import PendingRequest

log: Final = logging.getLogger(__name__)

_decode_params: Final = msgspec.json.Decoder(dict[str, object]).decode


class QuestionForwarder:
    """`answer` sends a message to the server. The tasks belong to the connection, and end with it."""

    def __init__(self, in_flight: CallsInFlight, tasks: TaskGroup, answer: Callable[[bytes], Awaitable[None]]) -> None:
        self._in_flight = in_flight
        self._tasks = tasks
        self._send_answer = answer
        self._open_questions: dict[tuple[PendingRequest, int | str | None], anyio.CancelScope] = {}

    def handle_question(self, ticket: PendingRequest, message: ServerMessage) -> None:
        if len(self._open_questions) < 2 * MAX_OPEN_QUESTIONS and (ticket, message.id) not in self._open_questions:
            self._open_questions[ticket, message.id] = scope = anyio.CancelScope()
            self._tasks.start_soon(self._answer_question, ticket, message, scope)

    def withdraw(self, ticket: PendingRequest, id: int | str) -> None:
        """The server does not want to know any more."""
        if (scope := self._open_questions.get((ticket, id))) is not None:
            scope.cancel()

    async def _answer_question(self, ticket: PendingRequest, message: ServerMessage, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._send_answer(await self._encode_answer(ticket, message))
        except Exception:
            # A question is supervised here: it must not cost the connection.
            log.exception("A question of a server could not be answered.")
        finally:
            self._open_questions.pop((ticket, message.id), None)

    async def _encode_answer(self, ticket: PendingRequest, message: ServerMessage) -> bytes:
        start = b'{"jsonrpc":"2.0","id":' + msgspec.json.encode(message.id)
        try:
            result = {} if message.method == "ping" else await self._ask_caller(ticket, message)
            return start + b',"result":' + msgspec.json.encode(result) + b"}"
        except PeerRequestError as error:
            told = {"code": error.code, "message": error.message}
            return start + b',"error":' + msgspec.json.encode(told) + b"}"

    async def _ask_caller(self, ticket: PendingRequest, message: ServerMessage) -> JsonObject:
        try:
            params: JsonObject = _decode_params(message.params) if message.params else {}  # type: ignore[assignment]
        except DECODE_ERRORS:
            raise PeerRequestError(INVALID_PARAMS, "The params of a request are an object.") from None
        return dict(await self._in_flight.ask(message.method, params, ticket))
