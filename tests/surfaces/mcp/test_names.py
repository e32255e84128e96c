"""Names on the wire: nothing that is locked changes one, and one that changed still reaches its tool by every road."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio
import httpx2
import pytest
from tests.support.sentences import unknown_tool_opening
from tests.surfaces.mcp.bench import returned, tool
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import ask, handshake
from tests.surfaces.mcp.workshop import (
    BENCH,
    DECLARED,
    HERE,
    SECRET,
    SHELVES,
    Workshop,
    key,
    open_workshop,
    plain,
    server,
)

from pegboard.core.calls.call import ToolCall
from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId, ServerKey, ToolId, ToolsetId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.server import OnlyTools, Server, Trust
from pegboard.core.model.tool import ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions, Switch
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint, McpPaths

pytestmark = pytest.mark.anyio

THEN = datetime(2026, 1, 1, tzinfo=UTC)
STOLEN = ("create_file", "echo", "files__create_file", "bench__bench__echo")
"""Names of tools that are open, and longer forms of them."""

RIVALS: Mapping[str, Server] = {
    "pending_approval": server("aaa-new", Trust.STRICT),
    "changed": server("aaa-changed", Trust.STRICT),
    "disabled_by_config": replace(server("aaa-denied", Trust.STRICT), limit=OnlyTools(("nothing",))),
    "disabled_by_user": server("aaa-switched", Trust.STRICT),
    "server_unavailable": server("aaa-down", Trust.STRICT),
    "server_disabled": server("aaa-off", Trust.STRICT),
    "server_quarantined": replace(server("aaa-unread", Trust.STRICT), quarantined=True),
}


def with_servers(*more: Server) -> DeclaredSettings:
    toolsets = {each.key.toolset: Toolset(each.key.toolset, HERE) for each in more}
    return replace(
        DECLARED,
        servers={**DECLARED.servers, **{each.key: each for each in more}},
        toolsets={**DECLARED.toolsets, **toolsets},
    )


def rival_key(rival: Server) -> ServerKey:
    assert isinstance(rival.key, ServerKey)
    return rival.key


def approved(spec: ToolSpec) -> Approval:
    return Approval(spec, PrincipalId("me"), THEN)


def decided() -> PolicyDecisions:
    approvals = {
        ToolId(rival.key, name): approved(ToolSpec(name, None, "As it was." if why == "changed" else f"Would {name}."))
        for why, rival in RIVALS.items()
        if why != "pending_approval"
        for name in STOLEN
    }
    off = Switch(False, PrincipalId("me"), THEN)
    return PolicyDecisions(
        version=1,
        approvals=approvals,
        switches={ToolId(RIVALS["disabled_by_user"].key, name): off for name in STOLEN},
    )


async def until_locked(workshop: Workshop, rival: ServerKey) -> None:
    board = workshop.gateway.board
    with board.changes.subscribe() as bell:
        while any(tool.id.source == rival for tool in board.resolution(View()).open_tools()):
            await bell.wait()


async def said_by(workshop: Workshop) -> Sequence[bytes]:
    """What a client of either presentation is told by default."""
    asked = {"query": "create echo file say it again", "limit": 20}
    async with served(workshop, app=McpPaths(workshop.gateway)) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
        return (
            (await ask(http, url, "tools/list")).content,
            (await ask(http, f"{url}/search", "tools/call", name="retrieve_tools", arguments=asked)).content,
        )


@pytest.mark.behaviour("locked.default_answers_byte_identical", "naming.locked_tools_rename_nothing")
async def test_locked_tools_that_are_called_like_open_ones_change_no_byte_of_default_answers() -> None:
    shelves = {**SHELVES, **{rival_key(rival): plain(rival.id, *STOLEN) for rival in RIVALS.values()}}
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            without = await said_by(workshop)
        async with open_workshop(with_servers(*RIVALS.values()), shelves=shelves, decided=decided()) as workshop:
            down, off = rival_key(RIVALS["server_unavailable"]), rival_key(RIVALS["server_disabled"])
            workshop.benches[down].fall()
            assert isinstance(await workshop.gateway.operator.execute(SetSwitch(off, False), LOCAL_PRINCIPAL), Policy)
            await until_locked(workshop, down)
            await until_locked(workshop, off)
            with_locks = await said_by(workshop)
            resolution = workshop.gateway.board.resolution(View())
    locked = {(verdict.tool.id.source, verdict.status.value) for verdict in resolution.locked_tools()}
    assert locked == {
        (key("vault"), "pending_approval"),
        *((rival.key, "pending_approval" if why == "changed" else why) for why, rival in RIVALS.items()),
    }
    assert {resolution.names[tool.id] for tool in resolution.open_tools()} >= {"create_file", "echo"}
    assert with_locks == without


RIVAL = key("rival")


async def until_named(workshop: Workshop, name: str) -> None:
    board = workshop.gateway.board
    with board.changes.subscribe() as bell:
        while name not in board.resolution(View()).by_name:
            await bell.wait()


class Callers:
    """One call by every road: short and long, of both eras, and through `call_tool`."""

    def __init__(self, http: httpx2.AsyncClient, short: str, long: str) -> None:
        self._http = http
        self._urls = {"short": short, "long": long}

    async def call(self, name: str, **arguments: Any) -> Mapping[str, str]:
        told: dict[str, str] = {}
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        for road, url in self._urls.items():
            told[f"{road} modern"] = _text((await ask(self._http, url, "tools/call", **params)).json())
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = await self._http.post(url, json=message, headers=await handshake(self._http, url))
            told[f"{road} handshake"] = _text(answer.json())
        through: dict[str, Any] = {"name": "call_tool", "arguments": params}
        answer = await ask(self._http, f"{self._urls['short']}/search", "tools/call", **through)
        return {**told, "call_tool": _text(answer.json())}


ROADS = ("short modern", "short handshake", "long modern", "long handshake", "call_tool")


def by_all(text: str) -> Mapping[str, str]:
    return dict.fromkeys(ROADS, text)


def _text(answer: Any) -> str:
    if "error" in answer:
        return str(answer["error"]["message"])
    return str(answer["result"]["content"][0]["text"])


@asynccontextmanager
async def callers(workshop: Workshop) -> AsyncIterator[Callers]:
    async with AsyncExitStack() as stack:
        short = await stack.enter_async_context(served(workshop, app=McpPaths(workshop.gateway)))
        long = await stack.enter_async_context(served(workshop, app=McpHttpEndpoint(workshop.gateway, short=False)))
        yield Callers(await stack.enter_async_context(httpx2.AsyncClient(timeout=DEADLINE)), short, long)


@pytest.mark.behaviour("naming.old_names_reach_their_tool")
async def test_a_name_from_before_reaches_its_tool_by_every_road_and_a_locked_one_is_refused_by_its_status() -> None:
    shelves = {**SHELVES, RIVAL: plain("rival", "echo")}
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(with_servers(server("rival")), shelves=shelves, held=frozenset({RIVAL})) as workshop,
            callers(workshop) as every,
        ):
            await until_named(workshop, "echo")
            workshop.benches[RIVAL].release()
            await until_named(workshop, "rival__echo")
            assert "echo" not in workshop.gateway.board.resolution(View()).by_name
            assert await every.call("echo", text="hello") == by_all("hello")
            assert await every.call("bench__echo", text="hello") == by_all("hello")
            assert await every.call("rival__echo") == by_all("done")
            operator = workshop.gateway.operator
            assert isinstance(await operator.execute(SetSwitch(RIVAL, False), LOCAL_PRINCIPAL), Policy)
            assert workshop.gateway.board.resolution(View()).names[ToolId(BENCH, "echo")] == "echo"
            assert await every.call("bench__echo", text="hello") == by_all("hello")
            assert isinstance(await operator.execute(SetSwitch(BENCH, False), LOCAL_PRINCIPAL), Policy)
            told = await every.call("bench__echo", text="hello")
            assert told == await every.call("echo", text="hello")
            assert {text.partition(":")[0] for text in told.values()} == {"server_disabled"}


@pytest.mark.behaviour("naming.ids_are_names")
async def test_a_call_by_id_reaches_its_tool_by_every_road() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, callers(workshop) as every:
            for name in ("mcp:bench~bench:echo", "mcp:bench:echo"):
                assert await every.call(name, text="hello") == by_all("hello")
            refused = await every.call("mcp:vault~vault:open_vault")
            assert {text.partition(":")[0] for text in refused.values()} == {"pending_approval"}
            unknown = await every.call("mcp:bench~bench:nothing")
            opening = unknown_tool_opening("mcp:bench~bench:nothing")
            assert all(text.startswith(opening) for text in unknown.values())


@pytest.mark.behaviour("naming.ids_are_names")
async def test_an_id_without_its_toolset_that_fits_two_servers_names_both() -> None:
    other = ServerKey(ToolsetId("workbench"), BENCH.server)
    twin = replace(server("bench"), key=other)
    tools = {"echo": (replace(SHELVES[BENCH]["echo"][0], id=ToolId(other, "echo")), SHELVES[BENCH]["echo"][1])}
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(with_servers(twin), shelves={**SHELVES, other: tools}) as workshop,
            callers(workshop) as every,
        ):
            told = await every.call("mcp:bench:echo", text="hello")
            words = (
                "There is no tool 'mcp:bench:echo' here. 2 tools may be meant. "
                "Did you mean 'mcp:bench~bench:echo' or 'mcp:workbench~bench:echo'?"
            )
            assert {road: text[: len(words)] for road, text in told.items()} == by_all(words)
            assert await every.call("mcp:workbench~bench:echo", text="hello") == by_all("hello")


# Servers that have listed nothing since the gateway started

FOUR = key("four")


def known_of_four(**switches: bool) -> PolicyDecisions:
    """As the store has it after a time in which the server was up and its tools were approved."""
    names = ("four_read", "four_write")
    return PolicyDecisions(
        version=4,
        approvals={ToolId(FOUR, name): approved(ToolSpec(name, None, f"Would {name}.")) for name in names},
        first_seen={FOUR: THEN},
        switches={FOUR: Switch(False, PrincipalId("me"), THEN)} if switches.get("off") else {},
    )


async def searched(workshop: Workshop, name: str, **arguments: Any) -> Any:
    async with served(workshop, app=McpPaths(workshop.gateway)) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
        answer = await ask(http, f"{url}/search", "tools/call", name=name, arguments=arguments)
        return json.loads(_text(answer.json()))


@pytest.mark.behaviour("locked.known_from_approvals", "naming.approved_names_are_held")
async def test_after_a_restart_a_server_that_is_off_is_told_as_before_and_its_names_are_nobody_elses() -> None:
    servers = with_servers(server("four", Trust.BASELINE), server("five"))
    shelves = {**SHELVES, FOUR: plain("four", "four_read"), key("five"): plain("five", "four_read")}
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(servers, shelves=shelves, decided=known_of_four(off=True)) as workshop,
            callers(workshop) as every,
        ):
            told = await every.call("four_read")
            words = "server_disabled: Server four~four is off: switched off by me on 2026-01-01. Ask the user to enable"
            assert {road: text[: len(words)] for road, text in told.items()} == by_all(words)
            assert await every.call("five__four_read") == by_all("done")
            found = await searched(workshop, "retrieve_tools", query="four_read", include_disabled=True)
            assert [entry["name"] for entry in found["tools"]][:1] == ["five__four_read"]
            assert found["disabled"] == [
                {
                    "name": "four_read",
                    "server": "four~four",
                    "description": "Would four_read.",
                    "status": "server_disabled",
                },
                {
                    "name": "four_write",
                    "server": "four~four",
                    "description": "Would four_write.",
                    "status": "server_disabled",
                },
            ]
            counted = (await searched(workshop, "upstream_servers"))["servers"]
            [four] = [each for each in counted if each["id"] == "four~four"]
            assert (four["health"], four["tools"]) == ("off", {"callable": 0, "server_disabled": 2})
            operator = workshop.gateway.operator
            assert isinstance(await operator.execute(SetSwitch(FOUR, True), LOCAL_PRINCIPAL), Policy)
            await until_open(workshop, FOUR)
            resolution = workshop.gateway.board.resolution(View())
            assert [id.name for id in resolution.names if id.source == FOUR] == ["four_read"], "all it lists now"
            assert await every.call("four_read") == by_all("done")


async def until_open(workshop: Workshop, source: ServerKey) -> None:
    board = workshop.gateway.board
    with board.changes.subscribe() as bell:
        while not any(tool.id.source == source for tool in board.resolution(View()).open_tools()):
            await bell.wait()


@pytest.mark.behaviour("locked.known_from_approvals", "calls.wait_for_a_start")
async def test_a_call_of_a_remembered_tool_waits_for_its_server_to_start() -> None:
    shelves = {**SHELVES, FOUR: plain("four", "four_read")}
    servers = with_servers(server("four", Trust.BASELINE))
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(servers, shelves=shelves, decided=known_of_four(), held=frozenset({FOUR})) as workshop,
            anyio.create_task_group() as tasks,
        ):
            ended: list[object] = []

            async def call() -> None:
                asked = ToolCall(CallId("c1"), WireName("four_read"), {}, LOCAL_PRINCIPAL, THEN)
                ended.append(await workshop.gateway.caller.call(asked, View()))

            tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            assert ended == []
            workshop.benches[FOUR].release()
    assert ended == [returned("done")]


@pytest.mark.behaviour("locked.known_from_approvals")
async def test_of_an_open_server_that_is_off_nothing_is_known_and_refusals_and_counts_say_so() -> None:
    off = replace(server("four"), enabled=False)
    unread = replace(server("guest"), quarantined=True)
    shelves = {**SHELVES, FOUR: {}, key("guest"): {}}
    with anyio.fail_after(DEADLINE):
        async with open_workshop(with_servers(off, unread), shelves=shelves) as workshop, callers(workshop) as every:
            for name, which in (
                ("four_read", "four~four, guest~guest, which are off or in quarantine"),
                ("four__read", "four~four, which is off"),
                ("mcp:guest~guest:read", "guest~guest, which is in quarantine"),
            ):
                words = f"There is no tool {name!r} here. It may be a tool of {which}."
                told = await every.call(name)
                assert {road: text[: len(words)] for road, text in told.items()} == by_all(words)
            counted = (await searched(workshop, "upstream_servers"))["servers"]
            silent = {each["id"]: each.get("tools") for each in counted if each["health"] != "up"}
            assert silent == {"four~four": {"callable": 0}, "guest~guest": {"callable": 0}}
            async with served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
                refused = await ask(http, url, "tools/list", {"X-Mcp-Toolsets": "fuor"})
            sets = "bench, files, folders, four, guest, vault"
            assert f"Toolsets to choose from: {sets}." in refused.json()["error"]["message"]


@pytest.mark.behaviour("locked.known_from_approvals", "law.withheld_stays_withheld")
async def test_what_was_seen_of_a_server_in_quarantine_is_told_by_name_alone() -> None:
    guest = key("guest")
    unread = replace(server("guest"), quarantined=True)
    seen = tool(guest, ToolSpec("help_me", SECRET, SECRET, {"type": "object", "properties": {SECRET: {}}}))
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(with_servers(unread), shelves={**SHELVES, guest: {}}) as workshop,
            callers(workshop) as every,
        ):
            workshop.gateway.board.publish_preview(Listing(guest, ProviderUp(THEN), (seen,)))
            told = await every.call("help_me")
            assert {text.partition(":")[0] for text in told.values()} == {"server_quarantined"}
            found = await searched(workshop, "retrieve_tools", query="help me", include_disabled=True)
            assert {"name": "help_me", "server": "guest~guest", "description": "", "status": "server_quarantined"} in (
                found["disabled"]
            )
            by_words = await searched(workshop, "retrieve_tools", query=SECRET, include_disabled=True)
            said = [*(await said_by(workshop)), json.dumps([found, by_words]).encode(), *map(str.encode, told.values())]
    assert SECRET.encode() not in b"".join(said)
