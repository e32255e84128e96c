"""A built-in tool that the settings, a request or a filter takes away is off at every surface, with the same reason."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from tests.support.house import call_of
from tests.surfaces.mcp.places import DEADLINE, http_client, served
from tests.surfaces.mcp.workshop import DECLARED, HERE, Workshop, open_workshop

from pegboard.core.calls.call import LockedToolRefusal, ToolFailure
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.settings import PYTHON_ID, SEARCH, CodeSettings, PresentationMode
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.library.board import Board as LibraryBoard
from pegboard.prompts.model import Model
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.surfaces.mcp.endpoint import McpPaths
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio
MODEL = Model(3, name="m", tool_calling=True)
NOT_SELECTED = "the board's selection leaves it out"
SEARCH_ID = ToolId(PYTHON_ID.source, SEARCH)


@pytest.fixture
async def means() -> AsyncIterator[ProgramBackend]:
    monty = MontySandbox(workers=1)
    try:
        yield ProgramBackend(lambda _: monty)
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


async def listed(workshop: Workshop, presented: PresentationMode, view: View | None = None) -> set[str]:
    presentation = presentation_of(presented, workshop.gateway)
    server = GatewayMcpServer(workshop.gateway, view=view, presentation=presentation).server
    async with Client(InMemoryTransport(server), mode="auto") as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def called(workshop: Workshop, presented: PresentationMode, name: str, arguments: dict[str, object]) -> str:
    presentation = presentation_of(presented, workshop.gateway)
    server = GatewayMcpServer(workshop.gateway, presentation=presentation).server
    async with Client(InMemoryTransport(server), mode="auto") as client:
        try:
            result = await client.call_tool(name, arguments)
        except MCPError as error:
            return str(error)
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text if result.is_error else f"ran: {content.text}"


async def run(workshop: Workshop, view: View | None = None) -> str:
    """What `pegboard run`, POST /run and chats get."""
    ended = await workshop.gateway.calls.run_program(call_of("python_execution", {"code": "1 + 1"}), view or View())
    if isinstance(ended, ToolFailure):
        text = json.loads(ended.body)["content"][0]["text"]
        assert isinstance(text, str)
        return text
    return type(ended).__name__


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("entry", ["python_execution", "builtin:python_execution", "toolset:builtin", "*:python_*"])
@pytest.mark.parametrize("on_board", [False, True])
async def test_disabled_tools_switch_programs_off_at_every_surface(
    means: ProgramBackend, entry: str, on_board: bool
) -> None:
    declared = replace(DECLARED, code=CodeSettings(is_listed=on_board), selection=Selection(disabled=(entry,)))
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            assert "python_execution" not in await listed(workshop, PresentationMode.CODE)
            refused = await called(workshop, PresentationMode.CODE, "python_execution", {"code": "1 + 1"})
            assert refused == f"No programs can be run here: {NOT_SELECTED}."
            assert await run(workshop) == f"No programs can be run here: {NOT_SELECTED}."
            made = await workshop.gateway.prompts.prompt(View(), MODEL, "create a file")
            places = workshop.gateway.prompts.builtin_places(View(), "python_execution")
    assert "python_execution" not in [shape.name for shape in made.prompt.shapes]
    assert made.prompt.decision(PYTHON_ID).why == f"it is not in this view: {NOT_SELECTED}"
    assert [place.where for place in places if place.is_listed] == []
    assert places[-2].why == f"it is not in this view: {NOT_SELECTED}"


@pytest.mark.behaviour("builtins.disabled_everywhere")
async def test_a_misspelled_denial_locks_programs(means: ProgramBackend) -> None:
    declared = replace(DECLARED, selection=Selection(disabled=("python_executon",)))
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            assert await run(workshop) == "LockedToolRefusal"
            assert "python_execution" not in await listed(workshop, PresentationMode.CODE)


@pytest.mark.behaviour("builtins.disabled_everywhere")
async def test_a_locked_python_execution_is_not_listed_and_its_call_says_why(means: ProgramBackend) -> None:
    denied = Denial(Pattern("*", "python_execution"), HERE)
    with anyio.fail_after(DEADLINE):
        async with open_workshop(replace(DECLARED, denials=(denied,)), programs=means) as workshop:
            assert await listed(workshop, PresentationMode.CODE) == {"tool_search"}
            refused = await called(workshop, PresentationMode.CODE, "python_execution", {"code": "1 + 1"})
            [*_, code, _prompts] = workshop.gateway.prompts.builtin_places(View(), "python_execution")
    assert "disabled_by_config" in refused
    assert not code.is_listed


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("selection", [Selection(TheseToolsets(("files",))), Selection(TheseToolsets(()))])
async def test_toolsets_choose_among_what_is_on_the_board(means: ProgramBackend, selection: Selection) -> None:
    """Off the board python_execution is there whatever toolsets are named; on it, it is a tool like any other."""
    with anyio.fail_after(DEADLINE):
        async with open_workshop(DECLARED, selection=selection, programs=means) as workshop:
            assert "python_execution" in await listed(workshop, PresentationMode.CODE)
            assert await run(workshop) == "ToolSuccess"
        on_board = replace(DECLARED, code=CodeSettings(is_listed=True))
        async with open_workshop(on_board, selection=selection, programs=means) as workshop:
            assert "python_execution" not in await listed(workshop, PresentationMode.CODE)
            assert await run(workshop) == f"No programs can be run here: {NOT_SELECTED}."
            [*_, code, _prompts] = workshop.gateway.prompts.builtin_places(View(), "python_execution")
            assert (code.is_listed, code.why) == (False, f"it is not in this view: {NOT_SELECTED}")


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("on_board", [False, True])
async def test_a_request_takes_python_execution_and_tool_search_away(means: ProgramBackend, on_board: bool) -> None:
    declared = replace(DECLARED, code=CodeSettings(is_listed=on_board))
    header = {"X-Mcp-Disabled-Tools": "python_execution, tool_search"}
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(declared, programs=means) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(f"{url}/code", headers=header) as client,
        ):
            assert (await client.list_tools()).tools == []
            assert (await client.call_tool("python_execution", {"code": "1 + 1"})).is_error
            narrowed = View().narrow(Selection(disabled=("python_execution",)))
            assert "narrowing leaves it out" in await run(workshop, narrowed)


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize(
    ("declared", "why", "refusal"),
    [
        (
            replace(DECLARED, selection=Selection(disabled=("tool_search",))),
            f"it is not in this view: {NOT_SELECTED}",
            "There is no tool 'tool_search' here",
        ),
        (replace(DECLARED, denials=(Denial(Pattern("*", "tool_search"), HERE),)), "it is locked", "disabled_by_config"),
    ],
)
async def test_tool_search_is_off_at_every_surface(
    means: ProgramBackend, declared: DeclaredSettings, why: str, refusal: str
) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            for presented, others in (
                (PresentationMode.CODE, {"python_execution"}),
                (PresentationMode.DEFERRED, {"call_tool"}),
            ):
                assert await listed(workshop, presented) == others
                assert refusal in await called(workshop, presented, "tool_search", {"query": "create a file"})
            made = await workshop.gateway.prompts.prompt(View(), MODEL, "create a file")
            found = await LibraryBoard(workshop.gateway).automatic_search("create a file")
            places = workshop.gateway.prompts.builtin_places(View(), "tool_search")
    assert made.prompt.decision(SEARCH_ID).why.startswith(why)
    assert not made.automatic.has_run
    assert [each.why for each in made.automatic.decisions] == [made.prompt.decision(SEARCH_ID).why]
    assert found.tools == ()
    assert [place.where for place in places if place.is_listed] == []


@pytest.mark.behaviour("builtins.disabled_everywhere")
async def test_a_locked_search_is_recorded_as_refused(means: ProgramBackend) -> None:
    denied = Denial(Pattern("*", "tool_search"), HERE)
    with anyio.fail_after(DEADLINE):
        async with open_workshop(replace(DECLARED, denials=(denied,)), programs=means) as workshop:
            await called(workshop, PresentationMode.CODE, "tool_search", {"query": "file"})
            [record] = workshop.audit.records
    assert isinstance(record.outcome, LockedToolRefusal)
