"""Two people at one endpoint, each with a credential of their own for the server behind it, both eras at once."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp_types import INVALID_REQUEST
from tests.providers.mcp.running import KEY
from tests.providers.mcp.test_per_caller import OWN, owners
from tests.surfaces.mcp.doubles import MemoryAudit, MemoryStore
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served
from tests.surfaces.mcp.raw import ask, error_of, modern, modern_headers
from tests.surfaces.mcp.workshop import HERE, Workshop

from pegboard.config.references import expander_for_callers
from pegboard.core.model.catalogue import ProviderAsleep
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import Http, Server, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.gateway import open_gateway
from pegboard.providers.mcp import mcp_provider
from pegboard.surfaces.mcp.results import provider_failure_message

pytestmark = pytest.mark.anyio


def now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def shared(url: str, *others: Server) -> AsyncIterator[Workshop]:
    """A gateway before that server, alone when it has been told that it lists nothing for nobody, or with others."""
    expand_for = expander_for_callers({}, Path())
    own = Server(KEY, Http(url, headers=OWN), HERE, trust=Trust.BASELINE)
    declared = DeclaredSettings(
        {each.key: each for each in (own, *others)},
        {key.toolset: Toolset(key.toolset, HERE) for key in (KEY, *(each.key for each in others))},
    )
    audit = MemoryAudit()
    async with open_gateway(
        declared, MemoryStore(), audit, lambda server: mcp_provider(server, expand_for, now), now
    ) as gateway:
        with gateway.board.changes.subscribe() as bell:
            while not others and not isinstance(gateway.board.catalogue.health(KEY), ProviderAsleep):
                await bell.wait()
        assert await gateway.board.wait_until_started(DEADLINE)
        yield Workshop(gateway, audit)


@pytest.mark.behaviour("per_caller.never_crossed", "per_caller.listed_by_the_first_caller")
async def test_two_callers_under_load_over_http_are_each_served_as_themselves_in_both_eras() -> None:
    heard: dict[str, list[str]] = {"alice": [], "bob": []}

    async def work(url: str, name: str, mode: str) -> None:
        async with http_client(url, {"X-Owner-Token": f"token-of-{name}"}, mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert sorted(tools) == ["blurt", "crossings", "whose"]
            for turn in range(25):
                answer = await client.call_tool("whose", {"pause": 0.001 * (turn % 3)})
                heard[name].append(json.loads(answer.model_dump_json())["content"][0]["text"])

    with anyio.fail_after(DEADLINE):
        async with owners() as upstream, shared(upstream) as workshop, served(workshop) as url:
            async with httpx2.AsyncClient(timeout=DEADLINE) as http:
                without = await ask(http, url, "tools/list")
                assert without.json()["result"]["tools"] == []
                first = await ask(http, url, "tools/list", {"x-owner-token": "token-of-alice"})
                assert len(first.json()["result"]["tools"]) == 3, "whoever comes first is shown what it brought about"
            async with anyio.create_task_group() as tasks:
                for name in heard:
                    for mode in (*MODES, *MODES):
                        tasks.start_soon(work, url, name, mode)
            async with httpx2.AsyncClient(timeout=DEADLINE) as http:
                refused = await ask(http, url, "tools/call", name="whose", arguments={})
                told = await ask(
                    http, url, "tools/call", {"x-owner-token": "token-of-bob"}, name="crossings", arguments={}
                )
    assert heard == {"alice": ["alice"] * 100, "bob": ["bob"] * 100}
    assert json.loads(told.json()["result"]["content"][0]["text"])["crossed"] == 0
    why = f"{KEY} was not asked: it needs a header of your own: send X-Owner-Token with your request"
    assert refused.json()["result"]["content"][0]["text"] == provider_failure_message("whose", why, may_have_run=False)
    assert "token-of" not in repr(workshop.audit.records)


@pytest.mark.behaviour("per_caller.offers_in_own_name")
@pytest.mark.parametrize("mode", MODES)
async def test_two_callers_read_one_resource_and_each_gets_its_own(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with owners() as upstream, shared(upstream) as workshop, served(workshop) as url:
            for name in ("alice", "bob", "alice"):
                async with http_client(url, {"X-Owner-Token": f"token-of-{name}"}, mode=mode) as client:
                    listed = await client.list_resource_templates()
                    assert [each.uri_template for each in listed.resource_templates] == ["diary://{page}"]
                    read = json.loads((await client.read_resource("diary://monday")).model_dump_json())
                    assert read["contents"][0]["text"] == f"monday of {name}"
            async with http_client(url, mode=mode) as client:
                with pytest.raises(MCPError, match="send X-Owner-Token with your request"):
                    await client.read_resource("diary://monday")


@pytest.mark.behaviour("offers.header_hides_nothing")
async def test_a_server_that_needs_a_header_hides_no_uri_of_another_from_those_without_it() -> None:
    other_key = ServerKey(ToolsetId("zz"), ServerId("other"))
    with anyio.fail_after(DEADLINE):
        async with owners("--open") as upstream:
            other = Server(
                other_key, Http(upstream, headers={"Authorization": "Bearer token-of-bob"}), HERE, trust=Trust.BASELINE
            )
            async with shared(upstream, other) as workshop, served(workshop) as url:
                for headers, whose in (
                    ({"X-Owner-Token": "token-of-alice"}, "monday of alice"),
                    ({}, "monday of bob"),
                ):
                    async with http_client(url, headers) as client:
                        read = json.loads((await client.read_resource("diary://monday")).model_dump_json())
                        assert read["contents"][0]["text"] == whose


@pytest.mark.behaviour("per_caller.one_credential")
async def test_a_credential_that_is_given_twice_is_refused_and_no_server_asked() -> None:
    with anyio.fail_after(DEADLINE):
        async with owners() as upstream, shared(upstream) as workshop, served(workshop) as url:
            message = modern("tools/call", name="whose", arguments={})
            async with httpx2.AsyncClient(timeout=DEADLINE) as http:
                first = await ask(http, url, "tools/list", {"x-owner-token": "token-of-alice"})
                assert len(first.json()["result"]["tools"]) == 3
                for second in ("token-of-bob", "token-of-alice", ""):
                    given = [*modern_headers(message).items(), ("X-Owner-Token", "token-of-alice")]
                    answer = await http.post(url, json=message, headers=[*given, ("x-owner-token", second)])
                    assert error_of(answer) == (
                        400,
                        INVALID_REQUEST,
                        "The header x-owner-token is given more than once. Send it once.",
                    )
                others = [*modern_headers(message).items(), ("X-Owner-Token", "token-of-alice"), ("x-a", "1")]
                answer = await http.post(url, json=message, headers=[*others, ("x-a", "2")])
                assert answer.json()["result"]["content"][0]["text"] == "alice"
            assert [record.call.name for record in workshop.audit.records] == ["whose"]
