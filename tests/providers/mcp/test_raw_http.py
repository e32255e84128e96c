"""Calls on HTTP connections of our own: kept, bounded, never sent twice, and never answered by another's answer."""

import asyncio
import json
from collections.abc import Callable, Mapping

import anyio
import anyio.lowlevel
import pytest
from mcp import MCPError
from tests.providers.mcp.running import KEY, PATIENCE
from tests.providers.mcp.wires import (
    EVENTS_HEAD,
    LAST_CHUNK,
    MODERN,
    SESSIONS,
    Calling,
    Heard,
    calling,
    chunk,
    event,
    whole,
)

from pegboard.core.calls.call import NeedsInput, Outcome, ToolSuccess
from pegboard.providers.mcp.errors import CONNECTION_BROKEN, HTTP_STATUS_BASE, UNUSABLE_ANSWER
from pegboard.providers.mcp.fast import connections

pytestmark = pytest.mark.anyio


def text(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess), outcome
    said = json.loads(outcome.body)["content"][0]["text"]
    assert isinstance(said, str)
    return said


async def failed(calls: Calling) -> tuple[int, str]:
    with pytest.raises(MCPError) as error:
        await calls.call()
    return error.value.code, error.value.message


async def echo(request: Heard) -> None:
    request.answer(json.dumps(request.message["params"]["arguments"]))


async def never(request: Heard) -> None:
    await request.hung_up()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with calling(echo) as calls:
        for number in range(10):
            assert text(await calls.call({"number": number})) == json.dumps({"number": number})
        assert calls.connections == [1] * 10


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    async def once(request: Heard) -> None:
        request.answer()
        request.writer.close()

    async with calling(once) as calls:
        assert text(await calls.call()) == "done"
        await until(lambda: calls.pool.size == 0)
        assert text(await calls.call()) == "done"
        assert calls.connections == [1, 2]


async def test_a_connection_that_was_idle_for_long_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with calling(echo) as calls:
        await calls.call()
        monkeypatch.setattr(connections, "_MAX_IDLE_S", 0.0)
        await calls.call()
        assert calls.connections == [1, 2]


async def test_a_call_is_never_sent_twice() -> None:
    async def hang_up(request: Heard) -> None:
        request.writer.close()

    async with calling(hang_up) as calls:
        code, why = await failed(calls)
        assert code == CONNECTION_BROKEN
        assert why.startswith("broke the connection off at http://127.0.0.1:")
        assert len(calls.heard) == 1
        assert calls.doubts == 1


BODY = b'{"jsonrpc":"2.0","id":"peg-1","result":{"content":[]}}'


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(whole(BODY, more="transfer-encoding: chunked\r\n"), id="two framings"),
        pytest.param(whole(BODY, more="content-length: 3\r\n"), id="two lengths"),
        pytest.param(whole(BODY, more="content-encoding: gzip\r\n"), id="compressed"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            id="compressed on the way",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n+5\r\nhello",
            id="a size that is none",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n", id="too long"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nx-long: " + b"x" * 200_000, id="a head without end"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", id="an upgrade"),
        pytest.param(whole(BODY.replace(b"peg-1", b"peg-2")), id="another's answer"),
        pytest.param(whole(b'{"jsonrpc":"2.0","id":"peg-1","result":'), id="half an answer"),
        pytest.param(whole(b'{"jsonrpc":"2.0","id":"peg-1","result":[]}'), id="no result"),
        pytest.param(whole(b"<html>"), id="a website"),
    ],
)
async def test_what_is_no_proper_answer_is_told_as_that_and_the_next_call_gets_its_own(response: bytes) -> None:
    async def first(request: Heard) -> None:
        if len(calls.heard) == 1:
            request.write(response)
        else:
            request.answer()

    async with calling(first) as calls:
        code, _ = await failed(calls)
        assert code == UNUSABLE_ANSWER
        assert text(await calls.call()) == "done"


@pytest.mark.parametrize("extra", [b"x", b"\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", whole(BODY)])
async def test_bytes_after_the_answer_cost_the_connection(extra: bytes) -> None:
    async def more(request: Heard) -> None:
        request.write(whole(request.result()) + extra)

    async with calling(more) as calls:
        assert text(await calls.call()) == "done"
        assert text(await calls.call()) == "done"
        assert calls.connections == [1, 2]


async def test_bytes_that_come_while_nobody_asks_cost_the_connection() -> None:
    async with calling(echo) as calls:
        await calls.call()
        calls.heard[0].write(whole(BODY))
        await until(lambda: calls.pool.size == 0)
        await calls.call()
        assert calls.connections == [1, 2]


async def test_an_answer_in_chunks_is_read_however_it_is_cut() -> None:
    async def dribble(request: Heard) -> None:
        head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        body = request.result("grüße" * 3)
        cut = b"".join(chunk(body[start : start + 7]) for start in range(0, len(body), 7))
        for byte in head + b"Transfer-Encoding: chunked\r\n\r\n" + cut + b"0\r\nx-trailer: 1\r\n\r\n":
            request.write(bytes([byte]))
            await request.writer.drain()
            await anyio.lowlevel.checkpoint()

    async with calling(dribble) as calls:
        assert text(await calls.call()) == "grüße" * 3
        assert text(await calls.call()) == "grüße" * 3
        assert calls.connections == [1, 1]


async def test_an_answer_that_lasts_until_the_connection_closes_is_an_answer() -> None:
    async def old(request: Heard) -> None:
        request.write(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + request.result())
        request.writer.close()

    async with calling(old) as calls:
        assert text(await calls.call()) == "done"
        assert text(await calls.call()) == "done"
        assert calls.connections == [1, 2]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("307 Moved", (HTTP_STATUS_BASE - 307, "answered HTTP 307: it has moved. Correct the url")),
        ("500 No", (HTTP_STATUS_BASE - 500, "answered HTTP 500: Internal Server Error")),
        ("202 Accepted", (-310001, "it only said that it took the request (HTTP 202)")),
    ],
)
async def test_a_status_is_told_in_words(status: str, expected: tuple[int, str]) -> None:
    async def refuse(request: Heard) -> None:
        request.write(whole(b"", status=status, more="location: http://localhost:9/\r\n"))

    async with calling(refuse) as calls:
        assert await failed(calls) == expected


async def test_a_long_argument_and_a_long_result_pass_whole() -> None:
    async def large(request: Heard) -> None:
        assert len(request.message["params"]["arguments"]["much"]) == 5_000_000
        request.answer("y" * 20_000_000)

    async with calling(large) as calls:
        assert text(await calls.call({"much": "x" * 5_000_000})) == "y" * 20_000_000


async def test_a_long_result_in_an_event_passes_whole() -> None:
    async def large(request: Heard) -> None:
        request.write(EVENTS_HEAD + event(request.result("y" * 20_000_000).decode()) + LAST_CHUNK)

    async with calling(large) as calls:
        assert text(await calls.call()) == "y" * 20_000_000


@pytest.mark.behaviour("mcp.in.raw_path")
async def test_what_a_caller_says_is_passed_on_as_the_bytes_it_came_in() -> None:
    async with calling(echo) as calls:
        raw = b'{"n":1.10,"big":123456789012345678901234567890,"e":"\\u00fc"}'
        await calls.call({"n": 1.1}, raw=raw, beside={"requestState": b'"s"', "inputResponses": b'{"a":{}}'})
        body = calls.heard[0].body
        assert b'"arguments":' + raw in body
        assert calls.heard[0].message["params"]["requestState"] == "s"
        assert calls.heard[0].message["params"]["inputResponses"] == {"a": {}}
        assert calls.heard[0].headers["x-peg"] == "board"


async def test_calls_of_the_same_id_from_two_clients_are_told_apart() -> None:
    both = anyio.Event()

    async def wait(request: Heard) -> None:
        if len(calls.heard) == 2:
            both.set()
        await both.wait()
        await echo(request)

    outcomes: dict[str, str] = {}
    async with calling(wait, version=SESSIONS) as calls:

        async def call(who: str) -> None:
            outcomes[who] = text(await calls.call({"who": who}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "one")
            tasks.start_soon(call, "other")
        assert outcomes == {who: json.dumps({"who": who}) for who in ("one", "other")}
        assert len({request.message["id"] for request in calls.heard}) == 2
        assert {request.headers["mcp-session-id"] for request in calls.heard} == {"session-1"}


@pytest.mark.behaviour("mcp.in.cancellation")
@pytest.mark.parametrize("version", [MODERN, SESSIONS])
async def test_giving_up_hangs_up_in_the_new_era_and_tells_the_server_in_the_old_one(version: str) -> None:
    async def wait(request: Heard) -> None:
        if request.message["method"] == "notifications/cancelled":
            request.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            return
        await request.hung_up()

    async with calling(wait, version=version) as calls:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.call)
            await until(lambda: len(calls.heard) == 1)
            tasks.cancel_scope.cancel()
        if version == SESSIONS:
            await until(lambda: len(calls.heard) == 2)
            assert calls.heard[1].message == {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": "peg-1"},
            }
            assert calls.heard[1].headers["mcp-session-id"] == "session-1"
        await until(lambda: calls.pool.size <= (version == SESSIONS))


class Tokens:
    """Credentials in the hands of a test: they are renewed to the token it names."""

    server = KEY

    def __init__(self, token: str, renewed: str) -> None:
        self.token = token
        self.renewed = renewed
        self.asked: list[tuple[Mapping[str, str] | None, str]] = []
        self.refused: list[str] = []

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def handle_unauthorized(self, sent: Mapping[str, str] | None = None, challenge: str = "") -> bool:
        self.asked.append((sent, challenge))
        self.token = self.renewed
        return True

    def mark_rejected(self, challenge: str = "") -> None:
        self.refused.append(challenge)

    def handle_forbidden(self, challenge: str) -> bool:
        return False

    def mark_lapsed(self) -> None:
        raise NotImplementedError

    async def keep_fresh(self) -> float:
        await anyio.sleep_forever()
        return 0.0


async def guard(request: Heard) -> None:
    if request.headers["authorization"] == "Bearer fresh":
        request.answer()
    else:
        request.write(whole(b"", status="401 Unauthorized", more="www-authenticate: Bearer\r\n"))


async def test_renewed_credentials_are_tried_once_after_a_401() -> None:
    tokens = Tokens("stale", "fresh")
    async with calling(guard, authorization=tokens) as calls:
        for _ in range(2):
            assert text(await calls.call()) == "done"
        sent = [request.headers["authorization"] for request in calls.heard]
        assert sent == ["Bearer stale", "Bearer fresh", "Bearer fresh"]
        assert tokens.asked == [({"Authorization": "Bearer stale"}, "Bearer")]
        assert tokens.refused == []


async def test_credentials_that_are_refused_again_are_a_person_s_turn() -> None:
    tokens = Tokens("stale", "worse")
    async with calling(guard, authorization=tokens) as calls:
        code, _ = await failed(calls)
        assert code == HTTP_STATUS_BASE - 401
        assert len(calls.heard) == 2
        assert tokens.refused == ["Bearer"]


async def test_a_result_that_asks_back_is_passed_on() -> None:
    result = b'{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}'

    async def ask(request: Heard) -> None:
        request.write(whole(b'{"jsonrpc":"2.0","id":"peg-1","result":' + result + b"}"))

    async with calling(ask) as calls:
        assert await calls.call() == NeedsInput(result)


async def test_closing_tells_those_who_wait() -> None:
    async with calling(never, most=1) as calls:
        told: list[tuple[int, str]] = []

        async def call() -> None:
            told.append(await failed(calls))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
            await until(lambda: len(calls.heard) == 1 and len(calls.tickets) == 3)
            calls.calls.close()
        assert told == [(-32000, "Connection closed")] * 3


@pytest.mark.parametrize("anyio_backend", [pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop")])
async def test_it_works_the_same_on_the_loop_the_gateway_runs_on() -> None:
    async with calling(echo, within=30) as calls:
        assert text(await calls.call({"a": "x" * 200_000})) == json.dumps({"a": "x" * 200_000})
        await asyncio.gather(*(calls.call({"number": number}) for number in range(50)))
        assert len(calls.heard) == 51
