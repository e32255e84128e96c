"""The way around ASGI: whoever comes by it is served in the same order, told the same and forgotten as soon."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import handshake, modern, modern_headers
from tests.surfaces.mcp.workshop import Workshop, open_workshop

from pegboard.core.calls.call import CallCancellation
from pegboard.ports.fast_path import RequestHead, ResponseSink
from pegboard.surfaces.http import server as listening
from pegboard.surfaces.http.protocol import MAX_BODY_BYTES, MAX_CACHED_HEADS, RequestHeadCache
from pegboard.surfaces.http.server import HttpServer, bind_socket
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.fast import endpoint
from pegboard.surfaces.mcp.fast import response as flight
from pegboard.surfaces.mcp.fast.messages import encode_request_id
from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = pytest.mark.anyio


def written(tool: str, *, id: int = 1, meta: dict[str, Any] | None = None, **arguments: object) -> bytes:
    """A call of the 2026-07-28 era as a client writes it."""
    message = modern("tools/call", id=id, meta=meta, name=tool, arguments=arguments)
    body = json.dumps(message).encode()
    headers = {"host": "localhost", **modern_headers(message), "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


class Line:
    """One connection, and what is said on it."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._heard = b""

    async def _until(self, enough: Callable[[bytes], int]) -> bytes:
        while (end := enough(self._heard)) < 0:
            self._heard += await self.stream.receive()
        said, self._heard = self._heard[:end], self._heard[end:]
        return said

    async def answer(self) -> tuple[int, bytes, bytes]:
        """Status, head and body of the next answer, which must have a length."""
        head = await self._until(lambda heard: heard.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in heard else -1)
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        assert len(lengths) == 1, head
        length = int(lengths[0].partition(b":")[2])
        body = await self._until(lambda heard: length if len(heard) >= length else -1)
        return int(head.split(b" ")[1]), head, body

    async def told(self) -> tuple[int, str]:
        """Id and first text of the next answer to a call."""
        status, _, body = await self.answer()
        assert status == 200, body
        message = json.loads(body)
        return message["id"], message["result"]["content"][0]["text"]

    async def stream_of_events(self) -> list[Any]:
        said = await self._until(lambda heard: heard.find(b"0\r\n\r\n") + 5 if b"0\r\n\r\n" in heard else -1)
        assert b"transfer-encoding: chunked" in said
        return [json.loads(line[6:]) for line in said.split(b"\r\n") if line.startswith(b"data: ")]

    async def call(self, tool: str, text: str) -> tuple[int, str]:
        await self.stream.send(written(tool, text=text))
        return await self.told()


class Place:
    def __init__(self, workshop: Workshop, port: int) -> None:
        self.workshop = workshop
        self._port = port

    async def line(self) -> Line:
        """A connection on which calls have been made already, so that the next is taken at once and its head known."""
        line = Line(await anyio.connect_tcp("127.0.0.1", self._port))
        assert await line.call("echo", text="first") == (1, "first")
        assert await line.call("echo", text="again") == (1, "again")
        return line


@pytest.fixture
async def place(anyio_backend: str) -> AsyncIterator[Place]:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop, RequestChecks(client_timeout_s=1.0)) as url:
            yield Place(workshop, int(url.rsplit(":", 1)[1].removesuffix("/mcp")))


async def test_calls_written_together_are_answered_in_their_order(place: Place) -> None:
    line = await place.line()
    async with line.stream:
        for _ in range(2):
            await line.stream.send(b"".join(written("echo", id=id, text=f"say {id}") for id in range(5)))
            assert [await line.told() for _ in range(5)] == [(id, f"say {id}") for id in range(5)]


async def test_a_call_that_comes_while_another_runs_waits_for_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # With a request waiting nothing more is read, so that the client has gone is seen when it is next written to.
    monkeypatch.setattr(flight, "PING_AFTER_S", 0.1)
    line = await place.line()
    async with line.stream:
        await line.stream.send(written("wait", id=1))
        await place.workshop.bench.started.wait()
        await line.stream.send(written("echo", id=2, text="second"))
        other = await place.line()
        async with other.stream:
            assert await other.call("echo", text="not held up") == (1, "not held up")
        assert [type(record.outcome).__name__ for record in place.workshop.audit.records] == ["ToolSuccess"] * 5
    while len(place.workshop.audit.records) < 6:  # noqa: ASYNC110 - a list tells nobody
        await anyio.sleep(0.01)
    assert place.workshop.audit.records[-1].outcome == CallCancellation()


def test_the_id_of_a_request_goes_back_as_it_came_and_what_is_none_is_left_to_the_slow_path() -> None:
    raws = [b'"a"', rb'"\u0041\"\u00e9"', b"7", b"-1", b"1.5", b"null", b"-", b""]
    assert [encode_request_id(raw) for raw in raws] == [b'"a"', '"A\\"é"'.encode(), b"7", b"-1", None, None, None, None]


@pytest.mark.parametrize("pieces", [1, 7, 150, 10_000])
async def test_a_call_in_pieces_is_one_call(place: Place, pieces: int) -> None:
    line = await place.line()
    async with line.stream:
        for word in ("one", "two", "three"):
            text = written("echo", text=word)
            head = text.find(b"\r\n\r\n") + 4
            size = max(1, len(text) // pieces)
            parts = (
                [text[:head], text[head:]] if pieces == 1 else [text[i : i + size] for i in range(0, len(text), size)]
            )
            for part in parts:
                await line.stream.send(part)
                await anyio.lowlevel.checkpoint()
            assert await line.told() == (1, word)


@pytest.mark.parametrize("begun", [b"G", b"GET /a HTTP/1.1\r\nX: ", b"GET /a HTTP/1.1\r\n"])
async def test_a_known_head_within_the_head_of_another_request_is_no_request(place: Place, begun: bytes) -> None:
    line = await place.line()
    async with line.stream:
        await line.stream.send(written("echo", text="before") + begun)
        assert await line.told() == (1, "before")
        await line.stream.send(written("echo", text="within"))
        status, _, body = await line.answer()
        assert (status >= 400, b"within" in body) == (True, False)
    said = [record.call.arguments["text"] for record in place.workshop.audit.records]
    assert said == ["first", "again", "before"]


@pytest.mark.parametrize("known", [False, True], ids=["a new head", "a head that is known"])
async def test_a_body_that_does_not_come_is_told_so(place: Place, known: bool) -> None:
    line = await place.line()
    async with line.stream:
        text = written("echo", text="twelve bytes" if known else "what nobody has said before")
        if known:
            assert (await line.call("echo", text="twelve bytes"))[1] == "twelve bytes"
        await line.stream.send(text[:-5])
        status, _, body = await line.answer()
        assert (status, b"No body within 1 seconds" in body) == (408, True)


async def test_a_call_that_reports_progress_becomes_a_stream_and_the_connection_stays(place: Place) -> None:
    line = await place.line()
    async with line.stream:
        for _ in range(2):
            await line.stream.send(written("steps", id=7, meta={"progressToken": "t"}))
            *steps, last = await line.stream_of_events()
            assert [step["params"]["progress"] for step in steps] == [1, 2, 3]
            assert (last["id"], last["result"]["content"][0]["text"]) == (7, "all done")
        assert await line.call("echo", text="still here") == (1, "still here")


async def test_a_client_that_hangs_up_has_given_up_its_call(place: Place) -> None:
    line = await place.line()
    async with line.stream:
        await line.stream.send(written("wait"))
        await place.workshop.bench.started.wait()
    while len(place.workshop.audit.records) < 3:
        await anyio.lowlevel.checkpoint()
    assert place.workshop.audit.records[-1].outcome == CallCancellation()
    assert (place.workshop.bench.cancelled, place.workshop.bench.running) == (1, 0)


async def test_what_is_no_call_or_too_large_is_served_all_the_same(place: Place) -> None:
    line = await place.line()
    async with line.stream:
        large = "x" * (MAX_BODY_BYTES + 1)
        assert await line.call("echo", text=large) == (1, large)
        for body, status in ((b"{", 400), (b"", 400), (b"[]", 400)):
            message = modern("tools/call", name="echo", arguments={})
            headers = {"host": "localhost", **modern_headers(message), "content-length": str(len(body))}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            await line.stream.send(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
            assert (await line.answer())[0] == status
        assert await line.call("echo", text="unharmed") == (1, "unharmed")


async def test_a_call_under_way_is_answered_before_the_server_ends() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            app = McpHttpEndpoint(workshop.gateway)
            async with app.lifespan():
                with bind_socket("127.0.0.1", 0) as listener:
                    port = listener.getsockname()[1]
                    async with HttpServer(app, listener, app.end_streams, app.fast_path):
                        place = Place(workshop, port)
                        line = await place.line()
                        await line.stream.send(written("wait", report=True))
                        await workshop.bench.started.wait()
                async with line.stream:
                    assert await line.told() == (1, "0")
                    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                        await line.stream.receive()


async def test_a_connection_that_nobody_uses_any_more_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CHECK_INTERVAL_S", 0.01)
    monkeypatch.setattr(listening, "KEEP_ALIVE_SECONDS", 0)
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            app = McpHttpEndpoint(workshop.gateway)
            with bind_socket("127.0.0.1", 0) as listener:
                async with app.lifespan(), HttpServer(app, listener, app.end_streams, Immediately()):
                    stream = await anyio.connect_tcp("127.0.0.1", listener.getsockname()[1])
                    async with stream:
                        line = Line(stream)
                        await stream.send(written("echo", text="x"))
                        assert (await line.answer())[2] == b"taken"
                        with pytest.raises(anyio.EndOfStream):
                            await stream.receive()


class Immediately:
    """Takes everything, and answers at once."""

    path = b"/mcp"
    principals = None

    def try_handle(self, outlet: ResponseSink, head: RequestHead, body: bytes) -> "Immediately":
        assert outlet.send_whole(200, b"content-length: 5\r\n", b"taken")
        return self

    def on_disconnect(self) -> None:
        raise AssertionError("it was answered")

    def forget_callers(self) -> None:
        """It keeps nothing."""


async def unasked(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the express takes everything")


async def test_one_that_answers_at_once_may_be_asked_again_on_the_same_connection() -> None:
    with anyio.fail_after(DEADLINE), bind_socket("127.0.0.1", 0) as listener:
        async with (
            HttpServer(unasked, listener, lambda: None, Immediately()),
            await anyio.connect_tcp("127.0.0.1", listener.getsockname()[1]) as stream,
        ):
            line = Line(stream)
            await stream.send(written("echo", text="x") * 3)
            assert [(await line.answer())[2] for _ in range(3)] == [b"taken"] * 3


def test_only_so_many_heads_are_remembered_and_only_what_was_one_request() -> None:
    heads, head = RequestHeadCache(), RequestHead(b"", [], {})
    text = b"POST /mcp HTTP/1.1\r\nx: %d\r\nContent-Length: 4\r\n\r\nbody"
    for number in range(MAX_CACHED_HEADS):
        heads.add(text % number, RequestHead(b"", [], {}))
    heads.add(text % MAX_CACHED_HEADS, head)
    assert heads.find(text % 0) is None
    found = heads.find(
        (text % MAX_CACHED_HEADS).replace(b"4", b"5", 1)
        if b"4" not in b"%d" % MAX_CACHED_HEADS
        else text % MAX_CACHED_HEADS
    )
    assert found is not None
    assert found[0] is head
    two = b"POST /other HTTP/1.1\r\ncontent-length: 4\r\n\r\n"
    heads.add(two + b"bodyPOST", RequestHead(b"", [], {}))
    assert heads.find(two + b"body") is None


@pytest.mark.parametrize(
    "head",
    [
        b"POST /mcp HTTP/1.1\r\ncontent-length: 4\r\nContent-Length: 5\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nx-content-length: 4\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: +4\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 4 \r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length:4\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 4_0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: \xb2\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n",
    ],
)
def test_a_head_that_only_resembles_a_known_one_is_parsed(head: bytes) -> None:
    heads = RequestHeadCache()
    heads.add(b"POST /mcp HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody", RequestHead(b"", [], {}))
    assert heads.find(b"POST /mcp HTTP/1.1\r\ncontent-length: 17\r\n\r\n") is not None
    assert heads.find(head + b"body") is None


@pytest.mark.parametrize("joined", [65_536, 10], ids=["in one piece", "in parts"])
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_a_list_for_a_known_caller_is_served_around_asgi(
    era: str, joined: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_MAX_JOINED_BYTES", joined)
    asgi: list[str] = []
    with anyio.fail_after(DEADLINE), bind_socket("127.0.0.1", 0) as listener:
        async with open_workshop() as workshop:
            app = McpHttpEndpoint(workshop.gateway)

            async def counted(scope: Scope, receive: Receive, send: Send) -> None:
                asgi.append(scope["path"])
                await app(scope, receive, send)

            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            async with (
                app.lifespan(),
                HttpServer(counted, listener, app.end_streams, app.fast_path),
                httpx2.AsyncClient(timeout=DEADLINE) as http,
            ):
                message: dict[str, Any] = modern("tools/list")
                headers = modern_headers(message)
                if era == "2025-11-25":
                    message, headers = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, await handshake(http, url)
                first = await http.post(url, json=message, headers=headers)
                known = len(asgi)
                again = [await http.post(url, json=message, headers=headers) for _ in range(3)]
                assert len(asgi) == known
                assert first.json()["result"]["tools"]
                assert {(each.status_code, each.content) for each in again} == {(200, first.content)}
                assert all({**each.headers, "date": ""} == {**first.headers, "date": ""} for each in again)
                message.setdefault("params", {})["cursor"] = "of no list"
                assert "error" in (await http.post(url, json=message, headers=headers)).json()
                assert len(asgi) == known + 1
