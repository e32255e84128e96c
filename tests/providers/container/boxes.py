"""A toolset's commands at work in real containers, for the tests."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
from tests.providers.mcp.running import PATIENCE, as_it_is, nothing_left
from tests.servers.containers import IMAGE, Host

from pegboard.config.keys.features import ContainerSettings
from pegboard.core.calls.call import AdmittedCall, Outcome, ToolCall, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Health, Listing, ProviderAsleep
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, ToolsetId, ToolsetKey, WireName
from pegboard.core.model.tool import ContainerImage, ContainerTool, OwnTools, Tool, ToolsetLimits, ToolSpec
from pegboard.ports.providers import Expand, Provider
from pegboard.providers.container import Containers
from pegboard.providers.container.flags import ContainerNamespace

KEY = ToolsetKey(ToolsetId("demo"))


def command(
    name: str, *words: str, seconds: float | None = None, output: Mapping[str, Json] | None = None
) -> ContainerTool:
    return ContainerTool("box", words, ToolSpec(name, output_schema=output), seconds)


def script(name: str, text: str, *, seconds: float | None = None) -> ContainerTool:
    return command(name, "sh", "-c", text, seconds=seconds)


def own(*tools: ContainerTool, image: ContainerImage | None = None, bounds: ToolsetLimits | None = None) -> OwnTools:
    return OwnTools(
        "0" * 64, containers={"box": image or ContainerImage(IMAGE)}, commands=tools, bounds=bounds or ToolsetLimits()
    )


def called(name: str, arguments: Mapping[str, Json], spec: ToolSpec | None = None) -> AdmittedCall:
    call = ToolCall(CallId("1"), WireName(name), arguments, LOCAL_PRINCIPAL, datetime(2026, 1, 1, tzinfo=UTC))
    return AdmittedCall(call, Tool(ToolId(KEY, name), spec or ToolSpec(name)))


class Bench:
    """A provider that runs, and every health that it rang for."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.seen: list[Health] = []
        self._rung = anyio.Event()

    def ring(self) -> None:
        self.seen.append(self.provider.listing().health)
        self._rung.set()
        self._rung = anyio.Event()

    async def until(self, kind: type[Health]) -> Listing:
        with anyio.fail_after(PATIENCE):
            while not isinstance(self.provider.listing().health, kind):
                await self._rung.wait()
        return self.provider.listing()

    async def call(self, name: str, /, **arguments: Json) -> Outcome:
        spec = next((tool.spec for tool in self.provider.listing().tools if tool.id.name == name), None)
        with anyio.fail_after(PATIENCE):
            return await self.provider.call(called(name, arguments, spec))

    async def said(self, name: str, /, **arguments: Json) -> str:
        """What a tool that works wrote."""
        outcome = await self.call(name, **arguments)
        assert isinstance(outcome, ToolSuccess), outcome
        return text_of(outcome)


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess | ToolFailure), outcome
    body: dict[str, Any] = json.loads(outcome.body)
    return "".join(part["text"] for part in body["content"])


def containers(settings: ContainerSettings, board: ContainerNamespace) -> Containers:
    return Containers(settings, board.data_dir, lambda: datetime.now(UTC))


@asynccontextmanager
async def bench(
    host: Host,
    board: ContainerNamespace,
    declared: OwnTools,
    *,
    expand: Expand = as_it_is,
    settings: ContainerSettings | None = None,
    health: type[Health] = ProviderAsleep,
) -> AsyncIterator[Bench]:
    """Run the provider for the length of the block; then no process, no open file and no container is left of it."""
    provider = containers(settings or host.settings, board).command_provider(KEY, declared, expand)
    at_work = Bench(provider)
    async with nothing_left(), anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, at_work.ring)
        await at_work.until(health)
        try:
            yield at_work
        finally:
            tasks.cancel_scope.cancel()
    assert host.left() == []
