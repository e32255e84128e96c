"""The composition root: the one place that knows all adapters and ties them into a running gateway.

Imports of adapters stand inside the functions that need them: `pegboard version` must not load a web framework.
"""

import logging
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from pegboard.config import places
from pegboard.surfaces.cli.link import Answer, Api, Options, Params, SettingsReport
from pegboard.surfaces.cli.output import Exit, document, fail, unwrapped
from pegboard.surfaces.cli.snippets import WALL, snippets

if TYPE_CHECKING:
    import httpx2

    from pegboard.config.settings import Settings
    from pegboard.core.server import Server
    from pegboard.gateway.gateway import Gateway
    from pegboard.ports import Provider, ProviderFor

log = logging.getLogger("pegboard")

CONFIG_NOTICE: Final = "configuration"
SETTLE_SECONDS: Final = 35.0
"""How long a one-off command waits for the servers it started: a little over their own deadline."""


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class House:
    """A running gateway and what its surfaces tell of its surroundings."""

    gateway: "Gateway"
    settings: "Settings | None"
    data_dir: Path
    store_url: str


@asynccontextmanager
async def open_house(options: Options, *, live: bool) -> AsyncIterator[House]:
    """Store, gateway and, when `live`, its servers and the watch over its file. Everything ends with the block."""
    from pegboard.config.settings import Retention
    from pegboard.core.policy import Declared
    from pegboard.gateway.gateway import open_gateway
    from pegboard.store import StoreError, open_store

    settings = settings_of(options)
    directory = _data_dir(options)
    url = _store_url(settings, directory)
    retention = settings.audit if settings else Retention()
    declared = settings.declared if settings else Declared()
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(
                open_store(url, clock=now, keep_days=retention.keep_days, keep_rows=retention.keep_rows)
            )
            gateway = await stack.enter_async_context(
                open_gateway(declared, store.policy, store.audit, _provider_for(settings) if live else _resting, now)
            )
        except StoreError as error:
            fail(Exit.UNREACHABLE, str(error))
        if live and settings is not None:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(_follow_file, settings, gateway, name="configuration")
        yield House(gateway, settings, directory, store.where)


def settings_of(options: Options) -> "Settings | None":
    """The operator's file, or the end of the command with everything that is wrong in it."""
    from pegboard.config.settings import Broken, load

    path = places.config_file(options.config, os.environ)
    if path is None:
        return None
    loaded = load(path)
    if isinstance(loaded, Broken):
        told = [str(problem) for problem in loaded.problems]
        fail(Exit.CONFIG, "\n".join(("the configuration cannot be used.", *told)), {"errors": told})
    return loaded


def _data_dir(options: Options) -> Path:
    directory = places.data_directory(options.data_dir, os.environ)
    try:
        return places.made(directory)
    except OSError as error:
        fail(Exit.FAILED, f"the data directory {directory} cannot be made: {error.strerror}. Choose one: --data-dir")


def _store_url(settings: "Settings | None", directory: Path) -> str:
    from pegboard.config.references import expander
    from pegboard.ports import Unresolved

    if settings is None or settings.store is None:
        return f"sqlite:///{directory / places.DATABASE}"
    url = expander(os.environ, settings.folder)(settings.store)
    if isinstance(url, Unresolved):
        fail(Exit.CONFIG, f"{settings.file}: store: {url.why}")
    return url


def _provider_for(settings: "Settings | None") -> "ProviderFor":
    from pegboard.config.references import expander
    from pegboard.providers.mcp import McpServer

    folder = settings.folder if settings is not None else Path.cwd()
    expand = expander(os.environ, folder)
    return lambda server: McpServer(server, expand, now)


def _resting(server: "Server") -> "Provider":
    from pegboard.providers.resting import Resting

    return Resting(server.key)


async def _follow_file(settings: "Settings", gateway: "Gateway") -> None:
    """A good edit is on the board at once; a broken one changes nothing and is told until it is mended."""
    from pegboard.config.settings import Broken, load
    from pegboard.config.watch import changes
    from pegboard.gateway.board import Notice

    path, digest = Path(settings.file), settings.digest
    async for _ in changes(path, seen=digest):
        loaded = await anyio.to_thread.run_sync(load, path)
        if loaded.digest is not None and loaded.digest == digest:
            continue
        digest = loaded.digest or ""
        problems = (
            [str(problem) for problem in loaded.problems]
            if isinstance(loaded, Broken)
            else await gateway.operator.redeclare(loaded.declared)
        )
        if problems:
            text = "\n".join((f"{path} was edited and cannot be used; the last good board stays.", *problems))
            gateway.board.notice(Notice(CONFIG_NOTICE, text, now()))
            log.error("%s", text)
        else:
            gateway.board.forget_notice(CONFIG_NOTICE)
            log.info("%s was loaded again.", path)


class Launcher:
    """What the command line asks of the composition root."""

    def settings(self, options: Options) -> SettingsReport:
        from pegboard.config.settings import Broken, load

        path = places.config_file(options.config, os.environ)
        directory = str(places.data_directory(options.data_dir, os.environ))
        if path is None:
            return SettingsReport(None, directory, (), ())
        loaded = load(path)
        if isinstance(loaded, Broken):
            return SettingsReport(str(path), directory, tuple(map(str, loaded.problems)), ())
        return SettingsReport(str(path), directory, (), tuple(map(str, loaded.warnings)))

    @asynccontextmanager
    async def api(self, options: Options, *, live: bool, told: Callable[[str], None]) -> AsyncIterator[Api]:
        async with _running_gateway(options) as running:
            if running is not None:
                yield running
                return
        async with open_house(options, live=live) as house:
            if live:
                await _settled(house.gateway, told)
            async with _in_process(house) as api:
                yield api

    def serve(self, options: Options, told: Callable[[str], None], *, as_json: bool) -> int:
        _logging(logging.INFO)
        return _run(_serve, options, told, as_json)

    def stdio(self, options: Options) -> int:
        _logging(logging.WARNING)
        return _run(_stdio, options)


async def _serve(options: Options, told: Callable[[str], None], as_json: bool) -> int:
    from pegboard.config.settings import Callers
    from pegboard.surfaces.listen import AddressInUse, Listening, bound
    from pegboard.surfaces.mcp.door import Door
    from pegboard.surfaces.mcp.http import McpHttp
    from pegboard.surfaces.rest.access import hashed
    from pegboard.surfaces.rest.app import About, rest_app
    from pegboard.surfaces.root import Root

    directory = _data_dir(options)
    try:
        socket = bound(options.host, options.port)
    except AddressInUse as error:
        fail(Exit.FAILED, str(error))
    url = f"http://{options.host}:{socket.getsockname()[1]}"
    endpoint, token = f"{url}/mcp", secrets.token_urlsafe(32)
    with socket, places.only_one(directory) as alone:
        if not alone:
            there = places.read_address(directory)
            where = f" at {there.url}" if there else ""
            fail(Exit.FAILED, f"a gateway runs{where} with the data directory {directory}. Choose another: --data-dir")
        async with open_house(options, live=True) as house:
            about = About(_file(house), str(directory), endpoint, house.store_url)
            callers = house.settings.gateway if house.settings else Callers()
            mcp = McpHttp(house.gateway, Door(frozenset(callers.hosts), frozenset(callers.origins)))
            root = Root(mcp=mcp, api=rest_app(house.gateway, about, hashed(token)))
            async with mcp.running(), Listening(root, socket, mcp.end_streams) as listening:
                places.write_address(directory, places.Address(url, token, os.getpid()))
                try:
                    _announce(house, endpoint, told, as_json)
                    await _settled(house.gateway, told)
                    await listening.ended()
                finally:
                    places.forget_address(directory, os.getpid())
    return Exit.OK


async def _stdio(options: Options) -> int:
    from pegboard.surfaces.mcp.stdio import serve_stdio

    async with open_house(options, live=True) as house:
        await serve_stdio(house.gateway)
    return Exit.OK


def _announce(house: House, endpoint: str, told: Callable[[str], None], as_json: bool) -> None:
    if as_json:
        document({"endpoint": endpoint, "config": _file(house), "dataDir": str(house.data_dir)})
        return
    program = shutil.which("pegboard") or str(Path(sys.executable).with_name("pegboard"))
    told(WALL)
    told(f"\nMCP endpoint  {endpoint}\nConfiguration {_file(house) or 'none'}\nData          {house.data_dir}\n")
    told(snippets(endpoint, program, _file(house), str(house.data_dir)))
    told("\nCtrl-C ends it.\n")


def _file(house: House) -> str | None:
    return None if house.settings is None else str(Path(house.settings.file).absolute())


async def _settled(gateway: "Gateway", told: Callable[[str], None]) -> None:
    """Tells of each server as it answers or fails, until all have."""
    from pegboard.core.catalogue import Down, NeedsSignIn, Off, Starting, Up

    heard: set[object] = set()
    with anyio.move_on_after(SETTLE_SECONDS), gateway.board.changed.listen() as bell:
        while True:
            waiting = False
            for source, listing in gateway.board.catalogue.listings.items():
                match listing.health:
                    case Starting():
                        waiting = True
                    case Up() if source not in heard:
                        heard.add(source)
                        told(f"  ● {source}: {len(listing.tools)} tools")
                    case Down(_, why) if source not in heard:
                        heard.add(source)
                        told(f"  ○ {source} {why}")
                    case NeedsSignIn(_, url) if source not in heard:
                        heard.add(source)
                        told(f"  ○ {source} needs sign-in: {url}")
                    case Up() | Down() | NeedsSignIn() | Off():
                        pass
            if not waiting:
                return
            await bell.wait()
    told("  Some servers have not answered yet; they go on in the background.")


@asynccontextmanager
async def _running_gateway(options: Options) -> AsyncIterator[Api | None]:
    """The gateway that runs on this data directory, if it answers and serves the configuration that was named."""
    import httpx2

    address = places.read_address(places.data_directory(options.data_dir, os.environ))
    if address is None:
        yield None
        return
    headers = {"authorization": f"Bearer {address.token}"}
    # The address is a loopback one without TLS, written by the gateway itself: no certificates and no proxies.
    async with httpx2.AsyncClient(
        base_url=address.url,
        headers=headers,
        timeout=150,
        verify=False,
        trust_env=False,
    ) as client:
        api = _HttpApi(client, running=True)
        try:
            status = await api.request("GET", "/status")
        except httpx2.TransportError:
            yield None
            return
        other = options.config is not None and status.body.get("config") != str(options.config.absolute())
        yield api if status.status == 200 and not other else None


@asynccontextmanager
async def _in_process(house: House) -> AsyncIterator[Api]:
    import httpx2

    from pegboard.surfaces.rest.access import hashed
    from pegboard.surfaces.rest.app import About, rest_app

    token = secrets.token_urlsafe(32)
    app = rest_app(house.gateway, About(_file(house), str(house.data_dir), None, house.store_url), hashed(token))
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {token}"},
        timeout=None,  # every wait behind it has a deadline of its own
    ) as client:
        yield _HttpApi(client, running=False)


class _HttpApi:
    def __init__(self, client: "httpx2.AsyncClient", *, running: bool) -> None:
        self._client = client
        self.running = running

    async def request(
        self, method: str, path: str, *, params: Params = (), body: Mapping[str, object] | None = None
    ) -> Answer:
        response = await self._client.request(method, f"/api/v1{path}", params=list(params), json=body)
        return Answer(response.status_code, response.json())


def _run(main: Callable[..., Coroutine[Any, Any, int]], *args: object) -> int:
    """Runs to the end; whatever a task group wrapped, the ending that was meant is what comes out."""
    try:
        return anyio.run(main, *args, backend_options={"use_uvloop": sys.platform != "win32"})
    except BaseExceptionGroup as group:
        raise unwrapped(group) from None


def _logging(level: int) -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    log.setLevel(level)
