"""What every MCP server's provider does, whichever way the server is reached and whichever era it speaks."""

import json
from datetime import UTC, datetime

import anyio
import pytest
from tests.providers.mcp.running import KEY, Peer, running, server

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Listing, ProviderOff, ProviderStart, ProviderUp
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.providers import Provider
from pegboard.providers.mcp import lifecycle as life
from pegboard.providers.mcp.provider import McpServerProvider

pytestmark = pytest.mark.anyio


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess | ToolFailure), outcome
    text = json.loads(outcome.body)["content"][0]["text"]
    assert isinstance(text, str)
    return text


def structured(outcome: Outcome) -> Json:
    assert isinstance(outcome, ToolSuccess), outcome
    content: Json = json.loads(outcome.body)["structuredContent"]
    return content


def spec(listing: Listing, name: str) -> ToolSpec:
    return listing.by_id[ToolId(KEY, name)].spec


def names(listing: Listing) -> set[str]:
    return {tool.id.name for tool in listing.tools}


@pytest.mark.behaviour("providers.mcp_discovered_at_run_time", "mcp.in.stdio", "mcp.in.http", "mcp.in.sse")
async def test_the_tools_are_listed_with_all_that_the_server_says_of_them(peer: Peer) -> None:
    async with running(peer.connection) as watched:
        assert watched.provider.listing().tools == ()
        listing = await watched.up()
        assert listing.source == KEY
        assert listing.problems == ()
        assert spec(listing, "echo") == ToolSpec(
            "echo",
            "Echo",
            spec(listing, "echo").description,
            {
                "type": "object",
                "properties": {"text": {"title": "Text", "type": "string"}},
                "required": ["text"],
                "title": "echoArguments",
            },
            None,
            {"readOnlyHint": True, "openWorldHint": False},
        )
        schema = spec(listing, "count_nights").input_schema
        assert schema["$defs"] == {
            "Stop": {
                "properties": {
                    "city": {"minLength": 1, "title": "City", "type": "string"},
                    "nights": {"default": 1, "minimum": 0, "title": "Nights", "type": "integer"},
                    "detours": {"default": [], "items": {"$ref": "#/$defs/Stop"}, "title": "Detours", "type": "array"},
                },
                "required": ["city"],
                "title": "Stop",
                "type": "object",
            },
            "Trip": {
                "properties": {
                    "traveller": {"title": "Traveller", "type": "string"},
                    "stops": {"items": {"$ref": "#/$defs/Stop"}, "minItems": 1, "title": "Stops", "type": "array"},
                },
                "required": ["traveller", "stops"],
                "title": "Trip",
                "type": "object",
            },
        }
        assert spec(listing, "add").output_schema == {
            "properties": {"total": {"description": "a + b", "title": "Total", "type": "integer"}},
            "required": ["total"],
            "title": "Sum",
            "type": "object",
        }


@pytest.mark.behaviour(
    "providers.mcp_called_remotely", "mcp.in.answers_intact", "mcp.in.stdio", "mcp.in.http", "mcp.in.sse"
)
async def test_a_call_reaches_the_tool_by_its_own_name_and_the_answer_comes_back_whole(peer: Peer) -> None:
    async with running(peer.connection) as watched:
        await watched.up()
        assert text_of(await watched.call("echo", text="Grüße 🔨\u2028\n")) == "Grüße 🔨\u2028\n"
        added = await watched.call("add", a=2, b=40)
        assert structured(added) == {"total": 42}
        # A member that only the newer era knows shows which one both sides settled on.
        assert isinstance(added, ToolSuccess)
        assert ("resultType" in json.loads(added.body)) == (peer.era == "2026-07-28")
        assert text_of(await watched.call("files.read", path="notes/größe.txt")) == "Grüße aus dem Regal.\n"
        picture = await watched.call("picture")
        assert isinstance(picture, ToolSuccess)
        content = json.loads(picture.body)["content"]
        assert [(block["type"], block["mimeType"]) for block in content] == [("image", "image/png")]


async def test_an_answer_of_several_megabytes_comes_back_whole(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        assert text_of(await watched.call("big", bytes=5_000_000)) == "x" * 5_000_000


async def test_what_a_tool_says_of_its_own_failure_is_passed_on(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        failed = await watched.call("fail", message="out of pegs")
        assert isinstance(failed, ToolFailure)
        assert "out of pegs" in text_of(failed)


async def test_a_tool_the_server_does_not_know_is_refused_and_did_not_run(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        unknown = await watched.call("no_such_tool")
        if isinstance(unknown, ProviderFailure):
            assert not unknown.may_have_run
            assert "no_such_tool" in unknown.why
        else:
            assert isinstance(unknown, ToolFailure)
            assert "no_such_tool" in text_of(unknown)


async def test_arguments_that_no_message_can_carry_cost_nothing_but_their_own_call(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        assert await watched.call("echo", text="\ud83d") == ProviderFailure(
            "dev~peer was not asked: the arguments hold half a character, which no JSON text can carry", False
        )
        assert text_of(await watched.call("echo", text="still here")) == "still here"


async def test_progress_is_told_while_the_tool_works(peer: Peer) -> None:
    told: list[tuple[float, float | None, str | None]] = []
    async with running(peer.connection) as watched:
        await watched.up()
        outcome = await watched.call("sleepy", seconds=0.01, steps=2, progress=lambda *step: told.append(step))
        assert text_of(outcome) == "slept 0.01 s"
        assert told == [(0.0, 1.0, "asleep"), (0.5, 1.0, None), (1.0, 1.0, None)]


@pytest.mark.behaviour("mcp.in.cancellation")
async def test_giving_up_a_call_stops_the_tool(peer: Peer) -> None:
    async with running(peer.connection) as watched:
        await watched.up()
        before = structured(await watched.call("cancellations"))
        assert isinstance(before, dict)
        count = before["result"]
        assert isinstance(count, int)
        async with anyio.create_task_group() as tasks:
            asleep = anyio.Event()

            async def call() -> None:
                await watched.call("sleepy", seconds=600, progress=lambda *_: asleep.set())

            tasks.start_soon(call)
            await asleep.wait()
            tasks.cancel_scope.cancel()
        after = structured(await watched.call("cancellations", at_least=count + 1))
        assert after == {"result": count + 1}


@pytest.mark.behaviour("supervision.deadlines", "config.server_timeouts")
async def test_a_call_that_takes_too_long_ends_with_a_word_and_stops_the_tool(transport: Peer) -> None:
    async with running(server(transport.connection, call=2)) as watched:
        await watched.up()
        before = structured(await watched.call("cancellations"))
        assert isinstance(before, dict)
        count = before["result"]
        assert isinstance(count, int)
        assert await watched.call("sleepy", seconds=600) == ProviderFailure(
            "dev~peer did not answer within 2 s", may_have_run=True
        )
        assert structured(await watched.call("cancellations", at_least=count + 1)) == {"result": count + 1}
        assert isinstance(watched.provider.listing().health, ProviderUp)


@pytest.mark.behaviour("supervision.two_hundred_parallel_calls")
async def test_two_hundred_calls_at_once_each_get_their_own_answer(peer: Peer) -> None:
    answers: dict[int, str] = {}
    async with running(server(peer.connection, call=60)) as watched:
        await watched.up()

        async def call(number: int) -> None:
            answers[number] = text_of(await watched.call("echo", text=f"call {number}"))

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(call, number)
    assert answers == {number: f"call {number}" for number in range(200)}


@pytest.mark.behaviour(
    "mcp.in.list_changed",
    "providers.mcp_added_tool_appears",
    "providers.mcp_removed_tool_goes",
    "providers.mcp_changed_schema_is_seen",
)
async def test_tools_that_come_go_or_change_are_seen_without_asking(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "_MIN_INTERVAL_S", 0.01)
    async with running(peer.connection) as watched:
        await watched.up()
        grown = text_of(await watched.call("grow"))
        listing = await watched.until(lambda listing: grown in names(listing))
        assert spec(listing, grown).description == f"Say {grown}."
        assert text_of(await watched.call(grown)) == grown
        await watched.call("shrink")
        await watched.until(lambda listing: grown not in names(listing))
        changed = f"Changed at {datetime.now(UTC)}."
        await watched.call("rename_description", description=changed)
        await watched.until(lambda listing: spec(listing, "echo").description == changed)


async def test_a_restart_opens_a_new_connection_and_keeps_the_tools_meanwhile(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        first = await watched.up()
        watched.seen.clear()
        watched.provider.restart()
        restarting = watched.provider.listing()
        assert isinstance(restarting.health, ProviderStart)
        assert restarting.tools == first.tools
        failed = await watched.call("echo", text="too early")
        assert failed == ProviderFailure("dev~peer is starting (attempt 1)", may_have_run=False)
        await watched.up()
        assert text_of(await watched.call("echo", text="again")) == "again"
        assert [type(listing.health) for listing in watched.seen] == [ProviderStart, ProviderStart, ProviderUp]


async def test_a_call_in_flight_ends_when_the_server_is_restarted(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        outcomes: list[Outcome] = []
        asleep = anyio.Event()

        async def call() -> None:
            outcomes.append(await watched.call("sleepy", seconds=600, progress=lambda *_: asleep.set()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await asleep.wait()
            watched.provider.restart()
        assert outcomes == [ProviderFailure("dev~peer was restarted before it answered", may_have_run=True)]


async def test_a_stopped_provider_says_that_it_is_off_and_takes_no_calls(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        listing = await watched.up()
    assert watched.provider.listing() == Listing(KEY, ProviderOff(), listing.tools)
    assert await watched.call("echo", text="late") == ProviderFailure("dev~peer is not running", may_have_run=False)


@pytest.mark.behaviour("mcp.in.headers", "config.http_server")
async def test_the_declared_headers_come_with_every_call(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        for _ in range(2):
            headers = structured(await watched.call("headers"))
            assert isinstance(headers, dict)
            assert headers.get("x-peg") == ("board" if transport.over_http else None)


@pytest.mark.parametrize("anyio_backend", [pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop")])
async def test_a_server_is_reached_the_same_on_the_loop_the_gateway_runs_on(transport: Peer) -> None:
    async with running(transport.connection) as watched:
        await watched.up()
        assert text_of(await watched.call("echo", text="fast")) == "fast"
        assert text_of(await watched.call("big", bytes=1_000_000)) == "x" * 1_000_000


def test_it_is_a_provider() -> None:
    provider: type[Provider] = McpServerProvider
    assert provider is McpServerProvider
