"""A provider made of Python functions: fast, deterministic, and in the hands of the test."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import anyio

from pegboard.core.calls.call import AdmittedCall, Arguments, Outcome, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Health, Listing, ProviderDown, ProviderStart, ProviderUp
from pegboard.core.model.ids import ServerKey, SourceKey, ToolId
from pegboard.core.model.server import Server
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.ports.providers import ChangeCallback, ClientPeer, Progress, ResourceProvider

SINCE = datetime(2026, 1, 1, tzinfo=UTC)

Run: TypeAlias = Callable[["Bench", Arguments, Progress | None], Awaitable[Outcome]]


def silent() -> None:
    pass


class Bench:
    resources: ResourceProvider | None = None

    def __init__(
        self, server: Server, tools: Mapping[str, tuple[Tool, Run]], extra: Mapping[str, tuple[Tool, Run]], held: bool
    ) -> None:
        self._key = server.key
        self._tools = dict(tools)
        self._extra = dict(extra)
        self._health: Health = ProviderStart(1, SINCE)
        self._ring: ChangeCallback = silent
        self._held = anyio.Event()
        if not held:
            self._held.set()
        self.admitted: AdmittedCall | None = None
        self.peer: ClientPeer | None = None
        """What came with the latest call."""
        self.cancelled = 0
        self.running = 0
        self.started = anyio.Event()
        """Set when a call that waits has begun."""

    @property
    def source(self) -> SourceKey:
        return self._key

    def listing(self) -> Listing:
        tools = () if isinstance(self._health, ProviderStart) else tuple(tool for tool, _ in self._tools.values())
        return Listing(self._key, self._health, tools)

    async def run(self, ring: ChangeCallback) -> None:
        self._ring = ring
        await self._held.wait()
        self._health = ProviderUp(SINCE)
        ring()
        await anyio.sleep_forever()

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        _, run = self._tools[admitted.tool.id.name]
        self.admitted, self.peer = admitted, peer
        self.running += 1
        try:
            return await run(self, admitted.call.arguments, progress)
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    def restart(self) -> None:
        """Comes back with the same tools, listed anew."""
        self._tools = {
            name: (Tool(old.id, replace(old.spec), old.extra), run) for name, (old, run) in self._tools.items()
        }
        self._health = ProviderUp(datetime(2026, 2, 2, tzinfo=UTC))
        self._ring()

    def log(self) -> Sequence[str]:
        return ()

    def release(self) -> None:
        """Let the server finish starting."""
        self._held.set()

    def grow(self) -> None:
        """Hang up the tools that were kept back."""
        self._tools |= self._extra
        self._ring()

    def shrink(self) -> None:
        self._tools = {name: entry for name, entry in self._tools.items() if name not in self._extra}
        self._ring()

    def fall(self) -> None:
        self._health = ProviderDown(SINCE, "it was unplugged")
        self._ring()


def tool(key: ServerKey, spec: ToolSpec, **extra: Json) -> Tool:
    return Tool(ToolId(key, spec.name), spec, extra)


def returned(text: str, **more: Json) -> ToolSuccess:
    return ToolSuccess(_result(text, **more))


def failed(text: str) -> ToolFailure:
    return ToolFailure(_result(text, isError=True))


def _result(text: str, **more: Json) -> bytes:
    return json.dumps({"content": [{"type": "text", "text": text}], **more}).encode()
