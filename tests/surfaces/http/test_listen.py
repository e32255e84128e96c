"""Listening: requests whose head never ends are turned away, and honest ones are served beside them."""

import asyncio
import gc
import re
import socket
import weakref

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Receive, Scope, Send

from pegboard.ports.fast_path import RequestHead, ResponseSink
from pegboard.surfaces.http import protocol as connection
from pegboard.surfaces.http import server as listening
from pegboard.surfaces.http.protocol import MAX_HEAD_BYTES
from pegboard.surfaces.http.server import HttpServer, bind_socket

pytestmark = pytest.mark.anyio


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def said_to(port: int, head: bytes) -> bytes:
    answer = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        try:
            await stream.send(head)
            while b"\r\n\r\n" not in answer:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
    return answer


class Accepted(asyncio.Protocol):
    def __init__(self) -> None:
        self.sends_at_once: list[bool] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        connected = transport.get_extra_info("socket")
        self.sends_at_once.append(bool(connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))


async def test_an_answer_in_two_parts_does_not_wait_for_the_client_to_confirm_the_first() -> None:
    accepted = Accepted()
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        async with (
            await asyncio.get_running_loop().create_server(lambda: accepted, sock=listener),
            await anyio.connect_tcp(*address),
        ):
            while not accepted.sends_at_once:
                await anyio.lowlevel.checkpoint()
    assert accepted.sends_at_once == [True]


async def test_a_head_beyond_the_bound_is_refused_and_one_below_it_is_served() -> None:
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with HttpServer(greet, listener, lambda: None):
            large = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (4 * MAX_HEAD_BYTES)
            assert b" 200 " not in await said_to(port, large + b"\r\n\r\n")
            usual = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (MAX_HEAD_BYTES // 2)
            assert (await said_to(port, usual + b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def whole(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what it was asked for, with a length, so that head and body are one write."""
    body = scope["path"].encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.behaviour("supervision.slow_reader")
async def test_a_head_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 0.0)
    monkeypatch.setattr(listening, "CHECK_INTERVAL_S", 0.01)
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with HttpServer(whole, listener, lambda: None), await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET /slow HTTP/1.1\r\nHost: loc")
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
            # Who has asked and waits for the next thing to ask is not late.
            async with await anyio.connect_tcp("127.0.0.1", port) as other:
                for _ in range(2):
                    await other.send(b"GET /again HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert (await other.receive()).endswith(b"/again")
                    await anyio.sleep(0.05)


async def test_requests_sent_at_once_are_answered_in_their_order() -> None:
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with HttpServer(whole, listener, lambda: None), await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number for number in range(3)))
            said = b""
            while not said.endswith(b"/2"):
                said += await stream.receive()
            assert re.findall(rb"\r\n\r\n(/\d)", said) == [b"/0", b"/1", b"/2"]
            head = await said_to(port, b"HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert head.endswith(b"\r\n\r\n")
            assert b"content-length: 2\r\n" in head


async def test_an_answer_whose_length_is_told_wrong_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def wrong(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        await send({"type": "http.response.body", "body": b"short"})

    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with HttpServer(wrong, listener, lambda: None):
            said = await said_to(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert said.startswith(b"HTTP/1.1 500 ")
    assert "Content-Length" in caplog.text


async def headers_told(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    body = b",".join(sorted(name for name, _ in scope["headers"]))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_what_comes_after_a_body_is_no_header() -> None:
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with HttpServer(headers_told, listener, lambda: None):
            said = await said_to(port, CHUNKED + b"2\r\nhi\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
            assert said.endswith(b"host,transfer-encoding")


async def test_trailers_without_end_are_not_taken() -> None:
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with HttpServer(headers_told, listener, lambda: None), await anyio.connect_tcp("127.0.0.1", port) as one:
            large = b"1000\r\n" + b"x" * 4096 + b"\r\n"
            await one.send(CHUNKED + large * 64 + b"0\r\nX: ")
            try:
                for _ in range(1000):
                    await one.send(b"a" * 16_384)
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                return
            pytest.fail("it listened on")


async def test_who_asks_before_sending_a_body_and_is_refused_is_not_listened_to_any_more() -> None:
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        head = b"POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        async with HttpServer(whole, listener, lambda: None):
            said = await said_to(port, head)
            assert (b"connection: close\r\n" in said, b"100 Continue" in said) == (True, False)


@pytest.mark.behaviour("supervision.slow_reader")
async def test_an_answer_that_nobody_reads_is_dropped_with_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_TIMEOUT_S", 0.2)
    monkeypatch.setattr(listening, "CHECK_INTERVAL_S", 0.02)

    class Large:
        path = b"/mcp"
        principals = None

        def try_handle(self, outlet: ResponseSink, head: RequestHead, body: bytes) -> "Large":
            size = 64 * 1024 * 1024
            assert outlet.send_whole(200, b"content-length: %d\r\n" % size, bytes(size))
            return self

        def on_disconnect(self) -> None:
            """It was answered."""

        def forget_callers(self) -> None:
            """It keeps nothing."""

    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with (
            HttpServer(greet, listener, lambda: None, Large()) as served,
            await anyio.connect_tcp("127.0.0.1", port) as stream,
        ):
            await stream.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            begun = await stream.receive()
            assert begun.startswith(b"HTTP/1.1 200 ")
            while served._server.server_state.connections:
                await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("supervision.nothing_piles_up")
async def test_an_answered_request_is_gone_without_a_look_for_rings() -> None:
    """One ring a request would be tens of megabytes by the time that somebody looks for them."""
    seen: list[weakref.ref[object]] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(weakref.ref(scope["extensions"][connection.WHOLE_EXTENSION].__self__))
        await whole(scope, receive, send)

    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        gc.disable()
        try:
            async with HttpServer(watched, listener, lambda: None):
                for _ in range(3):
                    assert (await said_to(port, b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")).startswith(
                        b"HTTP/1.1 200 "
                    )
                while any(ref() is not None for ref in seen):  # the last one lets go a turn of the loop later
                    await anyio.lowlevel.checkpoint()
        finally:
            gc.enable()
    assert len(seen) == 3
