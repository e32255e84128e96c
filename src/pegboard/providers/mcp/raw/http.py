"""Calls to a server over streamable HTTP, on connections of our own beside those of the SDK's session."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import anyio
import msgspec
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import mcp_param_headers
from mcp_types import CONNECTION_CLOSED

from pegboard.core.call import Admitted, Outcome
from pegboard.ports import Peer, Progress
from pegboard.providers.mcp.authorization import Authorization
from pegboard.providers.mcp.http_client import in_words, unsigned
from pegboard.providers.mcp.messages import LARGE
from pegboard.providers.mcp.transport import HeaderMap
from pegboard.providers.mcp.trouble import BROKEN_OFF, NONSENSE, STATUS

from .exchange import EVENTS, Exchange, Reply
from .heads import Heads
from .listening import Ended, Forward, Listening
from .pipe import closed
from .pool import Pool
from .questions import Questions
from .reply import read, read_now
from .request import Requests
from .tickets import Ticket, Tickets

log: Final = logging.getLogger(__name__)

_NOTICE: Final = 5.0
_RETRY: Final = 1.0
_SOONEST: Final = 0.1
NO_PARAMS: Final[Mapping[str, str]] = {}
_RESUMES: Final = 2
"""How often in a row a stream is resumed in vain."""


class HttpCalls:
    """`doubt` is called when something failed that may mean the server is gone."""

    def __init__(
        self,
        pool: Pool,
        heads: Heads,
        requests: Requests,
        tickets: Tickets,
        tasks: TaskGroup,
        *,
        forward: Forward,
        doubt: Callable[[], None],
        in_session: bool,
        authorization: Authorization | None = None,
    ) -> None:
        self._pool = pool
        self._heads = heads
        self._requests = requests
        self._tickets = tickets
        self._tasks = tasks
        self._forward = forward
        self._doubt = doubt
        self._in_session = in_session
        self._authorization = authorization
        self._questions = Questions(tickets.in_flight, tasks, self._post)
        self._loop = asyncio.get_running_loop()
        self._closed = False

    async def call(
        self, admitted: Admitted, progress: Progress | None, peer: Peer | None, wanted: HeaderMap | None = None
    ) -> Outcome:
        call, name = admitted.call, admitted.tool.id.name
        ticket = self._tickets.begin(progress, peer, call.principal)
        try:
            body = self._requests.body(name, call, ticket)
            size = sum(map(len, body))
            params = mcp_param_headers(wanted, dict(call.arguments)) if wanted and self._requests.modern else NO_PARAMS
            exchange = self._pool.take() or await self._pool.acquire(ticket)
            reply = await self._waiting(ticket, exchange, self._pieces(name, params, body, size), size)
            if isinstance(reply, Reply) and reply.status == 401 and await self._renewed(ticket, reply):
                reply = await self._sent(ticket, self._pieces(name, params, body, size), size)
                self._see_again(reply)
            if isinstance(reply, Ended):
                reply = await self._resumed(ticket)
            answer, server = reply if isinstance(reply, bytes) else self._answer(reply), admitted.tool.id.source
            return (
                read_now(answer, ticket.id, server) if len(answer) <= LARGE else await read(answer, ticket.id, server)
            )
        except (asyncio.CancelledError, TimeoutError):
            self._give_up(ticket)
            raise
        except MCPError as error:
            self._see_broken_off(error)
            raise
        finally:
            for question in self._tickets.end(ticket):
                await question.closed.wait()

    def close(self) -> None:
        self._closed = True
        self._tickets.break_off(closed)
        self._pool.close()

    def _pieces(self, name: str, params: Mapping[str, str], body: list[bytes], size: int) -> list[bytes]:
        return [self._heads.call(name, params), b"%d\r\n\r\n" % size, *body]

    def _waiting(
        self, ticket: Ticket, exchange: Exchange, pieces: list[bytes], size: int
    ) -> "asyncio.Future[Reply | Ended | bytes]":
        """For the answer; where it came as its server's answers mostly do, its body alone, which is JSON then."""
        ticket.exchange = exchange
        waiting: asyncio.Future[Reply | Ended | bytes] = ticket.wait(self._loop)
        exchange.send(pieces, size, ticket, self._listen)
        return waiting

    async def _sent(self, ticket: Ticket, pieces: list[bytes], size: int) -> Reply | Ended | bytes:
        """The same once more."""
        exchange = self._pool.take() or await self._pool.acquire(ticket)
        try:
            return await self._waiting(ticket, exchange, pieces, size)
        except MCPError as error:
            self._see_broken_off(error)
            raise

    def _see_broken_off(self, error: MCPError) -> None:
        if error.code == BROKEN_OFF:
            self._doubt()

    def _listen(self, ticket: Ticket) -> Listening:
        if ticket.listening is None:
            ticket.listening = Listening(ticket, self._tickets, self._forward, self._questions)
            return ticket.listening
        return ticket.listening.again()

    def _answer(self, reply: Reply) -> bytes:
        status, kind = reply.status, reply.kind
        if status < 300 and status != 202 and kind.startswith((b"application/json", EVENTS)):
            return reply.body
        if status == 202:
            raise MCPError(NONSENSE, "it only said that it took the request (HTTP 202)")
        if status < 300:
            raise MCPError(NONSENSE, f"the answer is of the type {kind.decode('latin-1')[:100]!r}")
        if status < 400:
            raise MCPError(STATUS - status, f"answered HTTP {status}: it has moved. Correct the url")
        if (why := unsigned(self._authorization, status, reply.challenge.decode("latin-1"))) is not None:
            self._doubt()
            raise MCPError(STATUS - status, why)
        if (error := _error_in(reply.body)) is not None:
            raise error
        if status >= 500 or status in (401, 403, 404):
            self._doubt()
        raise MCPError(STATUS - status, in_words(status, in_session=self._in_session))

    async def _renewed(self, ticket: Ticket, reply: Reply) -> bool:
        """Whether there are new credentials to ask again with. What asks for credentials has not run anything."""
        if self._authorization is None:
            return False
        async with asyncio.timeout_at(ticket.deadline):
            return await self._authorization.unauthorized(self._heads.now, reply.challenge.decode("latin-1"))

    def _see_again(self, reply: Reply | Ended | bytes) -> None:
        if self._authorization is not None and isinstance(reply, Reply) and reply.status == 401:
            self._authorization.rejected(reply.challenge.decode("latin-1"))

    async def _resumed(self, ticket: Ticket) -> Reply:
        """The rest of an event stream that ended before the answer: servers end one to be asked again later."""
        listening, failures = ticket.listening, 0
        while not self._requests.modern and listening is not None and listening.last is not None:
            heard = listening.heard
            pause = max(_RETRY if listening.retry is None else listening.retry, _SOONEST)
            async with asyncio.timeout_at(ticket.deadline):
                await anyio.sleep(pause)
            try:
                reply = await self._sent(ticket, [self._heads.resume(listening.last)], 0)
            except MCPError:
                if self._closed:
                    raise
                reply = None
            if isinstance(reply, Reply) and reply.status == 200 and reply.kind.startswith(EVENTS):
                return reply
            failures = 0 if listening.heard > heard else failures + 1
            if failures >= _RESUMES:
                break
        raise MCPError(CONNECTION_CLOSED, "SSE stream ended without a response")

    def _give_up(self, ticket: Ticket) -> None:
        """Tell the server that nobody waits any more: in the older era by a message, in the newer by hanging up."""
        exchange = ticket.exchange
        if exchange is None or not ticket.sent:
            return
        self._tickets.in_flight.give_up(ticket, ticket.id)
        if self._requests.modern or self._closed:
            exchange.abandon(ticket)
        else:
            self._tasks.start_soon(self._cancel, ticket, exchange)

    async def _cancel(self, ticket: Ticket, exchange: Exchange) -> None:
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ticket.id}}
        try:
            await self._post(msgspec.json.encode(told))
        finally:
            exchange.abandon(ticket)

    async def _post(self, message: bytes) -> None:
        """Send what has no answer. A server that does not take it in time goes without."""
        ticket = Ticket("", None, None, None)
        exchange: Exchange | None = None
        try:
            with anyio.move_on_after(_NOTICE), suppress(MCPError):
                exchange = self._pool.take() or await self._pool.acquire(ticket)
                waiting = ticket.wait(self._loop)
                exchange.send([self._heads.message(), b"%d\r\n\r\n" % len(message), message], len(message), ticket)
                await waiting
        finally:
            if exchange is not None and not ticket.settled:
                exchange.abandon(ticket)


def _error_in(body: bytes) -> MCPError | None:
    """The server's own error, which says more than a status."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match content:
        case {"jsonrpc": "2.0", "error": {"code": int(code), "message": str(message), **more}}:
            return MCPError(code, message, more.get("data"))
        case _:
            return None
