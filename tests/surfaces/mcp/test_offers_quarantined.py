"""What a server in quarantine has beside tools: it is not even started, and nobody gets anything of it anywhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from tests.surfaces.mcp.doubles import MemoryAudit
from tests.surfaces.mcp.places import DEADLINE, MODERN, MODES, http_client, served
from tests.surfaces.mcp.shelves import WATCHED, does, everything, following, shelved
from tests.surfaces.mcp.workshop import HERE, Workshop, key

from pegboard.core.commands.commands import AddServer, ReleaseServer
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.model.server import InstalledBy, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.gateway.gateway import Gateway
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint, McpPaths
from pegboard.surfaces.mcp.presentations.search import SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
GUEST = key("guest")
PLACES = ("memory", "short", "long", "search in memory", "search over HTTP")


@asynccontextmanager
async def client_at(place: str, gateway: Gateway, mode: str) -> AsyncIterator[Client]:
    if "memory" in place:
        presentation = SearchPresentation(gateway) if place.startswith("search") else None
        async with Client(GatewayMcpServer(gateway, presentation=presentation).server, mode=mode) as client:
            yield client
        return
    app = McpPaths(gateway) if place.startswith("search") else McpHttpEndpoint(gateway, short=place == "short")
    path = "/search" if place.startswith("search") else ""
    async with (
        served(Workshop(gateway, MemoryAudit()), app=app) as url,
        http_client(f"{url}{path}", mode=mode) as client,
    ):
        yield client


async def add_guest(gateway: Gateway, trust: Trust) -> None:
    server = everything(GUEST, origin=InstalledBy(LOCAL_PRINCIPAL, gateway.clock()), trust=trust, quarantined=True)
    await does(gateway, AddServer(server, Toolset(GUEST.toolset, HERE, user_mcp=True)))


@pytest.mark.behaviour("offers.quarantine_withholds", "law.withheld_stays_withheld")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("trust", [Trust.OPEN, Trust.BASELINE])
async def test_nothing_of_a_server_in_quarantine_is_listed_read_completed_or_followed(
    place: str, mode: str, trust: Trust
) -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved() as gateway, client_at(place, gateway, mode) as client:
            await add_guest(gateway, trust)
            assert (await client.list_prompts()).prompts == []
            assert (await client.list_resources()).resources == []
            assert (await client.list_resource_templates()).resource_templates == []
            for uri in ("test://static-text", "test://template/1/data"):
                with pytest.raises(MCPError, match=f"There is no resource '{uri}' here"):
                    await client.read_resource(uri)
            with pytest.raises(MCPError, match="There is nothing called 'test_simple_prompt' here"):
                await client.get_prompt("test_simple_prompt")
            for ref in (
                PromptReference(name="test_simple_prompt"),
                ResourceTemplateReference(uri="test://template/{id}"),
            ):
                with pytest.raises(MCPError, match="There is nothing called"):
                    await client.complete(ref, {"name": "id", "value": ""})
            if mode == MODERN:
                async with client.listen(resource_subscriptions=[WATCHED]) as stream:
                    assert stream.honored.resource_subscriptions is None
            else:
                with pytest.raises(MCPError, match=f"There is no resource '{WATCHED}' here"):
                    await client.session.subscribe_resource(WATCHED)
            assert gateway.providers.provider(GUEST) is None


@pytest.mark.behaviour("offers.quarantine_withholds", "offers.strict_withholds")
@pytest.mark.parametrize("trust", [Trust.BASELINE, Trust.STRICT])
async def test_once_it_is_let_out_its_trust_says_whether_its_prompts_and_resources_pass(trust: Trust) -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved() as gateway, client_at("memory", gateway, MODERN) as client:
            await add_guest(gateway, trust)
            await does(gateway, ReleaseServer(GUEST))
            with gateway.board.changes.subscribe() as bell:
                while not gateway.board.catalogue.listings[GUEST].resources.resources:
                    await bell.wait()
            listed = [str(each.uri) for each in (await client.list_resources(cache_mode="bypass")).resources]
            assert (WATCHED in listed) is (trust is Trust.BASELINE)
            if trust is Trust.BASELINE:
                async with following(client, WATCHED):
                    pass
            # Its tools wait under either.
            assert [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools] == []
