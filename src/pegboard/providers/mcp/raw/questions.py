"""What a server asks on the stream of a call, put to whoever made the call, and the answer to it."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import msgspec
from anyio.abc import TaskGroup
from mcp_types import INVALID_PARAMS

from pegboard.core.tool import JsonObject
from pegboard.ports import CannotAsk
from pegboard.providers.mcp.in_flight import MOST_QUESTIONS, InFlight

from .reply import UNREAD, Message
from .tickets import Ticket

log: Final = logging.getLogger(__name__)

_read_params: Final = msgspec.json.Decoder(dict[str, object]).decode


class Questions:
    """`answer` sends a message to the server. The tasks belong to the connection, and end with it."""

    def __init__(self, in_flight: InFlight, tasks: TaskGroup, answer: Callable[[bytes], Awaitable[None]]) -> None:
        self._in_flight = in_flight
        self._tasks = tasks
        self._answer = answer
        self._open: dict[tuple[Ticket, int | str | None], anyio.CancelScope] = {}

    def put(self, ticket: Ticket, message: Message) -> None:
        if len(self._open) < 2 * MOST_QUESTIONS and (ticket, message.id) not in self._open:
            self._open[ticket, message.id] = scope = anyio.CancelScope()
            self._tasks.start_soon(self._settle, ticket, message, scope)

    def withdraw(self, ticket: Ticket, id: int | str) -> None:
        """The server does not want to know any more."""
        if (scope := self._open.get((ticket, id))) is not None:
            scope.cancel()

    async def _settle(self, ticket: Ticket, message: Message, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._answer(await self._reply(ticket, message))
        except Exception:
            # A question is supervised here: it must not cost the connection.
            log.exception("A question of a server could not be answered.")
        finally:
            self._open.pop((ticket, message.id), None)

    async def _reply(self, ticket: Ticket, message: Message) -> bytes:
        start = b'{"jsonrpc":"2.0","id":' + msgspec.json.encode(message.id)
        try:
            result = {} if message.method == "ping" else await self._asked(ticket, message)
            return start + b',"result":' + msgspec.json.encode(result) + b"}"
        except CannotAsk as error:
            told = {"code": error.code, "message": error.message}
            return start + b',"error":' + msgspec.json.encode(told) + b"}"

    async def _asked(self, ticket: Ticket, message: Message) -> JsonObject:
        try:
            params: JsonObject = _read_params(message.params) if message.params else {}  # type: ignore[assignment]
        except UNREAD:
            raise CannotAsk(INVALID_PARAMS, "The params of a request are an object.") from None
        return dict(await self._in_flight.ask(message.method, params, ticket))
