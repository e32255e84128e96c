"""The streamable HTTP transport: the SDK's, on a client of our own, with its session ended when we leave."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from pegboard.core.server import Http

from .authorization import Authorization
from .http_client import HttpClient
from .messages import LONGEST
from .transport import Streams
from .trouble import Trouble


@asynccontextmanager
async def streamable(
    server: Http, *, stop: float, doubt: Callable[[], None], authorization: Authorization | None = None
) -> AsyncIterator[Streams]:
    url = checked(server.url)
    async with HttpClient(server.headers, doubt, authorization) as client:
        try:
            # The SDK would end the session too, but neither within a deadline nor when we are cancelled.
            async with streamable_http_client(
                url, http_client=client, terminate_on_close=False, max_sse_event_size=LONGEST
            ) as streams:
                yield streams
        finally:
            if client.session_id is not None:
                told = {"mcp-session-id": client.session_id, "mcp-protocol-version": client.protocol_version}
                with anyio.CancelScope(shield=True), anyio.move_on_after(stop), suppress(httpx2.StreamError):
                    await client.delete(url, headers={name: value for name, value in told.items() if value})


def checked(url: str) -> str:
    """Raises `Trouble` that does not repeat the address, which may hold a key."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Trouble("cannot be asked: its url is no address of the form https://machine/path")
    return url
