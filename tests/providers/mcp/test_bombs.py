"""Messages of very many small values: refused by their bytes, before anything is built from them."""

import gzip
import json
import threading
from collections.abc import AsyncIterator
from typing import Any, NoReturn, cast

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from starlette.requests import Request
from starlette.responses import Response
from tests.providers.mcp.running import KEY, running
from tests.providers.mcp.web import OPENING, Endpoint, Events, answer, listed, served

from pegboard.core.calls.call import ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import ListingProblem
from pegboard.core.model.server import Http, Transport
from pegboard.core.resources.requests import ResourceFailure, ResourceMethod, ResourceResult, RoutedRequest
from pegboard.memory import large_value_count
from pegboard.providers.mcp import discovery as listing
from pegboard.providers.mcp import messages
from pegboard.providers.mcp.connection import McpConnection
from pegboard.providers.mcp.errors import UNUSABLE_ANSWER
from pegboard.providers.mcp.fast.response import read_outcome_now
from pegboard.providers.mcp.messages import (
    LARGE_MESSAGE_BYTES,
    MAX_MESSAGE_VALUES,
    MAX_ON_LOOP_BYTES,
    TOO_MANY_VALUES_MESSAGE,
    LargeMessageExchange,
    McpMessageReader,
    parse_message,
)

pytestmark = pytest.mark.anyio

BOMB = b"[" + b",".join([b"{}"] * (MAX_MESSAGE_VALUES // 2)) + b"]"
MANY = "é" * MAX_ON_LOOP_BYTES
REFUSED = "answered, but the answer holds more than 500,000 values, counting each list and object"


def refusal(id: int | str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=UNUSABLE_ANSWER, message=TOO_MANY_VALUES_MESSAGE))


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"result":{"x":' + BOMB + b"}}",
        b'{"result":{"x":' + BOMB + b'},"id":7,"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"","data":' + BOMB + b"}}",
        b'{"jsonrpc":"2.0","id":7,"result":{"x":' + BOMB + b', "y": NaN}}',
    ],
    ids=["result", "id last", "error", "no JSON"],
)
@pytest.mark.behaviour("speed.answers_are_bounded")
def test_of_an_answer_of_too_many_values_nothing_is_built(line: bytes) -> None:
    before = large_value_count()
    found = parse_message(line)
    assert found is not None
    assert found.message == refusal(7)
    assert large_value_count() == before


@pytest.mark.behaviour("speed.answers_are_bounded")
def test_a_list_of_ten_thousand_tools_is_no_bomb() -> None:
    properties = {f"argument_{number}": {"type": "string", "description": "what it is for"} for number in range(8)}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    hints = {"readOnlyHint": True, "title": "A tool"}
    tools = [
        {"name": f"tool_{number}", "description": "Does it.", "inputSchema": schema, "annotations": hints}
        for number in range(10_000)
    ]
    found = parse_message(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).encode())
    assert found is not None
    assert found.message == JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": tools})


def test_a_large_message_is_read_as_a_small_one() -> None:
    for said in (
        {"jsonrpc": "2.0", "id": "a", "result": {"text": MANY, "n": [1, 2.5, -3, 2**70, True, None]}},
        {"jsonrpc": "2.0", "id": 3, "error": {"code": -1, "message": MANY, "data": [MANY]}},
        {"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": MANY}},
        {"jsonrpc": "2.0", "id": 5, "method": "ask", "params": {"text": MANY}},
    ):
        line = json.dumps(said, ensure_ascii=False).encode()
        found = parse_message(line)
        assert found is not None
        assert found.message == jsonrpc_message_adapter.validate_json(line, by_name=False)


@pytest.mark.behaviour("speed.answers_are_bounded")
async def test_a_large_answer_that_nobody_waits_for_is_dropped_unread_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reader = McpMessageReader("The server", lambda: False, lambda id: id == 1)
    before = large_value_count()
    filler = b'{"x":"' + b"y" * LARGE_MESSAGE_BYTES + b'"}'
    assert await reader.read_message(b'{"jsonrpc":"2.0","id":424242,"result":{"x":' + BOMB + b"}}") is None
    assert await reader.read_message(b'{"result":' + filler + b',"id":"424242","jsonrpc":"2.0"}') is None
    assert (large_value_count(), reader.unsolicited_count) == (before, 2)
    assert await reader.read_message(b'{"result":' + filler + b',"id":1,"jsonrpc":"2.0"}') is not None
    assert caplog.messages == [
        "The server sent an answer longer than 64 KiB that nobody waits for. It was dropped unread, and so is every "
        "further one."
    ]


@pytest.mark.parametrize("member", [b'"isError":', b'"resultType":"complete","x":'])
def test_the_result_of_a_call_is_looked_at_and_its_values_are_not_built(member: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":"1","result":{"content":[],' + member + BOMB + b"}}"
    assert isinstance(read_outcome_now(body, "1", "dev~peer"), ToolSuccess)


def raw(message: dict[str, Any], result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + json.dumps(message["id"]).encode() + b',"result":' + result + b"}"


def tools_with(member: bytes) -> bytes:
    return b'{"tools":[{"name":"echo","inputSchema":{"type":"object"},"_meta":{"x/y":' + member + b"}}]}"


WAYS = ("json", "gzip", "events", "sse")


def endpoint(way: str, method: str, result: bytes, name: str = "") -> Endpoint | Events:
    """A server that answers this one method with this text."""

    async def answered(request: Request, message: dict[str, Any]) -> Response | None:
        if message.get("method") == "initialize" and method == "resources/read":
            opening = {**OPENING, "capabilities": {"tools": {}, "resources": {}}}
            assert isinstance(web, Endpoint)
            web.sessions.append("session")
            return answer(message, opening, {"mcp-session-id": "session"})
        if message.get("method", "").startswith("resources/") and message["method"] != method:
            return answer(message, {"resources": [], "resourceTemplates": []})
        if message.get("method") != method or (name and message["params"].get("name") != name):
            return None
        body = raw(message, result)
        if isinstance(web, Events):
            web.say(Response(body))
            return Response(status_code=202)
        if way == "gzip":
            return Response(
                gzip.compress(body, 1), headers={"content-type": "application/json", "content-encoding": "gzip"}
            )
        if way == "events":
            said = b"event: message\r\nid: 1\r\ndata: " + body + b"\r\n\r\n"
            return Response(b": hello\n\n" + said, headers={"content-type": "text/event-stream"})
        return Response(body, headers={"content-type": "application/json"})

    web: Endpoint | Events = Events(answered) if way == "sse" else Endpoint(answered)
    return web


def over(way: str, http: Http) -> Http:
    return Http(http.url, Transport.SSE) if way == "sse" else http


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.behaviour("speed.answers_are_bounded")
async def test_a_list_of_too_many_values_costs_its_own_server_and_its_health_says_why(way: str) -> None:
    before = large_value_count()
    async with served(endpoint(way, "tools/list", tools_with(BOMB))) as http, running(over(way, http)) as watched:
        assert (await watched.down()).why == REFUSED
    assert large_value_count() == before


@pytest.mark.parametrize("way", WAYS)
async def test_a_large_list_of_a_sane_kind_is_read(way: str) -> None:
    text = json.dumps(MANY, ensure_ascii=False).encode()
    async with served(endpoint(way, "tools/list", tools_with(text))) as http, running(over(way, http)) as watched:
        listing = await watched.up()
        assert [(tool.id.name, dict(tool.extra)) for tool in listing.tools] == [("echo", {"_meta": {"x/y": MANY}})]
        assert isinstance(await watched.call("echo"), ToolSuccess)


@pytest.mark.behaviour("speed.answers_are_bounded")
async def test_the_result_of_a_call_over_sse_passes_as_text_too_and_its_values_are_not_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(line: bytes) -> NoReturn:
        raise AssertionError("The values of a result were built.")

    result = b'{"content":[],"x":' + BOMB + b"}"
    async with served(endpoint("sse", "tools/call", result, "bomb")) as http, running(over("sse", http)) as watched:
        await watched.up()
        monkeypatch.setattr(messages, "_parse_large", build)
        assert await watched.call("bomb") == ToolSuccess(result)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (10, ResourceResult({"contents": [{}] * 10})),
        (
            100_001,
            ResourceFailure(
                "dev~peer answered resources/read with more than 100,000 values, counting each list and object. Ask "
                "for less, or for one long text"
            ),
        ),
        (MAX_MESSAGE_VALUES, ResourceFailure(f"dev~peer {REFUSED}")),
    ],
)
@pytest.mark.behaviour("speed.answers_are_bounded")
async def test_what_is_read_of_a_server_has_no_more_values_than_can_be_passed_on_at_once(
    values: int, expected: ResourceResult | ResourceFailure
) -> None:
    result = b'{"contents":[' + b",".join([b"{}"] * values) + b"]}"
    async with served(endpoint("json", "resources/read", result)) as http, running(http) as watched:
        await watched.up()
        directed = RoutedRequest(KEY, ResourceMethod.READ, {"uri": "a://b"})
        assert await watched.provider.resources.request(directed) == expected
        assert isinstance(await watched.call("echo"), ToolSuccess)


def test_a_tool_of_very_many_values_is_a_flaw_and_the_others_stay() -> None:
    large: Json = {"name": "large", "inputSchema": {"type": "object"}, "_meta": {"x": [{}] * 50_000}}
    small: Json = {"name": "small", "inputSchema": {"type": "object"}}
    found = listing.parse_tools([large, small], KEY)
    assert [tool.id.name for tool in found.tools] == ["small"]
    assert found.problems == (
        ListingProblem("large", "has a definition of more than 50,000 values, counting each list and object"),
    )


@pytest.mark.behaviour("speed.large_messages_off_the_loop")
async def test_a_list_is_read_beside_the_event_loop_and_its_pages_are_bounded_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "MAX_LIST_VALUES", 12)
    threads: set[int] = set()

    def seen(*arguments: Any, **more: Any) -> listing.ToolListResult:
        threads.add(threading.get_ident())
        return read(*arguments, **more)

    read = listing.parse_tools
    monkeypatch.setattr(listing, "parse_tools", seen)

    class Paging:
        is_modern = False

        async def list_page(self, cursor: str | None) -> dict[str, Json]:
            return {**listed(f"tool_{cursor}"), "nextCursor": f"{cursor}+"}

    found = await listing.list_tools(cast(McpConnection, Paging()), KEY)
    assert [tool.id.name for tool in found.tools] == ["tool_None", "tool_None+"]
    assert found.problems == (ListingProblem("the list", "has more than 12 values: the page with them is left out"),)
    assert threads.isdisjoint({threading.get_ident()})


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1_000, 65_536, 10_000_000])
async def test_large_events_pass_the_sdk_as_small_ones_however_they_are_cut(end: bytes, size: int) -> None:
    large = LargeMessageExchange("The server")
    large.register_request(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": MANY}}).encode()
    unasked = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"text": MANY}}).encode()
    small = [b"id: 1", b'data: {"jsonrpc":"2.0","method":"notifications/a"}', b""]
    first, _, second = asked.partition(b" ")
    lines = (*small, b"data: " + unasked, b"", b"event: message", b"id: 2", b"data:" + first, b"data:" + second, b"")
    stream = b"".join(line + end for line in (*lines, *small)) + b"data: cut off"

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(stream), size):
            yield stream[start : start + size]

    passed = b"".join([piece async for piece in large.replace_events(chunks())])
    assert len(passed) < 1_000
    told = [json.loads(line[5:]) for line in passed.splitlines() if line.startswith(b"data: {")]
    note = {"jsonrpc": "2.0", "method": "notifications/a"}
    assert [told[0], told[2]] == [note, note]
    assert len(told) == 3
    assert [line for line in passed.splitlines() if line.startswith(b"id")] == [b"id: 1", b"id: 2", b"id: 1"]
    assert passed.endswith(b"data: cut off")
    arrived = SessionMessage(jsonrpc_message_adapter.validate_python(told[1], by_name=False))
    assert large.restore(arrived).message == JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": MANY})
    assert large.restore(arrived).message == arrived.message, "it is given out once"


@pytest.mark.behaviour("speed.answers_are_bounded")
async def test_while_a_bomb_is_refused_the_event_loop_turns() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"x":[' + b",".join([BOMB] * 8) + b"]}}"
    turns = 0

    async def beat() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        found = await McpMessageReader("The server", lambda: False).read_message(line)
        tasks.cancel_scope.cancel()
    assert found is not None
    assert found.message == refusal(1)
    assert turns > 3
