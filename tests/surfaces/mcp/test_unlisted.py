"""Calls of tools whose server is still starting: they wait for it, by either road, and are told of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest
from tests.servers.peers import warm_command
from tests.support.sentences import unknown_tool_opening
from tests.surfaces.mcp.doubles import MemoryAudit, MemoryStore
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import handshake, modern, modern_headers
from tests.surfaces.mcp.workshop import DECLARED, HERE, Workshop, key, open_workshop

from pegboard.core.calls.call import CallCancellation, LockedToolRefusal, ToolSuccess, UnknownTool
from pegboard.core.decision.listing_changes import possible_owners
from pegboard.core.model.server import Server, Stdio, Timeouts, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway import caller as unlisted
from pegboard.gateway.gateway import open_gateway
from pegboard.providers.mcp.provider import McpServerProvider
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint

pytestmark = pytest.mark.anyio

FOLDERS = key("folders")
WAYS = [(road, era) for road in ("short", "long") for era in ("handshake", "modern")]
SENTENCE = "server_unavailable: folders~folders is starting (attempt 1), and has not listed its tools yet."


class Door:
    def __init__(self, workshop: Workshop, http: httpx2.AsyncClient, urls: Mapping[str, str]) -> None:
        self.workshop = workshop
        self._http = http
        self._urls = urls

    async def call(self, road: str, era: str, name: str, arguments: object = None) -> Any:
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        url = self._urls[road]
        if era == "modern":
            message = modern("tools/call", **params)
            return (await self._http.post(url, json=message, headers=modern_headers(message))).json()
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return (await self._http.post(url, json=message, headers=await handshake(self._http, url))).json()


@asynccontextmanager
async def starting(declared: DeclaredSettings = DECLARED) -> AsyncIterator[Door]:
    """The workshop while its folders are still starting, and everything else is up."""
    with anyio.fail_after(DEADLINE):
        async with AsyncExitStack() as stack:
            workshop = await stack.enter_async_context(open_workshop(declared, held=frozenset({FOLDERS})))
            board = workshop.gateway.board
            with board.changes.subscribe() as bell:
                while sum(bool(word.tools) for word in board.catalogue.listings.values()) < 3:
                    await bell.wait()
            urls = {
                "short": await stack.enter_async_context(served(workshop)),
                "long": await stack.enter_async_context(
                    served(workshop, app=McpHttpEndpoint(workshop.gateway, short=False))
                ),
            }
            yield Door(workshop, await stack.enter_async_context(httpx2.AsyncClient(timeout=DEADLINE)), urls)


@pytest.mark.behaviour("calls.wait_for_a_start")
async def test_a_call_waits_for_the_server_that_may_have_its_tool() -> None:
    answers: list[Any] = []
    async with starting() as door, anyio.create_task_group() as tasks:

        async def call(road: str, era: str, name: str) -> None:
            answers.append(await door.call(road, era, name))

        for road, era in WAYS:
            tasks.start_soon(call, road, era, "get_folder")
        for road, era in WAYS:
            # Meanwhile nobody else waits: what is there is called, and what cannot be of that server is refused.
            assert (await door.call(road, era, "get_file"))["result"]["content"] == [{"type": "text", "text": "done"}]
            assert (await door.call(road, era, "bench__nothing"))["error"]["code"] == -32602
            assert (await door.call(road, era, "no such name"))["error"]["code"] == -32602
        assert answers == []
        door.workshop.benches[FOLDERS].release()
    assert [answer["result"]["content"] for answer in answers] == [[{"type": "text", "text": "done"}]] * len(WAYS)
    ended = [type(record.outcome) for record in door.workshop.audit.records if record.call.name == "get_folder"]
    assert ended == [ToolSuccess] * len(WAYS), "each is recorded once"


@pytest.mark.behaviour("calls.wait_for_a_start")
async def test_a_call_whose_server_does_not_come_is_told_which_one_is_starting() -> None:
    hasty = replace(DECLARED.servers[FOLDERS], timeouts=Timeouts(30.0, 0.2, 5.0))
    async with starting(replace(DECLARED, servers={**DECLARED.servers, FOLDERS: hasty})) as door:
        for road, era in WAYS:
            for name in ("get_folder", "folders__get_folder", "folders__folders__get_folder"):
                result = (await door.call(road, era, name))["result"]
                assert result["isError"] is True
                assert result["content"][0]["text"].startswith(f"{SENTENCE} Try again in a moment")
        refused = door.workshop.audit.records[0]
        assert isinstance(refused.outcome, LockedToolRefusal)
        assert str(refused.tool) == "mcp:folders~folders:get_folder"


async def test_once_the_server_has_listed_a_name_that_it_has_not_is_unknown() -> None:
    answers: list[Any] = []
    async with starting() as door:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                answers.append(await door.call("short", "modern", "paint_folder"))

            tasks.start_soon(call)
            await door.call("short", "modern", "get_file")
            door.workshop.benches[FOLDERS].release()
        assert answers[0]["error"]["message"].startswith(unknown_tool_opening("paint_folder"))
        assert [type(record.outcome) for record in door.workshop.audit.records] == [ToolSuccess, UnknownTool]


async def test_a_call_that_is_given_up_while_it_waits_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, find_owners = anyio.Event(), possible_owners

    def find_and_tell(*args: Any) -> Any:
        waits.set()  # between this and the wait, nothing else runs
        return find_owners(*args)

    monkeypatch.setattr(unlisted, "possible_owners", find_and_tell)
    async with starting() as door:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(door.call, "short", "modern", "get_folder")
            await waits.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(DEADLINE):
            while not door.workshop.audit.records:
                await anyio.lowlevel.checkpoint()
        assert [record.outcome for record in door.workshop.audit.records] == [CallCancellation()]


@pytest.mark.slow
@pytest.mark.behaviour("calls.wait_for_a_start")
async def test_a_call_to_a_gateway_that_has_just_started_reaches_a_slow_server() -> None:
    """A real one, whose list comes late."""
    slow = key("slow")
    program, *arguments = warm_command("slow_list", "0.5")
    declared = DeclaredSettings(
        servers={slow: Server(slow, Stdio(program, tuple(arguments)), HERE, trust=Trust.BASELINE)},
        toolsets={slow.toolset: Toolset(slow.toolset, HERE)},
    )

    def now() -> datetime:
        return datetime.now(UTC)

    def provider_for(server: Server) -> McpServerProvider:
        return McpServerProvider(server, lambda text: text, now)

    with anyio.fail_after(DEADLINE):
        async with open_gateway(declared, MemoryStore(), MemoryAudit(), provider_for, now) as gateway:
            workshop = Workshop(gateway, MemoryAudit())
            async with served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
                call = partial(Door(workshop, http, {"short": url}).call, "short", "modern")
                answer = await call("echo", {"text": "here"})
                assert answer["result"]["content"] == [{"type": "text", "text": "here"}]
