"""Answers that break the rules mean the same over every transport: what can be understood is mended, the rest fails."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from starlette.requests import Request
from starlette.responses import Response
from tests.providers.mcp import web
from tests.providers.mcp.running import running

from pegboard.core.calls.call import Outcome, ToolSuccess
from pegboard.core.model.server import Connection, Http, Stdio, Transport
from pegboard.http_parsing import EventStreamParser
from pegboard.providers.mcp.errors import UNUSABLE_ANSWER
from pegboard.providers.mcp.fast.response import (
    RAW_ANSWER_KEY,
    RawAnswer,
    SharedStreamCalls,
    read_outcome,
    read_outcome_now,
)
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES, McpMessageReader
from pegboard.providers.mcp.results import outcome_of_result

pytestmark = pytest.mark.anyio

PEERS = Path(__file__).parent / "peers"


async def over_events(body: bytes) -> Outcome:
    """As it comes over SSE, where the session reads the stream too."""
    (event,) = EventStreamParser(MAX_MESSAGE_BYTES).feed(b"data: %b\n\n" % body)
    calls = SharedStreamCalls()
    calls.register_call(JSONRPCRequest(jsonrpc="2.0", id="1", method="tools/call"))
    found = calls.wrap_answer(event.text) or await McpMessageReader("s", lambda: True).read_message(event.text)
    assert found is not None
    message = found.message
    if isinstance(message, JSONRPCError):
        raise MCPError(message.error.code, message.error.message, message.error.data)
    assert isinstance(message, JSONRPCResponse)
    whole = message.result.get(RAW_ANSWER_KEY)
    return (
        await read_outcome(whole.body, whole.id, "s")
        if isinstance(whole, RawAnswer)
        else outcome_of_result(message.result, "s")
    )


async def over_bytes(body: bytes) -> Outcome:
    """As it comes over stdio and streamable HTTP."""
    return read_outcome_now(body, "1", "s")


@pytest.mark.behaviour("mcp.in.bad_answers_alike")
@pytest.mark.parametrize("over", [over_bytes, over_events], ids=["stdio and HTTP", "SSE"])
@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b'"result":{"content":[],"n":NaN}', ToolSuccess(b'{"content":[],"n":null}')),
        (b'"result":{"content":[],"n":-Infinity}', ToolSuccess(b'{"content":[],"n":null}')),
        (b'"result":{"content":[],"n":-1e999}', ToolSuccess(b'{"content":[],"n":-1e999}')),
        (
            b'"result":{"content":[{"type":"text","text":"a\xffb"}]}',
            ToolSuccess('{"content":[{"type":"text","text":"a\ufffdb"}]}'.encode()),
        ),
        (b'"result":{"content":[]},"error":{"code":1,"message":"x"}', "the answer has both a result and an error"),
        (b'"error":{"code":1,"message":"x"},"result":{"content":[]}', "the answer has both a result and an error"),
        (b'"error":{"code":1,"message":"x"},"result":null', "x"),
        (b'"result":{"content":[]},"error":null', ToolSuccess(b'{"content":[]}')),
    ],
    ids=[
        "not a number",
        "no number",
        "beyond every number",
        "not UTF-8",
        "both",
        "both the other way",
        "no result",
        "no error",
    ],
)
async def test_a_bad_answer_means_the_same_over_every_transport(
    over: Callable[[bytes], Awaitable[Outcome]], rest: bytes, expected: Outcome | str
) -> None:
    body = b'{"jsonrpc":"2.0","id":"1",%b}' % rest
    if isinstance(expected, str):
        with pytest.raises(MCPError) as failed:
            await over(body)
        assert (failed.value.error.code, failed.value.error.message) == (
            1 if expected == "x" else UNUSABLE_ANSWER,
            expected,
        )
    else:
        assert await over(body) == expected


AS_WRITTEN = (
    b'{"content": [], "structuredContent": {"high": 1e999, "low": -1E+999, "one": 1.0, "many": 12345678901234567890123,'
    b' "twice": 1, "twice": 2, "text": "\\u00e9\\/"}}'
)


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
@pytest.mark.behaviour("mcp.in.results_as_written")
async def test_a_result_passes_as_its_server_wrote_it(transport: str) -> None:
    async with answering(transport, AS_WRITTEN) as connection, running(connection) as watched:
        await watched.up()
        assert await watched.call("listens" if transport == "stdio" else "echo") == ToolSuccess(AS_WRITTEN)


@asynccontextmanager
async def answering(transport: str, result: bytes) -> AsyncIterator[Connection]:
    """A server that answers every call with these bytes."""

    def body(message: dict[str, Any]) -> bytes:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(message["id"]).encode(), result)

    async def at_once(request: Request, message: dict[str, Any]) -> Response | None:
        return Response(body(message), media_type="application/json") if message["method"] == "tools/call" else None

    async def on_the_stream(request: Request, message: dict[str, Any]) -> Response | None:
        if message["method"] != "tools/call":
            return None
        await events._sent.send(body(message))
        return Response(status_code=202)

    events = web.Events(on_the_stream)
    match transport:
        case "stdio":
            yield Stdio(sys.executable, (str(PEERS / "odd.py"), "--result", result.decode()))
        case "http":
            async with web.served(web.Endpoint(at_once)) as http:
                yield http
        case _:
            async with web.served(events) as http:
                yield Http(http.url, Transport.SSE)
