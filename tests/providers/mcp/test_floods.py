"""Servers that talk as fast as they can: what they cost everybody else, and what of it a client is told."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from mcp import MCPError
from mcp.shared.message import SessionMessage
from starlette.requests import Request
from tests.providers.mcp.running import KEY, PATIENCE, admitted, nothing_left, running
from tests.providers.mcp.test_raw_http import text, until
from tests.providers.mcp.test_raw_streams import CHANGED, LOG, progress
from tests.providers.mcp.web import Events, served
from tests.providers.mcp.wires import EVENTS_HEAD, LAST_CHUNK, MODERN, SESSIONS, Heard, calling, chunk, event
from tests.support.asking import AskedClient

from pegboard.core.calls.call import ToolSuccess
from pegboard.core.model.server import Connection, Http, Stdio, Transport
from pegboard.providers.mcp import in_flight as notes
from pegboard.providers.mcp import messages
from pegboard.providers.mcp import rate as pace
from pegboard.providers.mcp.fast.stdio import CallLineHandler
from pegboard.providers.mcp.http_client import McpHttpClient
from pegboard.providers.mcp.in_flight import CallsInFlight, PendingRequests
from pegboard.providers.mcp.messages import Line, McpMessageReader, OutputLineSplitter, UnsolicitedFilter
from pegboard.providers.mcp.rate import PROGRESS_BURST, REST_S, SLICE_BYTES, TurnTimer
from pegboard.providers.mcp.transports import stdio

pytestmark = pytest.mark.anyio

PEERS = Path(__file__).parent / "peers"
COMPLETE = {
    "jsonrpc": "2.0",
    "method": "notifications/elicitation/complete",
    "params": {"elicitationId": "e-1"},
}


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every slice took as long as a whole turn may take: then a turn is exactly one slice."""
    monkeypatch.setattr(pace, "TURN_S", -1.0)
    monkeypatch.setattr(pace, "REST_S", 0.0)


@asynccontextmanager
async def most_in_a_turn(count: Callable[[], int]) -> AsyncIterator[list[int]]:
    """How much the count grew between two turns of the event loop, at most; known when the block is over."""
    found = [0]

    async def look() -> None:
        before = count()
        while True:
            await asyncio.sleep(0)
            now = count()
            found[0] = max(found[0], now - before)
            before = now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        yield found
        tasks.cancel_scope.cancel()


def test_a_stream_rests_longer_after_each_turn_until_all_is_read() -> None:
    timer = TurnTimer()
    rests = [timer.rest_seconds() for _ in range(3)]
    assert rests == [REST_S, 2 * REST_S, 3 * REST_S]
    timer.reset()
    assert timer.rest_seconds() == REST_S


@pytest.mark.parametrize("version", [MODERN, SESSIONS])
@pytest.mark.usefixtures("slow_clock")
@pytest.mark.behaviour("mcp.in.floods_hold_up_nobody")
async def test_a_flood_on_the_stream_of_a_call_is_read_a_slice_in_a_turn(version: str) -> None:
    said = event(CHANGED)

    async def flood(request: Heard) -> None:
        request.write(EVENTS_HEAD)
        for _ in range(20):
            request.write(said * 500)
            await request.writer.drain()
        request.write(event(request.result().decode()) + LAST_CHUNK)

    async with calling(flood, version=version) as calls:
        async with most_in_a_turn(lambda: len(calls.forwarded)) as most:
            assert text(await calls.call()) == "done"
        assert len(calls.forwarded) == 10_000
        assert 0 < most[0] <= SLICE_BYTES // len(said) + 1
        assert text(await calls.call()) == "done"
        assert calls.connections == [1, 1]


@pytest.mark.usefixtures("slow_clock")
async def test_an_answer_in_a_million_pieces_is_read_a_slice_in_a_turn_and_whole() -> None:
    async def crumble(request: Heard) -> None:
        body = request.result("crumbs " * 20_000)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        request.write(head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + LAST_CHUNK)

    async with calling(crumble) as calls:
        assert text(await calls.call()) == "crumbs " * 20_000
        assert text(await calls.call()) == "crumbs " * 20_000
        assert calls.connections == [1, 1]


@pytest.mark.usefixtures("slow_clock")
async def test_what_comes_slices_after_an_answer_still_costs_the_connection() -> None:
    async def go_on(request: Heard) -> None:
        request.write(EVENTS_HEAD + chunk(b": hello\n\n") * 1_000 + event(request.result().decode()) + LAST_CHUNK)
        request.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsomething" * 1_000)

    async with calling(go_on) as calls:
        assert text(await calls.call()) == "done"
        assert text(await calls.call()) == "done"
        assert calls.connections == [1, 2]


@pytest.mark.usefixtures("slow_clock")
async def test_a_call_that_is_given_up_amid_a_flood_leaves_nothing_behind() -> None:
    begun = anyio.Event()

    async def flood(request: Heard) -> None:
        request.write(EVENTS_HEAD)
        begun.set()
        while True:
            request.write(chunk(b": noise\n\n") * 1_000)
            await request.writer.drain()

    async with calling(flood) as calls:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.call)
            await begun.wait()
            tasks.cancel_scope.cancel()
        await until(lambda: calls.pool.size == 0)


@pytest.mark.behaviour("mcp.in.floods_hold_up_nobody")
async def test_of_steps_faster_than_anyone_can_look_the_client_is_told_the_last() -> None:
    async def hurry(request: Heard) -> None:
        token = request.message["params"]["_meta"]["progressToken"]
        steps = b"".join(event(progress(token, step)) for step in range(1, 5_001))
        request.write(EVENTS_HEAD + steps + event(request.result().decode()) + LAST_CHUNK)

    told: list[float] = []
    async with calling(hurry) as calls:
        assert text(await calls.call(progress=lambda done, *_: told.append(done))) == "done"
    assert told[:PROGRESS_BURST] == list(range(1, PROGRESS_BURST + 1))
    assert told[-1] == 5_000
    assert told == sorted(set(told))
    assert len(told) < 2_500


@pytest.mark.behaviour("mcp.in.floods_hold_up_nobody")
async def test_log_messages_beyond_a_pace_are_dropped_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.providers.mcp.in_flight.LOG_BURST", 3)
    monkeypatch.setattr("pegboard.providers.mcp.in_flight.LOG_RATE_PER_S", 0.001)

    async def babble(request: Heard) -> None:
        request.write(EVENTS_HEAD + event(LOG) * 1_000 + event(COMPLETE))
        request.write(event(request.result().decode()) + LAST_CHUNK)

    client = AskedClient()
    async with calling(babble) as calls:
        for _ in range(2):
            assert text(await calls.call(peer=client)) == "done"
    log = ("notifications/message", LOG["params"])
    assert client.noted == [log, log, log, (COMPLETE["method"], COMPLETE["params"])] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "A server sends more log messages than the 0.001 a second that a client is told. Further ones are dropped."
    ]


@pytest.mark.parametrize("transport", ["sse", "stdio"])
@pytest.mark.behaviour("mcp.in.log_floods_are_cheap")
async def test_of_thousands_of_log_messages_in_a_call_only_those_that_are_told_are_read(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.providers.mcp.in_flight.LOG_BURST", 3)
    monkeypatch.setattr("pegboard.providers.mcp.in_flight.LOG_RATE_PER_S", 0.001)
    read: list[bytes] = []
    built: list[Line] = []

    def read_note(line: bytes) -> notes._LogNotification:
        read.append(line)
        return msgspec.json.decode(line, type=notes._LogNotification)

    def build(line: Line) -> SessionMessage | None:
        built.append(line)
        return message_of(line)

    message_of = messages.parse_message
    monkeypatch.setattr(notes, "_decode_notification", read_note)
    client = AskedClient()
    async with chattering(transport, 5_000) as connection, running(connection) as watched:
        await watched.up()
        monkeypatch.setattr(messages, "parse_message", build)
        with anyio.fail_after(PATIENCE):
            outcome = await watched.provider.call(admitted("chatter", {"times": 5_000}), None, client)
    assert isinstance(outcome, ToolSuccess)
    assert client.noted == [("notifications/message", LOG["params"])] * 3
    assert (len(read), len(built)) == (3, 0)


@asynccontextmanager
async def chattering(transport: str, times: int) -> AsyncIterator[Connection]:
    """A server whose tool writes so many log messages before it answers."""
    if transport == "stdio":
        yield Stdio(sys.executable, (str(PEERS / "restless.py"),))
        return

    async def chatter(request: Request, message: dict[str, Any]) -> None:
        if message["method"] == "tools/call":
            for _ in range(times):
                await events._sent.send(json.dumps(LOG).encode())

    events = Events(chatter)
    async with served(events) as http:
        yield Http(http.url, Transport.SSE)


@pytest.mark.usefixtures("slow_clock")
@pytest.mark.behaviour("mcp.in.floods_hold_up_nobody")
async def test_a_flood_on_standard_output_is_read_a_line_in_a_turn() -> None:
    lines: list[bytes] = []

    class Counting(McpMessageReader):
        async def read_message(self, line: object) -> SessionMessage | None:
            lines.append(b"")
            return None

    arriving, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    with arriving, read, write, leaving:
        async with most_in_a_turn(lambda: len(lines)) as most:
            noise = OutputLineSplitter().feed(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 1_000)
            taking = CallLineHandler(PendingRequests(CallsInFlight(str(KEY))))
            counting = Counting("A server", lambda: False)
            assert (
                await stdio._deliver_messages(
                    noise, taking, TurnTimer(), UnsolicitedFilter(), counting, arriving, leaving
                )
                == 1_000
            )
    assert most == [1]


@pytest.mark.usefixtures("slow_clock")
@pytest.mark.behaviour("mcp.in.floods_hold_up_nobody")
async def test_a_flood_on_any_other_event_stream_is_read_a_slice_in_a_turn() -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(EVENTS_HEAD + chunk(b": noise\n\n" * 10_000) * 4 + LAST_CHUNK)
        await writer.drain()
        writer.close()

    size = 0
    async with nothing_left():
        listener = await asyncio.start_server(flood, "127.0.0.1", 0)
        async with listener, McpHttpClient({}, lambda: None) as client, most_in_a_turn(lambda: size) as most:
            url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
            async with client.stream("GET", url) as response:
                async for part in response.aiter_raw():
                    size += len(part)
    assert size == 360_000
    assert 0 < most[0] <= SLICE_BYTES


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_trailers_without_end_cost_the_call_of_their_server_and_no_memory(kind: str) -> None:
    async def trail(request: Heard) -> None:
        if len(calls.heard) > 1:
            request.answer()
            return
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
        request.write(head.encode() + chunk(b" ") + b"0\r\nx-trailer: ")
        while True:
            request.write(b"a" * 65_536)
            await request.writer.drain()

    async with calling(trail) as calls:
        with pytest.raises(MCPError, match="its headers are longer than 64 KiB"):
            await calls.call()
        assert text(await calls.call()) == "done"
        assert calls.connections == [1, 2]
