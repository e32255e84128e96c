"""A gateway after many calls and restarts holds what it held before them, and nothing more."""

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest
import yaml
from benchmarks.gateway.client import Client, Listed, Operation
from benchmarks.gateway.program import free_port
from benchmarks.gateway.target import ROOT
from benchmarks.gateway.wire import Endpoint, Era
from tests.providers.mcp.running import open_files
from tests.servers.peers import command
from tests.support.fork_server import python

from pegboard.bootstrap.application import Application, open_application
from pegboard.config.settings import Settings, load_settings_file
from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.surfaces.http.server import HttpServer, bind_socket
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    # The loop that the gateway runs on.
    pytest.mark.parametrize("anyio_backend", [pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop")]),
]

PATIENCE = 60
CLIENTS = 5
"""For each era and each server."""
SLACK_BYTES = 30_000_000
MOST_THREADS = 64
"""The main one, the store's pool and the loop's pool of workers, both bounded."""
SERVERS = {name: ServerKey(ToolsetId(name), ServerId(name)) for name in ("pipe", "web", "hung")}


def held() -> Counter[str]:
    """What this process holds on to, each kind with its number."""
    # The store's pool opens a file and a thread for each connection it needs, up to its bound: see below.
    files = [file for file in open_files() if ".db" not in file]
    counted = Counter(f"task {getattr(task.get_coro(), '__qualname__', '')}" for task in asyncio.all_tasks())
    counted["files"], counted["processes"] = len(files), len(psutil.Process().children(recursive=True))
    return counted


async def left_since(before: Counter[str]) -> Counter[str]:
    """What is held more than before, once all is let go of that will be: what was just closed needs some rounds."""
    with anyio.move_on_after(PATIENCE):
        while held() - before:  # noqa: ASYNC110 - a closed file tells nobody
            await anyio.sleep(0.05)
    return held() - before


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@asynccontextmanager
async def listening(folder: Path, web: int) -> AsyncIterator[tuple[Application, Endpoint]]:
    """The whole gateway in this process, in front of a server over stdio and one over HTTP."""
    executable, *arguments = command("crash_on_call")
    _, hung = command("hung")
    config = folder / "pegboard.yaml"
    servers = {
        "pipe": {"command": executable, "args": arguments, "trust": "open"},
        "web": {"url": f"http://127.0.0.1:{web}/mcp", "transport": "http", "trust": "open"},
        "hung": {"command": executable, "args": [hung, "--after-initialize"], "trust": "open"},
    }
    config.write_text(yaml.safe_dump({"servers": servers}))
    settings = load_settings_file(config)
    assert isinstance(settings, Settings)
    with bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with open_application(folder / "data", settings, lambda key, id: True, follow=True) as house:
            mcp = McpHttpEndpoint(house.gateway, RequestChecks(frozenset({f"127.0.0.1:{port}"}), frozenset()))
            async with mcp.lifespan(), HttpServer(mcp, listener, mcp.end_streams, mcp.fast_path):
                yield house, Endpoint("127.0.0.1", port, "/mcp")


@asynccontextmanager
async def web_server(port: int) -> AsyncIterator[None]:
    words = ["-m", "benchmarks.gateway.upstream.http", "--port", str(port), "--tools", "3"]
    async with await anyio.open_process([python(), *words], cwd=ROOT, stdout=None, stderr=None) as process:
        try:
            yield
        finally:
            process.kill()


async def until(house: Application, holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE), house.gateway.board.changes.subscribe() as bell:
        while not holds():
            await bell.wait()


def up_since(house: Application, key: ServerKey) -> object:
    """Another value for each connection, None while there is none."""
    listing = house.gateway.board.catalogue.listings.get(key)
    return listing.health if listing is not None and isinstance(listing.health, ProviderUp) else None


async def restart(house: Application, times: int) -> None:
    for number in range(times):
        key = SERVERS["pipe" if number % 2 else "web"]
        before = up_since(house, key)
        assert house.gateway.providers.restart(key)
        await until(house, lambda key=key, before=before: up_since(house, key) not in (None, before))  # type: ignore[misc]


async def call(endpoint: Endpoint, times: int) -> None:
    """So many calls by many clients at once, of both eras and to both servers; each answer is checked."""
    ways = [(era, tool) for era in Era for tool in ("pipe__echo", "web__echo")]
    clients = [Client(endpoint, era, number, tool) for number in range(CLIENTS) for era, tool in ways]
    share, rest = divmod(times, len(clients))
    assert rest == 0

    async def call_share(client: Client) -> None:
        for _ in range(share):
            await client.perform()

    for client in clients:
        await client.open()
        client.prepare(Operation.CALL, Listed((), ()), "")
    async with anyio.create_task_group() as tasks:
        for client in clients:
            tasks.start_soon(call_share, client)
    for client in clients:
        await client.close()


async def abandon(endpoint: Endpoint, times: int) -> None:
    """Calls that no server answers, given up by hanging up; another call shows each time that the gateway goes on."""
    for number in range(times):
        era = list(Era)[number % 2]
        waiting, other = Client(endpoint, era, 1, "wait"), Client(endpoint, era, 2, "pipe__echo")
        for client in (waiting, other):
            await client.open()
            client.prepare(Operation.CALL, Listed((), ()), "")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiting.perform)
            await other.perform()
            tasks.cancel_scope.cancel()
        await waiting.close()
        await other.close()


@pytest.mark.behaviour("supervision.nothing_left_behind", "supervision.nothing_piles_up")
@pytest.mark.parametrize(
    ("calls", "rest"), [(2_000, 10), pytest.param(10_000, 100, marks=[pytest.mark.soak, pytest.mark.timeout(600)])]
)
async def test_many_calls_some_given_up_and_restarts_leave_nothing_behind(
    calls: int, rest: int, tmp_path: Path
) -> None:
    """`rest` calls are given up, and as often a server is restarted."""
    port = free_port()
    async with web_server(port), listening(tmp_path, port) as (house, endpoint):
        await until(house, lambda: all(up_since(house, key) is not None for key in SERVERS.values()))
        await call(endpoint, calls // 5)
        await abandon(endpoint, rest // 5)
        await restart(house, rest // 5)
        before, kept, memory = held(), objects(), psutil.Process().memory_info().rss

        await call(endpoint, calls)
        await abandon(endpoint, rest)
        await restart(house, rest)

        assert await left_since(before) == Counter()
        assert threading.active_count() <= MOST_THREADS
        # Less than one object for each call, more than caches that fill up.
        assert objects() - kept < calls // 4
        assert psutil.Process().memory_info().rss - memory < SLACK_BYTES


@pytest.mark.behaviour("supervision.calls_leave_no_rings")
async def test_calls_leave_no_rings_for_the_collector_to_find(tmp_path: Path) -> None:
    calls = 5_000
    port = free_port()
    async with web_server(port), listening(tmp_path, port) as (house, endpoint):
        await until(house, lambda: all(up_since(house, key) is not None for key in SERVERS.values()))
        await call(endpoint, calls)
        gc.collect()
        gc.disable()
        try:
            await call(endpoint, calls)
            found = gc.collect()
        finally:
            gc.enable()
        assert found < calls  # some are of sessions and connections, however many calls these make
