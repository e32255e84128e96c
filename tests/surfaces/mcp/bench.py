"""A provider made of Python functions: fast, deterministic, and in the hands of the test."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import anyio

from pegboard.core.call import Admitted, Arguments, Outcome, Returned, ToolFailed
from pegboard.core.catalogue import Down, Health, Listing, Starting, Up
from pegboard.core.ids import ServerKey, Source, ToolId
from pegboard.core.server import Server
from pegboard.core.tool import Json, Tool, ToolSpec
from pegboard.ports import Library, Peer, Progress, Ring

SINCE = datetime(2026, 1, 1, tzinfo=UTC)

Run: TypeAlias = Callable[["Bench", Arguments, Progress | None], Awaitable[Outcome]]


def silent() -> None:
    pass


class Bench:
    library: Library | None = None

    def __init__(
        self, server: Server, tools: Mapping[str, tuple[Tool, Run]], extra: Mapping[str, tuple[Tool, Run]], held: bool
    ) -> None:
        self._key = server.key
        self._tools = dict(tools)
        self._extra = dict(extra)
        self._health: Health = Starting(1, SINCE)
        self._ring: Ring = silent
        self._held = anyio.Event()
        if not held:
            self._held.set()
        self.admitted: Admitted | None = None
        self.peer: Peer | None = None
        """What came with the latest call."""
        self.cancelled = 0
        self.running = 0
        self.started = anyio.Event()
        """Set when a call that waits has begun."""

    @property
    def source(self) -> Source:
        return self._key

    def listing(self) -> Listing:
        tools = () if isinstance(self._health, Starting) else tuple(tool for tool, _ in self._tools.values())
        return Listing(self._key, self._health, tools)

    async def run(self, ring: Ring) -> None:
        self._ring = ring
        await self._held.wait()
        self._health = Up(SINCE)
        ring()
        await anyio.sleep_forever()

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
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
        self._health = Up(datetime(2026, 2, 2, tzinfo=UTC))
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
        self._health = Down(SINCE, "it was unplugged")
        self._ring()


def tool(key: ServerKey, spec: ToolSpec, **extra: Json) -> Tool:
    return Tool(ToolId(key, spec.name), spec, extra)


def returned(text: str, **more: Json) -> Returned:
    return Returned(_result(text, **more))


def failed(text: str) -> ToolFailed:
    return ToolFailed(_result(text, isError=True))


def _result(text: str, **more: Json) -> bytes:
    return json.dumps({"content": [{"type": "text", "text": text}], **more}).encode()
