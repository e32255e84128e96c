"""Calls over streamable HTTP on pooled connections, beside the SDK's session."""

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

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.errors import CONNECTION_BROKEN, HTTP_STATUS_BASE, UNUSABLE_ANSWER
from pegboard.providers.mcp.fast.connections import EVENT_STREAM_TYPE, HttpConnection, HttpConnectionPool, HttpReply
from pegboard.providers.mcp.fast.event_stream import CallEventStream, ForwardMessage, QuestionForwarder, StreamEnd
from pegboard.providers.mcp.fast.requests import CallEncoder, RequestHeadEncoder
from pegboard.providers.mcp.fast.response import read_outcome, read_outcome_now
from pegboard.providers.mcp.fast.stdio import connection_closed_error
from pegboard.providers.mcp.http_client import describe_http_status, sign_in_message
from pegboard.providers.mcp.in_flight import PendingRequest, PendingRequests
from pegboard.providers.mcp.messages import LARGE_MESSAGE_BYTES
from pegboard.providers.mcp.transport import HeaderMaps

log: Final = logging.getLogger(__name__)

_NOTIFICATION_TIMEOUT_S: Final = 5.0
_RETRY_PAUSE_S: Final = 1.0
_MIN_RETRY_PAUSE_S: Final = 0.1
NO_PARAM_HEADERS: Final[Mapping[str, str]] = {}
_MAX_FAILED_RESUMES: Final = 2
"""How often in a row a stream is resumed in vain."""


class HttpToolCalls:
    """`doubt` is called when something failed that may mean the server is gone."""

    def __init__(
        self,
        pool: HttpConnectionPool,
        heads: RequestHeadEncoder,
        requests: CallEncoder,
        tickets: PendingRequests,
        tasks: TaskGroup,
        *,
        header_maps: HeaderMaps,
        forward: ForwardMessage,
        doubt: Callable[[], None],
        in_session: bool,
        authorization: Authorization | None = None,
    ) -> None:
        self._pool = pool
        self._heads = heads
        self._encoder = requests
        self._pending = tickets
        self._tasks = tasks
        self._header_maps = header_maps if requests.is_modern else {}
        self._forward_to_session = forward
        self._suspect_loss = doubt
        self._in_session = in_session
        self._authorization = authorization
        self._questions = QuestionForwarder(tickets.in_flight, tasks, self._post)
        self._loop = asyncio.get_running_loop()
        self._is_closed = False

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        call, name = admitted.call, admitted.tool.id.name
        ticket = self._pending.begin(progress, peer, call.principal)
        try:
            body = self._encoder.encode_call(name, call, ticket)
            size = sum(map(len, body))
            wanted = self._header_maps.get(name)
            params = mcp_param_headers(wanted, dict(call.arguments)) if wanted else NO_PARAM_HEADERS
            exchange = self._pool.take_idle() or await self._pool.acquire(ticket)
            reply = await self._send_on(ticket, exchange, self._request_pieces(name, params, body, size), size)
            if isinstance(reply, HttpReply) and reply.status == 401 and await self._renew_credentials(ticket, reply):
                reply = await self._send(ticket, self._request_pieces(name, params, body, size), size)
                self._note_second_401(reply)
            if isinstance(reply, StreamEnd):
                reply = await self._resume_stream(ticket)
            answer, server = reply if isinstance(reply, bytes) else self._answer_body(reply), admitted.tool.id.source
            return (
                read_outcome_now(answer, ticket.id, server)
                if len(answer) <= LARGE_MESSAGE_BYTES
                else await read_outcome(answer, ticket.id, server)
            )
        except (asyncio.CancelledError, TimeoutError):
            self._abandon(ticket)
            raise
        except MCPError as error:
            self._note_broken_connection(error)
            raise
        finally:
            for question in self._pending.end(ticket):
                await question.closed.wait()

    def close(self) -> None:
        self._is_closed = True
        self._pending.fail_all(connection_closed_error)
        self._pool.close()

    def _request_pieces(self, name: str, params: Mapping[str, str], body: list[bytes], size: int) -> list[bytes]:
        return [self._heads.call_head(name, params), b"%d\r\n\r\n" % size, *body]

    def _send_on(
        self, ticket: PendingRequest, exchange: HttpConnection, pieces: list[bytes], size: int
    ) -> "asyncio.Future[HttpReply | StreamEnd | bytes]":
        """For the answer; where it came as its server's answers mostly do, its body alone, which is JSON then."""
        ticket.connection = exchange
        waiting: asyncio.Future[HttpReply | StreamEnd | bytes] = ticket.new_future(self._loop)
        exchange.send(pieces, size, ticket, self._open_stream)
        return waiting

    async def _send(self, ticket: PendingRequest, pieces: list[bytes], size: int) -> HttpReply | StreamEnd | bytes:
        """The same once more."""
        exchange = self._pool.take_idle() or await self._pool.acquire(ticket)
        try:
            return await self._send_on(ticket, exchange, pieces, size)
        except MCPError as error:
            self._note_broken_connection(error)
            raise

    def _note_broken_connection(self, error: MCPError) -> None:
        if error.code == CONNECTION_BROKEN:
            self._suspect_loss()

    def _open_stream(self, ticket: PendingRequest) -> CallEventStream:
        if ticket.event_stream is None:
            ticket.event_stream = CallEventStream(ticket, self._pending, self._forward_to_session, self._questions)
            return ticket.event_stream
        return ticket.event_stream.restart()

    def _answer_body(self, reply: HttpReply) -> bytes:
        status, kind = reply.status, reply.content_type
        if status < 300 and status != 202 and kind.startswith((b"application/json", EVENT_STREAM_TYPE)):
            return reply.body
        if status == 202:
            raise MCPError(UNUSABLE_ANSWER, "it only said that it took the request (HTTP 202)")
        if status < 300:
            raise MCPError(UNUSABLE_ANSWER, f"the answer is of the type {kind.decode('latin-1')[:100]!r}")
        if status < 400:
            raise MCPError(HTTP_STATUS_BASE - status, f"answered HTTP {status}: it has moved. Correct the url")
        if (why := sign_in_message(self._authorization, status, reply.challenge.decode("latin-1"))) is not None:
            self._suspect_loss()
            raise MCPError(HTTP_STATUS_BASE - status, why)
        if (error := _parse_error(reply.body)) is not None:
            raise error
        if status >= 500 or status in (401, 403, 404):
            self._suspect_loss()
        raise MCPError(HTTP_STATUS_BASE - status, describe_http_status(status, in_session=self._in_session))

    async def _renew_credentials(self, ticket: PendingRequest, reply: HttpReply) -> bool:
        """Whether there are new credentials to ask again with. What asks for credentials has not run anything."""
        if self._authorization is None:
            return False
        async with asyncio.timeout_at(ticket.deadline):
            return await self._authorization.handle_unauthorized(
                self._heads.authorization_headers, reply.challenge.decode("latin-1")
            )

    def _note_second_401(self, reply: HttpReply | StreamEnd | bytes) -> None:
        if self._authorization is not None and isinstance(reply, HttpReply) and reply.status == 401:
            self._authorization.mark_rejected(reply.challenge.decode("latin-1"))

    async def _resume_stream(self, ticket: PendingRequest) -> HttpReply:
        """The rest of an event stream that ended before the answer: servers end one to be asked again later."""
        listening, failures = ticket.event_stream, 0
        while not self._encoder.is_modern and listening is not None and listening.last_event_id is not None:
            heard = listening.event_count
            pause = max(_RETRY_PAUSE_S if listening.retry_s is None else listening.retry_s, _MIN_RETRY_PAUSE_S)
            async with asyncio.timeout_at(ticket.deadline):
                await anyio.sleep(pause)
            try:
                reply = await self._send(ticket, [self._heads.resume_head(listening.last_event_id)], 0)
            except MCPError:
                if self._is_closed:
                    raise
                reply = None
            if (
                isinstance(reply, HttpReply)
                and reply.status == 200
                and reply.content_type.startswith(EVENT_STREAM_TYPE)
            ):
                return reply
            failures = 0 if listening.event_count > heard else failures + 1
            if failures >= _MAX_FAILED_RESUMES:
                break
        raise MCPError(CONNECTION_CLOSED, "SSE stream ended without a response")

    def _abandon(self, ticket: PendingRequest) -> None:
        """Tell the server that nobody waits any more: in the older era by a message, in the newer by hanging up."""
        exchange = ticket.connection
        if exchange is None or not ticket.is_sent:
            return
        self._pending.in_flight.abandon(ticket, ticket.id)
        if self._encoder.is_modern or self._is_closed:
            exchange.abandon(ticket)
        else:
            self._tasks.start_soon(self._cancel, ticket, exchange)

    async def _cancel(self, ticket: PendingRequest, exchange: HttpConnection) -> None:
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ticket.id}}
        try:
            await self._post(msgspec.json.encode(told))
        finally:
            exchange.abandon(ticket)

    async def _post(self, message: bytes) -> None:
        """Send what has no answer. A server that does not take it in time goes without."""
        ticket = PendingRequest("", None, None, None)
        exchange: HttpConnection | None = None
        try:
            with anyio.move_on_after(_NOTIFICATION_TIMEOUT_S), suppress(MCPError):
                exchange = self._pool.take_idle() or await self._pool.acquire(ticket)
                waiting = ticket.new_future(self._loop)
                exchange.send([self._heads.message_head(), b"%d\r\n\r\n" % len(message), message], len(message), ticket)
                await waiting
        finally:
            if exchange is not None and not ticket.is_settled:
                exchange.abandon(ticket)


def _parse_error(body: bytes) -> MCPError | None:
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
