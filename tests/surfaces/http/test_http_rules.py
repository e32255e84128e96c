"""Requests that HTTP has a rule for: what they offer beside HTTP/1.1, whom they are for, what stands behind them."""

import logging

import anyio
import pytest
from tests.surfaces.http.test_strict import App, end_sending, listening, to_the_end
from tests.surfaces.mcp.places import DEADLINE
from tests.surfaces.mcp.test_express import written

from pegboard.ports.fast_path import RequestHead, ResponseSink
from pegboard.surfaces.http.server import HttpServer, bind_socket

pytestmark = pytest.mark.anyio

POST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
NO_REQUEST = b"This is no HTTP request that can be read in one way only."


async def said_to(*pieces: bytes) -> tuple[list[str], bytes]:
    """Which paths were served, and all that was said until the connection was closed."""
    async with listening() as (served, connect), await connect() as stream:
        for piece in pieces:
            await stream.send(piece)
            await anyio.lowlevel.checkpoint()
        return served.served, await to_the_end(stream)


def statuses(said: bytes) -> list[int]:
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.behaviour("listening.upgrade_is_ignored")
@pytest.mark.parametrize("offer", [UPGRADE, UPGRADE.replace(b"h2c", b"websocket"), UPGRADE.replace(b"h2c", b"x, h2c")])
@pytest.mark.parametrize(
    "body",
    [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"],
    ids=["length", "chunked"],
)
async def test_an_offer_to_speak_something_else_is_passed_over_and_the_body_kept(
    offer: bytes, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    text = POST + offer + body
    for pieces in ([text + LAST], [text[:-7], text[-7:] + LAST], [text[:60], text[60:] + LAST]):
        served, said = await said_to(*pieces)
        assert (served, said.count(b"/mcp hello")) == (["/mcp", "/last"], 1)
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.behaviour("listening.upgrade_is_ignored")
async def test_many_offers_in_one_go_are_served_one_by_one() -> None:
    served, said = await said_to((POST + UPGRADE + b"Content-Length: 2\r\n\r\nhi") * 50 + LAST)
    assert (served, said.count(b"/mcp hi")) == (["/mcp"] * 50 + ["/last"], 50)


@pytest.mark.behaviour("listening.answered_in_order")
@pytest.mark.parametrize(
    "garbage",
    [b"\x00\x01\x02", b"garbage\r\n\r\n", b"GET /no HTTP/9.9\r\n\r\n", POST + b"Content-Length: x\r\n\r\n"],
)
@pytest.mark.parametrize("before", [1, 3])
async def test_what_stands_before_something_unreadable_is_answered_first(garbage: bytes, before: int) -> None:
    async with listening() as (app, connect), await connect() as stream:
        app.goes_on = anyio.Event()
        await stream.send((POST + b"Content-Length: 2\r\n\r\nhi") * before + garbage)
        await app.begun.wait()
        await stream.send(b"and more of it")
        app.goes_on.set()
        said = await to_the_end(stream)
        assert statuses(said) == [200] * before + [400]
        assert said.count(b"/mcp hi") == before
        assert said.endswith(NO_REQUEST)
        assert app.served == ["/mcp"] * before


@pytest.mark.behaviour("listening.answered_in_order")
async def test_a_body_that_cannot_be_read_spoils_no_answer_before_it() -> None:
    async with listening() as (app, connect), await connect() as stream:
        app.goes_on = anyio.Event()
        bad = POST.replace(b"/mcp", b"/bad") + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nxyz\r\n\r\n"
        await stream.send(POST + b"Content-Length: 2\r\n\r\nhi" + bad)
        await app.begun.wait()
        app.goes_on.set()
        said = await to_the_end(stream)
        assert (statuses(said), said.endswith(NO_REQUEST), app.served) == ([200, 400], True, ["/mcp"])


class Waiting:
    """Takes every request for itself and answers when it is told to."""

    path = b"/mcp"
    principals = None

    def __init__(self) -> None:
        self.outlets: list[ResponseSink] = []
        self.taken = anyio.Event()

    def try_handle(self, outlet: ResponseSink, head: RequestHead, body: bytes) -> "Waiting":
        self.outlets.append(outlet)
        self.taken.set()
        return self

    def on_disconnect(self) -> None:
        self.outlets.clear()

    def forget_callers(self) -> None:
        """It keeps nothing."""


@pytest.mark.behaviour("listening.answered_in_order")
async def test_the_express_too_answers_what_stands_before_something_unreadable() -> None:
    waiting = Waiting()
    with anyio.fail_after(DEADLINE), bind_socket("127.0.0.1", 0) as listener:
        async with (
            HttpServer(App(), listener, lambda: None, waiting),
            await anyio.connect_tcp("127.0.0.1", listener.getsockname()[1]) as stream,
        ):
            await stream.send(written("echo", text="x") + b"\x00garbage")
            await waiting.taken.wait()
            assert waiting.outlets[0].send_whole(200, b"content-length: 5\r\n", b"taken")
            said = await to_the_end(stream)
            assert (statuses(said), b"taken" in said, said.endswith(NO_REQUEST)) == ([200, 400], True, True)


@pytest.mark.behaviour("listening.answered_in_order", "listening.half_closed")
@pytest.mark.parametrize(("behind", "last"), [(b"", []), (b"\x00garbage", [400])])
async def test_who_closes_its_sending_side_behind_several_requests_gets_every_answer(
    behind: bytes, last: list[int]
) -> None:
    async with listening() as (app, connect), await connect() as stream:
        app.goes_on = anyio.Event()
        await stream.send((POST + b"Content-Length: 2\r\n\r\nhi") * 3 + behind)
        end_sending(stream)
        await app.begun.wait()
        begun = await stream.receive()
        assert begun == b"HTTP/1.1 "
        app.goes_on.set()
        assert statuses(begun + await to_the_end(stream)) == [200, 200, 200, *last]


@pytest.mark.behaviour("listening.half_closed")
async def test_the_express_too_answers_who_closes_its_sending_side_behind_something_unreadable() -> None:
    waiting = Waiting()
    with anyio.fail_after(DEADLINE), bind_socket("127.0.0.1", 0) as listener:
        async with (
            HttpServer(App(), listener, lambda: None, waiting),
            await anyio.connect_tcp("127.0.0.1", listener.getsockname()[1]) as stream,
        ):
            await stream.send(written("echo", text="x") + b"\x00garbage")
            end_sending(stream)
            await waiting.taken.wait()
            begun = await stream.receive()
            assert begun == b"HTTP/1.1 "
            assert waiting.outlets[0].send_whole(200, b"content-length: 5\r\n", b"taken")
            assert statuses(begun + await to_the_end(stream)) == [200, 400]


@pytest.mark.behaviour("listening.half_closed")
async def test_who_goes_for_good_has_given_up_every_request() -> None:
    async with listening() as (app, connect):
        app.goes_on = anyio.Event()
        stream = await connect()
        await stream.send((POST + b"Content-Length: 2\r\n\r\nhi") * 3)
        await app.begun.wait()
        await stream.aclose()
        await app.left.wait()
        assert app.served == ["/mcp"]


@pytest.mark.behaviour("listening.rules_of_http")
@pytest.mark.parametrize(
    ("request_", "status", "told"),
    [
        (b"GET /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, b"not spoken here. Send the request as HTTP/1.1."),
        (b"GET /mcp HTTP/0.9\r\nHost: localhost\r\n\r\n", 505, b"not spoken here. Send the request as HTTP/1.1."),
        (b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", 501, b"Send the request to the gateway itself."),
        (POST + b"Expect: tea\r\nContent-Length: 2\r\n\r\nhi", 417, b"Send it with 100-continue, or not at all."),
        (POST + b"expect: 100-continue, tea\r\n\r\n", 417, b"Send it with 100-continue, or not at all."),
        (b"GET /mcp#top HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, b"Send it without what stands behind '#'."),
        (b"GET /mcp?a=1#top HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, b"Send it without what stands behind '#'."),
        (b"GET http://localhost/mcp#top HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, b"what stands behind '#'."),
        (
            b"GET ftp://localhost/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
            400,
            b"Send a path, or a whole http:// address.",
        ),
        (b"GET http://a@localhost/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, b"or a whole http:// address."),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 66_000 + b"\r\n\r\n", 431, b"Send less in its headers."),
    ],
)
async def test_what_is_not_served_is_told_so_and_its_connection_closed(
    request_: bytes, status: int, told: bytes
) -> None:
    served, said = await said_to(request_)
    assert (statuses(said), served, said.endswith(told)) == ([status], [], True)
    assert b"connection: close\r\n" in said


@pytest.mark.behaviour("listening.rules_of_http")
async def test_an_older_client_is_never_told_to_go_on_with_its_body() -> None:
    _, said = await said_to(b"POST /old HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
    assert (statuses(said), said.endswith(b"/old hi")) == ([200], True)


@pytest.mark.behaviour("listening.rules_of_http")
@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"http://localhost/mcp", "/mcp"),
        (b"HTTP://localhost:8460/a%20b?x=1", "/a b"),
        (b"https://localhost?x=1", "/"),
        (b"http://localhost", "/"),
        (b"/mcp%2f", "/mcp%2f"),
        (b"/mcp%2Fsearch", "/mcp%2Fsearch"),
        (b"/%6dcp", "/mcp"),
        (b"//localhost/mcp", "//localhost/mcp"),
    ],
)
async def test_a_target_names_one_path(target: bytes, path: str) -> None:
    served, said = await said_to(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert (statuses(said), served) == ([200], [path])
