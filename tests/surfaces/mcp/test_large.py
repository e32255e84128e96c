"""Large requests: read beside the event loop, so that other clients go on, or refused."""

import json
import threading

import anyio
import anyio.from_thread
import httpx2
import pytest
from mcp_types import INVALID_PARAMS, JSONRPCRequest
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODES, served
from tests.surfaces.mcp.raw import ACCEPT, INITIALIZE, ask, error_of, handshake, modern, modern_headers
from tests.surfaces.mcp.workshop import open_workshop

from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.fast import endpoint as road
from pegboard.surfaces.mcp.fast.calls import DecodedArguments, decode_arguments
from pegboard.surfaces.mcp.fast.messages import MAX_META_BYTES
from pegboard.surfaces.mcp.stdio import BadLine, parse_line

pytestmark = pytest.mark.anyio

MANY = {"text": "x", "more": {f"key-{number}": number for number in range(100_000)}}


async def call(http: httpx2.AsyncClient, url: str, mode: str, meta: dict[str, object] | None = None) -> httpx2.Response:
    if mode != LEGACY:
        message = modern("tools/call", meta=meta, name="odd", arguments=MANY)
        return await http.post(url, json=message, headers=modern_headers(message))
    params = {"name": "odd", "arguments": MANY, **({} if meta is None else {"_meta": meta})}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await http.post(url, json=message, headers=await handshake(http, url))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.behaviour("speed.large_messages_off_the_loop")
async def test_while_large_arguments_are_read_other_calls_are_answered(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, read = anyio.Event(), threading.Event()

    def slowly(raw: bytes) -> DecodedArguments:
        anyio.from_thread.run_sync(reading.set)
        assert read.wait(DEADLINE)
        return decode_arguments(raw)

    monkeypatch.setattr(road, "decode_large_arguments", slowly)
    found: list[httpx2.Response] = []
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
            anyio.create_task_group() as tasks,
        ):

            async def call_large() -> None:
                found.append(await call(http, url, mode))

            tasks.start_soon(call_large)
            await reading.wait()
            answer = await ask(http, url, "tools/call", name="get_file", arguments={})
            assert answer.status_code == 200
            assert not found
            read.set()
        assert found[0].status_code == 200
        assert workshop.audit.records[-1].call.arguments == MANY
        assert json.loads(workshop.audit.records[-1].call.raw or b"") == MANY


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("short", [True, False])
async def test_a_request_that_says_too_much_about_itself_is_refused_by_either_road(mode: str, short: bool) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, app=McpHttpEndpoint(workshop.gateway, short=short)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            answer = await call(http, url, mode, {"example.org/a": "x" * MAX_META_BYTES})
            assert error_of(answer) == (
                400,
                INVALID_PARAMS,
                "The _meta of the request is larger than 262144 bytes. Send less there: what is large belongs into "
                "arguments.",
            )
            assert workshop.audit.records == []
            assert (await call(http, url, mode, {"example.org/a": "x" * (MAX_META_BYTES // 2)})).status_code == 200


MANY_VALUES = b'{"a":[' + b",".join([b"[1]"] * 500_001) + b"]}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("short", [True, False])
@pytest.mark.behaviour("speed.values_are_bounded")
async def test_a_request_of_very_many_values_is_refused_by_either_road_before_it_is_read(
    mode: str, short: bool
) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, app=McpHttpEndpoint(workshop.gateway, short=short)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            message = modern("tools/call", name="odd", arguments={})
            headers = modern_headers(message) if mode != LEGACY else await handshake(http, url)
            body = json.dumps(message).encode().replace(b'"arguments": {}', b'"arguments": ' + MANY_VALUES)
            answer = await http.post(url, content=body, headers={"content-type": "application/json", **headers})
            assert error_of(answer) == (
                413,
                INVALID_PARAMS,
                "The body has more than 1000000 values, counting each list and object. Send less at once, send what is "
                "large as one text, or have the operator raise gateway.max_values in pegboard.yaml.",
            )
            assert workshop.audit.records == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "a,b,[1],{}" * 500_000},
        {"rows": [{"id": number, "name": f"row {number}", "price": 1.5, "tags": ["a"]} for number in range(50_000)]},
    ],
    ids=["a long text", "a table of 50,000 rows"],
)
@pytest.mark.behaviour("speed.values_are_bounded")
async def test_large_arguments_of_a_sane_kind_pass(arguments: dict[str, object]) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            answer = await ask(http, url, "tools/call", name="odd", arguments=arguments)
            assert answer.status_code == 200
            assert workshop.audit.records[-1].call.arguments == arguments


OPENING = {
    **INITIALIZE,
    "id": 7,
    "params": {**INITIALIZE["params"], "capabilities": {"experimental": {"x": {"y": []}}}},
}
OPENED_TOO_WIDE = (
    "The params of initialize are larger than 65536 bytes, and capabilities and clientInfo are kept for as long as the "
    "session lasts. Send shorter ones."
)


def opening(values: int) -> bytes:
    return json.dumps(OPENING).encode().replace(b'"y": []', b'"y": [' + b",".join([b"{}"] * values) + b"]")


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.behaviour("speed.openings_are_bounded")
async def test_who_says_too_much_about_itself_gets_no_session(short: bool) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            app = McpHttpEndpoint(workshop.gateway, short=short)
            async with served(workshop, app=app) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
                refused = await http.post(url, content=opening(30_000), headers=ACCEPT)
                error = {"code": INVALID_PARAMS, "message": OPENED_TOO_WIDE}
                assert (refused.status_code, refused.json()) == (200, {"jsonrpc": "2.0", "id": 7, "error": error})
                assert "mcp-session-id" not in refused.headers
                taken = await http.post(url, content=opening(20_000), headers=ACCEPT)
                assert (taken.status_code, "mcp-session-id" in taken.headers) == (200, True)


@pytest.mark.behaviour("speed.openings_are_bounded")
def test_over_a_pipe_no_more_is_taken() -> None:
    refused = parse_line(opening(30_000))
    assert isinstance(refused, BadLine)
    assert (refused.error.id, refused.error.error.code, refused.error.error.message) == (
        7,
        INVALID_PARAMS,
        OPENED_TOO_WIDE,
    )
    assert isinstance(parse_line(opening(20_000)), JSONRPCRequest)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["prompts/get", "resources/read", "completion/complete", "no/such/method"])
@pytest.mark.behaviour("speed.values_are_bounded")
async def test_other_requests_than_calls_have_a_tenth_of_the_values(mode: str, method: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            message = modern(method, name="odd", uri="a://b", arguments={})
            headers = modern_headers(message) if mode != LEGACY else await handshake(http, url)
            many = b",".join([b"{}"] * 50_000)
            body = json.dumps(message).encode().replace(b'"arguments": {}', b'"arguments": {"a": [' + many + b"]}")
            answer = await http.post(url, content=body, headers={"content-type": "application/json", **headers})
            status, code, why = error_of(answer)
            assert (status, code) == (413, INVALID_PARAMS)
            assert why.startswith(f"The request {method!r} has more than 100000 values, ")
            assert "gateway.max_values" in why
            assert answer.json()["id"] == 1


def test_over_a_pipe_a_request_has_no_more_values_than_over_http() -> None:
    line = json.dumps(modern("tools/call", name="odd", arguments={})).encode()
    refused = parse_line(line.replace(b'"arguments": {}', b'"arguments": ' + MANY_VALUES))
    assert isinstance(refused, BadLine)
    assert refused.error.error.message.startswith("The request 'tools/call' has more than 1000000 values")
