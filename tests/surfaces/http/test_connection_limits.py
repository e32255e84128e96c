"""Connections that wait give way to newer ones, so nobody fills a gateway without a token."""

import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send
from tests.surfaces.http.test_listen import whole

from pegboard.surfaces.http import protocol as connection
from pegboard.surfaces.http.limits import ConnectionLimits, max_connections, network_of
from pegboard.surfaces.http.server import HttpServer, bind_socket

pytestmark = pytest.mark.anyio
ASK = b"GET /here HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_HEAD = b"GET /slow HTTP/1.1\r\nHost: loc"
HALF_BODY = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345"


@asynccontextmanager
async def listening(limits: ConnectionLimits, app: object = whole) -> AsyncIterator[int]:
    with anyio.fail_after(60), bind_socket("127.0.0.1", 0) as listener:
        async with HttpServer(app, listener, lambda: None, None, limits):  # type: ignore[arg-type]  # an application
            yield listener.getsockname()[1]


async def rest_of(stream: SocketStream) -> bytes:
    """All that comes until the connection is closed."""
    said = b""
    try:
        while True:
            said += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return said


async def asked(port: int) -> bytes:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(ASK)
        return await stream.receive()


@pytest.mark.behaviour("http.connections_are_bounded")
@pytest.mark.parametrize(("sent", "told"), [(b"", b""), (HALF_HEAD, b"408"), (HALF_BODY, b"408")])
async def test_who_waits_longest_gives_way_and_whoever_asks_is_served(sent: bytes, told: bytes) -> None:
    async def patient(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await whole(scope, receive, send)

    # Clients leave first: a gateway that ends waits for requests that have begun.
    async with listening(ConnectionLimits(5), patient) as port, AsyncExitStack() as stack:
        waiting = []
        for _ in range(20):
            stream = await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
            if sent:
                await stream.send(sent)
            waiting.append(stream)
            assert (await asked(port)).endswith(b"/here")
        for stream in waiting[:14]:
            said = await rest_of(stream)
            assert said.startswith(b"HTTP/1.1 " + told) if told else said == b""
            assert not told or b"Use fewer, and send requests whole." in said


@pytest.mark.behaviour("http.connections_are_bounded")
async def test_one_that_is_being_answered_never_gives_way_and_a_new_one_is_refused_politely() -> None:
    begun, may_end = anyio.Semaphore(0), anyio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        await may_end.wait()
        await whole(scope, receive, send)

    async with AsyncExitStack() as stack, listening(ConnectionLimits(1, total=2), slow) as port:
        busy = []
        for _ in range(2):
            busy.append(await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port)))
            await busy[-1].send(ASK)
            await begun.acquire()
        async with await anyio.connect_tcp("127.0.0.1", port) as third:
            refused = await rest_of(third)
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert refused.endswith(b"Try again in a moment.")
        may_end.set()
        for stream in busy:
            assert (await stream.receive()).endswith(b"/here")
        # They wait now, so there is room again.
        assert (await asked(port)).endswith(b"/here")


@pytest.mark.behaviour("http.connections_are_bounded")
async def test_one_address_does_not_push_out_another() -> None:
    class Waiting:
        def __init__(self, address: str, heard_at: float) -> None:
            self.address, self.last_received_at, self.is_closed = address, heard_at, False

        def is_waiting(self) -> bool:
            return True

        def evict(self) -> None:
            self.is_closed = True

    limits = ConnectionLimits(100, total=6)
    honest = Waiting("192.0.2.1", 0.0)
    flood = [Waiting("192.0.2.2", float(number)) for number in range(1, 21)]
    assert all(limits.admit(each) for each in (honest, *flood))
    assert [each.is_closed for each in flood] == [True] * 15 + [False] * 5
    assert not honest.is_closed
    for each in (honest, *flood):
        limits.remove(each)
    assert limits.admit(Waiting("192.0.2.3", 0.0))


@pytest.mark.behaviour("http.connections_are_bounded")
def test_a_quarter_of_the_descriptors_stays_free(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for soft in (100, 300, 1024, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        found[soft] = max_connections()
    assert found == {100: 36, 300: 225, 1024: 768, resource.RLIM_INFINITY: 100_000}


def test_the_addresses_of_one_ipv6_network_count_as_one() -> None:
    assert network_of("2001:db8:1:2::3") == network_of("2001:db8:1:2:ffff::9") != network_of("2001:db8:1:3::3")
    assert network_of("127.0.0.1") == "127.0.0.1"
    assert network_of("") == ""


def test_who_sends_nothing_or_half_a_head_is_not_waited_for_long() -> None:
    assert (connection.FIRST_REQUEST_TIMEOUT_S, connection.HEAD_TIMEOUT_S) <= (20.0, 10.0)
