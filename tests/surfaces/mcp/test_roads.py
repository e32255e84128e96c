"""The two roads over HTTP: what the short one serves and what it leaves to the SDK have the same answers."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from tests.surfaces.mcp.bench import Bench, returned, tool
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import ACCEPT, MODERN_META, events_of, handshake, modern, modern_headers
from tests.surfaces.mcp.workshop import BENCH, SHELVES, Workshop, open_workshop

from pegboard.core.calls.call import Arguments, CallCancellation, NeedsInput, Outcome, ProtocolErrorReply, ToolSuccess
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.providers import PeerRequestError, Progress
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.fast.response import MAX_QUEUED_EVENTS, ResponseWriter

pytestmark = pytest.mark.anyio

INPUT = {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, "requestState": "s"}
ERROR = {"code": -32042, "message": "Sign in first.", "data": {"elicitations": [{"url": "https://x.example"}]}}


async def need(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return NeedsInput(json.dumps(INPUT).encode())


async def demand(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return ProtocolErrorReply(json.dumps(ERROR).encode())


async def inquire(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    assert bench.peer is not None
    bench.peer.notify("notifications/message", {"level": "info", "data": "asking"})
    try:
        told = await bench.peer.request("elicitation/create", {"message": "Which saw?", "requestedSchema": {}})
    except PeerRequestError as refused:
        return returned(f"{refused.code} {refused.message}")
    return returned(json.dumps(told))


async def pretty(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    assert progress is not None
    progress(1, None, "writing")
    return ToolSuccess(json.dumps({"content": [{"type": "text", "text": "two\nlines"}]}, indent=2).encode())


CURIOUS = {
    **SHELVES,
    BENCH: {
        **SHELVES[BENCH],
        "need": (tool(BENCH, ToolSpec("need")), need),
        "demand": (tool(BENCH, ToolSpec("demand")), demand),
        "inquire": (tool(BENCH, ToolSpec("inquire")), inquire),
        "pretty": (tool(BENCH, ToolSpec("pretty")), pretty),
    },
}


class Roads:
    def __init__(self, workshop: Workshop, http: httpx2.AsyncClient, short: str, long: str) -> None:
        self.workshop = workshop
        self.http = http
        self.urls = {"short": short, "long": long}

    async def both(self, era: str, method: str, **params: Any) -> list[tuple[int, str, Any]]:
        """Status, kind and content of the answers by each road to this request.

        By the short one it is asked three times: by someone unknown, by someone known, and with a head that is known.
        """
        short = [await self.by("short", era, method, **params) for _ in range(3)]
        assert short == [short[0]] * 3
        return [short[0], await self.by("long", era, method, **params)]

    async def by(self, road: str, era: str, method: str, **params: Any) -> tuple[int, str, Any]:
        url = self.urls[road]
        if era == "modern":
            message = modern(method, **params)
            answer = await self.http.post(url, json=message, headers=modern_headers(message))
        else:
            message = {"jsonrpc": "2.0", "id": "é-1", "method": method, "params": params}
            answer = await self.http.post(url, json=message, headers=await handshake(self.http, url))
        kind = answer.headers["content-type"].partition(";")[0]
        return answer.status_code, kind, events_of(answer) if kind == "text/event-stream" else answer.json()


@pytest.fixture
async def roads(anyio_backend: str) -> AsyncIterator[Roads]:
    with anyio.fail_after(DEADLINE):
        async with AsyncExitStack() as stack:
            workshop = await stack.enter_async_context(open_workshop(shelves=CURIOUS))
            short = await stack.enter_async_context(served(workshop))
            long = await stack.enter_async_context(served(workshop, app=McpHttpEndpoint(workshop.gateway, short=False)))
            yield Roads(workshop, await stack.enter_async_context(httpx2.AsyncClient(timeout=DEADLINE)), short, long)


def nested(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
DEEP: list[Mapping[str, Any]] = [
    {"name": "odd", "arguments": {"deep": nested(levels)}} for levels in (150, 197, 198, 199, 200, 250)
] + [{"name": "odd", "arguments": {}, "deep": nested(levels)} for levels in (150, 198, 199, 200, 201, 250)]
CALLS: list[Mapping[str, Any]] = [
    {"name": "echo", "arguments": {"text": 'Grüße, 你好 \U0001f642  " \\ '}},
    {"name": "add", "arguments": {"a": 1, "b": 2**70}},
    {"name": "odd"},
    {"name": "odd", "arguments": None},
    {"name": "fail", "arguments": {}},
    {"name": "break_off", "arguments": {}},
    {"name": "vanish", "arguments": {}},
    {"name": "echo", "arguments": {"text": 1}},
    {"name": "echo", "arguments": []},
    {"name": "ecko", "arguments": {}},
    {"name": "", "arguments": {}},
    {"name": "demand", "arguments": {}},
    {"name": "steps", "arguments": {}},
    {"arguments": {}},
]


@pytest.mark.behaviour("mcp.out.raw_path")
@ERAS
@pytest.mark.parametrize("params", CALLS, ids=lambda params: f"{params.get('name')}-{type(params.get('arguments'))}")
async def test_a_call_has_the_same_answer_by_either_road(roads: Roads, era: str, params: Mapping[str, Any]) -> None:
    short, long = await roads.both(era, "tools/call", **params)
    assert short == long


@pytest.mark.behaviour("mcp.out.raw_path")
@ERAS
async def test_a_call_that_is_nested_deep_has_the_same_answer_by_either_road(roads: Roads, era: str) -> None:
    refused = []
    for params in DEEP:
        short, long = await roads.both(era, "tools/call", **params)
        assert short == long
        refused.append("error" in short[2])
    assert refused == [False, False, False, True, True, True, False, False, False, True, True, True]


@pytest.mark.behaviour("mcp.out.raw_path")
@ERAS
async def test_a_list_has_the_same_answer_by_either_road(roads: Roads, era: str) -> None:
    for params in ({}, {"cursor": "nonsense"}, {"cursor": None}):
        short, long = await roads.both(era, "tools/list", **params)
        assert short == long


@pytest.mark.behaviour("mcp.out.raw_path")
async def test_further_input_is_asked_for_as_the_server_asks_for_it(roads: Roads) -> None:
    short, long = await roads.both("modern", "tools/call", name="need", arguments={})
    assert short == long
    result = short[2]["result"]
    assert {key: result[key] for key in INPUT} == INPUT


@pytest.mark.behaviour("mcp.out.raw_path")
@ERAS
async def test_what_a_request_says_beside_its_call_reaches_the_provider(roads: Roads, era: str) -> None:
    beside = {"inputResponses": {"a": {"roots": []}}, "requestState": "s\n", "later": [1, {"ü": None}]}
    await roads.by("short", era, "tools/call", name="echo", arguments={"text": "hi"}, **beside)
    admitted = roads.workshop.bench.admitted
    assert admitted is not None
    told = {key: json.loads(value) for key, value in admitted.call.beside.items()}
    meta = told.pop("_meta", None)
    assert (told, meta) == (beside, MODERN_META if era == "modern" else None)
    assert admitted.call.raw == b'{"text":"hi"}'
    assert all(b"\n" not in value for value in admitted.call.beside.values())
    assert admitted.call.client == "raw 1"


async def test_of_a_member_given_twice_the_judged_one_is_passed_on(roads: Roads) -> None:
    message = modern("tools/call", name="echo", arguments={"text": "x"})
    body = json.dumps(message).replace('"text": "x"', '"text": 1, "text": "second"').encode()
    answer = await roads.http.post(roads.urls["short"], content=body, headers=modern_headers(message))
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "second"}]
    admitted = roads.workshop.bench.admitted
    assert admitted is not None
    assert admitted.call.raw == b'{"text":"second"}'


@ERAS
async def test_an_answer_over_many_lines_is_one_event(roads: Roads, era: str) -> None:
    token: dict[str, Any] = {"progressToken": "p"}
    told: dict[str, Any] = {"meta": token} if era == "modern" else {"_meta": token}
    _, kind, events = await roads.by("short", era, "tools/call", name="pretty", arguments={}, **told)
    assert (kind, [event.get("method") for event in events]) == (
        "text/event-stream",
        ["notifications/progress", None],
    )
    assert events[1]["result"]["content"] == [{"type": "text", "text": "two\nlines"}]


async def test_what_waits_for_a_slow_client_is_bounded_whatever_stands_first() -> None:
    sent: list[bytes] = []
    reads = anyio.Event()

    async def send(message: Any) -> None:
        await reads.wait()
        sent.append(message.get("body", b""))

    reply = ResponseWriter(send)
    reply.send_event(b'"question"', must=True)
    await anyio.lowlevel.checkpoint()
    for number in range(10 * MAX_QUEUED_EVENTS):
        reply.send_event(b"%d" % number)
    reply.send_event(b'"another"', must=True)
    reads.set()
    await reply.finish(b'"answer"')
    said = [event.split(b"data: ")[1].strip() for event in sent if b"data: " in event]
    newest = [b"%d" % number for number in range(9 * MAX_QUEUED_EVENTS, 10 * MAX_QUEUED_EVENTS)]
    assert said == [b'"question"', *newest, b'"another"', b'"answer"']


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
async def test_a_client_with_a_session_is_asked_on_the_stream_of_its_call(roads: Roads) -> None:
    url = roads.urls["short"]
    headers = await handshake(roads.http, url)
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "inquire"}}
    async with roads.http.stream("POST", url, json=call, headers=headers) as answer:
        events = (json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: "))
        noted = await anext(events)
        assert (noted["method"], noted["params"]["data"]) == ("notifications/message", "asking")
        asked = await anext(events)
        assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", "Which saw?")
        stranger = await handshake(roads.http, url)
        told = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"saw": "jig"}}}
        # Another session's answer is not an answer to this question.
        await roads.http.post(url, json={**told, "result": {"action": "decline"}}, headers=stranger)
        heard = await roads.http.post(url, json=told, headers=headers)
        assert (heard.status_code, heard.content) == (202, b"")
        ended = await anext(events)
    assert json.loads(ended["result"]["content"][0]["text"]) == told["result"]


async def test_an_error_in_place_of_an_answer_is_told_to_the_server_that_asked(roads: Roads) -> None:
    url = roads.urls["short"]
    headers = await handshake(roads.http, url)
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "inquire"}}
    async with roads.http.stream("POST", url, json=call, headers=headers) as answer:
        events = (json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: "))
        await anext(events)
        asked = await anext(events)
        refused = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "Not now."}}
        await roads.http.post(url, json=refused, headers=headers)
        assert (await anext(events))["result"]["content"][0]["text"] == "-1 Not now."


async def test_a_client_that_ends_its_session_answers_nothing_more(roads: Roads) -> None:
    url = roads.urls["short"]
    headers = await handshake(roads.http, url)
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "inquire"}}
    async with roads.http.stream("POST", url, json=call, headers=headers) as answer:
        events = (json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: "))
        await anext(events)
        await anext(events)
        assert (await roads.http.delete(url, headers=headers)).status_code == 200
        assert "has ended its session" in (await anext(events))["result"]["content"][0]["text"]
    gone = await roads.http.post(url, json=call, headers=headers)
    assert gone.status_code == 404


@pytest.mark.behaviour("mcp.in.cancellation")
async def test_a_call_given_up_by_a_notification_is_cancelled_and_answered(roads: Roads) -> None:
    url = roads.urls["short"]
    headers = await handshake(roads.http, url)
    call = {"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "wait"}}
    answers: list[httpx2.Response] = []

    async def post() -> None:
        answers.append(await roads.http.post(url, json=call, headers=headers))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(post)
        await roads.workshop.bench.started.wait()
        stop = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w"}}
        other = await handshake(roads.http, url)
        await roads.http.post(url, json=stop, headers=other)
        assert roads.workshop.bench.running == 1
        assert (await roads.http.post(url, json=stop, headers=headers)).status_code == 202
    assert answers[0].json()["error"]["code"] == -32800
    assert roads.workshop.bench.running == 0
    assert [record.outcome for record in roads.workshop.audit.records] == [CallCancellation()]


async def test_a_session_is_of_no_use_by_either_road_once_it_is_gone(roads: Roads) -> None:
    for url in roads.urls.values():
        headers = {**ACCEPT, "mcp-session-id": "f" * 32, "mcp-protocol-version": "2025-11-25"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "odd"}}
        assert (await roads.http.post(url, json=call, headers=headers)).status_code == 404
