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

from pegboard.core.server import Http

from .authorization import Authorization
from .http_client import HttpClient
from .large import LargeMessages
from .messages import LONGEST, message_of
from .raw.heads import Heads
from .raw.http import HttpCalls
from .raw.pool import Pool
from .raw.request import Requests
from .raw.tickets import Tickets
from .transport import Calls, Wire
from .trouble import Trouble

_QUEUE: Final = 256


@asynccontextmanager
async def streamable(
    server: Http,
    *,
    stop: float,
    doubt: Callable[[], None],
    tickets: Tickets,
    authorization: Authorization | None = None,
) -> AsyncIterator[Wire]:
    url = checked(server.url)
    async with HttpClient(server.headers, doubt, authorization) as client:
        client.large = large = LargeMessages(f"The server at {httpx2.URL(url).host}")
        try:
            # The SDK would end the session too, but neither within a deadline nor when we are cancelled.
            async with (
                streamable_http_client(
                    url, http_client=client, terminate_on_close=False, max_sse_event_size=LONGEST
                ) as (read, write),
                anyio.create_task_group() as tasks,
            ):
                arriving, heard = anyio.create_memory_object_stream[SessionMessage | Exception](_QUEUE)
                tasks.start_soon(_carry, read, arriving.clone(), large)
                way = _Way(server, client, doubt, tickets, tasks, arriving, authorization)
                with arriving, heard:
                    yield Wire(heard, write, way.calls if client.is_direct(httpx2.URL(url)) else None)
                tasks.cancel_scope.cancel()
        finally:
            if client.session_id is not None:
                told = {"mcp-session-id": client.session_id, "mcp-protocol-version": client.protocol_version}
                with anyio.CancelScope(shield=True), anyio.move_on_after(stop), suppress(httpx2.StreamError):
                    await client.delete(url, headers={name: value for name, value in told.items() if value})


class _Way:
    """The way that calls take once the session is open."""

    def __init__(
        self,
        server: Http,
        client: HttpClient,
        doubt: Callable[[], None],
        tickets: Tickets,
        tasks: TaskGroup,
        arriving: MemoryObjectSendStream[SessionMessage | Exception],
        authorization: Authorization | None,
    ) -> None:
        self._server = server
        self._client = client
        self._doubt = doubt
        self._tickets = tickets
        self._tasks = tasks
        self._arriving = arriving
        self._authorization = authorization

    def calls(self, protocol_version: str) -> Calls:
        url = self._client.settled or httpx2.URL(self._server.url)
        requests = Requests(protocol_version)
        session = None if requests.modern else self._client.session_id
        return HttpCalls(
            Pool(url, self._doubt),
            Heads(url, self._server.headers, protocol_version, session, requests.modern, self._authorization),
            requests,
            self._tickets,
            self._tasks,
            forward=self._forward,
            doubt=self._doubt,
            in_session=session is not None,
            authorization=self._authorization,
        )

    def _forward(self, text: bytes) -> None:
        """What a server says on the stream of a call, but not about the call, is heard by the session."""
        message = message_of(text)
        if message is not None:
            with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._arriving.send_nowait(message)


async def _carry(
    read: ReadStream[SessionMessage | Exception],
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    large: LargeMessages,
) -> None:
    with arriving, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for message in read:
            await arriving.send(message if isinstance(message, Exception) else large.exchanged(message))


def checked(url: str) -> str:
    """Raises `Trouble` that does not repeat the address, which may hold a key."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Trouble("cannot be asked: its url is no address of the form https://machine/path")
    return url
