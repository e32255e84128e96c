"""A gateway in front of a server that asks, and clients with a person behind them who answers."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import anyio
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client._memory import InMemoryTransport
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    SamplingCapability,
    SamplingToolsCapability,
    TextContent,
)
from pydantic import FileUrl
from tests.servers import peers
from tests.surfaces.mcp.doubles import MemoryAudit, MemoryStore
from tests.surfaces.mcp.places import MODERN, http_client, served
from tests.surfaces.mcp.workshop import HERE, Workshop, key

from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.server import Connection, Http, ProtocolMode, Server, Stdio, Timeouts, Transport, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.providers.mcp.provider import McpServerProvider as Provider
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.server import GatewayMcpServer

CURIOUS = key("curious")
DEADLINE = 60.0


@dataclass
class Person:
    """Answers what a client is asked, and remembers it."""

    action: str = "accept"
    colour: str = "teal"
    held: bool = False
    """Leaves every question open."""
    pause: float = 0.0
    """Seconds that an answer takes."""
    may_answer: anyio.Event | None = None
    """No answer before it is set."""
    asked: list[Any] = field(default_factory=list)
    heard: list[tuple[str, object]] = field(default_factory=list)
    was_asked: anyio.Event = field(default_factory=anyio.Event)
    given_up: anyio.Event = field(default_factory=anyio.Event)

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        await self._remember(params.message)
        content: dict[str, str | int | float | bool | list[str] | None] = {"colour": self.colour}
        return ElicitResult(action=self.action, content=content if self.action == "accept" else None)  # type: ignore[arg-type] # one of three words

    async def sample(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        await self._remember(params.model_dump(by_alias=True, mode="json", exclude_unset=True))
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Größe 42"), model="m-1")

    async def roots(self, context: ClientRequestContext) -> ListRootsResult:
        await self._remember("roots")
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///desk/ada"), name="Ada")])

    async def hear(self, params: LoggingMessageNotificationParams) -> None:
        self.heard.append((params.level, params.data))

    async def _remember(self, what: object) -> None:
        self.asked.append(what)
        self.was_asked.set()
        await anyio.sleep(self.pause)
        if self.may_answer is not None:
            await self.may_answer.wait()
        if self.held:
            try:
                await anyio.sleep_forever()
            finally:
                self.given_up.set()

    @property
    def options(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "sampling_capabilities": SamplingCapability(tools=SamplingToolsCapability()),
            "list_roots_callback": self.roots,
            "logging_callback": self.hear,
        }


@dataclass
class Inquiry:
    gateway: Gateway
    audit: MemoryAudit
    surface: str
    server: GatewayMcpServer
    url: str
    stack: AsyncExitStack

    async def client(self, mode: str, person: Person | None = None, **options: Any) -> Client:
        options = {"mode": mode, **({} if person is None else person.options), **options}
        if self.surface in ("http", "long"):
            return await self.stack.enter_async_context(http_client(self.url, **options))
        return await self.stack.enter_async_context(Client(InMemoryTransport(self.server.server), **options))

    @property
    def ended(self) -> list[str]:
        return [type(record.outcome).__name__ for record in self.audit.records]


@asynccontextmanager
async def inquiry(
    surface: str = "memory",
    transport: str = "stdio",
    era: str = MODERN,
    *,
    call: float = 30.0,
    protocol: ProtocolMode = ProtocolMode.LATEST,
    changes: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Inquiry]:
    """`changes` are made to what is declared; whatever else is given goes to the gateway."""
    flags = () if era == MODERN else ("--handshake-only",)
    audit = MemoryAudit()
    with anyio.fail_after(DEADLINE):
        async with AsyncExitStack() as stack:
            reached = await _reached(stack, transport, flags)
            server = Server(
                CURIOUS, reached, HERE, trust=Trust.OPEN, timeouts=Timeouts(30.0, call, 5.0), protocol=protocol
            )
            declared = DeclaredSettings(
                servers={CURIOUS: server}, toolsets={CURIOUS.toolset: Toolset(CURIOUS.toolset, HERE)}
            )
            board = replace(declared, **(changes or {}))
            gateway = await stack.enter_async_context(
                open_gateway(board, MemoryStore(), audit, _provider, lambda: datetime.now(UTC), **options)
            )
            assert await gateway.board.wait_until_started(30)
            assert isinstance(gateway.board.catalogue.listings[CURIOUS].health, ProviderUp)
            app = McpHttpEndpoint(gateway, short=surface == "http")
            place = served(Workshop(gateway, audit), app=app)
            url = await stack.enter_async_context(place) if surface in ("http", "long") else ""
            async with AsyncExitStack() as clients:
                yield Inquiry(gateway, audit, surface, GatewayMcpServer(gateway), url, clients)


async def _reached(stack: AsyncExitStack, transport: str, flags: tuple[str, ...]) -> Connection:
    if transport == "stdio":
        executable, *rest = peers.warm_command("curious", *flags)
        return Stdio(executable, tuple(rest))
    url = await stack.enter_async_context(peers.http("curious", *flags, transport=transport))
    return Http(url, Transport.SSE if transport == "sse" else Transport.STREAMABLE_HTTP)


def _provider(server: Server) -> Provider:
    return Provider(server, lambda text: text, lambda: datetime.now(UTC))


def said(result: CallToolResult) -> Any:
    """What the tool put into its text, which is JSON."""
    block = result.content[0]
    assert isinstance(block, TextContent)
    assert not result.is_error, block.text
    return json.loads(block.text)


def complaint(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    assert result.is_error
    return block.text
