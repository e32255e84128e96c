"""A gateway that listens: alone on its data directory, at one address, until it is told to end."""

import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pegboard.config import places
from pegboard.surfaces.cli.link import Options
from pegboard.surfaces.cli.output import Exit, document, fail, tell
from pegboard.surfaces.cli.snippets import announcement

from .api import rest_of
from .chatting import chat_of
from .databases import tell_of_databases
from .handles import handle_key
from .house import House, open_house
from .surroundings import data_dir_of, every_server, no_data_dir, settings_of

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp

    from pegboard.gateway.access.reception import Reception
    from pegboard.surfaces.mcp.door import Door

LOOPBACK: Final = "127.0.0.1"
WITH_UPLOADS: Final = 64 * 1024 * 1024
"""Bytes of one request to a DocSpace, which takes a file in pieces; the call brings all of it."""
OPEN_TO_OTHERS: Final = (
    "! Other machines can reach this address, and whoever reaches it can call every open tool. Put it behind something "
    "that asks who they are, or name them under principals in pegboard.yaml; a name of your own goes under "
    "gateway.allowed_hosts."
)
OPEN_TO_CALLERS: Final = (
    "! Other machines can reach this address, and what they send, tokens included, travels in plain text. Put it "
    "behind something that speaks TLS; a name of your own goes under gateway.allowed_hosts in pegboard.yaml."
)


async def serve(options: Options, as_json: bool, listened: Event) -> int:
    from pegboard.surfaces.listening import CannotListen, bound

    settings = settings_of(options)
    with _alone(data_dir_of(options)):
        try:
            listener = bound(options.host, options.port)
        except CannotListen as error:
            fail(Exit.FAILED, str(error))
        with listener:
            async with open_house(options, settings, every_server, follow=True, listens=True) as house:
                await _listen(house, options.host, listener, as_json, listened)
    return Exit.OK


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            alone = stack.enter_context(places.only_one(directory))
        except OSError as error:
            no_data_dir(directory, error)
        if not alone:
            there = places.read_address(directory)
            where = f" at {there.url} (process {there.pid})" if isinstance(there, places.Address) else ""
            told = f"a gateway runs{where} with the data directory {directory}"
            fail(Exit.FAILED, f"{told}. Use that one, or choose another directory: --data-dir")
        yield


async def _listen(house: House, host: str, listener: "socket", as_json: bool, listened: Event) -> None:
    from anyio import create_task_group, to_thread

    from pegboard.core.docspace.on_board import docspace_on, lending
    from pegboard.gateway.presenting import INSTEAD, too_much
    from pegboard.surfaces.cli.progress import tell_as_they_settle, tell_while
    from pegboard.surfaces.listening import ConnectionLimits, Listening, is_open_to_others, reachable
    from pegboard.surfaces.mcp.paths import McpPaths
    from pegboard.surfaces.root import Later, Root

    port = listener.getsockname()[1]
    url = reachable(host, port)
    endpoint, token = f"{url}/mcp", secrets.token_urlsafe(32)
    mark_exposed(house, listener)
    door = door_of(house, url)
    reception = reception_of(house, token, port)
    mcp = McpPaths(
        house.gateway,
        door,
        key=partial(handle_key, os.environ, house.data_dir),
        attempts=reception.attempts,
        uses=house.uses,
    )
    pages = Later(partial(_sign_in_app, house))
    site = Later(partial(_web_app, reception))
    api = Later(partial(rest_of, house, endpoint, reception))
    chat = None if house.chat is None else Later(partial(chat_of, house, door, mcp.entrance))
    root = Root(mcp=mcp, api=api, chat=chat, sign_in=pages, pages=site, check=partial(_address_refusal, door))

    def stopping() -> None:
        mcp.end_streams()
        house.gateway.board.close()

    limits = ConnectionLimits(house.settings.gateway.max_connections_per_address) if house.settings else None
    async with AsyncExitStack() as stack:
        # Before anything is answered: whoever waits for /health reads the address next.
        places.write_address(house.data_dir, places.Address(url, token, os.getpid()))
        forget = partial(places.forget_address, house.data_dir, os.getpid())
        stack.callback(forget)
        await stack.enter_async_context(mcp.running())
        listening = await stack.enter_async_context(Listening(root, listener, stopping, mcp.express, limits))
        house.sign_ins.listen_at((house.settings and house.settings.gateway.url) or url)
        listened.set()
        tasks = await stack.enter_async_context(create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(_load_rest, name="loading")
        try:
            if as_json:
                document(
                    {"endpoint": endpoint, "ui": f"{url}/ui/", "config": house.file, "dataDir": str(house.data_dir)},
                    indent=None,
                )
            else:
                program = shutil.which("pegboard") or str(Path(sys.executable).with_name("pegboard"))
                board = {"chats": chat is not None, "docspace": docspace_on(house.gateway.board.policy) is not None}
                tell(
                    announcement(
                        endpoint, f"{url}{reception.login_path()}", program, house.file, str(house.data_dir), **board
                    )
                )
            if is_open_to_others(listener):
                tell(OPEN_TO_CALLERS if house.gateway.board.policy.requires_tokens else OPEN_TO_OTHERS)
            if (lends := lending(house.gateway.board.policy)) is not None:
                tell(f"! {lends}")
            for remark in house.gateway.board.standing_remarks():
                tell(f"! {remark}")
            await tell_as_they_settle(house.gateway, tell, later="the others are tried again in the background")
            await tell_of_databases(house.gateway, tell)
            if (costly := await to_thread.run_sync(too_much, house.gateway.board)) is not None:
                tell(f"! {costly} {INSTEAD}")
            await tell_while(house.gateway, tell, listening.ended)
        finally:
            forget()


async def _load_rest() -> None:
    """Load what an MCP server or a client's session needs, once the gateway listens.

    A request that needs it earlier waits for it, and everything else is served meanwhile.
    """
    from anyio import to_thread

    await to_thread.run_sync(_load, abandon_on_cancel=True)


def _load() -> None:
    from pegboard.gateway.memory import settle_in
    from pegboard.surfaces.mcp.http import load_sdk

    load_sdk()
    import pegboard.providers.mcp  # noqa: F401  it is made for the first server, in the event loop

    settle_in()


def _sign_in_app(house: House) -> "ASGIApp":
    from pegboard.surfaces.sign_in import SignInPages

    return SignInPages(house.desk, house.signed_in)


def _web_app(reception: "Reception") -> "ASGIApp":
    from pegboard.surfaces.web.site import Site

    return Site(reception)


def mark_exposed(house: House, listener: "socket") -> None:
    """Callers from elsewhere are no user of this machine, so what their clients answer confirms nothing by default."""
    from pegboard.surfaces.listening import is_open_to_others

    board, settings = house.gateway.board, house.settings
    is_fronted = settings is not None and (
        bool(settings.gateway.proxies or settings.gateway.url)
        or not all(map(_names_this_machine, (*settings.gateway.hosts, *settings.gateway.origins)))
    )
    if is_open_to_others(listener) or is_fronted:
        board.decide(replace(board.policy, is_exposed=True))


def _names_this_machine(place: str) -> bool:
    """Of a Host header or an origin that is answered. Who allows another name expects callers through a proxy."""
    from pegboard.surfaces.mcp.door import host_of, is_loopback

    return is_loopback(host_of((place.partition("://")[2] or place).removesuffix(":*")))


@asynccontextmanager
async def sign_in_pages(house: House, port: int) -> AsyncIterator[None]:
    """For a sign-in without a running gateway: at the usual port, which people may have registered, if it is free."""
    from pegboard.surfaces.listening import CannotListen, Listening, bound, reachable
    from pegboard.surfaces.root import Root

    try:
        listener = bound(LOOPBACK, port)
    except CannotListen:
        listener = bound(LOOPBACK, 0)
    with listener:
        url = reachable(LOOPBACK, listener.getsockname()[1])
        root = Root(sign_in=_sign_in_app(house), check=partial(_address_refusal, door_of(house, url)))
        async with Listening(root, listener, _nothing):
            house.sign_ins.listen_at(url)
            yield


def _nothing() -> None:
    """There are no streams to end."""


def reception_of(house: House, token: str, port: int) -> "Reception":
    from pegboard.gateway.access.keys import Keys, hashed
    from pegboard.gateway.access.proxies import Proxies
    from pegboard.gateway.access.reception import Reception

    keys = Keys(house.gateway.board, hashed(token), house.gateway.clock, house.uses)
    if house.settings is None:
        return Reception(keys, port, visits=house.visits.visits, keeping=house.visits)
    told = house.settings.gateway
    return Reception(keys, port, told.url, Proxies(told.proxies), visits=house.visits.visits, keeping=house.visits)


def door_of(house: House, url: str) -> "Door":
    """Whoever names an address to listen on wants to be addressed by it; a page that rebinds a name cannot."""
    from pegboard.config.settings import Callers
    from pegboard.core.docspace.on_board import docspace_on
    from pegboard.gateway.access.proxies import Proxies
    from pegboard.surfaces.mcp.door import Door

    callers = house.settings.gateway if house.settings else Callers()
    names = {*callers.hosts, urlsplit(url).netloc, *(() if callers.url is None else (urlsplit(callers.url).netloc,))}
    pages = () if callers.url is None else (callers.url,)
    door = Door(
        frozenset(names),
        frozenset({*callers.origins, *pages}),
        Proxies(callers.proxies),
        most_values=callers.most_values,
    )
    uploads = WITH_UPLOADS if docspace_on(house.gateway.board.policy) is not None else door.largest_body
    return replace(door, largest_body=callers.most_bytes or uploads)


def _address_refusal(door: "Door", headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    refused = door.address_refusal(headers)
    return None if refused is None else (refused.status, refused.message)
