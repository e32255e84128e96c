"""`pegboard serve`: one gateway on its data directory, with all surfaces, until it is stopped."""

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pegboard.bootstrap.application import Application, open_application
from pegboard.bootstrap.environment import (
    ensure_data_directory,
    every_server,
    handle_key,
    reference_folder,
    unusable_data_directory,
)
from pegboard.bootstrap.errors import StartupError
from pegboard.config import paths

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp

    from pegboard.config.settings import Settings
    from pegboard.core.model.ids import PrincipalId
    from pegboard.core.model.selection import View
    from pegboard.gateway.access.authentication import OperatorAuthentication
    from pegboard.gateway.board import BoardState
    from pegboard.surfaces.chat.response import ChatRejection
    from pegboard.surfaces.mcp.authentication import BearerAuthentication
    from pegboard.surfaces.mcp.request_checks import RequestChecks


# Chat over one gateway: its model servers, and the door that it shares with the MCP endpoint.
#
# Nothing of it is loaded before the first request.


def make_chat_app(house: "Application", door: "RequestChecks", entrance: "BearerAuthentication") -> "ASGIApp":
    from pegboard.config.references import expander
    from pegboard.gateway.chat.chat import Chat
    from pegboard.gateway.chat.request import ModelDirectory
    from pegboard.providers.model_servers.openai import OpenAiServer
    from pegboard.surfaces.chat.app import ChatAccess, ChatApp
    from pegboard.surfaces.mcp.view import duplicate_credential_header, explain_unknown_names

    settings = house.chat
    assert settings is not None
    expand = expander(os.environ, reference_folder(house.settings))
    servers = {name: OpenAiServer(said, expand) for name, said in settings.servers.items()}
    for server in servers.values():
        house.on_close(server.aclose)
    gate = ChatAccess(
        principal_of=partial(_principal, entrance),
        view_of=partial(_view, house.gateway.board),
        unknown_names=lambda view: explain_unknown_names(house.gateway.board.resolution(view)),
        forwardable_headers=entrance.forwardable_headers,
        duplicate_credential_header=lambda headers: duplicate_credential_header(house.gateway.board.policy, headers),
        announce_caller=house.gateway.providers.announce_caller,
        client_address=door.proxies.client_address,
        max_body_bytes=door.max_body_bytes,
        max_values=door.max_values,
        client_timeout_s=door.client_timeout_s,
        startup_wait_s=door.startup_wait_s,
    )
    models, gateway = ModelDirectory(settings, servers), house.gateway
    return ChatApp(Chat(gateway.calls, gateway.search, gateway.prompts, models, settings.limits), gate)


def _principal(
    entrance: "BearerAuthentication", authorization: bytes | None, address: str
) -> "PrincipalId | ChatRejection":
    from pegboard.surfaces.chat.response import ChatRejection
    from pegboard.surfaces.mcp.request_checks import HttpRejection as TurnedAway

    found = entrance.principal_of(authorization, address)
    if not isinstance(found, TurnedAway):
        return found
    return ChatRejection(found.status, found.message, headers=found.headers)


def _view(
    board: "BoardState", headers: Sequence[tuple[bytes, bytes]], query: bytes, principal: "PrincipalId"
) -> "View | ChatRejection":
    from pegboard.surfaces.chat.response import bad_request
    from pegboard.surfaces.mcp.view import BadOption, explain_unaccepted_credentials, view_of

    docspace = board.policy.web_api
    if docspace is not None and (why := explain_unaccepted_credentials(docspace, dict(headers), query)) is not None:
        return bad_request(why)
    found = view_of(headers, query, principal)
    return bad_request(found.why) if isinstance(found, BadOption) else found


# The operator's API over one gateway, for a listener or for a command in the same process.


def make_rest_api(house: "Application", endpoint: str | None, reception: "OperatorAuthentication") -> "ASGIApp":
    from pegboard.surfaces.rest.app import rest_app
    from pegboard.surfaces.rest.settings import RuntimeInfo

    about = RuntimeInfo(house.config_file, str(house.data_dir), endpoint, house.store_url, house.storage)
    return rest_app(house.gateway, about, reception, lambda: house.sign_in_service, lambda: house.installer)


def in_process_api(house: "Application") -> tuple["ASGIApp", str]:
    """The operator's API for one command, and the token that it takes."""
    token = secrets.token_urlsafe(32)
    return make_rest_api(house, None, make_operator_authentication(house, token)), token


LOOPBACK: Final = "127.0.0.1"
MAX_UPLOAD_REQUEST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one request to a DocSpace, which takes a file in pieces; the call brings all of it."""
OPEN_TO_OTHERS: Final = (
    "Other machines can reach this address, and whoever reaches it can call every open tool. Put it behind something "
    "that asks who they are, or name them under principals in pegboard.yaml; a name of your own goes under "
    "gateway.allowed_hosts."
)
OPEN_TO_CALLERS: Final = (
    "Other machines can reach this address, and what they send, tokens included, travels in plain text. Put it "
    "behind something that speaks TLS; a name of your own goes under gateway.allowed_hosts in pegboard.yaml."
)


@dataclass(frozen=True)
class ListeningGateway:
    """A gateway that answers, and what a person is told about it."""

    application: Application
    endpoint: str
    ui: str
    login: str
    """Opens the web UI with a session."""
    has_chat: bool
    is_open_to_others: bool
    wait_until_finished: Callable[[], Awaitable[None]]

    @property
    def has_docspace(self) -> bool:

        return self.application.gateway.board.policy.web_api is not None

    def warnings(self) -> Iterator[str]:
        from pegboard.core.calls.caller_credentials import caller_credentials_warning

        board = self.application.gateway.board
        if self.is_open_to_others:
            yield OPEN_TO_CALLERS if board.policy.requires_tokens else OPEN_TO_OTHERS
        if (lends := caller_credentials_warning(board.policy.web_api)) is not None:
            yield lends
        yield from map(str, board.current_warnings())


@asynccontextmanager
async def open_listening_gateway(
    data_dir: Path | None, settings: "Settings | None", host: str, port: int, *, is_open: bool
) -> AsyncIterator[ListeningGateway]:
    """Alone on its data directory, with every server and all surfaces. Raises a `StartupError`."""
    from pegboard.surfaces.http.server import ListenError, bind_socket

    with _lock_data_directory(ensure_data_directory(data_dir)):
        try:
            listener = bind_socket(host, port)
        except ListenError as error:
            raise StartupError(str(error)) from error
        with listener:
            async with (
                open_application(data_dir, settings, every_server, follow=True, listens=True, is_open=is_open) as house,
                _listen(house, host, listener) as listening,
            ):
                yield listening


@contextmanager
def _lock_data_directory(directory: Path) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            alone = stack.enter_context(paths.acquire_lock(directory))
        except OSError as error:
            raise unusable_data_directory(directory, error) from error
        if not alone:
            there = paths.read_address(directory)
            where = f" at {there.url} (process {there.pid})" if isinstance(there, paths.GatewayAddress) else ""
            told = f"a gateway runs{where} with the data directory {directory}"
            raise StartupError(f"{told}. Use that one, or choose another directory: --data-dir")
        yield


@asynccontextmanager
async def _listen(house: Application, host: str, listener: "socket") -> AsyncIterator[ListeningGateway]:
    from anyio import create_task_group

    from pegboard.surfaces.http.limits import ConnectionLimits
    from pegboard.surfaces.http.router import HttpRouter, LazyApp
    from pegboard.surfaces.http.server import HttpServer, is_open_to_others, local_url
    from pegboard.surfaces.mcp.endpoint import McpPaths

    port = listener.getsockname()[1]
    url = local_url(host, port)
    endpoint, token = f"{url}/mcp", secrets.token_urlsafe(32)
    mark_exposed(house, listener)
    door = make_request_checks(house, url)
    reception = make_operator_authentication(house, token, port)
    mcp = McpPaths(
        house.gateway,
        door,
        key=partial(handle_key, os.environ, house.data_dir),
        attempts=reception.attempts,
        uses=house.token_usage,
    )
    pages = LazyApp(partial(_sign_in_app, house))
    site = LazyApp(partial(_web_app, reception))
    api = LazyApp(partial(make_rest_api, house, endpoint, reception))
    chat = None if house.chat is None else LazyApp(partial(make_chat_app, house, door, mcp.authentication))
    root = HttpRouter(mcp=mcp, api=api, chat=chat, sign_in=pages, pages=site, check=partial(_address_refusal, door))

    def stop_streams() -> None:
        mcp.end_streams()
        house.gateway.board.close()

    limits = ConnectionLimits(house.settings.gateway.max_connections_per_address) if house.settings else None
    async with AsyncExitStack() as stack:
        # Before anything is answered: whoever waits for /health reads the address next.
        paths.write_address(house.data_dir, paths.GatewayAddress(url, token, os.getpid()))
        forget = partial(paths.forget_address, house.data_dir, os.getpid())
        stack.callback(forget)
        await stack.enter_async_context(mcp.lifespan())
        listening = await stack.enter_async_context(HttpServer(root, listener, stop_streams, mcp.fast_path, limits))
        house.sign_ins.set_base_url((house.settings and house.settings.gateway.url) or url)
        tasks = await stack.enter_async_context(create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(_load_rest, name="loading")
        # Before connections are closed: nobody finds a gateway that ends.
        stack.callback(forget)
        yield ListeningGateway(
            house,
            endpoint,
            f"{url}/ui/",
            f"{url}{reception.login_path()}",
            chat is not None,
            is_open_to_others(listener),
            listening.wait_until_finished,
        )


async def _load_rest() -> None:
    """Load what an MCP server or a client's session needs, once the gateway listens.

    A request that needs it earlier waits for it, and everything else is served meanwhile.
    """
    from anyio import to_thread

    await to_thread.run_sync(_load, abandon_on_cancel=True)


def _load() -> None:
    from pegboard.gateway.maintenance import freeze_startup_objects
    from pegboard.surfaces.mcp.endpoint import load_sdk

    load_sdk()
    import pegboard.providers.mcp  # noqa: F401  it is made for the first server, in the event loop

    freeze_startup_objects()


def _sign_in_app(house: Application) -> "ASGIApp":
    from pegboard.surfaces.sign_in import SignInPages

    return SignInPages(house.sign_in_service, house.record_sign_in)


def _web_app(reception: "OperatorAuthentication") -> "ASGIApp":
    from pegboard.surfaces.web.site import WebUiSite

    return WebUiSite(reception)


def mark_exposed(house: Application, listener: "socket") -> None:
    """Callers from elsewhere are no user of this machine, so what their clients answer confirms nothing by default."""
    from pegboard.surfaces.http.server import is_open_to_others

    board, settings = house.gateway.board, house.settings
    is_fronted = settings is not None and (
        bool(settings.gateway.proxies or settings.gateway.url)
        or not all(map(_names_this_machine, (*settings.gateway.hosts, *settings.gateway.origins)))
    )
    if is_open_to_others(listener) or is_fronted:
        board.set_policy(replace(board.policy, is_exposed=True))


def _names_this_machine(place: str) -> bool:
    """Of a Host header or an origin that is answered. Who allows another name expects callers through a proxy."""
    from pegboard.surfaces.mcp.request_checks import host_name, is_loopback

    return is_loopback(host_name((place.partition("://")[2] or place).removesuffix(":*")))


@asynccontextmanager
async def sign_in_pages(house: Application, port: int) -> AsyncIterator[None]:
    """For a sign-in without a running gateway: at the usual port, which people may have registered, if it is free."""
    from pegboard.surfaces.http.router import HttpRouter
    from pegboard.surfaces.http.server import HttpServer, ListenError, bind_socket, local_url

    try:
        listener = bind_socket(LOOPBACK, port)
    except ListenError:
        listener = bind_socket(LOOPBACK, 0)
    with listener:
        url = local_url(LOOPBACK, listener.getsockname()[1])
        root = HttpRouter(sign_in=_sign_in_app(house), check=partial(_address_refusal, make_request_checks(house, url)))
        async with HttpServer(root, listener, _stop_no_streams):
            house.sign_ins.set_base_url(url)
            yield


def _stop_no_streams() -> None:
    """There are no streams to end."""


def make_operator_authentication(house: Application, token: str, port: int = 0) -> "OperatorAuthentication":
    """`port`: that of the listener whose browsers sign in."""
    from pegboard.gateway.access.attempts import TrustedProxies
    from pegboard.gateway.access.authentication import OperatorAuthentication
    from pegboard.gateway.access.tokens import TokenIndex, hash_token

    keys = TokenIndex(house.gateway.board, hash_token(token), house.gateway.clock, house.token_usage)
    persistence = house.session_persistence
    told = house.settings.gateway if house.settings is not None and port else None
    return OperatorAuthentication(
        keys,
        port,
        None if told is None else told.url,
        TrustedProxies(() if told is None else told.proxies),
        sessions=persistence.sessions,
        session_persistence=persistence,
    )


def make_request_checks(house: Application, url: str) -> "RequestChecks":
    """Whoever names an address to listen on wants to be addressed by it; a page that rebinds a name cannot."""
    from pegboard.config.settings import GatewaySettings
    from pegboard.gateway.access.attempts import TrustedProxies
    from pegboard.surfaces.mcp.request_checks import RequestChecks

    callers = house.settings.gateway if house.settings else GatewaySettings()
    names = {*callers.hosts, urlsplit(url).netloc, *(() if callers.url is None else (urlsplit(callers.url).netloc,))}
    pages = () if callers.url is None else (callers.url,)
    door = RequestChecks(
        frozenset(names),
        frozenset({*callers.origins, *pages}),
        TrustedProxies(callers.proxies),
        max_values=callers.max_values,
    )
    uploads = MAX_UPLOAD_REQUEST_BYTES if house.gateway.board.policy.web_api is not None else door.max_body_bytes
    return replace(door, max_body_bytes=callers.max_bytes or uploads)


def _address_refusal(door: "RequestChecks", headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    refused = door.check_address(headers)
    return None if refused is None else (refused.status, refused.message)
