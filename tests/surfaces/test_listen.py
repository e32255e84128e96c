"""Listening: requests whose head never ends are turned away, and honest ones are served beside them."""

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from pegboard.surfaces.listening import Listening, bound
from pegboard.surfaces.listening.connection import LARGEST_HEAD

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


async def test_a_head_beyond_the_bound_is_refused_and_one_below_it_is_served() -> None:
    with anyio.fail_after(30), bound("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with Listening(greet, listener, lambda: None):
            large = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (4 * LARGEST_HEAD)
            assert b" 200 " not in await said_to(port, large + b"\r\n\r\n")
            usual = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (LARGEST_HEAD // 2)
            assert (await said_to(port, usual + b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
