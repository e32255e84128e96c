"""Prompts, resources and completions of a server that every caller reaches with their own credentials."""

import anyio
import pytest
from tests.providers.mcp.running import KEY, PATIENCE, server
from tests.providers.mcp.test_per_caller import OWN, Callers, owners, running, said, token

from pegboard.core.json.values import JsonObject
from pegboard.core.model.catalogue import ProviderAsleep, ProviderUp
from pegboard.core.model.server import Http, Transport
from pegboard.core.resources.requests import (
    MissingCallerInput,
    ResourceAnswer,
    ResourceMethod,
    ResourceResult,
    RoutedRequest,
)

pytestmark = pytest.mark.anyio

DIARY: JsonObject = {"uri": "diary://monday"}
QUESTIONS: tuple[tuple[ResourceMethod, JsonObject], ...] = (
    (ResourceMethod.READ, DIARY),
    (ResourceMethod.GET, {"name": "greeting"}),
    (
        ResourceMethod.COMPLETE,
        {"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "who", "value": ""}},
    ),
)


async def asked(
    callers: Callers, headers: dict[bytes, bytes], method: ResourceMethod, params: JsonObject
) -> ResourceAnswer:
    library = callers.provider.resources
    assert library is not None
    with anyio.fail_after(PATIENCE):
        return await library.request(RoutedRequest(KEY, method, params, headers))


def words(answer: ResourceAnswer) -> object:
    assert isinstance(answer, ResourceResult), answer
    match answer.result:
        case {"contents": [{"text": text}]} | {"messages": [{"content": {"text": text}}]}:
            return text
        case {"completion": {"values": [text]}}:
            return text
        case _:
            return answer.result


@pytest.mark.behaviour("per_caller.offers_in_own_name")
@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize("lists", [("--open",), ()])
async def test_each_caller_reads_fills_in_and_completes_with_its_own_rights(
    transport: str, lists: tuple[str, ...]
) -> None:
    async with (
        owners(*lists, transport=transport) as url,
        running(server(Http(url, Transport(transport), OWN))) as callers,
    ):
        await callers.until(ProviderUp if lists else ProviderAsleep)
        heard: dict[str, list[object]] = {"alice": [], "bob": []}

        async def ask(name: str) -> None:
            for _ in range(3):
                heard[name] += [words(await asked(callers, token(name), *question)) for question in QUESTIONS]

        async with anyio.create_task_group() as tasks:
            for name in heard:
                tasks.start_soon(ask, name)
        for name, found in heard.items():
            assert found == [f"monday of {name}", f"Hello {name}", name] * 3
        assert said(await callers.call(token("bob"), "whose")) == "bob"
        assert '"crossed": 0' in said(await callers.call(token("bob"), "crossings"))


@pytest.mark.behaviour("per_caller.missing_header_is_told")
async def test_without_the_header_nothing_is_asked_in_anybody_s_name() -> None:
    told = MissingCallerInput(
        f"{KEY} was not asked: it needs a header of your own: send X-Owner-Token with your request."
    )
    async with owners("--open") as url, running(server(Http(url, headers=OWN))) as callers:
        await callers.until(ProviderUp)
        for question in QUESTIONS:
            assert await asked(callers, {}, *question) == told


@pytest.mark.behaviour("per_caller.offers_in_own_name")
async def test_what_callers_were_listed_is_offered_where_the_server_lists_nothing_for_nobody() -> None:
    async with owners() as url, running(server(Http(url, headers=OWN))) as callers:
        assert (await callers.until(ProviderAsleep)).resources.templates == ()
        assert callers.provider.announce_caller(token("alice"))
        offers = (await callers.until(ProviderUp)).resources
        assert [template.pattern for template in offers.templates] == ["diary://{page}"]
        assert [prompt.name for prompt in offers.prompts] == ["greeting"]
