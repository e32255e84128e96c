"""A provider at work in a test: run, watched, called, and seen to leave nothing behind."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel
import psutil
from tests.servers.peers import command, warm_command
from tests.support import fork_server

from pegboard.core.calls.call import AdmittedCall, Outcome, ToolCall
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderUp
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ServerId, ServerKey, ToolId, ToolsetId, WireName
from pegboard.core.model.server import Connection, DeclaredAt, Http, Server, Stdio, Timeouts
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.ports.providers import Expand, Progress
from pegboard.providers.mcp.oauth.sign_in import SignInService
from pegboard.providers.mcp.provider import McpServerProvider

KEY = ServerKey(ToolsetId("dev"), ServerId("peer"))
PATIENCE = 40
"""Seconds until a test gives up. Far more than anything here takes, because the machine may be busy."""


@dataclass(frozen=True)
class Peer:
    """`everyday.py` as it is reached. Over HTTP many tests share one process, so they ask it for differences."""

    connection: Connection
    era: str

    @property
    def over_http(self) -> bool:
        return isinstance(self.connection, Http)


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class Watched:
    """A running provider and every listing it rang for."""

    def __init__(self, provider: McpServerProvider) -> None:
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

    async def down(self) -> ProviderDown:
        """Down for good until the next attempt: with the moment of that attempt."""
        listing = await self.until(
            lambda listing: isinstance(listing.health, ProviderDown) and listing.health.retry_at is not None
        )
        assert isinstance(listing.health, ProviderDown)
        return listing.health

    async def call(self, tool: str, /, *, progress: Progress | None = None, **arguments: Json) -> Outcome:
        with anyio.fail_after(PATIENCE):
            return await self.provider.call(admitted(tool, arguments), progress)


def admitted(name: str, arguments: Mapping[str, Json]) -> AdmittedCall:
    """As if the gate had let it through: what a provider does with it is the question here."""
    call = ToolCall(CallId("1"), WireName(name), arguments, LOCAL_PRINCIPAL, datetime(2026, 1, 1, tzinfo=UTC))
    return AdmittedCall(call, Tool(ToolId(KEY, name), ToolSpec(name)))


def program(
    name: str, *arguments: str, env: Mapping[str, str] | None = None, cwd: str | None = None, fresh: bool = False
) -> Stdio:
    executable, *rest = (command if fresh else warm_command)(name, *arguments)
    return Stdio(executable, tuple(rest), dict(env or {}), cwd)


def server(connection: Connection, *, start: float = 30.0, call: float = 30.0, stop: float = 5.0) -> Server:
    return Server(KEY, connection, DeclaredAt("pegboard.yaml", 3), timeouts=Timeouts(start, call, stop))


def as_it_is(text: str) -> str:
    return text


@asynccontextmanager
async def running(
    declared: Server | Connection,
    *,
    expand: Expand = as_it_is,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    chance: Callable[[], float] = lambda: 0.0,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    desk: SignInService | None = None,
) -> AsyncIterator[Watched]:
    """Run the provider for the length of the block; then no process and no open file may be left of it."""
    provider = McpServerProvider(
        declared if isinstance(declared, Server) else server(declared),
        expand,
        clock,
        chance=chance,
        sleep=sleep,
        desk=desk,
    )
    watched = Watched(provider)
    async with nothing_left(), anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, watched.ring)
        try:
            yield watched
        finally:
            tasks.cancel_scope.cancel()


def _children() -> set[psutil.Process]:
    """Without programs of the fork server: each has a stand-in among them that ends with it or before it."""
    own = [child for child in psutil.Process().children() if child.pid not in fork_server.SERVER_PIDS]
    found = {*own}
    for child in own:
        with suppress(psutil.NoSuchProcess):
            found |= {*child.children(recursive=True)}
    return found


_within = ContextVar("within", default=False)


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Of blocks within blocks the outermost looks: what an inner one finds may be another's."""
    if _within.get():
        yield
        return
    token = _within.set(True)
    children, files = _children(), open_files()
    try:
        yield
    finally:
        _within.reset(token)
    assert _children() <= children
    with anyio.fail_after(PATIENCE):
        # What was closed is let go by the event loop in its next rounds.
        while not open_files() <= files:
            await anyio.lowlevel.checkpoint()


def open_files() -> set[str]:
    """Each open file by its number and what it is."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            what = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # the folder's own, closed when the list was read
        # uvloop keeps one of these from its first child process on.
        if what != os.devnull:
            found.add(f"{number}: {what}")
    return found
