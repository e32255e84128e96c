"""The composition root: the one place that knows all adapters and ties them into a running gateway.

Imports of adapters stand inside the functions that need them: a command loads what it uses and nothing else.
"""

import logging
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import urlsplit

import anyio

from pegboard.config import places
from pegboard.surfaces.cli.client import HttpApi, running_gateway
from pegboard.surfaces.cli.link import Api, Options, Starts
from pegboard.surfaces.cli.logs import log_errors_briefly, log_warnings, log_while_serving
from pegboard.surfaces.cli.output import Ending, Exit, document, fail, tell
from pegboard.surfaces.cli.running import run_to_end
from pegboard.surfaces.cli.snippets import announcement

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp

    from pegboard.config.settings import Settings
    from pegboard.core.server import Server
    from pegboard.gateway.gateway import Gateway
    from pegboard.ports import Provider, ProviderFor
    from pegboard.surfaces.mcp.door import Door

log = logging.getLogger("pegboard")

EMPTY: Final = sha256(b"").hexdigest()
EMPTY_SECONDS: Final = 2.0
CONFIG_NOTICE: Final = "configuration"
RESTART_NOTICE: Final = "restart"
OPEN_TO_OTHERS: Final = (
    "! Other machines can reach this address, and whoever reaches it can call every open tool. Put it behind something "
    "that asks who they are, or name them under principals in pegboard.yaml; a name of your own goes under "
    "gateway.allowed_hosts."
)
OPEN_TO_CALLERS: Final = (
    "! Other machines can reach this address, and what they send, tokens included, travels in plain text. Put it "
    "behind something that speaks TLS; a name of your own goes under gateway.allowed_hosts in pegboard.yaml."
)


def now() -> datetime:
    return datetime.now(UTC)


def _every_server(key: str, id: str) -> bool:
    return True


@dataclass(frozen=True)
class House:
    """A running gateway and what its surfaces tell of its surroundings."""

    gateway: "Gateway"
    settings: "Settings | None"
    data_dir: Path
    store_url: str

    @property
    def file(self) -> str | None:
        return None if self.settings is None else str(Path(self.settings.file).absolute())


@asynccontextmanager
async def open_house(
    options: Options, settings: "Settings | None", starts: Starts, *, follow: bool
) -> AsyncIterator[House]:
    """Store, gateway, the servers that `starts` wants and, to `follow`, the watch over the file. All end together."""
    from pegboard.config.settings import Retention
    from pegboard.core.policy import Declared
    from pegboard.gateway.gateway import open_gateway
    from pegboard.store import StoreError, open_store

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
                open_gateway(declared, store.policy, store.audit, _provider_for(settings, starts), now)
            )
        except StoreError as error:
            fail(Exit.UNREACHABLE, str(error))
        if follow and settings is not None:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(_follow_file, settings, gateway, name="configuration")
        yield House(gateway, settings, directory, store.where)


def _settings(options: Options, *, here: bool = True) -> "Settings | None":
    """The operator's file, or the end of the command with everything that is wrong in it."""
    from pegboard.config.settings import Broken, load

    path = places.config_file(options.config, os.environ, here=here)
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
        _no_data_dir(directory, error)


def _no_data_dir(directory: Path, error: OSError) -> NoReturn:
    why = error.strerror or str(error)
    fail(Exit.UNREACHABLE, f"the data directory {directory} cannot be used: {why}. Choose another: --data-dir")


def _store_url(settings: "Settings | None", directory: Path) -> str:
    from pegboard.config.references import expander
    from pegboard.ports import Unresolved

    if settings is None or settings.store is None:
        return f"sqlite:///{directory / places.DATABASE}"
    url = expander(os.environ, settings.folder)(settings.store)
    if isinstance(url, Unresolved):
        fail(Exit.CONFIG, f"{settings.file}: store: {url.why}")
    return url


def _provider_for(settings: "Settings | None", starts: Starts) -> "ProviderFor":
    from pegboard.config.references import expander
    from pegboard.providers.resting import Resting

    folder = settings.folder if settings is not None else Path.cwd()
    expand = expander(os.environ, folder)

    def provider(server: "Server") -> "Provider":
        if not starts(str(server.key), server.key.server):
            return Resting(server.key)
        from pegboard.providers.mcp import McpServer

        return McpServer(server, expand, now)

    return provider


async def _follow_file(settings: "Settings", gateway: "Gateway") -> None:
    """A good edit is on the board at once; a broken one changes nothing and is told until it is mended."""
    from pegboard.config.settings import Broken, load
    from pegboard.config.watch import changes
    from pegboard.gateway.board import Notice

    path, digest = Path(settings.file), settings.digest
    async for _ in changes(path, seen=digest):
        loaded = await anyio.to_thread.run_sync(load, path)
        if loaded.digest == EMPTY:
            # Many editors empty a file before they write it: only one that stays empty means an empty board.
            await anyio.sleep(EMPTY_SECONDS)
            loaded = await anyio.to_thread.run_sync(load, path)
        if loaded.digest is not None and loaded.digest == digest:
            continue
        digest = loaded.digest or ""
        if isinstance(loaded, Broken):
            text = "\n".join((f"{path} was edited and cannot be used; the last good board stays.", str(loaded)))
            gateway.board.notice(Notice(CONFIG_NOTICE, text, now()))
            log.error("%s", text)
            continue
        gateway.board.forget_notice(CONFIG_NOTICE)
        if clashing := await gateway.operator.redeclare(loaded.declared):
            log.error("%s", "\n".join((f"{path} waits; the last good board stays.", *clashing)))
        else:
            log.info("%s was loaded again.", path)
        if late := _read_at_start_only(settings, loaded):
            text = f"{path}: {' and '.join(late)} changed, and is read only when the gateway starts. Start it again."
            gateway.board.notice(Notice(RESTART_NOTICE, text, now()))
            log.warning("%s", text)
        else:
            gateway.board.forget_notice(RESTART_NOTICE)


def _read_at_start_only(before: "Settings", after: "Settings") -> list[str]:
    pairs = {
        "store": (before.store, after.store),
        "audit": (before.audit, after.audit),
        "gateway": (before.gateway, after.gateway),
    }
    return [name for name, (then, now) in pairs.items() if then != now]


class Launcher:
    """What the command line asks of the composition root."""

    @asynccontextmanager
    async def api(self, options: Options, starts: Starts) -> AsyncIterator[Api]:
        from pegboard.surfaces.cli.progress import tell_as_they_settle

        log_errors_briefly()
        async with running_gateway(options, starts) as running:
            if running is not None:
                yield running
                return
        async with open_house(options, _settings(options), starts, follow=False) as house:
            await tell_as_they_settle(house.gateway, tell, later="some servers have not answered; going on without")
            async with _in_process(house) as api:
                yield api

    def serve(self, options: Options, *, as_json: bool) -> int:
        log_while_serving()
        listened = Event()
        try:
            return run_to_end(partial(_serve, options, as_json, listened), fast=True)
        except Ending as ending:
            # A signal is how a gateway that listens ends: that is no failure.
            if ending.code > 128 and listened.is_set():
                return Exit.OK
            raise

    def stdio(self, options: Options) -> int:
        log_warnings()
        return run_to_end(partial(_stdio, options), fast=True)


async def _serve(options: Options, as_json: bool, listened: Event) -> int:
    from pegboard.surfaces.listening import CannotListen, bound

    settings = _settings(options)
    with _alone(_data_dir(options)):
        try:
            listener = bound(options.host, options.port)
        except CannotListen as error:
            fail(Exit.FAILED, str(error))
        with listener:
            async with open_house(options, settings, _every_server, follow=True) as house:
                await _listen(house, options.host, listener, as_json, listened)
    return Exit.OK


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            alone = stack.enter_context(places.only_one(directory))
        except OSError as error:
            _no_data_dir(directory, error)
        if not alone:
            there = places.read_address(directory)
            where = f" at {there.url} (process {there.pid})" if isinstance(there, places.Address) else ""
            told = f"a gateway runs{where} with the data directory {directory}"
            fail(Exit.FAILED, f"{told}. Use that one, or choose another directory: --data-dir")
        yield


async def _listen(house: House, host: str, listener: "socket", as_json: bool, listened: Event) -> None:
    from pegboard.surfaces.cli.progress import tell_as_they_settle
    from pegboard.surfaces.listening import Listening, is_open_to_others, reachable
    from pegboard.surfaces.mcp.http import McpHttp
    from pegboard.surfaces.root import Root

    url = reachable(host, listener.getsockname()[1])
    endpoint, token = f"{url}/mcp", secrets.token_urlsafe(32)
    door = _door(house, url)
    mcp = McpHttp(house.gateway, door)
    root = Root(mcp=mcp, api=_rest(house, endpoint, token), check=partial(_address_refusal, door))
    async with mcp.running(), Listening(root, listener, mcp.end_streams) as listening:
        places.write_address(house.data_dir, places.Address(url, token, os.getpid()))
        listened.set()
        try:
            if as_json:
                document({"endpoint": endpoint, "config": house.file, "dataDir": str(house.data_dir)}, indent=None)
            else:
                program = shutil.which("pegboard") or str(Path(sys.executable).with_name("pegboard"))
                tell(announcement(endpoint, program, house.file, str(house.data_dir)))
            if is_open_to_others(listener):
                tell(OPEN_TO_CALLERS if house.gateway.board.policy.declared.principals else OPEN_TO_OTHERS)
            for warning in house.settings.warnings if house.settings else ():
                tell(f"! {warning}")
            await tell_as_they_settle(house.gateway, tell, later="the others are tried again in the background")
            await listening.ended()
        finally:
            places.forget_address(house.data_dir, os.getpid())


def _door(house: House, url: str) -> "Door":
    """Whoever names an address to listen on wants to be addressed by it; a page that rebinds a name cannot."""
    from pegboard.config.settings import Callers
    from pegboard.surfaces.mcp.door import Door

    callers = house.settings.gateway if house.settings else Callers()
    return Door(frozenset({*callers.hosts, urlsplit(url).netloc}), frozenset(callers.origins))


def _address_refusal(door: "Door", headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    refused = door.address_refusal(headers)
    return None if refused is None else (refused.status, refused.message)


def _rest(house: House, endpoint: str | None, token: str) -> "ASGIApp":
    from pegboard.surfaces.rest.access import hashed
    from pegboard.surfaces.rest.app import About, rest_app

    about = About(house.file, str(house.data_dir), endpoint, house.store_url)
    return rest_app(house.gateway, about, hashed(token))


@asynccontextmanager
async def _in_process(house: House) -> AsyncIterator[Api]:
    import httpx2

    token = secrets.token_urlsafe(32)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(_rest(house, None, token), raise_app_exceptions=False),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
    ) as client:
        yield HttpApi(client, "the gateway in this process", running=False)


async def _stdio(options: Options) -> int:
    from pegboard.surfaces.mcp.stdio import serve_stdio

    async with open_house(options, _settings(options, here=False), _every_server, follow=True) as house:
        await serve_stdio(house.gateway)
    return Exit.OK
