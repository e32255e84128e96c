"""A client that reads slowly, or not at all, holds up nobody but itself and makes nothing grow."""

import json
import socket
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from tests.surfaces.mcp.bench import Bench, returned, tool
from tests.surfaces.mcp.places import DEADLINE, http_client, served
from tests.surfaces.mcp.raw import ask, handshake, modern, modern_headers
from tests.surfaces.mcp.workshop import BENCH, SHELVES, open_workshop

from pegboard.core.calls.call import Arguments, CallCancellation, Outcome, ToolSuccess
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.providers import Progress
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.request_checks import RequestChecks
from pegboard.surfaces.mcp.session import MAX_QUEUED, open_progress_reporter

pytestmark = pytest.mark.anyio
WORDS = "x" * 100_000


async def chatter(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    """Tells far more than the buffers of a connection hold; with `forever`, until it is given up."""
    assert progress is not None
    bench.started.set()
    number = 0
    while number < 500 or arguments.get("forever"):
        progress(number, None, WORDS)
        number += 1
        await anyio.lowlevel.checkpoint()
    return returned("said")


CHATTY = {**SHELVES, BENCH: {**SHELVES[BENCH], "chatter": (tool(BENCH, ToolSpec("chatter")), chatter)}}
ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])


async def call_of_chatter(
    http: httpx2.AsyncClient, url: str, era: str, **arguments: Any
) -> tuple[dict[str, str], dict[str, Any]]:
    if era == "modern":
        message = modern("tools/call", name="chatter", arguments=arguments, meta={"progressToken": 1})
        return modern_headers(message), message
    params = {"name": "chatter", "arguments": arguments, "_meta": {"progressToken": 1}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await handshake(http, url), message


async def silent_reader(url: str, headers: dict[str, str], message: object) -> socket.socket:
    """Sends this request over a connection with a small window, and never reads."""
    port = httpx2.URL(url).port
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}\r\n" for name, value in {**headers, "content-length": str(len(body))}.items()]
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await anyio.to_thread.run_sync(reader.connect, ("127.0.0.1", port))
    reader.sendall(f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{''.join(lines)}\r\n".encode() + body)
    return reader


@pytest.mark.behaviour("supervision.slow_reader")
@ERAS
async def test_a_call_whose_client_does_not_read_ends_and_others_are_served_meanwhile(era: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(shelves=CHATTY) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
            http_client(url) as other,
        ):
            headers, message = await call_of_chatter(http, url, era)
            with await silent_reader(url, headers, message):
                while not any(record.call.name == "chatter" for record in workshop.audit.records):
                    (block,) = (await other.call_tool("echo", {"text": "hi"})).content
                    assert block.model_dump()["text"] == "hi"
                ended = [record.outcome for record in workshop.audit.records if record.call.name == "chatter"]
                assert [type(how) for how in ended] == [ToolSuccess]
            assert (await ask(http, url, "tools/list")).status_code == 200


@pytest.mark.behaviour("supervision.slow_reader")
@ERAS
async def test_a_client_that_does_not_read_is_let_go_after_a_while_and_its_call_given_up(era: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(shelves=CHATTY) as workshop,
            served(workshop, RequestChecks(client_timeout_s=0.05)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            headers, message = await call_of_chatter(http, url, era, forever=True)
            with await silent_reader(url, headers, message):
                await workshop.bench.started.wait()
                while not workshop.audit.records:
                    await anyio.lowlevel.checkpoint()
            assert [record.outcome for record in workshop.audit.records] == [CallCancellation()]
            assert (workshop.bench.cancelled, workshop.bench.running) == (1, 0)


async def test_progress_that_waits_for_a_slow_client_is_bounded_and_the_newest_is_kept() -> None:
    heard: list[float] = []
    reading = anyio.Event()

    async def report(done: float, total: float | None, words: str | None) -> None:
        await reading.wait()
        heard.append(done)

    with anyio.fail_after(DEADLINE):
        async with open_progress_reporter(report) as tell:
            for number in range(100_000):
                tell(number, None, None)
            tell(float("nan"), None, None)
            reading.set()
        tell(100_000, None, None)
    assert len(heard) <= MAX_QUEUED + 1
    assert (heard[-1], heard == sorted(heard)) == (99_999, True)


async def test_a_stream_of_changes_that_is_not_read_is_closed_and_others_still_hear() -> None:
    """The connection takes the head of the answer and the first event, then nothing more."""
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            app = McpHttpEndpoint(workshop.gateway, RequestChecks(client_timeout_s=0.05))
            async with served(workshop, app=app) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
                session = await handshake(http, url)
                opened = anyio.Event()
                sent: list[str] = []

                async def send(message: object) -> None:
                    assert isinstance(message, dict)
                    sent.append(message["type"])
                    opened.set()
                    if len(sent) > 1:
                        await anyio.sleep_forever()

                async def receive() -> dict[str, object]:
                    await anyio.sleep_forever()
                    raise AssertionError("unreachable")

                headers = [(name.encode(), value.encode()) for name, value in {**session, "host": "localhost"}.items()]
                scope = {"type": "http", "method": "GET", "path": "/mcp", "query_string": b"", "headers": headers}
                async with http_client(url, mode="2026-07-28") as other, anyio.create_task_group() as tasks:
                    tasks.start_soon(app, scope, receive, send)
                    await opened.wait()
                    async with other.listen(tools_list_changed=True) as subscription:
                        workshop.bench.grow()
                        await anext(subscription)
                # The task ended by itself: the group would not have closed otherwise.
                assert sent[:2] == ["http.response.start", "http.response.body"]
