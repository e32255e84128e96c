"""Hosts of programs for tests: what they answer, and what they were asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import HostReply, ProgramHost, SandboxFunction

ECHO = SandboxFunction("", "echo", parameters=("x",))


@dataclass
class Answering(ProgramHost):
    """Answers with what it was given, or with what `answer` makes of it."""

    answer: Callable[[SandboxFunction, Mapping[str, Json]], HostReply] = lambda _, arguments: arguments.get("x")
    calls: list[tuple[int, str, dict[str, Json]]] = field(default_factory=list)
    text: str = ""

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        self.calls.append((ordinal, function.name, dict(arguments)))
        await anyio.lowlevel.checkpoint()
        return self.answer(function, arguments)

    def on_output(self, text: str) -> None:
        self.text += text


@dataclass
class Gathering(ProgramHost):
    """Answers when so many wait at the same time, and never before."""

    wanted: int
    most: int = 0
    _waiting: int = 0
    _all: anyio.Event = field(default_factory=anyio.Event)
    came: anyio.Event = field(default_factory=anyio.Event)
    was_cancelled: bool = False

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        self._waiting += 1
        self.came.set()
        self.most = max(self.most, self._waiting)
        if self._waiting >= self.wanted:
            self._all.set()
        try:
            await self._all.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cancelled = True
            raise
        finally:
            self._waiting -= 1
        return ordinal

    def on_output(self, text: str) -> None:
        pass
