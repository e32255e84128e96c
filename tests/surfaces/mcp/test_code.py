"""The code presentation: two tools in each era and over each transport, functions that are found, programs that run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served
from tests.surfaces.mcp.workshop import DECLARED, HERE, SECRET, Workshop, key, open_workshop

from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import LaunchFilter, Pattern, parse_launch_filter
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, CodeSettings, PinnedEntry, PresentationSettings
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.core.presentations.code import TOOLS
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.surfaces.mcp.endpoint import McpPaths
from pegboard.surfaces.mcp.presentations.code import CodePresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio
NAMES = ["tool_search", "python_execution"]


@pytest.fixture
async def means() -> AsyncIterator[ProgramBackend]:
    monty = MontySandbox(workers=1)
    try:
        yield ProgramBackend(lambda _: monty)
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


@asynccontextmanager
async def connected(
    means: ProgramBackend, declared: DeclaredSettings = DECLARED, mode: str = "auto", view: View | None = None
) -> AsyncIterator[tuple[Client, Workshop]]:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            server = GatewayMcpServer(
                workshop.gateway, view=view, presentation=CodePresentation(workshop.gateway)
            ).server
            async with Client(InMemoryTransport(server), mode=mode) as client:
                yield client, workshop


def text(result: object, *, failed: bool = False) -> str:
    assert isinstance(result, CallToolResult)
    assert result.is_error is failed, result
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def ran(result: object) -> Any:
    assert isinstance(result, CallToolResult)
    assert result.structured_content is not None, result
    return result.structured_content


@pytest.mark.behaviour("code.presentation")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", ["memory", "http"])
async def test_a_client_finds_functions_and_runs_a_program_that_calls_them(
    where: str, mode: str, means: ProgramBackend
) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    with anyio.fail_after(DEADLINE):
        async with open_workshop(programs=means) as workshop, at(where, mode, workshop) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == NAMES
            assert listed[0].input_schema == TOOLS["tool_search"].spec.input_schema
            assert "tool_search" in (listed[1].description or "")
            found = text(await client.call_tool("tool_search", {"query": "adds two numbers", "limit": 1}))
            assert found == "# Adds two numbers.\nawait bench.add(*, a: int, b: int) -> {'total': int}"
            code = "first = await bench.add(a=1, b=2)\nawait bench.add(a=first['total'], b=39)"
            answer = await client.call_tool("python_execution", {"code": code}, progress_callback=hear)
            assert ran(answer)["result"] == {"total": 42}
            wrong = await client.call_tool("python_execution", {"code": "bench.add(a=1, b=2)['total']"})
            assert ran(wrong)["error"]["type"] == "TypeCheckError"
    assert heard == ["bench.add: ok", "bench.add: ok"]
    told = [(each.call.name, each.call.parent is not None, each.call.presentation) for each in workshop.audit.records]
    assert told == [
        ("tool_search", False, "code"),
        ("add", True, "code"),
        ("add", True, "code"),
        ("python_execution", False, "code"),
        ("python_execution", False, "code"),
    ]


@asynccontextmanager
async def at(where: str, mode: str, workshop: Workshop) -> AsyncIterator[Client]:
    if where == "memory":
        server = GatewayMcpServer(workshop.gateway, presentation=CodePresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server), mode=mode) as client:
            yield client
    else:
        async with (
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(f"{url}/code", mode=mode) as client,
        ):
            yield client


@pytest.mark.behaviour("code.presentation")
async def test_whole_stubs_and_functions_by_their_names_are_had_on_demand(means: ProgramBackend) -> None:
    async with connected(means) as (client, _):
        asked = {"query": "files.get_file and bench.add", "detail": "stub", "limit": 2}
        assert text(await client.call_tool("tool_search", asked)) == (
            "# functions of files\n\nasync def get_file(**others: Any) -> str:\n"
            '    """Shows what is in a file."""\n\n'
            "# functions of bench\n\nclass AddResult(TypedDict):\n    total: int\n\n"
            'async def add(*, a: int, b: int) -> AddResult:\n    """Adds two numbers."""'
        )
        blank = text(await client.call_tool("tool_search", {"query": " "}), failed=True)
        assert "query: this is blank" in blank
        assert "Nothing was found" in text(await client.call_tool("tool_search", {"query": "xylophone zebra"}))


@pytest.mark.behaviour("code.presentation", "law.withheld_in_search_and_code")
async def test_of_a_locked_tool_no_program_and_no_search_learns_a_word(means: ProgramBackend) -> None:
    async with connected(means) as (client, _):
        hidden = text(await client.call_tool("tool_search", {"query": "open_vault"}))
        told = text(await client.call_tool("tool_search", {"query": "open_vault", "include_disabled": True}))
        named = text(await client.call_tool("tool_search", {"query": "vault.open_vault", "detail": "stub"}))
        calls = await client.call_tool("python_execution", {"code": "await vault.open_vault()"})
        direct = text(await client.call_tool("open_vault", {}), failed=True)
    assert "open_vault of vault~vault (pending_approval)" in told
    assert "Ask the user" in told
    assert ran(calls)["error"] is not None
    assert ran(calls)["tool_calls"] == []
    assert "pending_approval" in direct
    assert SECRET not in "".join((hidden, told, named, direct, str(ran(calls))))


@pytest.mark.behaviour("code.presentation")
async def test_a_tool_called_by_its_own_name_is_told_to_be_a_function(means: ProgramBackend) -> None:
    async with connected(means) as (client, _):
        told = text(await client.call_tool("echo", {"text": "x"}), failed=True)
        with pytest.raises(MCPError, match="Did you mean 'tool_search'"):
            await client.call_tool("tool_serch", {})
    assert told == (
        "'echo' is not in this list of tools. Here it is a function: run a program with python_execution that says "
        "await bench.echo(...)."
    )


@pytest.mark.behaviour("code.presentation")
async def test_tools_that_always_stay_listed_are_called_by_their_own_names(means: ProgramBackend) -> None:
    kept = replace(DECLARED, presentation=PresentationSettings(always_visible=(PinnedEntry("echo", HERE),)))
    async with connected(means, kept) as (client, _):
        assert [tool.name for tool in (await client.list_tools()).tools] == [*NAMES, "echo"]
        assert text(await client.call_tool("echo", {"text": "hi"})) == "hi"


@pytest.mark.behaviour("code.same_rules")
@pytest.mark.parametrize("listed", [False, True])
async def test_what_the_operator_says_of_python_execution_holds_on_the_board_or_not(
    listed: bool, means: ProgramBackend
) -> None:
    barred = replace(
        DECLARED, code=CodeSettings(is_listed=listed), denials=(Denial(Pattern("builtin", "python_*"), HERE),)
    )
    async with connected(means, barred) as (client, workshop):
        told = text(await client.call_tool("python_execution", {"code": "1"}), failed=True)
    assert "disabled_by_config" in told
    [record] = workshop.audit.records
    assert (record.call.name, type(record.outcome).__name__) == ("python_execution", "LockedToolRefusal")


@pytest.mark.behaviour("code.same_rules")
async def test_a_launch_filter_without_python_execution_lets_no_program_run(means: ProgramBackend) -> None:
    only = parse_launch_filter({"deny_builtins": ["python_execution"]})
    assert isinstance(only, LaunchFilter)
    async with connected(means, view=View().with_filter(only)) as (client, _):
        told = text(await client.call_tool("python_execution", {"code": "1"}), failed=True)
    assert told.startswith("No programs can be run here: ")


@pytest.mark.behaviour("code.same_rules")
async def test_a_program_that_every_person_must_confirm_does_not_run_unasked(means: ProgramBackend) -> None:
    asks = Override(PYTHON_ID.toolset, PYTHON_ID, requires_confirmation=True, is_declared=True)
    async with connected(means, replace(DECLARED, overrides=(asks,))) as (client, _):
        assert [tool.name for tool in (await client.list_tools()).tools] == [*NAMES, "pegboard_ticket"]
        told = text(await client.call_tool("python_execution", {"code": "1"}), failed=True)
    assert "A person must confirm this call first, and there is nobody to ask here" in told


@pytest.mark.behaviour("code.presentation")
async def test_whoever_may_be_given_a_ticket_is_shown_how_to_wait_for_one(means: ProgramBackend) -> None:
    asks = Override(
        key("files").toolset, ToolId(key("files"), "delete_file"), requires_confirmation=True, is_declared=True
    )
    async with connected(means, replace(DECLARED, overrides=(asks,))) as (client, _):
        assert [tool.name for tool in (await client.list_tools()).tools] == [*NAMES, "pegboard_ticket"]
        waits = await client.call_tool("python_execution", {"code": "await files.delete_file()"})
    assert ran(waits)["error"]["type"] == "PermissionError"


@pytest.mark.behaviour("code.presentation")
async def test_a_gateway_without_a_sandbox_says_so() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            server = GatewayMcpServer(workshop.gateway, presentation=CodePresentation(workshop.gateway)).server
            async with Client(InMemoryTransport(server)) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["tool_search"]
                told = text(await client.call_tool("python_execution", {"code": "1"}), failed=True)
    assert told == "This gateway has no sandbox, so it runs no programs. Call the tools one by one."
