"""What a server offers beside tools: listed, asked for and followed, over each transport and in each era."""

import json
from pathlib import Path

import anyio
import pytest
from tests.providers.mcp.running import KEY, PATIENCE, Watched, program, running
from tests.servers import peers

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.server import Connection, Http, Stdio, Transport
from pegboard.core.resources.requests import (
    ResourceAnswer,
    ResourceFailure,
    ResourceMethod,
    ResourceRefusal,
    ResourceResult,
    RoutedRequest,
)
from pegboard.providers.mcp.provider import McpServerProvider

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])
WAYS = pytest.mark.parametrize(
    ("transport", "era"),
    [
        ("stdio", "handshake"),
        ("stdio", "stateless"),
        ("http", "handshake"),
        ("http", "stateless"),
        ("sse", "handshake"),
    ],
)
WATCHED = "test://watched-resource"


def over_stdio(*arguments: str) -> Stdio:
    return program("everything", *arguments, cwd=str(peers.folder("everything")))


class Reached:
    """The everything-server of one era, for the length of a block."""

    def __init__(self, transport: str, era: str) -> None:
        self._transport = transport
        self._era = era

    async def __aenter__(self) -> Connection:
        if self._transport == "stdio":
            return over_stdio("--era", self._era)
        self._serving = peers.http("everything", "--era", self._era, transport=self._transport)
        return Http(await self._serving.__aenter__(), Transport(self._transport))

    async def __aexit__(self, *ended: object) -> None:
        if self._transport != "stdio":
            await self._serving.__aexit__(None, None, None)


async def ask(watched: Watched, method: ResourceMethod, **params: Json) -> ResourceAnswer:
    library = watched.provider.resources
    with anyio.fail_after(PATIENCE):
        return await library.request(RoutedRequest(KEY, method, dict(params)))


def told(answer: ResourceAnswer) -> JsonObject:
    assert isinstance(answer, ResourceResult), answer
    return answer.result


def text_of(answer: ResourceAnswer) -> str:
    contents = told(answer)["contents"]
    assert isinstance(contents, list)
    assert isinstance(contents[0], dict)
    return str(contents[0]["text"])


def keys(listing: Listing) -> tuple[list[str], list[str], list[str]]:
    offers = listing.resources
    return (
        [each.name for each in offers.prompts],
        [each.uri for each in offers.resources],
        [each.pattern for each in offers.templates],
    )


@pytest.mark.behaviour("offers.listed")
@WAYS
async def test_prompts_resources_and_templates_are_listed_as_they_came(transport: str, era: str) -> None:
    async with Reached(transport, era) as connection, running(connection) as watched:
        listing = await watched.up()
        assert listing.problems == ()
        assert keys(listing) == (
            [
                "test_simple_prompt",
                "test_prompt_with_arguments",
                "test_prompt_with_embedded_resource",
                "test_prompt_with_image",
                listing.resources.prompts[4].name,
            ],
            ["test://static-text", "test://static-binary", WATCHED],
            ["test://template/{id}/data"],
        )
        assert listing.resources.resources[0].body == {
            "uri": "test://static-text",
            "name": "static-text",
            "description": "A text.",
            "mimeType": "text/plain",
        }


@pytest.mark.behaviour("offers.read", "offers.prompts", "offers.completions")
@WAYS
async def test_what_is_asked_for_comes_back_whole(transport: str, era: str) -> None:
    async with Reached(transport, era) as connection, running(connection) as watched:
        await watched.up()
        text = await ask(watched, ResourceMethod.READ, uri="test://static-text")
        assert text_of(text) == "This is the content of the static text resource."
        made = await ask(watched, ResourceMethod.READ, uri="test://template/größe/data")
        assert '"id": "gr\\u00f6\\u00dfe"' in text_of(made)
        prompt = await ask(
            watched, ResourceMethod.GET, name="test_prompt_with_arguments", arguments={"arg1": "a", "arg2": "b"}
        )
        assert told(prompt)["messages"] == [
            {
                "role": "user",
                "content": {"type": "text", "text": "Prompt with arguments: arg1='a', arg2='b'"},
            }
        ]
        completed = await ask(
            watched,
            ResourceMethod.COMPLETE,
            ref={"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            argument={"name": "arg1", "value": "par"},
        )
        assert told(completed)["completion"] == {
            "values": ["paris", "park", "party"],
            "total": 3,
            "hasMore": False,
        }
        refused = await ask(watched, ResourceMethod.READ, uri="test://nothing")
        assert isinstance(refused, ResourceRefusal)
        assert refused.code == (-32002 if era == "handshake" else -32602)
        assert refused.data == {"uri": "test://nothing"}


@pytest.mark.behaviour("offers.list_changed")
@WAYS
async def test_a_prompt_that_comes_or_goes_is_listed_anew(transport: str, era: str) -> None:
    async with Reached(transport, era) as connection, running(connection) as watched:
        before = await watched.up()
        await watched.call("test_trigger_prompt_change")
        after = await watched.until(lambda listing: len(listing.resources.prompts) > len(before.resources.prompts))
        assert keys(after)[0][-1] == "test_comes_and_goes"
        assert after.tools == before.tools


@pytest.mark.behaviour("offers.subscriptions")
@WAYS
async def test_a_followed_resource_is_told_of_until_it_is_followed_no_more(transport: str, era: str) -> None:
    async with Reached(transport, era) as connection, running(connection) as watched:
        await watched.up()
        library = watched.provider.resources
        send, heard = anyio.create_memory_object_stream[str](100)
        with send, heard, anyio.fail_after(PATIENCE):
            assert isinstance(await library.subscribe(WATCHED, send.send_nowait), ResourceResult)
            await watched.call("test_trigger_resource_change")
            assert await heard.receive() == WATCHED
            await library.unsubscribe(WATCHED)
            await watched.call("test_trigger_resource_change")
            assert "version 3" in text_of(await ask(watched, ResourceMethod.READ, uri=WATCHED))
            assert heard.statistics().current_buffer_used == 0


@pytest.mark.behaviour("offers.subscriptions")
@ERAS
async def test_what_is_followed_is_followed_again_after_a_restart(era: str) -> None:
    async with running(over_stdio("--era", era)) as watched:
        await watched.up()
        library = watched.provider.resources
        send, heard = anyio.create_memory_object_stream[str](100)
        with send, heard, anyio.fail_after(PATIENCE):
            assert isinstance(await library.subscribe(WATCHED, send.send_nowait), ResourceResult)
            watched.provider.restart()
            await watched.until(lambda listing: not isinstance(listing.health, ProviderUp))
            await watched.up()
            # What may have changed meanwhile is told once, and then what does change.
            assert await heard.receive() == WATCHED
            await watched.call("test_trigger_resource_change")
            assert await heard.receive() == WATCHED


@pytest.mark.behaviour("offers.crash")
async def test_a_server_that_dies_over_a_read_fails_that_read_with_its_reason() -> None:
    async with running(program("shelves", "deadly")) as watched:
        await watched.up()
        failed = await ask(watched, ResourceMethod.READ, uri="shelf://die")
        assert failed == ResourceFailure("dev~peer exited with code 3 before it answered")


@pytest.mark.behaviour("offers.bounds")
async def test_ten_thousand_resources_and_bad_entries_among_them() -> None:
    async with running(program("shelves", "many")) as watched:
        listing = await watched.up()
        assert len(listing.resources.resources) == 10_000
        assert [(flaw.name, flaw.why.partition(":")[0]) for flaw in listing.problems] == [
            ("resource 10002 of the list", "is not an object"),
            ("resource 10003 of the list", "has no uri"),
            ("shelf://0", "is listed more than once as a resource"),
            ("shelf://nameless", "is no resource that a client could read"),
        ]
        assert len(watched.provider.listing().tools) == 1


@pytest.mark.behaviour("offers.bounds")
async def test_a_server_with_resources_that_knows_of_no_templates_has_none_and_no_flaw(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"tools": [], "marker": ""}), "utf-8")
    async with running(program("turncoat", str(state))) as watched:
        listing = await watched.up()
        assert (listing.resources.templates, listing.problems) == ((), ())


@pytest.mark.behaviour("offers.bounds")
async def test_a_list_without_end_is_cut_and_costs_the_tools_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard.providers.mcp.discovery.MAX_PAGES", 20)
    async with running(program("shelves", "endless")) as watched:
        listing = await watched.up()
        assert [tool.id.name for tool in listing.tools] == ["look"]
        assert len(listing.resources.resources) == 20
        assert [flaw.name for flaw in listing.problems] == ["the list of prompts", "the list of resources"]
        assert listing.problems[0].why.startswith('cannot be had: the server answered with an error: "out of order')


@pytest.mark.behaviour("offers.bounds")
async def test_twenty_megabytes_are_read_whole() -> None:
    async with running(program("shelves", "large")) as watched:
        await watched.up()
        assert len(text_of(await ask(watched, ResourceMethod.READ, uri="shelf://large"))) == 20_000_000


@pytest.mark.behaviour("offers.crash")
async def test_a_server_that_does_not_answer_a_read_is_given_up_and_told() -> None:
    async with running(program("shelves", "deadly")) as watched:
        await watched.up()
        provider: McpServerProvider = watched.provider
        with anyio.move_on_after(0.5) as given_up:
            await provider.resources.request(RoutedRequest(KEY, ResourceMethod.READ, {"uri": "shelf://wait"}))
        assert given_up.cancelled_caught
        # It reads one message after the other, so this answer tells that the cancellation was heard before.
        assert text_of(await ask(watched, ResourceMethod.READ, uri="shelf://cancelled")) == "1"


@pytest.mark.behaviour("offers.nothing_lost")
async def test_members_that_no_protocol_knows_are_kept_and_secrets_are_not() -> None:
    secret = "s3cr3t-of-the-shelf"
    async with running(program("shelves", "odd", env={"SHELF_TOKEN": secret})) as watched:
        listing = await watched.up()
        assert listing.resources.prompts[0].body == {
            "name": "odd one",
            "vintage": 1987,
            "_meta": {"example.org/a": [1, None]},
            "icons": [{"src": "https://shelf.example/i.png"}],
        }
        read = told(await ask(watched, ResourceMethod.READ, uri="shelf://odd"))
        assert read["mood"] == "calm"
        assert read["contents"] == [{"uri": "shelf://odd", "text": "odd", "flavour": {"sweet": True}}]
        refused = await ask(watched, ResourceMethod.READ, uri="shelf://leak")
        assert isinstance(refused, ResourceRefusal)
        assert (refused.code, refused.data) == (-1234, {"token": "•••"})
        assert secret not in refused.message
