"""Prompts, resources, completions and subscriptions of real servers, through the gateway, in both eras."""

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp_types import (
    BlobResourceContents,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from tests.servers.everything.offers import IN_CONTEXT
from tests.surfaces.mcp.doubles import MemoryAudit
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODERN, MODES, http_client, served
from tests.surfaces.mcp.raw import ACCEPT, handshake
from tests.surfaces.mcp.shelves import WATCHED, Ear, does, everything, following, met, odd, shelved
from tests.surfaces.mcp.workshop import Workshop, key

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import PrincipalId, ServerKey, ToolsetId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import Trust
from pegboard.gateway.doctor import diagnose
from pegboard.gateway.gateway import Gateway
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
PLACES = pytest.mark.parametrize("where", ["http", "stdio"])
ERAS = pytest.mark.parametrize("mode", MODES)
SHELF, OTHER = key("shelf"), key("other")


async def prompts_of(client: Client) -> list[str]:
    return [each.name for each in (await client.list_prompts(cache_mode="bypass")).prompts]


async def resources_of(client: Client) -> list[str]:
    return [str(each.uri) for each in (await client.list_resources(cache_mode="bypass")).resources]


async def text_at(client: Client, uri: str) -> str:
    content = (await client.read_resource(uri, cache_mode="bypass")).contents[0]
    assert isinstance(content, TextResourceContents)
    return content.text


def in_memory(gateway: Gateway, view: View | None = None, mode: str = MODERN) -> Client:
    return Client(GatewayMcpServer(gateway, view).server, mode=mode)


@pytest.mark.behaviour("offers.listed", "offers.read", "offers.prompts", "offers.completions")
@ERAS
@PLACES
async def test_a_client_finds_reads_gets_and_completes_what_a_server_offers(where: str, mode: str) -> None:
    async with met(where, mode) as client:
        assert (await prompts_of(client))[:2] == ["test_simple_prompt", "test_prompt_with_arguments"]
        assert await resources_of(client) == ["test://static-text", "test://static-binary", WATCHED]
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["test://template/{id}/data"]
        assert await text_at(client, "test://static-text") == "This is the content of the static text resource."
        assert "Data for ID: 123" in await text_at(client, "test://template/123/data")
        picture = (await client.read_resource("test://static-binary")).contents[0]
        assert isinstance(picture, BlobResourceContents)
        got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert got.messages[0].content == TextContent(text="Prompt with arguments: arg1='a', arg2='b'")
        for ref, argument, words in (
            (PromptReference(name="test_prompt_with_arguments"), ("arg1", "par"), ["paris", "park", "party"]),
            (ResourceTemplateReference(uri="test://template/{id}/data"), ("id", "12"), ["123", "124"]),
        ):
            done = await client.complete(ref, {"name": argument[0], "value": argument[1]})
            assert done.completion.values == words


@pytest.mark.behaviour("offers.withheld_is_unknown", "offers.read")
@ERAS
async def test_what_nobody_offers_is_an_error_of_the_clients_era(mode: str) -> None:
    async with met("http", mode) as client:
        with pytest.raises(MCPError, match=r"There is no resource 'test://nothing' here\.") as refused:
            await client.read_resource("test://nothing")
        assert refused.value.error.code == (-32602 if mode == MODERN else -32002)
        assert refused.value.error.data == {"uri": "test://nothing"}
        with pytest.raises(MCPError, match="There is nothing called 'nothing' here") as refused:
            await client.get_prompt("nothing")
        assert refused.value.error.code == -32602
        # What the server itself says is passed on as it is.
        with pytest.raises(MCPError, match="needs arg1, arg2"):
            await client.get_prompt("test_prompt_with_arguments")


@pytest.mark.behaviour("offers.subscriptions", "offers.list_changed")
@ERAS
@PLACES
async def test_a_client_hears_of_updates_and_of_its_changed_prompts(where: str, mode: str) -> None:
    ear = Ear()
    async with met(where, mode, ear) as client:
        before = await prompts_of(client)
        await resources_of(client)
        async with following(client, WATCHED):
            await client.call_tool("test_trigger_resource_change")
            await ear.until(f"notifications/resources/updated {WATCHED}")
            assert await text_at(client, WATCHED) == "This is version 2 of the watched resource."
            await client.call_tool("test_trigger_prompt_change")
            await ear.until("notifications/prompts/list_changed")
            assert await prompts_of(client) == [*before, "test_comes_and_goes"]
            assert ear.told == []


@pytest.mark.behaviour("offers.subscriptions")
async def test_many_who_follow_one_resource_are_one_subscription_that_ends_with_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved(everything(SHELF, "handshake")) as gateway:
            provider = gateway.providers.provider(SHELF)
            assert provider is not None
            library = provider.resources
            assert library is not None
            asked: list[str] = []
            left = anyio.Event()
            subscribe, unsubscribe = library.subscribe, library.unsubscribe

            async def counted(uri: str, updated: object) -> object:
                asked.append(f"subscribe {uri}")
                return await subscribe(uri, updated)  # type: ignore[arg-type]  # handed on as it came

            async def counted_end(uri: str) -> None:
                asked.append(f"unsubscribe {uri}")
                await unsubscribe(uri)
                left.set()

            monkeypatch.setattr(library, "subscribe", counted)
            monkeypatch.setattr(library, "unsubscribe", counted_end)
            ears = [Ear(), Ear(), Ear()]
            async with (
                Client(GatewayMcpServer(gateway).server, mode=LEGACY, message_handler=ears[0].hear) as first,
                Client(GatewayMcpServer(gateway).server, mode=MODERN, message_handler=ears[1].hear) as second,
            ):
                async with following(first, WATCHED):
                    async with following(second, WATCHED):
                        await first.call_tool("test_trigger_resource_change")
                        for ear in ears[:2]:
                            await ear.until(f"notifications/resources/updated {WATCHED}")
                    await first.call_tool("test_trigger_resource_change")
                    await ears[0].until(f"notifications/resources/updated {WATCHED}")
                    assert ears[1].told == []
                    assert asked == [f"subscribe {WATCHED}"]
                await left.wait()
                assert asked == [f"subscribe {WATCHED}", f"unsubscribe {WATCHED}"]


@pytest.mark.behaviour("offers.subscriptions")
@ERAS
async def test_a_client_that_went_away_follows_nothing_any_more(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved(everything(SHELF)) as gateway, served(Workshop(gateway, MemoryAudit())) as url:
            async with http_client(url, mode=mode) as client, anyio.create_task_group() as tasks:

                async def follow() -> None:
                    async with following(client, WATCHED):
                        began.set()
                        await anyio.sleep_forever()

                began = anyio.Event()
                tasks.start_soon(follow)
                await began.wait()
                assert [uri for _, uri in gateway.subscriptions.followed_keys] == [WATCHED]
                tasks.cancel_scope.cancel()
            while gateway.subscriptions.followed_keys:
                await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("offers.nothing_lost")
@ERAS
async def test_members_that_no_protocol_knows_reach_the_client(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            shelved(odd(SHELF)) as gateway,
            served(Workshop(gateway, MemoryAudit())) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            listed = await _posted(http, url, mode, "prompts/list")
            assert listed["prompts"] == [
                {
                    "name": "odd one",
                    "vintage": 1987,
                    "_meta": {"example.org/a": [1, None]},
                    "icons": [{"src": "https://shelf.example/i.png"}],
                }
            ]
            read = await _posted(http, url, mode, "resources/read", uri="shelf://odd")
            content = {"uri": "shelf://odd", "text": "odd", "flavour": {"sweet": True}}
            assert {name: read[name] for name in ("contents", "mood")} == {"contents": [content], "mood": "calm"}
            if mode == MODERN:
                assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
                assert (read["ttlMs"], read["cacheScope"], read["resultType"]) == (0, "private", "complete")


async def _posted(http: httpx2.AsyncClient, url: str, mode: str, method: str, **params: object) -> dict[str, object]:
    if mode == MODERN:
        headers = {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        headers |= {"Mcp-Name": str(params["uri"])} if "uri" in params else {}
        meta: dict[str, object] = {f"io.modelcontextprotocol/{name}": {} for name in ("clientCapabilities",)}
        meta["io.modelcontextprotocol/protocolVersion"] = MODERN
        meta["io.modelcontextprotocol/clientInfo"] = {"name": "test", "version": "1"}
        params["_meta"] = meta
    else:
        headers = await handshake(http, url)
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = (await http.post(url, json=body, headers=headers)).json()
    assert "result" in answer, answer
    result: dict[str, object] = answer["result"]
    return result


NARROW = View().narrow(Selection(toolsets=TheseToolsets(("other",))))
ONE_TOOL = View().narrow(Selection(toolsets=TheseToolsets(("other",)), enabled=("mcp:shelf~shelf:test_simple_text",)))
STRANGER = View(PrincipalId("stranger"))


@pytest.mark.behaviour("offers.same_policy", "offers.strict_withholds", "offers.withheld_is_unknown")
@pytest.mark.parametrize(
    ("why", "view"),
    [
        ("toolset off", View()),
        ("server off", View()),
        ("strict", View()),
        ("in quarantine", View()),
        ("not granted", STRANGER),
        ("narrowed away", NARROW),
        ("only a tool of it", ONE_TOOL),
        ("not selected", View()),
    ],
)
async def test_what_a_view_is_not_given_is_neither_listed_nor_read_nor_followed(why: str, view: View) -> None:
    trust = Trust.STRICT if why == "strict" else Trust.OPEN
    server = everything(SHELF, trust=trust, quarantined=why == "in quarantine")
    selection = Selection(toolsets=TheseToolsets(("other",))) if why == "not selected" else Selection()
    grants = {STRANGER.principal: frozenset({ToolsetId("other")})}
    with anyio.fail_after(DEADLINE):
        async with shelved(server, odd(OTHER), selection=selection, grants=grants) as gateway:
            if why == "toolset off":
                await does(gateway, SetSwitch(SHELF.toolset, False))
            if why == "server off":
                await does(gateway, SetSwitch(SHELF, False))
            async with in_memory(gateway, view) as client:
                assert await prompts_of(client) == ["odd one"]
                assert await resources_of(client) == ["shelf://odd"]
                assert (await client.list_resource_templates()).resource_templates == []
                for uri in ("test://static-text", "test://template/1/data", "test://nothing"):
                    with pytest.raises(MCPError, match=f"There is no resource '{uri}' here"):
                        await client.read_resource(uri)
                for name in ("test_simple_prompt", "nothing"):
                    with pytest.raises(MCPError, match=f"There is nothing called '{name}' here"):
                        await client.get_prompt(name)
                    with pytest.raises(MCPError, match=f"There is nothing called '{name}' here"):
                        await client.complete(PromptReference(name=name), {"name": "arg1", "value": ""})
                async with client.listen(resource_subscriptions=[WATCHED]) as stream:
                    assert stream.honored.resource_subscriptions is None


@pytest.mark.behaviour("offers.same_policy", "offers.list_changed")
async def test_a_server_that_is_switched_off_takes_its_offers_along_and_is_followed_no_more() -> None:
    ear = Ear()
    with anyio.fail_after(DEADLINE):
        async with (
            shelved(everything(SHELF)) as gateway,
            Client(GatewayMcpServer(gateway).server, mode=LEGACY, message_handler=ear.hear) as client,
        ):
            assert WATCHED in await resources_of(client)
            async with following(client, WATCHED):
                await does(gateway, SetSwitch(SHELF, False))
                await ear.until("notifications/resources/list_changed")
                assert await resources_of(client) == []
                await does(gateway, SetSwitch(SHELF, True))
                # Followed again at the process that took the former one's place.
                await ear.until(f"notifications/resources/updated {WATCHED}")
                await client.call_tool("test_trigger_resource_change")
                await ear.until(f"notifications/resources/updated {WATCHED}")


@pytest.mark.behaviour("offers.doubles", "offers.prompts")
async def test_two_servers_with_the_same_names_and_uris_are_told_apart() -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved(everything(key("a")), everything(key("b"))) as gateway, in_memory(gateway) as client:
            names = await prompts_of(client)
            assert [name for name in names if "simple" in name] == ["a__test_simple_prompt", "b__test_simple_prompt"]
            assert len(set(names)) == len(names)
            got = await client.get_prompt("b__test_simple_prompt")
            assert got.messages[0].content == TextContent(text="This is a simple prompt for testing.")
            assert await resources_of(client) == ["test://static-text", "test://static-binary", WATCHED]
            assert await text_at(client, "test://static-text") == "This is the content of the static text resource."
            doubles = [finding for finding in diagnose(gateway.board) if finding.subject == "test://static-text"]
            assert [finding.message for finding in doubles] == [
                "a~a and b~b offer the resource 'test://static-text'; a~a answers for it."
            ]


@pytest.mark.behaviour("offers.crash")
async def test_a_server_that_dies_over_a_read_fails_it_and_leaves_the_others() -> None:
    dying = odd(ServerKey(ToolsetId("dying"), key("x").server), "deadly")
    with anyio.fail_after(DEADLINE):
        async with shelved(dying, everything(SHELF)) as gateway, in_memory(gateway) as client:
            with pytest.raises(MCPError, match=r"resources/read failed: dying~x exited with code 3") as failed:
                await client.read_resource("shelf://die")
            assert failed.value.error.code == -32603
            assert await text_at(client, "test://static-text") == "This is the content of the static text resource."


async def fill_in(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert isinstance(params, ElicitRequestFormParams)
    return ElicitResult(action="accept", content=dict.fromkeys(params.requested_schema["properties"], "a saw"))


@pytest.mark.behaviour("offers.prompts")
async def test_a_prompt_that_needs_input_first_gets_it_from_a_client_of_its_era() -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved(everything(SHELF, "stateless")) as gateway:
            server = GatewayMcpServer(gateway).server
            async with Client(server, mode=MODERN, elicitation_callback=fill_in) as client:
                got = await client.get_prompt(IN_CONTEXT)
                assert isinstance(got.messages[0].content, TextContent)
                assert "a saw" in got.messages[0].content.text
            async with Client(server, mode=LEGACY, elicitation_callback=fill_in) as client:
                with pytest.raises(MCPError, match="asks for further input"):
                    await client.get_prompt(IN_CONTEXT)
