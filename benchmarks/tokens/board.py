"""A gateway over tools that are only looked at: each server lists its own and is never called."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio

from pegboard.bootstrap.in_memory import InMemoryPolicyStore, NoAudit
from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import ServerKey
from pegboard.core.model.server import DeclaredAt, Http, Server, Trust
from pegboard.core.model.tool import Tool
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.ports.providers import ChangeCallback, ClientPeer, Progress

_WRITTEN = DeclaredAt("benchmark", 1)
_SETTLES = 60.0


class _Shelf:
    resources = None

    def __init__(self, key: ServerKey, tools: Sequence[Tool]) -> None:
        self.source = key
        self._listing = Listing(key, ProviderUp(datetime.now(UTC)), tuple(tools))

    def listing(self) -> Listing:
        return self._listing

    async def run(self, ring: ChangeCallback) -> None:
        ring()
        await anyio.sleep_forever()

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        return ProviderFailure("nothing is called here", may_have_run=False)

    def log(self) -> Sequence[str]:
        return ()

    def restart(self) -> None:
        """There is nothing to start over."""


@asynccontextmanager
async def gateway_over(tools: Sequence[Tool]) -> AsyncIterator[Gateway]:
    by_server: dict[ServerKey, list[Tool]] = {}
    for tool in tools:
        assert isinstance(tool.id.source, ServerKey)
        by_server.setdefault(tool.id.source, []).append(tool)
    declared = DeclaredSettings(
        servers={key: Server(key, Http("http://127.0.0.1:1/mcp"), _WRITTEN, trust=Trust.OPEN) for key in by_server},
        toolsets={key.toolset: Toolset(key.toolset, _WRITTEN) for key in by_server},
    )

    def provider_for(server: Server) -> _Shelf:
        assert isinstance(server.key, ServerKey)
        return _Shelf(server.key, by_server[server.key])

    async with open_gateway(
        declared, InMemoryPolicyStore(), NoAudit(), provider_for, lambda: datetime.now(UTC)
    ) as gateway:
        await gateway.board.wait_until_started(_SETTLES)
        yield gateway
