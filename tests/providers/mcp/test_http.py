"""Servers over HTTP: statuses, sessions, broken connections, and what is said about each."""

import json
import os
import signal
import socket
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from tests.providers.mcp.running import Watched, running, server
from tests.providers.mcp.web import Endpoint, answer, served
from tests.servers import peers

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.server import Http, Transport
from pegboard.providers.mcp import http_client
from pegboard.providers.mcp.fast import connections as exchange
from pegboard.providers.mcp.http_client import McpHttpClient, tls_context

pytestmark = pytest.mark.anyio


async def forever(seconds: float) -> None:
    await anyio.sleep_forever()


def said(outcome: Outcome) -> object:
    assert isinstance(outcome, ToolSuccess), outcome
    return json.loads(json.loads(outcome.body)["content"][0]["text"])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert isinstance(port, int)
        return port


async def lost(watched: Watched) -> None:
    await watched.until(lambda listing: not isinstance(listing.health, ProviderUp))


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (401, "answered HTTP 401: needs sign-in. Check the credentials in its headers"),
        (403, "answered HTTP 403: the credentials in its headers do not suffice"),
        (429, "answered HTTP 429: too many requests"),
        (500, "answered HTTP 500: Internal Server Error"),
        (599, "answered HTTP 599"),
    ],
)
@pytest.mark.parametrize("transport", list(Transport))
async def test_a_status_is_told_in_words(status: int, why: str, transport: Transport) -> None:
    async with (
        served(Endpoint(status=status)) as http,
        running(Http(http.url, transport), sleep=forever) as watched,
    ):
        assert (await watched.down()).why == why


@pytest.mark.parametrize("transport", list(Transport))
async def test_a_machine_that_does_not_listen_is_named_without_the_rest_of_its_address(transport: Transport) -> None:
    port = free_port()
    declared = Http(f"http://me:pa55word@127.0.0.1:{port}/mcp?key=s3cr3t", transport)
    async with running(declared, sleep=forever) as watched:
        why = (await watched.down()).why
        assert why.startswith(f"cannot be reached at http://127.0.0.1:{port}: ")
        assert "s3cr3t" not in why
        assert "pa55word" not in why


async def test_a_machine_that_is_silent_is_not_waited_for() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        declared = server(Http(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"), start=0.5)
        async with running(declared, sleep=forever) as watched:
            assert (await watched.down()).why == "did not answer within 0.5 s"


async def test_a_website_is_no_server() -> None:
    async def page(request: Request, message: dict[str, Any]) -> Response:
        return Response("<html>", media_type="text/html")

    async with served(Endpoint(page)) as http, running(http, sleep=forever) as watched:
        why = (await watched.down()).why
        assert why.startswith('answered with an error: "Unexpected content type: text/html')


async def test_a_server_that_moved_to_another_machine_is_not_followed() -> None:
    async def moved(request: Request, message: dict[str, Any]) -> Response:
        return RedirectResponse("http://localhost:9/elsewhere?key=1", status_code=307)

    async with served(Endpoint(moved)) as http, running(http, sleep=forever) as watched:
        why = (await watched.down()).why
        assert "Redirect to http://localhost:9/elsewhere not followed" in why


async def test_a_path_that_wants_a_slash_is_followed() -> None:
    async def slash(request: Request, message: dict[str, Any]) -> Response | None:
        return RedirectResponse("/mcp/", status_code=307) if request.url.path == "/mcp" else None

    endpoint = Endpoint(slash)
    async with served(endpoint) as http, running(http) as watched:
        await watched.up()
        assert said(await watched.call("echo", a=1)) == {"a": 1}
    assert "notifications/initialized" in endpoint.methods()


@pytest.mark.behaviour("mcp.in.one_http_client")
async def test_calls_one_after_the_other_use_one_connection_of_one_client() -> None:
    endpoint = Endpoint()
    async with served(endpoint) as http, running(http) as watched:
        await watched.up()
        endpoint.requests.clear()
        for number in range(10):
            assert said(await watched.call("echo", number=number)) == {"number": number}
        clients = {request.client for request in endpoint.requests if request.method == "POST"}
        assert len(clients) == 1


async def test_all_clients_share_one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    first = tls_context()
    monkeypatch.setattr(httpx2, "create_ssl_context", None)
    async with McpHttpClient({}, lambda: None), McpHttpClient({}, lambda: None):
        assert tls_context() is first


@pytest.mark.behaviour("mcp.in.headers")
async def test_the_declared_headers_come_with_every_request_whatever_it_is_for() -> None:
    endpoint = Endpoint()
    async with served(endpoint) as http, running(Http(http.url, headers={"X-Peg": "${PEG}"}), expand=peg) as watched:
        await watched.up()
        await endpoint.listening.wait()
        await watched.call("echo")
    assert {request.method for request in endpoint.requests} == {"POST", "GET", "DELETE"}
    assert {request.headers["x-peg"] for request in endpoint.requests} == {"board"}


def peg(text: str) -> str:
    return text.replace("${PEG}", "board")


async def test_a_session_is_ended_when_the_provider_stops_and_when_it_restarts() -> None:
    endpoint = Endpoint()
    async with served(endpoint) as http:
        async with running(http) as watched:
            first = await watched.up()
            watched.provider.restart()
            await watched.until(lambda listing: isinstance(listing.health, ProviderUp) and listing is not first)
        assert endpoint.ended == ["session-1", "session-2"]


@pytest.mark.behaviour("mcp.in.list_changed")
async def test_a_change_told_on_the_stream_of_a_session_is_listed() -> None:
    endpoint = Endpoint()
    async with served(endpoint) as http, running(http) as watched:
        await watched.up()
        await endpoint.listening.wait()
        endpoint.tools.append("added")
        endpoint.changed.set()
        await watched.until(lambda listing: [tool.id.name for tool in listing.tools] == ["echo", "added"])


async def test_a_forgotten_session_costs_one_call_that_did_not_run_and_a_new_one_is_opened() -> None:
    endpoint = Endpoint()
    async with served(endpoint) as http, running(http) as watched:
        await watched.up()
        endpoint.sessions[0] = "forgotten"
        assert await watched.call("echo") == ProviderFailure(
            "dev~peer answered HTTP 404: it has forgotten our session", may_have_run=False
        )
        await lost(watched)
        await watched.up()
        assert said(await watched.call("echo", again=True)) == {"again": True}


async def test_one_call_that_breaks_the_server_costs_no_other_call() -> None:
    both = anyio.Event()

    async def sometimes(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] == "tools/call" and message["params"]["name"] == "bad":
            both.set()
            return Response("Traceback …", status_code=500)
        if message["method"] == "tools/call":
            await both.wait()
        return None

    outcomes: dict[str, Outcome] = {}
    async with served(Endpoint(sometimes)) as http, running(http) as watched:
        await watched.up()

        async def call(name: str) -> None:
            outcomes[name] = await watched.call(name, of=name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "good")
            tasks.start_soon(call, "bad")
        assert said(outcomes["good"]) == {"of": "good"}
        assert outcomes["bad"] == ProviderFailure("dev~peer answered HTTP 500: Internal Server Error", True)
        assert isinstance(watched.provider.listing().health, ProviderUp)


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
async def test_an_answer_cut_in_the_middle_costs_no_other_call(media_type: str) -> None:
    both = anyio.Event()

    async def pieces(message: dict[str, Any]) -> Any:
        yield b'{"jsonrpc":' if media_type == "application/json" else b"data: {\n"
        both.set()
        raise ConnectionResetError("cut by the test")

    async def cut(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] == "tools/call" and message["params"]["name"] == "cut":
            return StreamingResponse(pieces(message), media_type=media_type)
        if message["method"] == "tools/call":
            await both.wait()
        return None

    outcomes: dict[str, Outcome] = {}
    async with served(Endpoint(cut)) as http, running(http) as watched:
        await watched.up()

        async def call(name: str) -> None:
            outcomes[name] = await watched.call(name, of=name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "good")
            tasks.start_soon(call, "cut")
        assert said(outcomes["good"]) == {"of": "good"}
        failed = outcomes["cut"]
        assert isinstance(failed, ProviderFailure)
        assert failed.may_have_run
        assert isinstance(watched.provider.listing().health, ProviderUp)


async def test_the_server_s_own_error_is_told_with_its_code_whatever_the_status() -> None:
    async def refuse(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] != "tools/call":
            return None
        error = {"code": -32602, "message": "a must be positive"}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error}, status_code=400)

    async with served(Endpoint(refuse)) as http, running(http) as watched:
        await watched.up()
        assert await watched.call("echo") == ProviderFailure(
            "dev~peer answered with the error -32602: a must be positive",
            True,
            b'{"code":-32602,"message":"a must be positive"}',
        )


@pytest.mark.behaviour("supervision.recovers")
async def test_a_server_that_went_away_is_noticed_by_the_next_call_and_found_again_when_it_is_back() -> None:
    port = free_port()
    async with running(Http(f"http://127.0.0.1:{port}/mcp"), chance=lambda: 0.2) as watched:
        async with served(Endpoint(), port):
            listing = await watched.up()
        outcome = await watched.call("echo")
        assert isinstance(outcome, ProviderFailure)
        assert not outcome.may_have_run
        await lost(watched)
        assert watched.provider.listing().tools == listing.tools
        async with served(Endpoint(), port):
            await watched.up()
            assert said(await watched.call("echo", back=True)) == {"back": True}


async def test_a_notice_that_nobody_takes_holds_up_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "_NOTIFICATION_TIMEOUT_S", 0.2)
    never = anyio.Event()

    async def deaf(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] == "notifications/cancelled" or message.get("params", {}).get("name") == "slow":
            with anyio.move_on_after(30):
                await never.wait()
        return None

    endpoint = Endpoint(deaf)
    async with served(endpoint) as http, running(server(http, call=1)) as watched:
        await watched.up()
        assert await watched.call("slow") == ProviderFailure("dev~peer did not answer within 1 s", may_have_run=True)
        assert said(await watched.call("echo", a=1)) == {"a": 1}
        assert "notifications/cancelled" in endpoint.methods()
        never.set()


async def test_an_answer_as_large_as_memory_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_MESSAGE_BYTES", 100_000)

    async def endless() -> Any:
        while True:
            yield b" " * 65_536
            await anyio.lowlevel.checkpoint()

    async def large(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] != "tools/call" or message["params"]["name"] != "large":
            return None
        return StreamingResponse(endless(), media_type="application/json")

    async with served(Endpoint(large)) as http, running(http) as watched:
        await watched.up()
        assert await watched.call("large") == ProviderFailure(
            "dev~peer answered, but the answer is longer than 64 MiB", may_have_run=True
        )
        assert said(await watched.call("echo", a=1)) == {"a": 1}


async def test_an_answer_in_events_is_read_like_any_other() -> None:
    async def events(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] != "tools/call":
            return None
        whole = bytes(answer(message, {"content": [{"type": "text", "text": '"from events"'}]}).body)
        return Response(b"event: message\ndata: " + whole + b"\n\n", media_type="text/event-stream")

    async with served(Endpoint(events)) as http, running(http) as watched:
        await watched.up()
        assert said(await watched.call("echo")) == "from events"


async def test_arguments_that_a_tool_wants_in_headers_are_sent_there_too_in_the_new_era() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    async def modern(request: Request, message: dict[str, Any]) -> Response | None:
        match message:
            case {"method": "server/discover"}:
                opening = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                return answer(message, opening | FRESH)
            case {"method": "tools/list"}:
                return answer(message, {"tools": [{"name": "größe", "inputSchema": schema}]} | FRESH)
            case {"method": "tools/call"}:
                told = {name: value for name, value in request.headers.items() if name.startswith("mcp-")}
                return answer(message, {"content": [{"type": "text", "text": json.dumps(told)}]} | FRESH)
        return None

    endpoint = Endpoint(modern)
    async with served(endpoint) as http, running(http) as watched:
        await watched.up()
        assert said(await watched.call("größe", region="nørd", other=1)) == {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
            "mcp-param-region": "=?base64?bsO4cmQ=?=",
        }
        meta = endpoint.messages[-1]["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "pegboard"
    assert endpoint.methods() == ["server/discover", "tools/list", "tools/call"]


async def test_a_list_that_makes_the_transport_fall_over_is_told_as_what_it_was_and_the_server_recovers() -> None:
    async def packed(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] != "tools/list" or endpoint.methods().count("tools/list") != 2:
            return None
        return Response(b"no gzip", headers={"content-encoding": "gzip"}, media_type="application/json")

    endpoint = Endpoint(packed)
    async with served(endpoint) as http, running(http, chance=lambda: 0.05) as watched:
        await watched.up()
        await endpoint.listening.wait()
        endpoint.changed.set()
        assert (await watched.down()).why == "sent an answer whose compression cannot be undone"
        await watched.up()
        assert said(await watched.call("echo", a=1)) == {"a": 1}


FRESH: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


@pytest.mark.behaviour("supervision.killed_mid_call")
async def test_a_server_killed_in_a_call_ends_the_call_and_is_down() -> None:
    async with peers.http() as url, running(Http(url), sleep=forever) as watched:
        await watched.up()
        whoami = await watched.call("whoami")
        assert isinstance(whoami, ToolSuccess)
        asleep = anyio.Event()
        outcomes: list[Outcome] = []

        async def call() -> None:
            outcomes.append(await watched.call("sleepy", seconds=600, progress=lambda *_: asleep.set()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await asleep.wait()
            os.kill(json.loads(whoami.body)["structuredContent"]["pid"], signal.SIGKILL)
        assert outcomes == [ProviderFailure("dev~peer closed the connection before it answered", may_have_run=True)]
        assert (await watched.down()).why.startswith("cannot be reached at http://127.0.0.1:")
