"""A toolset of Python tools at work in a test: described, run, called, and seen to leave nothing behind."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import psutil
from tests.providers.mcp.running import PATIENCE, nothing_left

from pegboard.core.calls.call import AdmittedCall, Outcome, ToolCall, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Listing, ProviderAsleep, ProviderUp
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, ToolsetId, ToolsetKey, WireName
from pegboard.core.model.server import DeclaredAt, Server, StartOnDemand, StartPolicy, Timeouts
from pegboard.core.model.tool import OwnTools, PythonTool, Tool, ToolsetLimits, ToolSpec
from pegboard.ports.providers import ClientPeer, FunctionEntry, Progress, UnresolvedReference
from pegboard.providers.python.describe import Describer
from pegboard.providers.python.environments import Environments
from pegboard.providers.python.provider import PythonTools, ReadEntries

KEY = ToolsetKey(ToolsetId("dev"))


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    return folder


def entries(*entrypoints: str) -> list[FunctionEntry]:
    """`module:function`, each a tool by the function's name."""
    return [FunctionEntry(entrypoint.partition(":")[2], entrypoint) for entrypoint in entrypoints]


class Watched:
    """A running provider and every listing it rang for."""

    def __init__(self, provider: PythonTools) -> None:
        self.provider = provider
        self.seen: list[Listing] = []
        self._rung = anyio.Event()

    def ring(self) -> None:
        self.seen.append(self.provider.listing())
        self._rung.set()
        self._rung = anyio.Event()

    async def until(self, condition: Callable[[Listing], bool]) -> Listing:
        with anyio.fail_after(PATIENCE):
            while not condition(self.provider.listing()):
                await self._rung.wait()
        return self.provider.listing()

    async def up(self) -> Listing:
        return await self.until(lambda listing: isinstance(listing.health, ProviderUp))

    async def asleep(self) -> Listing:
        return await self.until(lambda listing: isinstance(listing.health, ProviderAsleep))

    async def call(
        self, tool: str, /, *, progress: Progress | None = None, peer: ClientPeer | None = None, **arguments: Json
    ) -> Outcome:
        return await self.call_with(tool, arguments, progress, peer)

    async def call_with(
        self, tool: str, arguments: Mapping[str, Json], progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        with anyio.fail_after(PATIENCE):
            return await self.provider.call(self.admitted(tool, arguments), progress, peer)

    def admitted(self, tool: str, arguments: Mapping[str, Json], spec: ToolSpec | None = None) -> AdmittedCall:
        """As if the gate had let it through, as it is listed now."""
        known = self.provider.listing().by_id.get(id := ToolId(KEY, tool))
        call = ToolCall(CallId("1"), WireName(tool), arguments, LOCAL_PRINCIPAL, datetime(2026, 1, 1, tzinfo=UTC))
        return AdmittedCall(call, Tool(id, spec or (ToolSpec(tool) if known is None else known.spec)))


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess | ToolFailure), outcome
    return "".join(block["text"] for block in json.loads(outcome.body)["content"])


def failed(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolFailure), outcome
    assert json.loads(outcome.body)["isError"] is True
    return text_of(outcome)


def structured(outcome: Outcome) -> Any:
    assert isinstance(outcome, ToolSuccess), outcome
    return json.loads(outcome.body)["structuredContent"]


def workers() -> list[psutil.Process]:
    """Processes of ours that run now."""
    return [child for child in psutil.Process().children() if "providers.python.worker" in " ".join(child.cmdline())]


async def described(folder: Path, wanted: Sequence[FunctionEntry], root: Path) -> tuple[PythonTool, ...]:
    found = await Describer(Environments(root))(folder, wanted, (), print)
    return tuple(PythonTool(entry.entrypoint, one.spec) for entry, one in zip(wanted, found, strict=True))


@asynccontextmanager
async def working(
    folder: Path,
    *entrypoints: str,
    bounds: ToolsetLimits | None = None,
    starts: StartPolicy | None = None,
    secrets: Mapping[str, str] | UnresolvedReference | None = None,
    workspace: Path | None = None,
    linked: bool = False,
    read: ReadEntries | None = None,
    tools: Sequence[PythonTool] | None = None,
    call: float = 30.0,
    requirements: Sequence[str] = (),
    root: Path | None = None,
) -> AsyncIterator[Watched]:
    """Run the provider for the length of the block; then no process and no open file may be left of it."""
    root = root or folder.parent / "environments"

    async def values() -> Mapping[str, str] | UnresolvedReference:
        return {} if secrets is None else secrets

    async with nothing_left():
        if tools is None:
            tools = await described(folder, entries(*entrypoints), root)
        own = OwnTools(
            "digest",
            tuple(tools),
            tuple(requirements),
            bounds=bounds or ToolsetLimits(),
            linked=str(folder) if linked else None,
        )
        server = Server(
            KEY,
            own,
            DeclaredAt("toolset.yaml", 1),
            starts=starts or StartOnDemand(),
            timeouts=Timeouts(start=30.0, call=call),
        )
        provider = PythonTools(
            server, folder, Environments(root), workspace, values, lambda: datetime.now(UTC), entries=read
        )
        watched = Watched(provider)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(provider.run, watched.ring)
            try:
                yield watched
            finally:
                tasks.cancel_scope.cancel()
