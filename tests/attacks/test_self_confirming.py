"""The law of confirmation: no answer of a client that is not marked interactive confirms a call.

Each surface is tried twice: by an agent that answers its own questions, and, as the control that shows that the answer
would have counted, by a principal that is marked interactive.
"""

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client._memory import InMemoryTransport
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from tests.support.shop import shop
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served
from tests.surfaces.mcp.raw import ask
from tests.surfaces.mcp.workshop import BENCH, DECLARED, HERE, Workshop, open_workshop
from tests.surfaces.rest.desk import ABOUT, TOKEN

from pegboard.bootstrap.features import DeclaredEngineFactory
from pegboard.core.model.confirmation import (
    ConfirmationLevel,
    ConfirmationMode,
    ConfirmationSetting,
    PrincipalConfirmation,
)
from pegboard.core.model.databases import DatabaseId, DatabaseSettings
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId
from pegboard.core.model.principals import Principal, TokenScope
from pegboard.core.model.settings import CodeSettings, PresentationMode
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.access.tokens import hash_token
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint, McpPaths
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.server import GatewayMcpServer
from pegboard.surfaces.rest.app import rest_app

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

AGENT = PrincipalId("agent")
AGENTS_TOKEN = "agent-0123456789abcdef"
ECHO = ToolId(BENCH, "echo")
DELETE = {"source": "shop", "sql": "DELETE FROM orders"}
SAID = {"text": "hello"}
YES = ElicitResult(action="accept", content={"answer": "yes"})
PROGRAMS = {
    "echo": "await bench.echo(text='hello')",
    "execute_sql": "await builtin.execute_sql(source='shop', sql='DELETE FROM orders')",
}
PATHS = ("short", "long", "direct", "meta", "search", "deferred", "code", "program", "stdio", "stdio meta")
"""Where an agent calls: the fast path and the SDK's, each presentation, a program in a list of tools, and a pipe."""
NOT_ASKED = (
    "This client was not asked, because its principal {!r} is not marked interactive: an answer of the client does not "
    "confirm a call. If a person reads what this client asks, an operator may mark the principal interactive."
)


def guarded(folder: Path, interactive: bool | None, **changes: Any) -> DeclaredSettings:
    """A board with one caller, of which a tool and each change of a database must be confirmed."""
    digest = hashlib.sha256(AGENTS_TOKEN.encode()).digest()
    own = PrincipalConfirmation(interactive)
    scopes = (
        frozenset({TokenScope.CALL, TokenScope.OPERATE})
        if changes.pop("operates", False)
        else frozenset({TokenScope.CALL})
    )
    file = DatabaseSettings(DatabaseId("shop"), f"sqlite:///{shop(folder / 'shop.db')}", HERE, writes=True)
    return replace(
        DECLARED,
        overrides=(*DECLARED.overrides, Override(BENCH.toolset, ECHO, requires_confirmation=True, is_declared=True)),
        principals={AGENT: Principal(AGENT, HERE, (digest,), scopes=scopes, confirmation=own)},
        databases={file.id: file},
        code=CodeSettings(is_listed=True),
        **changes,
    )


@dataclass
class Scene:
    workshop: Workshop
    folder: Path
    stack: AsyncExitStack
    asked: list[str]

    @property
    def orders(self) -> int:
        with closing(sqlite3.connect(self.folder / "shop.db")) as connection:
            return int(connection.execute("SELECT count(*) FROM orders").fetchone()[0])

    @property
    def ran(self) -> list[str]:
        echoed = ["echo"] if self.workshop.bench.admitted is not None else []
        return [*echoed, "execute_sql"] if self.orders == 0 else echoed

    async def waiting(self) -> list[tuple[str, PrincipalId]]:
        return [(ticket.name, ticket.principal) for ticket in await self.workshop.gateway.tickets.pending_tickets()]

    async def client(self, path: str, mode: str) -> Client:
        """It declares that it can ask its user, and says yes to whatever it is asked."""

        async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            self.asked.append(params.message)
            return YES

        gateway = self.workshop.gateway
        options: dict[str, Any] = {"mode": mode, "elicitation_callback": elicit}
        if path.startswith("stdio"):
            presented = PresentationMode.META if path.endswith("meta") else PresentationMode.DIRECT
            server = GatewayMcpServer(gateway, presentation=presentation_of(presented, gateway)).server
            return await self.stack.enter_async_context(Client(InMemoryTransport(server), **options))
        app = McpHttpEndpoint(gateway, short=path == "short") if path in ("short", "long") else McpPaths(gateway)
        url = await self.stack.enter_async_context(served(self.workshop, app=app))
        url += {"short": "", "long": "", "program": ""}.get(path, f"/{path}")
        return await self.stack.enter_async_context(http_client(url, BEARER, **options))

    async def call(self, path: str, client: Client, name: str) -> str:
        arguments: dict[str, Any] = SAID if name == "echo" else DELETE
        match path:
            case "meta" | "stdio meta":
                result = await client.call_tool("call_tool", {"tool": name, "input": arguments})
            case "search" | "deferred":
                result = await client.call_tool("call_tool", {"name": name, "arguments": arguments})
            case "code" | "program":
                result = await client.call_tool("python_execution", {"code": PROGRAMS[name]})
            case _:
                result = await client.call_tool(name, arguments)
        assert isinstance(result, CallToolResult)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return content.text


BEARER = {"authorization": f"Bearer {AGENTS_TOKEN}"}


@asynccontextmanager
async def scene(folder: Path, declared: DeclaredSettings) -> AsyncIterator[Scene]:
    monty = MontySandbox(workers=1)
    url = f"sqlite:///{folder / 'pegboard.db'}"
    try:
        with anyio.fail_after(DEADLINE):
            async with AsyncExitStack() as stack:
                opening = open_store(url, clock=lambda: datetime.now(UTC), key=key_of({}, folder))
                store = await stack.enter_async_context(opening)
                means = ProgramBackend(lambda _: monty, store.runs, lambda: b"k" * 32)
                workshop = await stack.enter_async_context(
                    open_workshop(declared, tickets=store.tickets, programs=means, engines=DeclaredEngineFactory(None))
                )
                async with AsyncExitStack() as clients:
                    yield Scene(workshop, folder, clients, [])
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


@pytest.mark.behaviour("law.clients_do_not_confirm", "confirmation.interactive", "databases.writes_confirmed")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("interactive", [None, True], ids=["unset", "interactive"])
async def test_an_agent_that_says_yes_to_itself_runs_nothing(
    tmp_path: Path, interactive: bool | None, path: str, mode: str
) -> None:
    principal = LOCAL_PRINCIPAL if path.startswith("stdio") else AGENT
    async with scene(tmp_path, guarded(tmp_path, interactive)) as here:
        if interactive is not None and principal == LOCAL_PRINCIPAL:
            await mark(here, LOCAL_PRINCIPAL, interactive)
        client = await here.client(path, mode)
        told = [await here.call(path, client, name) for name in ("echo", "execute_sql")]
        ran, asked, waiting = here.ran, here.asked, await here.waiting()
    if interactive:
        assert (ran, len(asked), waiting) == (["echo", "execute_sql"], 2, []), told
        return
    assert (ran, asked) == ([], []), "nobody is even asked whose answer would not count"
    assert sorted(waiting) == [("echo", principal), ("execute_sql", principal)], told
    for each in told:
        assert each.startswith("confirmation_required: ")
        assert "pegboard tickets show " in each
        assert each.endswith(NOT_ASKED.format(principal))


async def mark(here: Scene, principal: PrincipalId, interactive: bool) -> None:
    async with operator(here) as api:
        answer = await api.put(f"/api/v1/principals/{principal}/confirmation", json={"interactive": interactive})
        assert answer.status_code == 200, answer.text


@asynccontextmanager
async def operator(here: Scene, token: str = TOKEN) -> AsyncIterator[httpx2.AsyncClient]:
    app = rest_app(here.workshop.gateway, ABOUT, hash_token(TOKEN), lambda: ScriptedSignIns())
    headers = {"authorization": f"Bearer {token}"}
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


@pytest.mark.behaviour("law.clients_do_not_confirm", "confirmation.modes")
@pytest.mark.parametrize("level", ["board", "principal", "tool"])
@pytest.mark.parametrize("mode", MODES)
async def test_a_ticket_on_any_level_outweighs_an_interactive_client(tmp_path: Path, level: str, mode: str) -> None:
    board = guarded(tmp_path, True)
    ticket, agent = ConfirmationMode.TICKET, board.principals[AGENT]
    match level:
        case "board":
            board = replace(board, confirmation=ConfirmationSetting(ConfirmationLevel.BOARD, "", ticket))
        case "principal":
            strict = replace(agent, confirmation=PrincipalConfirmation(True, ticket))
            board = replace(board, principals={AGENT: strict})
        case _:
            row = Override(BENCH.toolset, ECHO, confirmation=ticket, is_declared=True)
            board = replace(board, overrides=(*board.overrides, row))
    async with scene(tmp_path, board) as here:
        told = await here.call("short", await here.client("short", mode), "echo")
        assert (here.ran, here.asked, await here.waiting()) == ([], [], [("echo", AGENT)])
        assert told.endswith(f"This client was not asked, because confirmation: ticket is set for the {level}.")


@pytest.mark.behaviour("law.clients_do_not_confirm")
async def test_nothing_that_a_request_carries_makes_a_client_interactive(tmp_path: Path) -> None:
    """Neither what it declares and claims of itself, nor answers to a question that nobody asked."""
    async with scene(tmp_path, guarded(tmp_path, None)) as here:
        url = await here.stack.enter_async_context(served(here.workshop, app=McpPaths(here.workshop.gateway)))
        http = await here.stack.enter_async_context(httpx2.AsyncClient(timeout=DEADLINE))
        claims: Mapping[str, Any] = {
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "interactive": True}},
            "io.modelcontextprotocol/clientInfo": {"name": "local", "version": "1", "interactive": True},
            "interactive": True,
            "pegboard/interactive": True,
            "confirmation": "in_client",
        }
        answers = {"inputResponses": {"0": {"action": "accept", "content": {"answer": "yes"}}}, "requestState": "x"}
        headers = {**BEARER, "X-Mcp-Interactive": "true", "X-Interactive": "true", "X-Mcp-Confirmation": "in_client"}
        for state in ({}, answers):
            for name, arguments in (("echo", SAID), ("execute_sql", DELETE)):
                answer = await ask(
                    http, url, "tools/call", headers, name=name, arguments=arguments, meta=claims, **state
                )
                assert "inputRequests" not in answer.text, "a question would have been one"
                assert "interactive=true" not in answer.text
        assert (here.ran, here.orders) == ([], 3)


@pytest.mark.behaviour("law.clients_do_not_confirm", "confirmation.operators")
@pytest.mark.parametrize("interactive", [False, True])
async def test_an_answer_in_the_body_of_a_rest_call_confirms_nothing(tmp_path: Path, interactive: bool) -> None:
    async with scene(tmp_path, guarded(tmp_path, interactive, operates=True)) as here:
        async with operator(here, AGENTS_TOKEN) as api:
            for name, arguments in (("echo", SAID), ("execute_sql", DELETE)):
                asked = {"tool": name, "as": AGENT, "arguments": arguments}
                answer = await api.post("/api/v1/call", json=asked)
                assert answer.json()["outcome"] == "confirmation_required", answer.text
                yes = await api.post("/api/v1/call", json={**asked, "confirmed": True, "answer": "yes"})
                assert yes.status_code == 422
            code = {"code": PROGRAMS["execute_sql"], "as": AGENT}
            ran = await api.post("/api/v1/run", json=code)
            assert "confirmation_required" in ran.text, ran.text
        assert (here.ran, here.orders) == ([], 3)


@pytest.mark.behaviour("confirmation.interactive")
async def test_an_agent_cannot_mark_itself_interactive(tmp_path: Path) -> None:
    async with scene(tmp_path, guarded(tmp_path, None, operates=True)) as here:
        async with operator(here, AGENTS_TOKEN) as api:
            asked = {"interactive": True}
            put = await api.put(f"/api/v1/principals/{LOCAL_PRINCIPAL}/confirmation", json=asked)
            made = {"principal": "other", "name": "mine", "scopes": ["call"], **asked}
            post = await api.post("/api/v1/tokens", json=made)
        assert (put.status_code, post.status_code) == (403, 403)
        assert here.workshop.gateway.board.policy.decisions.confirmations == {}


@pytest.mark.behaviour("law.clients_do_not_confirm")
@pytest.mark.parametrize("mode", MODES)
async def test_a_principal_that_is_unmarked_while_its_client_thinks_does_not_confirm(tmp_path: Path, mode: str) -> None:
    board = guarded(tmp_path, True)
    async with scene(tmp_path, board) as here:
        unmarked = {AGENT: replace(board.principals[AGENT], confirmation=PrincipalConfirmation(False))}

        async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            await here.workshop.gateway.operator.apply_settings(replace(board, principals=unmarked))
            return YES

        url = await here.stack.enter_async_context(served(here.workshop))
        options = {"mode": mode, "elicitation_callback": elicit}
        client = await here.stack.enter_async_context(http_client(url, BEARER, **options))
        told = await here.call("short", client, "echo")
        assert (here.ran, await here.waiting()) == ([], [("echo", AGENT)])
        assert told.endswith(NOT_ASKED.format(AGENT))
