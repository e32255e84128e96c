"""A gateway over real servers that offer prompts and resources, met by a client over HTTP, stdio or in memory."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage
from mcp.client.stdio import stdio_client
from mcp_types import ResourceUpdatedNotification, ServerNotification
from tests.servers import peers
from tests.support.fork_server import python
from tests.surfaces.mcp.doubles import MemoryAudit, MemoryStore
from tests.surfaces.mcp.places import DEADLINE, MODERN, ROOT, http_client, served
from tests.surfaces.mcp.workshop import HERE, Workshop, key

from pegboard.core.commands.base import Command
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerKey
from pegboard.core.model.server import Server, Stdio, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.providers.mcp.provider import McpServerProvider

WATCHED = "test://watched-resource"


def everything(server: ServerKey, era: str = "both", **changes: Any) -> Server:
    command, *arguments = peers.warm_command("everything", "--era", era)
    return replace(
        Server(server, Stdio(command, tuple(arguments), cwd=str(peers.folder("everything"))), HERE, trust=Trust.OPEN),
        **changes,
    )


def odd(server: ServerKey, kind: str = "odd") -> Server:
    """Of the handshake era alone, with members that no protocol knows."""
    command, *arguments = peers.warm_command("shelves", kind)
    env = {"SHELF_TOKEN": "s3cr3t-of-the-shelf"}
    return Server(server, Stdio(command, tuple(arguments), env), HERE, trust=Trust.OPEN)


@asynccontextmanager
async def shelved(*servers: Server, **changes: Any) -> AsyncIterator[Gateway]:
    """The gateway over these servers, all of which have answered."""
    declared = DeclaredSettings(
        servers={each.key: each for each in servers},
        toolsets={each.key.toolset: Toolset(each.key.toolset, HERE) for each in servers},
    )

    def now() -> datetime:
        return datetime.now(UTC)

    def provider_for(server: Server) -> McpServerProvider:
        return McpServerProvider(server, str, now)

    async with open_gateway(replace(declared, **changes), MemoryStore(), MemoryAudit(), provider_for, now) as gateway:
        assert await gateway.board.wait_until_started(DEADLINE)
        yield gateway


async def does(gateway: Gateway, command: Command) -> None:
    assert isinstance(await gateway.operator.execute(command, LOCAL_PRINCIPAL), Policy)


@dataclass
class Ear:
    """Hears what a client is told, as a client of its era does: the method, and the URI of an update."""

    told: list[str] = field(default_factory=list)
    _rung: anyio.Event = field(default_factory=anyio.Event)

    async def hear(self, message: IncomingMessage) -> None:
        match message:
            case ResourceUpdatedNotification(params=params):
                self.told.append(f"{message.method} {params.uri}")
            case Exception():
                return
            case _:
                assert isinstance(message, ServerNotification)
                self.told.append(message.method)
        self._rung.set()
        self._rung = anyio.Event()

    async def until(self, what: str) -> None:
        """Takes everything up to it from the list."""
        while what not in self.told:
            await self._rung.wait()
        del self.told[: self.told.index(what) + 1]


@asynccontextmanager
async def met(where: str, mode: str, ear: Ear | None = None) -> AsyncIterator[Client]:
    """One client of one everything-server, through the gateway at this place."""
    options: dict[str, Any] = {"mode": mode} | ({} if ear is None else {"message_handler": ear.hear})
    async with AsyncExitStack() as stack:
        stack.enter_context(anyio.fail_after(DEADLINE))
        if where == "stdio":
            parameters = StdioServerParameters(
                command=python(), args=["-m", "tests.surfaces.mcp.shelves"], cwd=str(ROOT)
            )
            yield await stack.enter_async_context(Client(stdio_client(parameters), **options))
            return
        gateway = await stack.enter_async_context(shelved(everything(key("shelf"))))
        url = await stack.enter_async_context(served(Workshop(gateway, MemoryAudit())))
        yield await stack.enter_async_context(http_client(url, **options))


@asynccontextmanager
async def following(client: Client, uri: str) -> AsyncIterator[None]:
    """As each era follows a resource and the lists."""
    if client.protocol_version == MODERN:
        async with client.listen(
            prompts_list_changed=True, resources_list_changed=True, resource_subscriptions=[uri]
        ) as stream:
            assert stream.honored.resource_subscriptions == [uri]
            yield
        return
    await client.session.subscribe_resource(uri)
    yield
    await client.session.unsubscribe_resource(uri)


async def _serve() -> None:
    from pegboard.surfaces.mcp.stdio import serve_stdio

    async with shelved(everything(key("shelf"))) as gateway:
        await serve_stdio(gateway)


if __name__ == "__main__":
    anyio.run(_serve)
