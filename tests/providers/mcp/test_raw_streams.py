"""Answers that come as event streams: progress, words and questions on the way, and streams that end too early."""

import json
import math
import random
from typing import Any

import anyio
import pytest
from mcp import MCPError
from tests.providers.mcp.test_raw_http import text, until
from tests.providers.mcp.wires import EVENTS_HEAD, LAST_CHUNK, MODERN, SESSIONS, Heard, calling, chunk, event, whole
from tests.support.asking import AskedClient

from pegboard.core.json.values import JsonObject
from pegboard.http_parsing import EventStreamParser, EventTooLargeError, ServerSentEvent
from pegboard.ports.providers import PeerRequestError
from pegboard.providers.mcp.fast import connections as exchange
from pegboard.providers.mcp.fast import http
from pegboard.providers.mcp.in_flight import CallsInFlight, PendingRequests
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES

pytestmark = pytest.mark.anyio

ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
ASK: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {"message": "colour?"}}
LOG: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "notifications/message",
    "params": {"level": "info", "data": "half way"},
}
CHANGED: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def progress(token: object, done: float) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": token, "progress": done, "total": 1, "message": "on"},
    }


@pytest.mark.parametrize("version", [MODERN, SESSIONS])
@pytest.mark.behaviour("mcp.in.raw_path")
async def test_what_is_said_on_the_way_reaches_the_caller_before_the_answer(version: str) -> None:
    async def talk(request: Heard) -> None:
        token = request.message["params"]["_meta"]["progressToken"]
        request.write(EVENTS_HEAD + chunk(b": hello\n\n") + event(progress(token, 0.5)) + event(LOG) + event(CHANGED))
        request.write(event(progress("a stranger's", 0.9)) + event(progress(token, 1)))
        request.write(event(request.result().decode()) + LAST_CHUNK)

    told: list[tuple[float, float | None, str | None]] = []
    client = AskedClient()
    async with calling(talk, version=version) as calls:
        for _ in range(2):
            said = {"_meta": b'{"progressToken":"the client\'s own","com.example/a":1}'}
            assert text(await calls.call(beside=said, progress=lambda *step: told.append(step), peer=client)) == "done"
        assert told == [(0.5, 1, "on"), (1, 1, "on")] * 2
        assert client.noted == [("notifications/message", LOG["params"])] * 2
        assert [json.loads(text) for text in calls.forwarded] == [CHANGED, progress("a stranger's", 0.9)] * 2
        assert calls.heard[0].message["params"]["_meta"]["com.example/a"] == 1
        assert calls.connections == [1, 1]


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize(
    ("client", "reply"),
    [
        (AskedClient({"action": "accept"}), {"jsonrpc": "2.0", "id": 7, "result": {"action": "accept"}}),
        (
            AskedClient(PeerRequestError(-32000, "gone")),
            {"jsonrpc": "2.0", "id": 7, "error": {"code": -32000, "message": "gone"}},
        ),
        (
            None,
            {
                "jsonrpc": "2.0",
                "id": 7,
                "error": {"code": -32601, "message": "Whoever made this call cannot be asked anything."},
            },
        ),
    ],
)
async def test_a_question_on_the_stream_is_put_to_the_caller_and_answered_in_the_session(
    client: AskedClient | None, reply: JsonObject
) -> None:
    answered = anyio.Event()

    async def ask(request: Heard) -> None:
        if "method" not in request.message:
            request.write(ACCEPTED)
            answered.set()
            return
        request.write(EVENTS_HEAD + event(ASK))
        await answered.wait()
        request.write(event(request.result().decode()) + LAST_CHUNK)

    async with calling(ask, version=SESSIONS) as calls:
        assert text(await calls.call(peer=client)) == "done"
        assert calls.heard[1].message == reply
        assert calls.heard[1].headers["mcp-session-id"] == "session-1"
        if client is not None:
            assert client.asked == [("elicitation/create", {"message": "colour?"})]


async def test_a_ping_is_answered_by_ourselves_and_an_unknown_question_as_unknown() -> None:
    answers: list[Any] = []
    both = anyio.Event()

    async def ask(request: Heard) -> None:
        if "method" not in request.message:
            request.write(ACCEPTED)
            answers.append(request.message)
            if len(answers) == 2:
                both.set()
            return
        odd = {"jsonrpc": "2.0", "id": "b", "method": "shell/run", "params": {}}
        request.write(EVENTS_HEAD + event({"jsonrpc": "2.0", "id": "a", "method": "ping"}) + event(odd))
        await both.wait()
        request.write(event(request.result().decode()) + LAST_CHUNK)

    async with calling(ask, version=SESSIONS) as calls:
        assert text(await calls.call(peer=AskedClient())) == "done"
    found = {answer["id"]: answer.get("result", answer.get("error", {}).get("code")) for answer in answers}
    assert found == {"a": {}, "b": -32601}


@pytest.mark.parametrize("way", ["cancelled", "withdrawn"])
async def test_a_question_is_over_with_its_call_or_when_the_server_takes_it_back(way: str) -> None:
    client = AskedClient()
    withdrawn = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}

    async def ask(request: Heard) -> None:
        if request.message.get("method") != "tools/call":
            request.write(ACCEPTED)
            return
        request.write(EVENTS_HEAD + event(ASK))
        await client.was_asked.wait()
        if way == "withdrawn":
            request.write(event(withdrawn) + event(request.result().decode()) + LAST_CHUNK)

    async with calling(ask, version=SESSIONS) as calls:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await calls.call(peer=client)

            tasks.start_soon(call)
            await client.was_asked.wait()
            if way == "cancelled":
                tasks.cancel_scope.cancel()
        with anyio.fail_after(20):
            await client.given_up.wait()


async def test_the_time_of_a_call_stands_still_while_its_client_is_asked() -> None:
    client = AskedClient()
    tickets = PendingRequests(CallsInFlight(), timeout_s=100)
    ticket = tickets.begin(None, client)
    before = ticket.deadline
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tickets.in_flight.ask, "elicitation/create", {"message": "?"}, ticket)
        await client.was_asked.wait()
        assert ticket.deadline == math.inf
        tasks.cancel_scope.cancel()
    assert before <= ticket.deadline < math.inf
    tickets.fail_all(ValueError)


async def test_progress_makes_the_time_of_a_call_count_anew_but_not_for_ever() -> None:
    tickets = PendingRequests(CallsInFlight(), timeout_s=100)
    ticket = tickets.begin()
    ticket.deadline -= 50
    tickets.extend_deadline(ticket)
    assert ticket.deadline > ticket.final_deadline - 1_000 + 99
    ticket.final_deadline = 0
    tickets.extend_deadline(ticket)
    assert ticket.deadline == 0
    tickets.fail_all(ValueError)


async def test_a_stream_that_ended_too_early_is_resumed_from_its_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MIN_RETRY_PAUSE_S", 0.01)

    async def polled(request: Heard) -> None:
        if request.method == "POST":
            request.write(EVENTS_HEAD + event("", id="e-1", retry=10) + LAST_CHUNK)
            return
        match request.headers["last-event-id"]:
            case "e-1":
                request.write(EVENTS_HEAD + event(progress("peg-1", 0.5), id="e-2"))
                request.writer.close()
            case "e-2":
                request.write(EVENTS_HEAD + event(calls.heard[0].result().decode(), id="e-3") + LAST_CHUNK)

    told: list[float] = []
    async with calling(polled, version=SESSIONS) as calls:
        assert text(await calls.call(progress=lambda done, *_: told.append(done))) == "done"
        assert told == [0.5]
        assert [request.method for request in calls.heard] == ["POST", "GET", "GET"]
        assert {request.headers["mcp-session-id"] for request in calls.heard} == {"session-1"}


@pytest.mark.parametrize("version", [MODERN, SESSIONS])
@pytest.mark.parametrize("id", [None, "e-1"])
async def test_a_stream_that_cannot_be_resumed_may_have_run(
    version: str, id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_RETRY_PAUSE_S", 0.0)
    monkeypatch.setattr(http, "_MIN_RETRY_PAUSE_S", 0.01)

    async def cut(request: Heard) -> None:
        if request.method == "POST":
            request.write(EVENTS_HEAD + event(LOG, id=id) + LAST_CHUNK)
        else:
            request.write(whole(b"", status="405 Not Here"))

    async with calling(cut, version=version) as calls:
        with pytest.raises(MCPError, match="SSE stream ended") as error:
            await calls.call()
        assert error.value.code == -32000
        resumed = version == SESSIONS and id is not None
        assert [request.method for request in calls.heard] == ["POST", *(["GET", "GET"] if resumed else [])]


async def test_a_stream_that_stays_open_after_the_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LINGER_TIMEOUT_S", 0.05)

    async def stay(request: Heard) -> None:
        request.write(EVENTS_HEAD + event(request.result().decode()))
        await request.hung_up()

    async with calling(stay) as calls:
        assert text(await calls.call()) == "done"
        await until(lambda: calls.pool.size == 0)
        assert text(await calls.call()) == "done"


async def test_an_event_larger_than_any_message_ends_its_call() -> None:
    async def endless(request: Heard) -> None:
        request.write(EVENTS_HEAD)
        if len(calls.heard) == 1:
            for _ in range(70):
                request.write(chunk(b"data: " + b"x" * 1_000_000))
                await request.writer.drain()
        else:
            request.write(event(request.result().decode()) + LAST_CHUNK)

    async with calling(endless) as calls:
        with pytest.raises(MCPError, match="the answer is longer than 64 MiB"):
            await calls.call()
        assert text(await calls.call()) == "done"


STREAM = (
    "\ufeffid: 1\ndata: a\ndata:b\n\n: comment\r\nevent: other\r\ndata: größe\r\n\r\n"
    "retry: 20\rdata:x\r\r\nid\n\ndata\n\nid: 3\n\n"
)


def test_events_come_out_the_same_however_they_were_cut() -> None:
    chance = random.Random(7)
    content = STREAM.encode()
    for _ in range(300):
        events, found, rest = EventStreamParser(MAX_MESSAGE_BYTES), [], content
        while rest:
            size = chance.randint(1, 9)
            found += events.feed(rest[:size])
            rest = rest[size:]
        assert found == [
            ServerSentEvent(b"message", b"a\nb"),
            ServerSentEvent(b"other", "größe".encode()),
            ServerSentEvent(b"message", b"x"),
        ]
        assert (events.last_event_id, events.retry_s) == (b"3", 0.02)


def test_an_event_is_bounded_and_comments_are_not() -> None:
    events = EventStreamParser(100)
    for _ in range(100):
        assert events.feed(b": still here\n") == []
    assert events.feed(b"data: " + b"x" * 80 + b"\n\n") == [ServerSentEvent(b"message", b"x" * 80)]
    events.feed(b"data: " + b"x" * 80 + b"\n")
    with pytest.raises(EventTooLargeError):
        events.feed(b"data: " + b"x" * 80 + b"\n")
