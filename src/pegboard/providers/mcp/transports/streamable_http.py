"""The streamable HTTP transport: the SDK's, on a client of our own, with its session ended when we leave.

Calls go on connections of their own, in the same session.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import httpx2
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client._transport import ReadStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from pegboard.core.model.server import Http
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.errors import McpServerError
from pegboard.providers.mcp.fast.connections import HttpConnectionPool
from pegboard.providers.mcp.fast.http import HttpToolCalls
from pegboard.providers.mcp.fast.requests import CallEncoder, RequestHeadEncoder
from pegboard.providers.mcp.http_client import McpHttpClient
from pegboard.providers.mcp.in_flight import PendingRequests
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES, LargeMessageExchange, parse_message
from pegboard.providers.mcp.transport import HeaderMaps, McpTransport, ToolCallRoute

_MAX_QUEUED_MESSAGES: Final = 256


@asynccontextmanager
async def open_streamable_http(
    server: Http,
    *,
    stop: float,
    doubt: Callable[[], None],
    tickets: PendingRequests,
    authorization: Authorization | None = None,
) -> AsyncIterator[McpTransport]:
    url = checked_url(server.url)
    async with McpHttpClient(server.headers, doubt, authorization) as client:
        client.large_messages = large = LargeMessageExchange(f"The server at {httpx2.URL(url).host}")
        try:
            # The SDK would end the session too, but neither within a deadline nor when we are cancelled.
            async with (
                streamable_http_client(
                    url, http_client=client, terminate_on_close=False, max_sse_event_size=MAX_MESSAGE_BYTES
                ) as (read, write),
                anyio.create_task_group() as tasks,
            ):
                arriving, heard = anyio.create_memory_object_stream[SessionMessage | Exception](_MAX_QUEUED_MESSAGES)
                tasks.start_soon(_restore_large_messages, read, arriving.clone(), large)
                way = _CallRoute(server, client, doubt, tickets, tasks, arriving, authorization)
                with arriving, heard:
                    yield McpTransport(heard, write, way.open_calls if client.is_direct(httpx2.URL(url)) else None)
                tasks.cancel_scope.cancel()
        finally:
            if client.session_id is not None:
                told = {"mcp-session-id": client.session_id, "mcp-protocol-version": client.protocol_version}
                with anyio.CancelScope(shield=True), anyio.move_on_after(stop), suppress(httpx2.StreamError):
                    await client.delete(url, headers={name: value for name, value in told.items() if value})


class _CallRoute:
    """The way that calls take once the session is open."""

    def __init__(
        self,
        server: Http,
        client: McpHttpClient,
        doubt: Callable[[], None],
        tickets: PendingRequests,
        tasks: TaskGroup,
        arriving: MemoryObjectSendStream[SessionMessage | Exception],
        authorization: Authorization | None,
    ) -> None:
        self._server = server
        self._client = client
        self._suspect_loss = doubt
        self._pending = tickets
        self._tasks = tasks
        self._incoming = arriving
        self._authorization = authorization

    def open_calls(self, protocol_version: str, header_maps: HeaderMaps) -> ToolCallRoute:
        url = self._client.final_url or httpx2.URL(self._server.url)
        requests = CallEncoder(protocol_version)
        session = None if requests.is_modern else self._client.session_id
        return HttpToolCalls(
            HttpConnectionPool(url, self._suspect_loss),
            RequestHeadEncoder(
                url, self._server.headers, protocol_version, session, requests.is_modern, self._authorization
            ),
            requests,
            self._pending,
            self._tasks,
            header_maps=header_maps,
            forward=self._forward_to_session,
            doubt=self._suspect_loss,
            in_session=session is not None,
            authorization=self._authorization,
        )

    def _forward_to_session(self, text: bytes) -> None:
        """What a server says on the stream of a call, but not about the call, is heard by the session."""
        message = parse_message(text)
        if message is not None:
            with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._incoming.send_nowait(message)


async def _restore_large_messages(
    read: ReadStream[SessionMessage | Exception],
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    large: LargeMessageExchange,
) -> None:
    with arriving, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for message in read:
            await arriving.send(message if isinstance(message, Exception) else large.restore(message))


def checked_url(url: str) -> str:
    """Raises `McpServerError` that does not repeat the address, which may hold a key."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise McpServerError("cannot be asked: its url is no address of the form https://machine/path")
    return url
