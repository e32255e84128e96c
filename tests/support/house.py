"""A whole gateway in memory: open it with a declaration, steer its providers and its store, wait for what must come."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import anyio
from tests.core.boards import ME, NOW, server, toolset
from tests.support.doubles import MemoryAudit, MemoryStore, Providers, ScriptedProvider

from pegboard.core.calls.call import Arguments, ToolCall
from pegboard.core.commands.base import Command
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Verdict
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId, ProviderKey, ServerKey, ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server, Trust
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.gateway.argument_values import keep_references
from pegboard.gateway.board import BoardState
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.ports.databases import EngineFactory
from pegboard.ports.providers import Expand
from pegboard.ports.stores import TicketStore

PATIENCE = 60.0
"""Seconds that nothing in these tests comes near, unless it would never come."""


def declared(*keys: ServerKey, trust: Trust = Trust.OPEN, **changes: object) -> DeclaredSettings:
    """These servers, each in its toolset, all alike."""
    return declaring(*(server(key, trust=trust, **changes) for key in keys))


def declaring(*servers: Server) -> DeclaredSettings:
    return DeclaredSettings(
        servers={each.key: each for each in servers},
        toolsets={each.key.toolset: toolset(each.key.toolset) for each in servers},
    )


@dataclass
class Ticking:
    """A clock that moves only when a test says so."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class House:
    gateway: Gateway
    store: MemoryStore
    audit: MemoryAudit
    providers: Providers
    clock: Ticking

    @property
    def board(self) -> BoardState:
        return self.gateway.board

    def provider(self, key: ProviderKey) -> ScriptedProvider:
        return self.providers.of(key)

    async def does(self, *commands: Command) -> None:
        """As a person would, one after the other; each must succeed."""
        for command in commands:
            assert isinstance(await self.gateway.operator.execute(command, ME), Policy)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits, at each change of the board, for what must become true."""
        with anyio.fail_after(PATIENCE), self.board.changes.subscribe() as bell:
            while not holds():
                await bell.wait()

    def statuses(self, view: View | None = None) -> Mapping[str, str]:
        """Every tool that a caller may know of, and what holds of it."""
        verdicts = self.board.resolution(view or View()).verdicts
        return {str(id): told(verdict) for id, verdict in verdicts.items() if not isinstance(verdict, HiddenTool)}

    def status(self, tool: ToolId) -> str | None:
        verdict = self.board.resolution(View()).verdicts.get(tool)
        return None if verdict is None else told(verdict)


def told(verdict: Verdict) -> str:
    return (
        verdict.status.value
        if isinstance(verdict, LockedTool)
        else "open"
        if isinstance(verdict, OpenTool)
        else "absent"
    )


@asynccontextmanager
async def opened(
    declared: DeclaredSettings,
    providers: Providers | None = None,
    *,
    store: MemoryStore | None = None,
    settle: bool = True,
    tickets: TicketStore | None = None,
    expand: Expand = keep_references,
    meanings: EmbeddingIndex | None = None,
    programs: ProgramBackend | None = None,
    engines: EngineFactory | None = None,
) -> AsyncIterator[House]:
    """`settle` waits until every server has answered; leave it out where one is meant not to."""
    store, providers = store or MemoryStore(), providers or Providers()
    audit, clock = MemoryAudit(), Ticking()
    async with open_gateway(
        *(declared, store, audit, providers, clock),
        tickets=tickets,
        expand=expand,
        meanings=meanings,
        programs=programs,
        engines=engines,
    ) as gateway:
        if settle:
            assert await gateway.board.wait_until_started(PATIENCE)
        yield House(gateway, store, audit, providers, clock)


def call_of(
    name: str,
    arguments: Arguments | None = None,
    *,
    id: str = "call-1",
    by: PrincipalId = LOCAL_PRINCIPAL,
    client: str = "",
) -> ToolCall:
    return ToolCall(CallId(id), WireName(name), arguments or {}, by, NOW, client=client)


def redeclared(policy: Policy, *servers: Server) -> DeclaredSettings:
    """The same declaration with these servers in place of those of the same key."""
    return replace(policy.declared, servers={**policy.declared.servers, **{each.key: each for each in servers}})
