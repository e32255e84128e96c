"""Tools of a server that have the names of a presentation's own: each call goes to the presentation's."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import anyio
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from tests.surfaces.mcp.places import DEADLINE
from tests.surfaces.mcp.workshop import BENCH, DECLARED, HERE, SHELVES, open_workshop, plain

from pegboard.core.model.settings import CodeSettings, PinnedEntry, PresentationSettings
from pegboard.core.presentations import code, meta, search
from pegboard.core.presentations import deferred_tools as deferred
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.surfaces.mcp.presentations.base import Presentation
from pegboard.surfaces.mcp.presentations.code import CodePresentation
from pegboard.surfaces.mcp.presentations.deferred_tools import DeferredPresentation
from pegboard.surfaces.mcp.presentations.search import MetaPresentation, SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio
OURS = ("python_execution", "pegboard_ticket")
OWN: Mapping[Callable[[Gateway], Presentation], tuple[str, ...]] = {
    CodePresentation: (*code.TOOLS, *OURS),
    DeferredPresentation: (*deferred.TOOLS, *OURS),
    MetaPresentation: (*meta.TOOLS, *OURS),
    SearchPresentation: (*search.TOOLS, *OURS),
}
NAMES = sorted({name for names in OWN.values() for name in names})


@pytest.fixture
async def means() -> AsyncIterator[ProgramBackend]:
    monty = MontySandbox(workers=1)
    try:
        yield ProgramBackend(lambda _: monty)
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


@pytest.mark.behaviour("programs.by_no_other", "confirmation.ticket_tool_is_the_gateways")
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("presentation", [*OWN])
async def test_what_is_meant_for_the_gateways_own_never_reaches_a_server(
    presentation: Callable[[Gateway], Presentation], listed: bool, means: ProgramBackend
) -> None:
    shelves = {**SHELVES, BENCH: {**SHELVES[BENCH], **plain("bench", *NAMES)}}
    kept = PresentationSettings(always_visible=(PinnedEntry("bench:*", HERE),))
    declared = replace(DECLARED, code=CodeSettings(is_listed=listed), presentation=kept)
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared, programs=means, shelves=shelves) as workshop:
            server = GatewayMcpServer(workshop.gateway, presentation=presentation(workshop.gateway)).server
            async with Client(InMemoryTransport(server)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert len({*names}) == len(names)
                for name in OWN[presentation]:
                    # Where it is not listed, that is the protocol's error.
                    with suppress(MCPError):
                        await client.call_tool(name, {"code": "1 + 1"})
                assert workshop.bench.admitted is None
                if presentation is CodePresentation:
                    ran = await client.call_tool("python_execution", {"code": "1 + 1"})
                    assert isinstance(ran, CallToolResult)
                    assert ran.structured_content is not None
                    assert ran.structured_content["result"] == 2
                    theirs = await client.call_tool("bench__python_execution", {})
                    assert isinstance(theirs, CallToolResult)
                    assert workshop.bench.admitted is not None
