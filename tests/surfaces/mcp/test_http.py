"""The HTTP endpoint under requests that no honest client sends: each is refused with what to do, and nothing breaks."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import MCPError
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODES, http_client, served
from tests.surfaces.mcp.raw import (
    ACCEPT,
    INITIALIZE,
    ask,
    error_of,
    events_of,
    handshake,
    modern,
    modern_headers,
    spoken,
)
from tests.surfaces.mcp.workshop import OPEN_TOOLS, Workshop, open_workshop

from pegboard.core.calls.call import CallCancellation
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = pytest.mark.anyio

DOOR = RequestChecks(
    allowed_hosts=frozenset({"Tools.Example"}),
    allowed_origins=frozenset({"https://app.example/"}),
    max_body_bytes=1_000_000,
    max_discarded_bytes=5_000_000,
)


class Endpoint:
    def __init__(self, workshop: Workshop, url: str, http: httpx2.AsyncClient) -> None:
        self.workshop = workshop
        self.url = url
        self.http = http

    async def list(self, **headers: str) -> httpx2.Response:
        return await ask(self.http, self.url, "tools/list", headers)

    async def post(self, content: bytes, headers: dict[str, str] | None = None) -> httpx2.Response:
        return await self.http.post(self.url, content=content, headers=ACCEPT if headers is None else headers)


@pytest.fixture
async def endpoint(anyio_backend: str) -> AsyncIterator[Endpoint]:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, DOOR) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            yield Endpoint(workshop, url, http)
            # Whatever was sent, the next honest request is served.
            assert (await ask(http, url, "tools/list")).status_code == 200


async def test_only_a_host_that_is_served_here_is_served(endpoint: Endpoint) -> None:
    good = ["localhost", "LOCALHOST:8460", "127.0.0.1:1", "[::1]:8460", "127.0.0.2", "tools.example:443"]
    assert [(host, (await endpoint.list(host=host)).status_code) for host in good] == [(host, 200) for host in good]
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", ""]:
        assert error_of(await endpoint.list(host=host)) == (
            421,
            INVALID_REQUEST,
            f"Host {host!r} is not served here. Use localhost or 127.0.0.1, or have the operator add the name.",
        )


async def test_only_a_page_of_this_machine_or_a_named_one_may_call(endpoint: Endpoint) -> None:
    good = ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:3000", "https://APP.example"]
    assert [(page, (await endpoint.list(origin=page)).status_code) for page in good] == [(page, 200) for page in good]
    elsewhere = ["https://evil.example", "null", "http://app.example", "https://app.example.evil", "file://localhost"]
    for page in [*elsewhere, "http://[", ""]:
        assert error_of(await endpoint.list(origin=page)) == (
            403,
            INVALID_REQUEST,
            f"Origin {page!r} may not call this gateway. Have the operator add it.",
        )


async def test_another_method_is_told_which_ones_there_are(endpoint: Endpoint) -> None:
    for method in ("PUT", "PATCH", "OPTIONS", "HEAD", "PROPFIND"):
        answer = await endpoint.http.request(method, endpoint.url, headers=ACCEPT)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST, GET, DELETE")
        if method != "HEAD":
            assert error_of(answer)[2] == f"{method} is not taken here. Use POST or GET or DELETE."
    for method in ("GET", "DELETE"):
        headers = {**ACCEPT, "mcp-protocol-version": "2026-07-28"}
        answer = await endpoint.http.request(method, endpoint.url, headers=headers)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert error_of(answer)[2] == f"{method} is not taken in this version of the protocol. Use POST."


async def test_a_body_of_the_wrong_kind_is_refused(endpoint: Endpoint) -> None:
    both = "Accept must name both kinds of answer: application/json, text/event-stream."
    packed = "Compressed requests are not taken. Send the body as it is, without Content-Encoding."
    for name, value, status, message in [
        ("content-type", "text/plain", 415, "Content-Type is 'text/plain'. Send application/json."),
        ("content-type", "", 415, "Content-Type is ''. Send application/json."),
        ("content-encoding", "gzip", 415, packed),
        ("accept", "application/json", 406, both),
        ("accept", "text/html", 406, both),
        ("accept", "", 406, both),
    ]:
        answer = await endpoint.post(json.dumps(INITIALIZE).encode(), {**ACCEPT, name: value})
        assert error_of(answer) == (status, INVALID_REQUEST, message)


def ping(argument: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + argument + b"}}"


@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28"])
async def test_a_body_that_is_no_message_is_refused_in_every_era(version: str | None, endpoint: Endpoint) -> None:
    headers = ACCEPT if version is None else {**ACCEPT, "mcp-protocol-version": version}
    for argument in (b"NaN", b"-Infinity", b"{", b"\xff", b'"\xed\xa0\x80"'):
        assert error_of(await endpoint.post(ping(argument), headers))[:2] == (400, PARSE_ERROR)
    for body, code in [
        (b"", PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b"[{}]", INVALID_REQUEST),
        (b"7", INVALID_REQUEST),
    ]:
        assert error_of(await endpoint.post(body, headers))[:2] == (400, code)
    for body in (b"{}", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":3}'):
        assert (await endpoint.post(body, headers)).status_code == 400


async def test_a_version_that_nobody_knows_is_told_which_there_are(endpoint: Endpoint) -> None:
    message = modern("tools/list", meta={"io.modelcontextprotocol/protocolVersion": "1999-01-01"})
    headers = {**modern_headers(message), "mcp-protocol-version": "1999-01-01"}
    answer = await endpoint.http.post(endpoint.url, json=message, headers=headers)
    assert (answer.status_code, answer.json()["error"]["data"]) == (
        400,
        {"supported": ["2026-07-28"], "requested": "1999-01-01"},
    )


TOO_LARGE = "The body is larger than 1000000 bytes. Send less at once, or pass a reference instead."


async def test_a_body_that_says_it_is_too_large_is_refused_and_its_connection_kept(endpoint: Endpoint) -> None:
    answer = await endpoint.post(b"x" * 1_000_001)
    assert error_of(answer) == (413, INVALID_REQUEST, TOO_LARGE)
    assert "connection" not in answer.headers


@pytest.mark.parametrize("pieces", [11, 25])
async def test_a_body_that_turns_out_too_large_is_refused_and_its_connection_kept(
    pieces: int, endpoint: Endpoint
) -> None:
    async def much() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield b" " * 100_000

    answer = await endpoint.http.post(endpoint.url, content=much(), headers=ACCEPT)
    assert error_of(answer) == (413, INVALID_REQUEST, TOO_LARGE)
    assert "connection" not in answer.headers


async def test_a_body_without_end_is_read_only_so_far(endpoint: Endpoint) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 100_000

    # The server answers and closes while the client still sends: either the answer or the closed door is seen.
    try:
        answer = await endpoint.http.post(endpoint.url, content=endless(), headers=ACCEPT)
    except httpx2.TransportError:
        return
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")


def announced(*more: str) -> bytes:
    """The head of a request whose body is yet to come."""
    lines = ["Host: localhost", *(f"{name}: {value}" for name, value in ACCEPT.items())]
    return "\r\n".join(["POST /mcp HTTP/1.1", *lines, *more, "", ""]).encode()


async def test_a_body_far_too_large_is_refused_before_it_comes(endpoint: Endpoint) -> None:
    said = await spoken(endpoint.url, announced(f"Content-Length: {DOOR.max_discarded_bytes + 1}"))
    assert (said.partition(b"\r\n")[0], TOO_LARGE.encode() in said) == (b"HTTP/1.1 413 Request Entity Too Large", True)


async def test_who_asks_before_sending_too_much_is_not_told_to_go_ahead(endpoint: Endpoint) -> None:
    said = await spoken(endpoint.url, announced("Content-Length: 1000001", "Expect: 100-continue"))
    assert (said.partition(b"\r\n")[0], TOO_LARGE.encode() in said) == (b"HTTP/1.1 413 Request Entity Too Large", True)


@pytest.mark.parametrize(
    ("length", "sent"), [("Content-Length: 100", b"{"), ("Transfer-Encoding: chunked", b"b\r\n{          \r\n")]
)
async def test_the_rest_of_a_body_that_is_too_large_is_waited_for_only_so_long(length: str, sent: bytes) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, RequestChecks(client_timeout_s=0.05, max_body_bytes=10)) as url,
        ):
            said = await spoken(url, announced(length) + sent)
            assert said.startswith(b"HTTP/1.1 413 ")
            assert b"connection: close" in said


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_with_too_much_is_told_so_and_the_session_goes_on(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, http_client(url, mode=mode) as client:
            for _ in range(2):
                with pytest.raises(MCPError) as refused:
                    await client.call_tool("echo", {"text": "x" * 12_000_000})
                assert (refused.value.code, refused.value.message) == (
                    INVALID_REQUEST,
                    "The body is larger than 10485760 bytes. Send less at once, or pass a reference instead.",
                )
                (block,) = (await client.call_tool("echo", {"text": "still here"})).content
                assert block.model_dump()["text"] == "still here"


@pytest.mark.slow
async def test_five_megabytes_of_arguments_pass_through_the_usual_door() -> None:
    text = "Grüße " * 900_000
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url:
            for mode in MODES:
                async with http_client(url, mode=mode) as client:
                    (block,) = (await client.call_tool("echo", {"text": text})).content
                    assert block.model_dump()["text"] == text


async def test_a_header_that_decides_may_come_once_only(endpoint: Endpoint) -> None:
    for twice in ("origin", "content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-name"):
        headers = [*ACCEPT.items(), (twice, "a"), (twice, "b")]
        answer = await endpoint.http.post(endpoint.url, content=b"{}", headers=headers)
        assert error_of(answer) == (
            400,
            INVALID_REQUEST,
            f"The header {twice} is given more than once. Send it once.",
        )


async def test_headers_that_are_no_ascii_are_read_or_refused_and_break_nothing(endpoint: Endpoint) -> None:
    message = modern("tools/list")
    for name, value, status in [
        (b"x-mcp-toolsets", "fîles".encode(), 400),
        (b"x-mcp-toolsets", b"f\xeeles", 400),
        (b"user-agent", "Größe 读".encode(), 200),
        (b"mcp-session-id", "sitzung-ü".encode(), 200),
        (b"x-mcp-dynamic", "ja 🙂".encode(), 400),
    ]:
        headers = [(k.encode(), v.encode()) for k, v in modern_headers(message).items()]
        answer = await endpoint.http.post(endpoint.url, json=message, headers=[*headers, (name, value)])
        assert (name, answer.status_code) == (name, status)


async def test_white_space_around_a_header_is_no_part_of_it(endpoint: Endpoint) -> None:
    message = modern("tools/call", name="echo", arguments={"text": "hi"})
    body = json.dumps(message).encode()
    headers = {**modern_headers(message), "mcp-name": " \techo \t", "host": "localhost", "connection": "close"}
    lines = [f"{name}: {value}\r\n" for name, value in {**headers, "content-length": str(len(body))}.items()]
    said = await spoken(endpoint.url, f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + body)
    assert json.loads(said.partition(b"\r\n\r\n")[2])["result"]["content"] == [{"type": "text", "text": "hi"}]


async def test_an_answer_of_the_handshake_era_is_plain_json_unless_something_comes_before_it(
    endpoint: Endpoint,
) -> None:
    session = await handshake(endpoint.http, endpoint.url)
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "steps"}}
    plain = await endpoint.http.post(endpoint.url, json=message, headers=session)
    assert (plain.headers["content-type"], plain.headers["mcp-session-id"]) == (
        "application/json",
        session["mcp-session-id"],
    )
    assert plain.json() == {
        "jsonrpc": "2.0",
        "id": 9,
        "result": {"content": [{"type": "text", "text": "nobody listens"}]},
    }
    message["params"] = {"name": "steps", "_meta": {"progressToken": "p"}}
    stream = events_of(await endpoint.http.post(endpoint.url, json=message, headers=session))
    assert [event.get("method", "answer") for event in stream] == [*["notifications/progress"] * 3, "answer"]
    assert stream[-1]["result"] == {"content": [{"type": "text", "text": "all done"}]}


async def test_a_session_that_nobody_opened_is_not_found(endpoint: Endpoint) -> None:
    headers = {**ACCEPT, "mcp-session-id": "0" * 32}
    for method in ("POST", "GET", "DELETE"):
        answer = await endpoint.http.request(method, endpoint.url, headers=headers, content=json.dumps(INITIALIZE))
        assert error_of(answer)[:2] == (404, INVALID_REQUEST)


async def test_a_session_ends_when_its_client_says_so(endpoint: Endpoint) -> None:
    session = await handshake(endpoint.http, endpoint.url)
    assert (await endpoint.http.delete(endpoint.url, headers=session)).status_code == 200
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert (await endpoint.http.post(endpoint.url, json=listing, headers=session)).status_code == 404


async def test_a_stream_that_is_to_be_resumed_is_opened_anew(endpoint: Endpoint) -> None:
    session = await handshake(endpoint.http, endpoint.url)
    async with endpoint.http.stream("GET", endpoint.url, headers={**session, "last-event-id": "7"}) as stream:
        assert (stream.status_code, stream.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")


async def test_no_more_than_the_most_sessions_are_open_and_an_idle_one_makes_room() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, RequestChecks(max_sessions=1, session_idle_s=0.05)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            session = await handshake(http, url)
            async with http.stream("GET", url, headers=session):
                # A session with an open stream is not idle.
                assert (await http.post(url, json=INITIALIZE, headers=ACCEPT)).status_code == 503
            while (await http.post(url, json=INITIALIZE, headers=ACCEPT)).status_code == 503:
                pass


async def hang_up_during(workshop: Workshop, url: str, message: dict[str, Any], headers: dict[str, str]) -> None:
    """Start this call, and drop the connection once it runs."""
    async with httpx2.AsyncClient(timeout=DEADLINE) as http, anyio.create_task_group() as tasks:

        async def call() -> None:
            await http.post(url, json=message, headers=headers)

        tasks.start_soon(call)
        await workshop.bench.started.wait()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_hangs_up_has_given_up_its_call(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            message = modern("tools/call", name="wait", arguments={})
            headers = modern_headers(message)
            if mode == LEGACY:
                message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "wait"}}
                headers = await handshake(http, url)
            await hang_up_during(workshop, url, message, headers)
            while not workshop.audit.records:
                await anyio.lowlevel.checkpoint()
            assert [record.outcome for record in workshop.audit.records] == [CallCancellation()]
            assert (workshop.bench.cancelled, workshop.bench.running) == (1, 0)


async def test_other_kinds_of_connection_are_not_served() -> None:
    async with open_workshop() as workshop:
        with pytest.raises(RuntimeError, match="HTTP requests only"):
            await McpHttpEndpoint(workshop.gateway)({"type": "websocket"}, None, None)  # type: ignore[arg-type]  # refused first


async def test_what_the_gateway_says_of_itself_is_the_same_in_both_eras() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url:
            for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
                async with http_client(url, mode=mode) as client:
                    assert client.protocol_version == version
                    assert client.server_info is not None
                    assert client.server_info.name == "pegboard"
                    assert client.server_capabilities.model_dump(exclude_none=True) == {
                        "logging": {},
                        "tools": {"list_changed": True},
                        "prompts": {"list_changed": True},
                        "resources": {"list_changed": True, "subscribe": True},
                        "completions": {},
                    }
                    assert "ask the user" in (client.instructions or "")


async def test_older_handshakes_are_met_in_their_own_version(endpoint: Endpoint) -> None:
    for version in ("2024-11-05", "2025-03-26", "2025-06-18"):
        params = {**INITIALIZE["params"], "protocolVersion": version}
        answer = await endpoint.http.post(endpoint.url, json={**INITIALIZE, "params": params}, headers=ACCEPT)
        assert answer.json()["result"]["protocolVersion"] == version


async def test_a_list_in_the_2026_era_says_how_long_it_holds_and_who_answered(endpoint: Endpoint) -> None:
    result = (await endpoint.list()).json()["result"]
    assert [tool["name"] for tool in result.pop("tools")] == OPEN_TOOLS
    server = result["_meta"].pop("io.modelcontextprotocol/serverInfo")
    assert server["name"] == "pegboard"
    assert result == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {}}
