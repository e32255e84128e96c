"""The older HTTP transport: one stream for all that arrives, and what happens when a part of it breaks."""

from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from tests.providers.mcp.running import running, server
from tests.providers.mcp.web import Endpoint, Events, served

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.server import Http, Transport

pytestmark = pytest.mark.anyio


async def forever(seconds: float) -> None:
    await anyio.sleep_forever()


def over_sse(http: Http) -> Http:
    return Http(http.url, Transport.SSE)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (500, ProviderFailure("dev~peer answered HTTP 500: Internal Server Error", may_have_run=True)),
        (413, ProviderFailure("dev~peer answered HTTP 413: Request Entity Too Large", may_have_run=False)),
    ],
)
async def test_a_message_the_server_does_not_take_costs_its_own_call_alone(status: int, expected: Outcome) -> None:
    async def refuse(request: Request, message: dict[str, Any]) -> Response | None:
        return Response(status_code=status) if message.get("params", {}).get("name") == "bad" else None

    async with served(Events(refuse)) as http, running(over_sse(http)) as watched:
        await watched.up()
        assert await watched.call("bad") == expected
        assert isinstance(await watched.call("echo"), ToolSuccess)


async def test_the_server_s_own_error_in_a_refusal_is_told_with_its_code() -> None:
    async def refuse(request: Request, message: dict[str, Any]) -> Response | None:
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no such tool"}}
        return JSONResponse(error, status_code=400) if message["method"] == "tools/call" else None

    async with served(Events(refuse)) as http, running(over_sse(http)) as watched:
        await watched.up()
        assert await watched.call("echo") == ProviderFailure(
            "dev~peer answered with the error -32602: no such tool", True, b'{"code":-32602,"message":"no such tool"}'
        )


async def test_a_stream_that_ends_in_a_call_ends_the_call_and_is_opened_again() -> None:
    async def hang_up(request: Request, message: dict[str, Any]) -> Response | None:
        if message.get("params", {}).get("name") != "last":
            return None
        events.hang_up()
        return Response(status_code=202)

    events = Events(hang_up)
    async with served(events) as http, running(over_sse(http), chance=lambda: 0.1) as watched:
        await watched.up()
        assert await watched.call("last") == ProviderFailure(
            "dev~peer closed the event stream before it answered", may_have_run=True
        )
        assert (await watched.down()).why == "closed the event stream"
        await watched.up()
        assert isinstance(await watched.call("echo"), ToolSuccess)


async def test_a_server_that_takes_its_time_to_accept_one_message_takes_others_meanwhile() -> None:
    accepted = anyio.Event()

    async def slow(request: Request, message: dict[str, Any]) -> Response | None:
        if message.get("params", {}).get("name") == "slow":
            await accepted.wait()
        return None

    outcomes: list[Outcome] = []
    async with served(Events(slow)) as http, running(over_sse(http)) as watched:
        await watched.up()

        async def call() -> None:
            outcomes.append(await watched.call("slow"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            assert isinstance(await watched.call("echo"), ToolSuccess)
            assert outcomes == []
            accepted.set()
        assert isinstance(outcomes[0], ToolSuccess)
        assert isinstance(watched.provider.listing().health, ProviderUp)


async def test_messages_are_not_sent_to_a_machine_that_the_operator_did_not_name() -> None:
    async with (
        served(Events(endpoint="http://localhost:9/messages")) as http,
        running(over_sse(http), sleep=forever) as watched,
    ):
        assert (await watched.down()).why == "wants its messages at another machine than the one we were told to ask"


NO_ENDPOINT = (
    "does not speak SSE: it named no endpoint. A server of streamable HTTP needs transport: http; else check the url"
)


@pytest.mark.behaviour("mcp.in.wrong_transport_is_told")
async def test_a_stream_that_names_no_endpoint_is_not_waited_for() -> None:
    async with served(Endpoint()) as http, running(server(over_sse(http), start=0.5), sleep=forever) as watched:
        assert (await watched.down()).why == NO_ENDPOINT


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (Response("<html>"), NO_ENDPOINT),
        (RedirectResponse("http://localhost:9/"), "answered HTTP 307: it has moved. Correct the url"),
    ],
)
async def test_what_is_no_event_stream_says_what_to_correct(response: Response, why: str) -> None:
    async def page(request: Request, message: dict[str, Any]) -> Response:
        return response

    async with served(Endpoint(page)) as http, running(over_sse(http), sleep=forever) as watched:
        assert (await watched.down()).why == why
