"""Status by surface: whoever asks why a tool is locked, and wherever, hears the same status, sentence and remedy."""

import json
import os
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.core.boards import FILE, key, server
from tests.e2e.served import warm_pegboard
from tests.support.doubles import UP, Providers
from tests.support.house import House, declaring, opened, redeclared
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.cli.terminal import clean_environment
from tests.surfaces.mcp.places import MODES, http_client

from pegboard.config import paths as places
from pegboard.core.commands.commands import ApproveTool, SetSwitch
from pegboard.core.decision.resolve import LockedTool
from pegboard.core.decision.status import LockStatus, remedy
from pegboard.core.json.values import JsonObject
from pegboard.core.model.catalogue import Listing
from pegboard.core.model.ids import SourceKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Denial
from pegboard.gateway.access.tokens import hash_token
from pegboard.surfaces.http.router import HttpRouter
from pegboard.surfaces.http.server import HttpServer, bind_socket, local_url
from pegboard.surfaces.mcp.endpoint import McpPaths
from pegboard.surfaces.rest.app import rest_app
from pegboard.surfaces.rest.settings import RuntimeInfo

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MARKER: Final = "swordfish"
"""Stands in every word of the tools that are withheld."""

TOKEN: Final = "the-start-up-token"
DEADLINE: Final = 120.0
OPEN: Final = key("shop~open")
WAITING: Final = key("shop~waiting")
GHOST: Final = ToolsetKey(ToolsetId("ghost"))
"""No policy names it: what it lists is nobody's."""

EXPECTED: Final = {
    "off_polish": LockStatus.SERVER_DISABLED,
    "held_polish": LockStatus.SERVER_QUARANTINED,
    "denied_polish": LockStatus.DISABLED_BY_CONFIG,
    "switched_polish": LockStatus.DISABLED_BY_USER,
    "new_polish": LockStatus.PENDING_APPROVAL,
    "changed_polish": LockStatus.PENDING_APPROVAL,
    "fallen_polish": LockStatus.SERVER_UNAVAILABLE,
    "ghost_polish": LockStatus.DISABLED_UNKNOWN,
}
WITHHELD: Final = {"held_polish", "new_polish", "ghost_polish"}


def hung(source: SourceKey, name: str, words: str) -> Tool:
    schema: JsonObject = {"type": "object", "properties": {words.split()[0]: {"type": "string", "description": words}}}
    spec = ToolSpec(name, words, words, schema, {"type": "object", "description": words}, {"title": words})
    return Tool(ToolId(source, name), spec, {"_meta": {"example.org/word": words}})


TOOLS: Final = {
    OPEN: (
        hung(OPEN, "polish", "Polishes brass."),
        hung(OPEN, "denied_polish", "Denied."),
        hung(OPEN, "switched_polish", "Switched."),
    ),
    key("shop~off"): (hung(key("shop~off"), "off_polish", "Rests."),),
    key("shop~held"): (hung(key("shop~held"), "held_polish", f"{MARKER} held"),),
    key("shop~fallen"): (hung(key("shop~fallen"), "fallen_polish", "Fell."),),
    WAITING: (hung(WAITING, "changed_polish", "Once approved."), hung(WAITING, "new_polish", f"{MARKER} new")),
}


@asynccontextmanager
async def shop() -> AsyncIterator[House]:
    """A board on which a tool is locked for each of the statuses, and one is open."""
    servers = [server(source, trust=Trust.STRICT if source == WAITING else Trust.OPEN) for source in TOOLS]
    declared = replace(declaring(*servers), denials=(Denial(Pattern("*", "denied_*"), FILE),))
    async with opened(declared, Providers(TOOLS)) as house:
        changed = TOOLS[WAITING][0]
        await house.does(
            ApproveTool(changed.id, changed.spec, changed.spec.fingerprint),
            SetSwitch(ToolId(OPEN, "switched_polish"), False, "too shiny"),
            SetSwitch(key("shop~off"), False),
        )
        house.provider(WAITING).lists(hung(WAITING, "changed_polish", f"{MARKER} changed"), TOOLS[WAITING][1])
        house.provider(key("shop~fallen")).falls()
        held = redeclared(house.board.policy, server(key("shop~held"), trust=Trust.OPEN, quarantined=True))
        assert await house.gateway.operator.apply_settings(held) == ()
        lost = {name for name, status in EXPECTED.items() if status is not LockStatus.DISABLED_UNKNOWN}
        await house.until(lambda: {id.rpartition(":")[2] for id, s in house.statuses().items() if s != "open"} == lost)
        house.board.publish(Listing(GHOST, UP, (hung(GHOST, "ghost_polish", f"{MARKER} ghost"),)))
        yield house


@dataclass(frozen=True)
class Counter:
    """The house behind its counter: an address for clients, and a directory by which commands find it."""

    house: House
    url: str
    data_dir: Path

    async def typed(self, *words: str) -> str:
        """What a command prints, whatever its exit code."""
        environment = {**clean_environment(self.data_dir), "PEGBOARD_DATA_DIR": str(self.data_dir)}
        done = await anyio.run_process([*warm_pegboard(), *words], check=False, env=environment, cwd=self.data_dir)
        return (done.stdout + done.stderr).decode()


@asynccontextmanager
async def counter(folder: Path) -> AsyncIterator[Counter]:
    places.ensure_directory(folder)
    async with shop() as house:
        mcp = McpPaths(house.gateway)
        about = RuntimeInfo(None, str(folder), None, "")
        api = rest_app(house.gateway, about, hash_token(TOKEN), ScriptedSignIns)
        root = HttpRouter(mcp=mcp, api=api, sign_in=api, check=lambda headers: None)
        with bind_socket("127.0.0.1", 0) as listener, places.acquire_lock(folder):
            url = local_url("127.0.0.1", listener.getsockname()[1])
            async with mcp.lifespan(), HttpServer(root, listener, mcp.end_streams, mcp.fast_path):
                places.write_address(folder, places.GatewayAddress(url, TOKEN, os.getpid()))
                yield Counter(house, url, folder)


def told(result: object) -> str:
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def heard_by_agent(client: Client, *, searching: bool) -> dict[str, str]:
    """What a call of each tool is refused with."""
    refused = {}
    for name in EXPECTED:
        asked = ("call_tool", {"name": name, "arguments": {}}) if searching else (name, {})
        answer = await client.call_tool(*asked)
        assert isinstance(answer, CallToolResult)
        assert answer.is_error
        refused[name] = told(answer)
    return refused


Told = Mapping[str, tuple[str, str, str]]


def general(remedy: str, name: str) -> str:
    """With placeholders for what it is about."""
    server = {"new_polish": "waiting", "changed_polish": "waiting"}.get(name, name.removesuffix("_polish"))
    return (
        remedy.replace(f"mcp:shop~{server}:{name}", "TOOL")
        .replace(f"mcp:shop~open:{name}", "TOOL")
        .replace(f"shop~{server}", "SERVER")
    )


def words(rows: list[dict[str, Any]]) -> Told:
    return {row["wireName"]: (row["status"], row["message"], row["remedy"]) for row in rows}


@pytest.mark.behaviour(
    "locked.same_words_everywhere",
    "locked.call_is_refused_with_the_same_words",
    "locked.config_is_not_user_overridable",
)
@pytest.mark.parametrize("mode", MODES)
async def test_every_surface_tells_the_same_status_sentence_and_remedy(mode: str, tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        async with counter(tmp_path) as there:
            async with http_client(f"{there.url}/mcp", mode=mode) as client:
                listed = [tool.name for tool in (await client.list_tools()).tools]
                refused = await heard_by_agent(client, searching=False)
            async with http_client(f"{there.url}/mcp/search", mode=mode) as client:
                asked = {"query": "polish", "include_disabled": True}
                found = json.loads(told(await client.call_tool("retrieve_tools", asked)))
                refused_by_search = await heard_by_agent(client, searching=True)
                [*servers] = json.loads(told(await client.call_tool("upstream_servers", {})))["servers"]
            searched = json.loads(await there.typed("tools", "search", "polish", "--include-disabled", "--json"))
            every = words(
                [
                    row
                    for row in json.loads(await there.typed("tools", "list", "--json"))["tools"]
                    if row["verdict"] == "locked"
                ]
            )
            why: dict[str, tuple[str, str, str]] = {}

            async def ask_why(name: str) -> None:
                why.update(words([json.loads(await there.typed("why", name, "--json"))]))

            async with anyio.create_task_group() as tasks:
                for name in EXPECTED:
                    tasks.start_soon(ask_why, name)
            verdicts = there.house.board.resolution(View()).verdicts.values()
            reasons = {each.tool.id.name: each.reason for each in verdicts if isinstance(each, LockedTool)}
            counted = json.loads(await there.typed("servers", "list", "--json"))["servers"]
    assert listed == ["polish"]
    assert {name: status for name, (status, _, _) in every.items()} == {n: s.value for n, s in EXPECTED.items()}
    assert why == every
    assert (
        refused
        == refused_by_search
        == {
            name: f"{status}: {sentence} {remedy(reasons[name], Audience.AGENT)}"
            for name, (status, sentence, _) in every.items()
        }
    )
    assert {name: do for name, (_, _, do) in every.items()} == {
        name: remedy(reasons[name], Audience.OPERATOR) for name in EXPECTED
    }
    assert searched.keys() == found.keys()
    assert {**searched, "remediation": {}} == {**found, "remediation": {}}
    assert [tool["name"] for tool in found["tools"]] == ["polish"]
    assert {entry["name"]: entry["status"] for entry in found["disabled"]} == {n: s.value for n, s in EXPECTED.items()}
    assert found["remediation"].keys() == {status.value for status in EXPECTED.values()}
    for name, (status, _, do) in every.items():
        assert general(remedy(reasons[name], Audience.AGENT), name) in found["remediation"][status].splitlines()
        assert general(do, name) in searched["remediation"][status].splitlines()
    tallies = {entry["id"]: entry.get("tools") for entry in servers}
    assert tallies == {
        "ghost": {"callable": 0, "disabled_unknown": 1},
        "shop~fallen": {"callable": 0, "server_unavailable": 1},
        "shop~held": {"callable": 0, "server_quarantined": 1},
        "shop~off": {"callable": 0, "server_disabled": 1},
        "shop~open": {"callable": 1, "disabled_by_config": 1, "disabled_by_user": 1},
        "shop~waiting": {"callable": 0, "pending_approval": 2},
    }
    # The operator's list is one of servers; toolsets have their own.
    assert {row["id"]: row["tools"] for row in counted} == {id: told for id, told in tallies.items() if id != "ghost"}
    by_config = [*every["denied_polish"], found["remediation"]["disabled_by_config"]]
    assert not [text for text in by_config if "pegboard tools enable" in text or "user" in text]


@pytest.mark.behaviour("locked.remedy_can_be_run")
async def test_every_command_of_a_remedy_does_what_it_says(tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        async with counter(tmp_path) as there:
            said: dict[str, str] = {}
            for name in EXPECTED:
                do = json.loads(await there.typed("why", name, "--json"))["remedy"]
                _, program, command = do.partition("pegboard ")
                if name != "denied_polish":
                    assert program, do
                    said[name] = await there.typed(*shlex.split(command))
            statuses = there.house.statuses()
    assert statuses["mcp:shop~off:off_polish"] == "open"
    assert statuses["mcp:shop~open:switched_polish"] == "open"
    assert said["off_polish"].startswith("shop~off is switched on.")
    assert "shop~held" in said["held_polish"]
    assert said["switched_polish"] == "mcp:shop~open:switched_polish is switched on.\n"
    for name in ("new_polish", "changed_polish"):
        assert f"pegboard approvals approve 'mcp:shop~waiting:{name}' --fingerprint" in said[name]
    for name in ("fallen_polish", "ghost_polish"):
        assert "Server shop~fallen is down" in said[name], "doctor tells of it"


@pytest.mark.behaviour("law.withheld_in_search_and_code", "locked.entry_shows_last_approved_description")
async def test_a_marker_in_what_is_withheld_is_in_no_byte_that_an_agent_receives(tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        async with counter(tmp_path) as there:
            said: list[str] = []
            for path in ("/mcp", "/mcp/search"):
                for mode in MODES:
                    async with http_client(there.url + path, mode=mode) as client:
                        said.append((await client.list_tools()).model_dump_json())
                        refused = await heard_by_agent(client, searching=path != "/mcp")
                        said += refused.values()
                        if path == "/mcp":
                            continue
                        for query in ("polish", MARKER, f"{MARKER} new", "held changed new ghost", "shop"):
                            for flag in (True, False):
                                asked = {"query": query, "include_disabled": flag, "limit": 100}
                                said.append(told(await client.call_tool("retrieve_tools", asked)))
                        said.append(told(await client.call_tool("upstream_servers", {})))
            everything = "\n".join(said)
            found = json.loads(await there.typed("tools", "search", "polish", "--include-disabled", "--json"))
    assert MARKER not in everything
    assert all(name in everything for name in EXPECTED)
    descriptions = {entry["name"]: entry["description"] for entry in found["disabled"]}
    assert {name for name, description in descriptions.items() if not description} == WITHHELD
    assert descriptions["changed_polish"] == "Once approved."
