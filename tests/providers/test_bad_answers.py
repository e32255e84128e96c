"""Answers that break the rules mean the same over every transport: what can be understood is mended, the rest fails."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest
from mcp import MCPError
from mcp_types import JSONRPCError, JSONRPCResponse

from pegboard.core.call import Outcome, Returned
from pegboard.providers.mcp.answers import outcome
from pegboard.providers.mcp.messages import Reader
from pegboard.providers.mcp.raw.reply import read_now
from pegboard.providers.mcp.trouble import NONSENSE

pytestmark = pytest.mark.anyio


async def over_events(body: bytes) -> Outcome:
    """As the answer comes in the events of the SSE transport."""
    request = httpx2.Request("GET", "http://localhost/sse")
    kind = {"content-type": "text/event-stream"}
    response = httpx2.Response(200, headers=kind, content=b"data: %b\n\n" % body, request=request)
    events = [event async for event in httpx2.EventSource(response)]
    found = await Reader("s", lambda: True).message(events[0].data.encode("utf-8", "surrogatepass"))
    assert found is not None
    message = found.message
    if isinstance(message, JSONRPCError):
        raise MCPError(message.error.code, message.error.message, message.error.data)
    assert isinstance(message, JSONRPCResponse)
    return outcome(message.result, "s")


async def over_bytes(body: bytes) -> Outcome:
    """As it comes over stdio and streamable HTTP."""
    return read_now(body, "1", "s")


@pytest.mark.behaviour("mcp.in.bad_answers_alike")
@pytest.mark.parametrize("over", [over_bytes, over_events], ids=["stdio and HTTP", "SSE"])
@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b'"result":{"content":[],"n":NaN}', Returned(b'{"content":[],"n":null}')),
        (
            b'"result":{"content":[{"type":"text","text":"a\xffb"}]}',
            Returned('{"content":[{"type":"text","text":"a\ufffdb"}]}'.encode()),
        ),
        (b'"result":{"content":[]},"error":{"code":1,"message":"x"}', "the answer has both a result and an error"),
        (b'"error":{"code":1,"message":"x"},"result":{"content":[]}', "the answer has both a result and an error"),
        (b'"error":{"code":1,"message":"x"},"result":null', "x"),
        (b'"result":{"content":[]},"error":null', Returned(b'{"content":[]}')),
    ],
    ids=["not a number", "not UTF-8", "both", "both the other way", "no result", "no error"],
)
async def test_a_bad_answer_means_the_same_over_every_transport(
    over: Callable[[bytes], Awaitable[Outcome]], rest: bytes, expected: Outcome | str
) -> None:
    body = b'{"jsonrpc":"2.0","id":"1",%b}' % rest
    if isinstance(expected, str):
        with pytest.raises(MCPError) as failed:
            await over(body)
        assert (failed.value.error.code, failed.value.error.message) == (1 if expected == "x" else NONSENSE, expected)
    else:
        assert await over(body) == expected
