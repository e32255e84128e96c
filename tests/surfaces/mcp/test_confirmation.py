"""A tool that must be confirmed, for every kind of client: asked where it can be, given a ticket where it cannot."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client._memory import InMemoryTransport
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from tests.surfaces.mcp.bench import tool
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served
from tests.surfaces.mcp.raw import ask, handshake
from tests.surfaces.mcp.workshop import BENCH, DECLARED, SHELVES, Workshop, open_workshop

from pegboard.core.calls.call import ConfirmationRefusal
from pegboard.core.calls.tickets import ConsentScope
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import Override
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio

ECHO = ToolId(BENCH, "echo")
CONFIRMED = replace(
    DECLARED,
    overrides=(*DECLARED.overrides, Override(BENCH.toolset, ECHO, requires_confirmation=True, is_declared=True)),
)
SAID = {"text": "hello"}
PLACES = ("short", "long", "memory", "meta", "search")


@dataclass
class Place:
    """One gateway, and clients of it in each era by each road."""

    workshop: Workshop
    name: str
    url: str
    stack: AsyncExitStack

    async def client(self, mode: str, answer: ElicitResult | None = None, asked: list[str] | None = None) -> Client:
        async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            assert answer is not None
            (asked if asked is not None else []).append(params.message)
            return answer

        options: dict[str, Any] = {"mode": mode}
        if answer is not None:
            options["elicitation_callback"] = elicit
        if self.name in ("memory", "meta", "search"):
            gateway = self.workshop.gateway
            presented = PresentationMode.DIRECT if self.name == "memory" else PresentationMode(self.name)
            server = GatewayMcpServer(gateway, presentation=presentation_of(presented, gateway)).server
            return await self.stack.enter_async_context(Client(InMemoryTransport(server), **options))
        return await self.stack.enter_async_context(http_client(self.url, **options))

    async def call(self, client: Client, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """As the place presents its tools: as themselves, or through `call_tool`."""
        if self.name == "meta":
            return await client.call_tool("call_tool", {"tool": name, "input": arguments})
        if self.name == "search":
            return await client.call_tool("call_tool", {"name": name, "arguments": arguments})
        return await client.call_tool(name, arguments)

    @property
    def ran(self) -> bool:
        return self.workshop.bench.admitted is not None

    async def allow(self, scope: ConsentScope = ConsentScope.ONCE) -> str:
        """As a person at the command line does, to the one ticket that waits."""
        (ticket,) = await self.workshop.gateway.tickets.pending_tickets()
        await self.workshop.gateway.tickets.allow(ticket.id, scope, LOCAL_PRINCIPAL)
        return ticket.id


@pytest.fixture(params=PLACES)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    url = f"sqlite:///{tmp_path / 'pegboard.db'}"
    with anyio.fail_after(DEADLINE):
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(
                open_store(url, clock=lambda: datetime.now(UTC), key=key_of({}, tmp_path))
            )
            workshop = await stack.enter_async_context(open_workshop(CONFIRMED, tickets=store.tickets))
            app = McpHttpEndpoint(workshop.gateway, short=request.param == "short")
            served_at = (
                await stack.enter_async_context(served(workshop, app=app)) if request.param in ("short", "long") else ""
            )
            async with AsyncExitStack() as clients:
                yield Place(workshop, request.param, served_at, clients)


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


YES = ElicitResult(action="accept", content={"answer": "yes"})


@pytest.mark.behaviour("confirmation.every_client", "confirmation.asked_before_execution")
@pytest.mark.parametrize("mode", MODES)
async def test_the_user_is_asked_through_their_client_and_a_yes_runs_the_call(place: Place, mode: str) -> None:
    asked: list[str] = []
    client = await place.client(mode, YES, asked)
    result = await place.call(client, "echo", SAID)
    assert (text(result), bool(result.is_error)) == ("hello", False)
    (message,) = asked
    assert message.startswith("May the tool 'echo' of 'bench~bench' run now? The call comes from 'mcp")
    assert message.endswith('Its arguments, to the letter: {"text": "hello"}')


@pytest.mark.behaviour("confirmation.every_client", "confirmation.one_decision_one_call")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "answer",
    [
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
        ElicitResult(action="accept", content={"answer": "no"}),
        ElicitResult(action="accept", content={}),
    ],
    ids=["decline", "cancel", "no", "nothing"],
)
async def test_without_a_yes_the_call_does_not_run_and_the_model_is_told(
    place: Place, mode: str, answer: ElicitResult
) -> None:
    client = await place.client(mode, answer)
    result = await place.call(client, "echo", SAID)
    assert result.is_error
    assert text(result).startswith("confirmation_denied: ")
    assert text(result).endswith("Do not try it again or in another way, unless the user asks you to.")
    assert not place.ran


@pytest.mark.behaviour("confirmation.every_client", "confirmation.ticket")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_be_asked_gets_a_ticket_and_repeats_its_call(place: Place, mode: str) -> None:
    client = await place.client(mode)
    result = await place.call(client, "echo", SAID)
    assert result.is_error
    assert not place.ran
    ticket = await place.allow()
    assert f"pegboard tickets allow {ticket}" in text(result)
    assert text(await place.call(client, "echo", SAID)) == "hello"
    assert (await place.call(client, "echo", SAID)).is_error


@pytest.mark.behaviour("confirmation.every_client", "confirmation.wait")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_waits_for_the_decision_and_gets_the_result(place: Place, mode: str) -> None:
    client = await place.client(mode)
    await place.call(client, "echo", SAID)
    (ticket,) = await place.workshop.gateway.tickets.pending_tickets()
    results: list[CallToolResult] = []

    async def wait() -> None:
        results.append(await place.call(client, "pegboard_ticket", {"ticket": ticket.id, "wait": 60}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        while not place.workshop.gateway.caller.ticket_tool.waiting_count:
            await anyio.lowlevel.checkpoint()
        await place.allow()
    assert [text(result) for result in results] == ["hello"]


@pytest.mark.behaviour("confirmation.wait", "confirmation.not_by_agents")
@pytest.mark.parametrize("place", ["short", "long", "memory"], indirect=True)
@pytest.mark.parametrize("mode", MODES)
async def test_the_tool_to_wait_with_is_listed_only_where_a_call_may_need_it(place: Place, mode: str) -> None:
    client = await place.client(mode)
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names[-1] == "pegboard_ticket"
    own = [name for name in names if name.startswith("pegboard")]
    assert own == ["pegboard_ticket"], "nothing that decides is listed"
    async with (
        open_workshop() as plain,
        Client(InMemoryTransport(GatewayMcpServer(plain.gateway).server), mode=mode) as other,
    ):
        assert [tool.name for tool in (await other.list_tools()).tools] == names[:-1]


@pytest.mark.behaviour("confirmation.not_by_agents")
async def test_no_server_takes_the_name_of_the_gateways_own_tool() -> None:
    shelf = {**SHELVES[BENCH], "pegboard_ticket": (tool(BENCH, ToolSpec("pegboard_ticket")), SHELVES[BENCH]["echo"][1])}
    async with open_workshop(shelves={**SHELVES, BENCH: shelf}) as workshop:
        async with Client(InMemoryTransport(GatewayMcpServer(workshop.gateway).server)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
        assert "pegboard_ticket" not in names
        assert "bench__pegboard_ticket" in names


@pytest.mark.behaviour("confirmation.every_client")
async def test_both_roads_say_the_same_of_a_ticket(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'pegboard.db'}"
    with anyio.fail_after(DEADLINE):
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_store(url, clock=lambda: datetime.now(UTC)))
            workshop = await stack.enter_async_context(open_workshop(CONFIRMED, tickets=store.tickets))
            urls = [
                await stack.enter_async_context(served(workshop, app=McpHttpEndpoint(workshop.gateway, short=short)))
                for short in (True, False)
            ]
            http = await stack.enter_async_context(httpx2.AsyncClient(timeout=DEADLINE))
            asked: list[tuple[str, dict[str, Any]]] = [
                ("tools/list", {}),
                ("tools/call", {"name": "echo", "arguments": SAID}),
                ("tools/call", {"name": "pegboard_ticket", "arguments": {"ticket": "none", "wait": 0}}),
                ("tools/call", {"name": "pegboard_ticket", "arguments": {}}),
            ]
            for method, params in asked:
                short, long = [(await ask(http, url, method, **params)).json() for url in urls]
                assert short == long
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                answers = [
                    (await http.post(url, json=message, headers=await handshake(http, url))).content for url in urls
                ]
                assert _message(answers[0]) == _message(answers[1])
            (waiting,) = await workshop.gateway.tickets.pending_tickets()
            assert waiting.client == "raw 1", "all four asked for the same call"
            assert {type(record.outcome) for record in workshop.audit.records if record.tool == ECHO} == {
                ConfirmationRefusal
            }


def _message(content: bytes) -> Any:
    (line,) = [line.removeprefix(b"data: ") for line in content.splitlines() if line[:1] in (b"{", b"d")]
    return json.loads(line)
