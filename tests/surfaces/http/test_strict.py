"""What a connection takes for HTTP: requests that can be read in one way only, and clients that close one side."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send

from pegboard.surfaces.http.server import HttpServer, bind_socket

pytestmark = pytest.mark.anyio

POST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
SECOND = b"GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n"


class App:
    """Reads each body, waits if it is told to, and says which path was asked for and what was sent there."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.begun = anyio.Event()
        self.goes_on = anyio.Event()
        self.goes_on.set()
        self.left = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.served.append(scope["path"])
        self.begun.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, receive, tasks.cancel_scope)
            await self.goes_on.wait()
            tasks.cancel_scope.cancel()
        if self.left.is_set():
            return
        told = scope["path"].encode() + b" " + body
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(told))]})
        await send({"type": "http.response.body", "body": told})

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()
        scope.cancel()


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[App, Callable[[], Awaitable[SocketStream]]]]:
    app = App()
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        async def connect() -> SocketStream:
            return await anyio.connect_tcp("127.0.0.1", port)

        async with HttpServer(app, listener, lambda: None):
            yield app, connect


async def to_the_end(stream: SocketStream) -> bytes:
    said = b""
    try:
        while True:
            said += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return said


@pytest.mark.behaviour("listening.one_way_to_read")
@pytest.mark.parametrize(
    "head",
    [
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"transfer-encoding: \x0bchunked\r\n",
        b"Transfer-Encoding: GZIP\r\nContent-Length: 5\r\n",
    ],
)
async def test_a_transfer_coding_that_is_not_known_here_is_refused_and_the_connection_closed(head: bytes) -> None:
    async with listening() as (app, connect), await connect() as stream:
        await stream.send(POST + head + b"\r\n5\r\nhello\r\n0\r\n\r\n" + SECOND)
        said = await to_the_end(stream)
        assert said.startswith((b"HTTP/1.1 501 Not Implemented\r\n", b"HTTP/1.1 400 Bad Request\r\n"))
        assert b"connection: close\r\n" in said
        assert said.count(b"HTTP/1.1 ") == 1
        assert app.served == []


async def test_a_transfer_coding_is_refused_in_words() -> None:
    async with listening() as (_, connect), await connect() as stream:
        await stream.send(POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n")
        said = await to_the_end(stream)
        assert said.startswith(b"HTTP/1.1 501 ")
        assert said.endswith(
            b"The body is in a transfer coding that is not known here. Send it with Content-Length, or chunked alone."
        )


@pytest.mark.behaviour("listening.one_way_to_read")
@pytest.mark.parametrize(
    "request_",
    [
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SECOND,
        POST + b"Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello" + SECOND,
        POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + SECOND,
        POST + b"Content-Length: 5, 5\r\n\r\nhello" + SECOND,
        POST + b"Content-Length: +5\r\n\r\nhello" + SECOND,
        POST + b"Content-Length: 0x5\r\n\r\nhello" + SECOND,
        POST + b"Content-Length: -5\r\n\r\nhello" + SECOND,
        POST + b"Content-Length: 99999999999999999999999999\r\n\r\nhello" + SECOND,
        POST + b"Content-Length : 5\r\n\r\nhello" + SECOND,
        POST + b" Content-Length: 5\r\n\r\nhello" + SECOND,
        POST + b"X: a\r\n Content-Length: 5\r\n\r\nhello" + SECOND,
        POST + b"X: a\nContent-Length: 5\r\n\r\nhello" + SECOND,
        POST + b"X: a\rContent-Length: 5\r\n\r\nhello" + SECOND,
        POST + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n" + SECOND,
        POST + b"Transfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n" + SECOND,
        b"POST /mcp HTTP/1.1\nHost: localhost\nContent-Length: 5\n\nhello" + SECOND,
        b"POST /mcp HTTP/9.9\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello" + SECOND,
    ],
)
async def test_a_request_that_two_readers_could_read_differently_ends_its_connection(request_: bytes) -> None:
    """Whatever the first was taken for: what stands behind it must not be taken for a second one."""
    async with listening() as (app, connect), await connect() as stream:
        await stream.send(request_)
        said = await to_the_end(stream)
        assert "/second" not in app.served
        assert b"HTTP/1.1 400 Bad Request\r\n" in said
        assert said.endswith(b"This is no HTTP request that can be read in one way only.")


async def test_what_can_be_read_in_one_way_only_is_read() -> None:
    chunked = POST + b"Transfer-Encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n"
    async with listening() as (app, connect), await connect() as stream:
        await stream.send(chunked + POST + b"Content-Length: 5\r\n\r\nhello" + SECOND)
        said = b""
        while b"/second" not in said:
            said += await stream.receive()
        assert said.count(b"/mcp hello") == 2
        assert app.served == ["/mcp", "/mcp", "/second"]


def end_sending(stream: SocketStream) -> None:
    stream.extra(anyio.abc.SocketAttribute.raw_socket).shutdown(socket.SHUT_WR)


@pytest.mark.behaviour("listening.half_closed")
@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_who_closes_its_sending_side_after_its_request_gets_the_answer(slow: bool, version: bytes) -> None:
    begun = b""
    async with listening() as (app, connect), await connect() as stream:
        if slow:
            app.goes_on = anyio.Event()
        await stream.send(POST.replace(b"HTTP/1.1", version) + b"Content-Length: 5\r\n\r\nhello")
        end_sending(stream)
        if slow:
            await app.begun.wait()
            begun = await stream.receive()
            assert begun == b"HTTP/1.1 "
            app.goes_on.set()
        said = begun + await to_the_end(stream)
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert said.endswith(b"/mcp hello")
        assert (said.count(b"HTTP/1.1 "), b"100 Continue" in said) == (1, False)
        assert not app.left.is_set()


@pytest.mark.behaviour("listening.half_closed")
async def test_who_goes_for_good_has_given_up_its_request() -> None:
    async with listening() as (app, connect):
        app.goes_on = anyio.Event()
        stream = await connect()
        await stream.send(POST + b"Content-Length: 5\r\n\r\nhello")
        await app.begun.wait()
        await stream.aclose()
        await app.left.wait()


@pytest.mark.parametrize("sent", [b"", POST, POST + b"Content-Length: 5\r\n\r\nhel"])
async def test_who_closes_its_sending_side_within_a_request_is_not_waited_for(sent: bytes) -> None:
    async with listening() as (app, connect), await connect() as stream:
        await stream.send(sent or b"\r\n")
        end_sending(stream)
        assert await to_the_end(stream) == b""
        assert app.served == []


@pytest.mark.behaviour("listening.half_closed")
async def test_an_older_client_that_goes_for_good_has_given_up_its_request() -> None:
    async with listening() as (app, connect):
        app.goes_on = anyio.Event()
        stream = await connect()
        await stream.send(b"GET /old HTTP/1.0\r\nHost: localhost\r\n\r\n")
        await app.begun.wait()
        await stream.aclose()
        await app.left.wait()
