"""Where the gateway's own tools are said to be is where clients are shown them."""

from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from tests.surfaces.mcp.workshop import DECLARED, HERE, key, open_workshop

from pegboard.core.commands.commands import SetOverride
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.settings import CodeSettings, PinnedEntry, PresentationMode, PresentationSettings
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.core.presentations.builtins import BUILTIN_TOOLS, FIXED_PRESENTATIONS
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio
CREATE_FILE = ToolId(key("files"), "create_file")
ASKS = SetOverride(Override(CREATE_FILE.toolset, CREATE_FILE, requires_confirmation=True))
LISTED = replace(DECLARED, code=CodeSettings(is_listed=True))


@pytest.fixture
async def means() -> AsyncIterator[ProgramBackend]:
    monty = MontySandbox(workers=1)
    try:
        yield ProgramBackend(lambda _: monty)
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


@pytest.mark.behaviour("why.builtins")
@pytest.mark.parametrize("presented", FIXED_PRESENTATIONS)
@pytest.mark.parametrize(
    ("declared", "asks"),
    [
        (DECLARED, False),
        (DECLARED, True),
        (LISTED, False),
        (replace(DECLARED, selection=Selection(TheseToolsets(()))), False),
        (replace(LISTED, selection=Selection(TheseToolsets(("files",)))), False),
        (replace(DECLARED, presentation=PresentationSettings(always_visible=(PinnedEntry("*:*", HERE),))), False),
        (replace(DECLARED, denials=(Denial(Pattern("*", "python_execution"), HERE),)), False),
    ],
)
async def test_every_builtin_is_where_it_is_said_to_be(
    means: ProgramBackend, presented: PresentationMode, declared: DeclaredSettings, asks: bool
) -> None:
    with anyio.fail_after(60):
        async with open_workshop(declared, programs=means) as workshop:
            if asks:
                await workshop.gateway.operator.execute(ASKS, LOCAL_PRINCIPAL)
            shown = presentation_of(presented, workshop.gateway)
            server = GatewayMcpServer(workshop.gateway, presentation=shown).server
            async with Client(InMemoryTransport(server), mode="auto") as client:
                listed = {tool.name for tool in (await client.list_tools()).tools} & BUILTIN_TOOLS
            places = {
                name: workshop.gateway.prompts.builtin_places(View(), name, presented)[0]
                for name in sorted(BUILTIN_TOOLS)
            }
    later = ("found by", "as soon as")
    there = {name for name, place in places.items() if place.is_listed and not any(word in place.why for word in later)}
    assert there == listed
    assert all(place.why for place in places.values())


@pytest.mark.behaviour("why.builtins")
async def test_each_builtin_is_told_of_every_endpoint_and_of_prompts() -> None:
    async with open_workshop() as workshop:
        told = {name: workshop.gateway.prompts.builtin_places(View(), name) for name in sorted(BUILTIN_TOOLS)}
    for places in told.values():
        assert [place.where for place in places] == [
            "/mcp and stdio, as direct",
            *(f"/mcp/{each.value}" for each in FIXED_PRESENTATIONS),
            "prompts and chats",
        ]
    [*_, code, prompts] = told["python_execution"]
    reason = "this gateway has no sandbox, so it runs no programs"
    assert (code.is_listed, code.why, prompts.is_listed, prompts.why) == (False, reason, False, reason)
    assert [place.why for place in told["execute_sql"] if not place.is_listed] == ["no database source is on"] * 7
    assert told["retrieve_tools"][0].why == "it belongs to /mcp/search"


@pytest.mark.behaviour("why.builtins")
async def test_tool_search_is_not_said_to_be_in_a_prompt_that_does_not_have_it() -> None:
    async with open_workshop(replace(DECLARED, selection=Selection(TheseToolsets(())))) as workshop:
        [*_, prompts] = workshop.gateway.prompts.builtin_places(View(), "tool_search")
    why = "no tool is deferred, so that there is nothing to tell the model to look for"
    assert (prompts.is_listed, prompts.why) == (False, why)
