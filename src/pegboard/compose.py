"""The composition root: the one place that knows all adapters and ties them into a running gateway.

Imports of adapters stand inside the functions that need them: a command loads what it uses and nothing else.
"""

import logging
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import urlsplit

import anyio

from pegboard.config import places
from pegboard.config.ours import why_not_directory, why_not_file
from pegboard.core.ids import LOCAL
from pegboard.surfaces.cli.client import HttpApi, running_gateway
from pegboard.surfaces.cli.link import Api, Options, Starts
from pegboard.surfaces.cli.logs import log_errors_briefly, log_warnings, log_while_serving
from pegboard.surfaces.cli.output import Ending, Exit, document, fail, tell
from pegboard.surfaces.cli.running import run_to_end
from pegboard.surfaces.cli.snippets import announcement

if TYPE_CHECKING:
    from socket import socket

    from anyio.abc import TaskGroup
    from starlette.types import ASGIApp

    from pegboard.config.settings import Settings
    from pegboard.core.ids import ServerKey
    from pegboard.core.server import Server
    from pegboard.gateway.gateway import Gateway
    from pegboard.ports import Provider, ProviderFor, Secrets
    from pegboard.providers.mcp.oauth import Desk
    from pegboard.surfaces.mcp.door import Door

log = logging.getLogger("pegboard")

LOOPBACK: Final = "127.0.0.1"
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
    sign_ins: "_LateDesk"

    @property
    def desk(self) -> "Desk":
        return self.sign_ins.desk

    def signed_in(self, server: "ServerKey") -> None:
        self.gateway.operator.record("sign_in", str(server), "signed in to it", LOCAL)

    @property
    def file(self) -> str | None:
        return None if self.settings is None else str(Path(self.settings.file).absolute())


@dataclass(frozen=True)
class _LateDesk:
    """Where people sign in. Most commands start no server, and need not load what a sign-in takes."""

    secrets: "Secrets"
    tasks: "TaskGroup"

    @cached_property
    def desk(self) -> "Desk":
        from pegboard.providers.mcp.oauth import Desk

        return Desk(self.secrets, now, self.tasks)


@asynccontextmanager
async def open_house(
    options: Options, settings: "Settings | None", starts: Starts, *, follow: bool
) -> AsyncIterator[House]:
    """Store, gateway, the servers that `starts` wants and, to `follow`, the watch over the file. All end together."""
    from pegboard.config.references import expander
    from pegboard.config.settings import Retention
    from pegboard.core.policy import Declared
    from pegboard.gateway.file_watch import follow_files
    from pegboard.gateway.gateway import open_gateway
    from pegboard.store import Keeping, StoreError, key_of, open_store

    directory = _data_dir(options)
    url = _store_url(settings, directory)
    retention = settings.audit if settings else Retention()
    declared = settings.declared if settings else Declared()
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(
                open_store(
                    url,
                    clock=now,
                    keep_days=retention.keep_days,
                    keep_rows=retention.keep_rows,
                    key=key_of(os.environ, directory),
                    keeping=Keeping(retention.arguments, retention.results, declared.redaction),
                )
            )
            signing = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(signing.cancel_scope.cancel)
            desk = _LateDesk(store.secrets, signing)
            gateway = await stack.enter_async_context(
                open_gateway(
                    declared,
                    store.policy,
                    store.audit,
                    _provider_for(settings, starts, desk),
                    now,
                    expand=expander(os.environ, _folder(settings)),
                    tickets=store.tickets,
                )
            )
        except StoreError as error:
            fail(Exit.UNREACHABLE, str(error))
        store.audit.redaction = lambda: gateway.board.policy.declared.redaction
        if settings is not None:
            gateway.board.remarks = replace(settings.remarks, in_passing=not follow)
        if follow and settings is not None:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(follow_files, settings, gateway, name="configuration")
        yield House(gateway, settings, directory, store.where, desk)


def _settings(options: Options, *, here: bool = True) -> "Settings | None":
    """The operator's file, or the end of the command with everything that is wrong in it."""
    from pegboard.config.settings import Broken, load

    path = places.config_file(options.config, os.environ, here=here)
    if path is None:
        return None
    unnamed = here and places.is_of_folder(path, options.config, os.environ)
    if unnamed and (why := why_not_file(path)) is not None:
        fail(Exit.CONFIG, f"{path} is not used: {why}")
    loaded = load(path)
    if isinstance(loaded, Broken):
        told = [str(problem) for problem in loaded.problems]
        fail(Exit.CONFIG, "\n".join(("the configuration cannot be used.", *told)), {"errors": told})
    if unnamed:
        tell(f"  … with {path}, the one of this folder")
    return loaded


def _data_dir(options: Options) -> Path:
    directory = places.data_directory(options.data_dir, os.environ)
    try:
        places.made(directory)
        why = why_not_directory(directory)
    except OSError as error:
        _no_data_dir(directory, error)
    if why is not None:
        fail(Exit.REFUSED, f"the data directory {directory} is not used: {why}")
    return directory


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


def _folder(settings: "Settings | None") -> Path:
    """What references to files are taken from."""
    return settings.folder if settings is not None else Path.cwd()


def _provider_for(settings: "Settings | None", starts: Starts, sign_ins: _LateDesk) -> "ProviderFor":
    from pegboard.config.references import expander_for_callers
    from pegboard.providers.resting import Resting

    expand_for = expander_for_callers(os.environ, _folder(settings))

    def provider(server: "Server") -> "Provider":
        if not starts(str(server.key), server.key.server):
            return Resting(server.key)
        from pegboard.providers.mcp import mcp_provider

        return mcp_provider(server, expand_for, now, sign_ins.desk)

    return provider


class Launcher:
    """What the command line asks of the composition root."""

    @asynccontextmanager
    async def api(self, options: Options, starts: Starts, *, listens: bool = False) -> AsyncIterator[Api]:
        from pegboard.surfaces.cli.progress import tell_as_they_settle

        log_errors_briefly()
        async with running_gateway(options, starts) as running:
            if running is not None:
                yield running
                return
        async with (
            open_house(options, _settings(options), starts, follow=False) as house,
            _pages(house, options.port) if listens else nullcontext(),
        ):
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

    def stdio(self, options: Options, presentation: str) -> int:
        log_warnings()
        return run_to_end(partial(_stdio, options, presentation), fast=True)


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
    from pegboard.gateway.memory import settle_in
    from pegboard.surfaces.cli.progress import tell_as_they_settle, tell_while
    from pegboard.surfaces.listening import Listening, is_open_to_others, reachable
    from pegboard.surfaces.mcp.paths import McpPaths
    from pegboard.surfaces.root import Later, Root
    from pegboard.surfaces.sign_in import SignInPages

    url = reachable(host, listener.getsockname()[1])
    endpoint, token = f"{url}/mcp", secrets.token_urlsafe(32)
    door = _door(house, url)
    mcp = McpPaths(house.gateway, door)
    pages = SignInPages(house.desk, house.signed_in)
    api = Later(partial(_rest, house, endpoint, token))
    root = Root(mcp=mcp, api=api, sign_in=pages, check=partial(_address_refusal, door))
    settle_in()
    async with mcp.running(), Listening(root, listener, mcp.end_streams, mcp.express) as listening:
        house.desk.listen_at((house.settings and house.settings.gateway.url) or url)
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
            for remark in house.gateway.board.standing_remarks():
                tell(f"! {remark}")
            await tell_as_they_settle(house.gateway, tell, later="the others are tried again in the background")
            await tell_while(house.gateway, tell, listening.ended)
        finally:
            places.forget_address(house.data_dir, os.getpid())


@asynccontextmanager
async def _pages(house: House, port: int) -> AsyncIterator[None]:
    """For a sign-in without a running gateway: at the usual port, which people may have registered, if it is free."""
    from pegboard.surfaces.listening import CannotListen, Listening, bound, reachable
    from pegboard.surfaces.root import Root
    from pegboard.surfaces.sign_in import SignInPages

    try:
        listener = bound(LOOPBACK, port)
    except CannotListen:
        listener = bound(LOOPBACK, 0)
    with listener:
        url = reachable(LOOPBACK, listener.getsockname()[1])
        root = Root(
            sign_in=SignInPages(house.desk, house.signed_in), check=partial(_address_refusal, _door(house, url))
        )
        async with Listening(root, listener, _nothing):
            house.desk.listen_at(url)
            yield


def _nothing() -> None:
    """There are no streams to end."""


def _door(house: House, url: str) -> "Door":
    """Whoever names an address to listen on wants to be addressed by it; a page that rebinds a name cannot."""
    from pegboard.config.settings import Callers
    from pegboard.surfaces.mcp.door import Door

    callers = house.settings.gateway if house.settings else Callers()
    names = {*callers.hosts, urlsplit(url).netloc, *(() if callers.url is None else (urlsplit(callers.url).netloc,))}
    return Door(frozenset(names), frozenset(callers.origins), most_values=callers.most_values)


def _address_refusal(door: "Door", headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    refused = door.address_refusal(headers)
    return None if refused is None else (refused.status, refused.message)


def _rest(house: House, endpoint: str | None, token: str) -> "ASGIApp":
    from pegboard.surfaces.rest.access import hashed
    from pegboard.surfaces.rest.app import About, rest_app

    about = About(house.file, str(house.data_dir), endpoint, house.store_url)
    return rest_app(house.gateway, about, hashed(token), lambda: house.desk)


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


async def _stdio(options: Options, presentation: str) -> int:
    from pegboard.surfaces.mcp.search import Search
    from pegboard.surfaces.mcp.stdio import serve_stdio

    present = Search if presentation == "search" else None
    async with open_house(options, _settings(options, here=False), _every_server, follow=True) as house:
        await serve_stdio(house.gateway, present=present)
    return Exit.OK
