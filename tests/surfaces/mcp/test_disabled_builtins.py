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

from pegboard.core.call import ToolFailed, ToolIsLocked
from pegboard.core.code import PYTHON_ID, CodeSettings
from pegboard.core.ids import ToolId
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Declared, Denial
from pegboard.core.presentations import Presented
from pegboard.core.prompting import SEARCH
from pegboard.core.selection import Selection, TheseToolsets
from pegboard.core.view import View
from pegboard.gateway.code.code import Means
from pegboard.gateway.programs import program
from pegboard.gateway.prompting import builtin_places_of, prompted
from pegboard.library.board import Board as LibraryBoard
from pegboard.prompts.model import Model
from pegboard.providers.builtin.sandbox.monty import MontySandbox
from pegboard.surfaces.mcp.paths import McpPaths
from pegboard.surfaces.mcp.presentations import presentation_of
from pegboard.surfaces.mcp.server import McpServer

pytestmark = pytest.mark.anyio
MODEL = Model(3, name="m", tool_calling=True)
NOT_SELECTED = "the board's selection leaves it out"
SEARCH_ID = ToolId(PYTHON_ID.source, SEARCH)


@pytest.fixture
async def means() -> AsyncIterator[Means]:
    monty = MontySandbox(workers=1)
    try:
        yield Means(lambda _: monty)
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


async def listed(workshop: Workshop, presented: Presented, view: View | None = None) -> set[str]:
    presentation = presentation_of(presented, workshop.gateway)
    server = McpServer(workshop.gateway, view=view, presentation=presentation).server
    async with Client(InMemoryTransport(server), mode="auto") as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def called(workshop: Workshop, presented: Presented, name: str, arguments: dict[str, object]) -> str:
    presentation = presentation_of(presented, workshop.gateway)
    server = McpServer(workshop.gateway, presentation=presentation).server
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
    ended = await program(workshop.gateway, call_of("python_execution", {"code": "1 + 1"}), view or View())
    if isinstance(ended, ToolFailed):
        text = json.loads(ended.body)["content"][0]["text"]
        assert isinstance(text, str)
        return text
    return type(ended).__name__


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("entry", ["python_execution", "builtin:python_execution", "toolset:builtin", "*:python_*"])
@pytest.mark.parametrize("on_board", [False, True])
async def test_disabled_tools_switch_programs_off_at_every_surface(means: Means, entry: str, on_board: bool) -> None:
    declared = replace(DECLARED, code=CodeSettings(listed=on_board), selection=Selection(disabled=(entry,)))
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            assert "python_execution" not in await listed(workshop, Presented.CODE)
            refused = await called(workshop, Presented.CODE, "python_execution", {"code": "1 + 1"})
            assert refused == f"No programs can be run here: {NOT_SELECTED}."
            assert await run(workshop) == f"No programs can be run here: {NOT_SELECTED}."
            made = await prompted(workshop.gateway, View(), MODEL, "create a file")
            places = builtin_places_of(workshop.gateway, View(), "python_execution")
    assert "python_execution" not in [shape.name for shape in made.prompt.shapes]
    assert made.prompt.ruling(PYTHON_ID).why == f"it is not in this view: {NOT_SELECTED}"
    assert [place.where for place in places if place.is_there] == []
    assert places[-2].why == f"it is not in this view: {NOT_SELECTED}"


@pytest.mark.behaviour("builtins.disabled_everywhere")
async def test_a_misspelled_denial_locks_programs(means: Means) -> None:
    declared = replace(DECLARED, selection=Selection(disabled=("python_executon",)))
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            assert await run(workshop) == "ToolIsLocked"
            assert "python_execution" not in await listed(workshop, Presented.CODE)


@pytest.mark.behaviour("builtins.disabled_everywhere")
async def test_a_locked_python_execution_is_not_listed_and_its_call_says_why(means: Means) -> None:
    denied = Denial(Pattern("*", "python_execution"), HERE)
    with anyio.fail_after(DEADLINE):
        async with open_workshop(replace(DECLARED, denials=(denied,)), programs=means) as workshop:
            assert await listed(workshop, Presented.CODE) == {"tool_search"}
            refused = await called(workshop, Presented.CODE, "python_execution", {"code": "1 + 1"})
            [*_, code, _prompts] = builtin_places_of(workshop.gateway, View(), "python_execution")
    assert "disabled_by_config" in refused
    assert not code.is_there


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("selection", [Selection(TheseToolsets(("files",))), Selection(TheseToolsets(()))])
async def test_toolsets_choose_among_what_is_on_the_board(means: Means, selection: Selection) -> None:
    """Off the board python_execution is there whatever toolsets are named; on it, it is a tool like any other."""
    with anyio.fail_after(DEADLINE):
        async with open_workshop(DECLARED, selection=selection, programs=means) as workshop:
            assert "python_execution" in await listed(workshop, Presented.CODE)
            assert await run(workshop) == "Returned"
        on_board = replace(DECLARED, code=CodeSettings(listed=True))
        async with open_workshop(on_board, selection=selection, programs=means) as workshop:
            assert "python_execution" not in await listed(workshop, Presented.CODE)
            assert await run(workshop) == f"No programs can be run here: {NOT_SELECTED}."
            [*_, code, _prompts] = builtin_places_of(workshop.gateway, View(), "python_execution")
            assert (code.is_there, code.why) == (False, f"it is not in this view: {NOT_SELECTED}")


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("on_board", [False, True])
async def test_a_request_takes_python_execution_and_tool_search_away(means: Means, on_board: bool) -> None:
    declared = replace(DECLARED, code=CodeSettings(listed=on_board))
    header = {"X-Mcp-Disabled-Tools": "python_execution, tool_search"}
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(declared, programs=means) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(f"{url}/code", headers=header) as client,
        ):
            assert (await client.list_tools()).tools == []
            assert (await client.call_tool("python_execution", {"code": "1 + 1"})).is_error
            narrowed = View().narrowed(Selection(disabled=("python_execution",)))
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
async def test_tool_search_is_off_at_every_surface(means: Means, declared: Declared, why: str, refusal: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means) as workshop:
            for presented, others in ((Presented.CODE, {"python_execution"}), (Presented.DEFERRED, {"call_tool"})):
                assert await listed(workshop, presented) == others
                assert refusal in await called(workshop, presented, "tool_search", {"query": "create a file"})
            made = await prompted(workshop.gateway, View(), MODEL, "create a file")
            found = await LibraryBoard(workshop.gateway).automatic_search("create a file")
            places = builtin_places_of(workshop.gateway, View(), "tool_search")
    assert made.prompt.ruling(SEARCH_ID).why.startswith(why)
    assert not made.automatic.ran
    assert [each.why for each in made.automatic.decisions] == [made.prompt.ruling(SEARCH_ID).why]
    assert found.tools == ()
    assert [place.where for place in places if place.is_there] == []


@pytest.mark.behaviour("builtins.disabled_everywhere")
async def test_a_locked_search_is_recorded_as_refused(means: Means) -> None:
    denied = Denial(Pattern("*", "tool_search"), HERE)
    with anyio.fail_after(DEADLINE):
        async with open_workshop(replace(DECLARED, denials=(denied,)), programs=means) as workshop:
            await called(workshop, Presented.CODE, "tool_search", {"query": "file"})
            [record] = workshop.audit.records
    assert isinstance(record.ended, ToolIsLocked)
