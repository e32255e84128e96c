"""Requests to authorization servers: to safe addresses only, one at a time, short and bounded.

A server names these addresses, and a bad one would name those that only this machine can reach. So a server leads us no
nearer than it is itself: one on this machine anywhere, one in a private network there and outside, any other outside.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import Final, TypeAlias

import anyio
import httpx2

from pegboard import __version__
from pegboard.core.model.network_address import Address, NetworkZone, parse_ip_address, zone_of
from pegboard.providers.mcp.errors import McpServerError, describe_unreachable
from pegboard.providers.mcp.http_client import tls_context

REQUEST_TIMEOUT_S: Final = 20.0
MAX_BODY_BYTES: Final = 262_144
_LOOPBACK_NAMES: Final = frozenset({"localhost", "ip6-localhost"})
_PROXY_VARIABLES: Final = ("https_proxy", "http_proxy", "all_proxy")

_POOL_LIMITS: Final = httpx2.Limits(max_keepalive_connections=0)
"""A person takes minutes between two requests: no connection is kept open meanwhile."""
_DEFAULT_HEADERS: Final = {"user-agent": f"pegboard/{__version__}", "accept": "application/json"}

SendRequest: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


@asynccontextmanager
async def open_sender(server: str) -> AsyncIterator[SendRequest]:
    """For the sign-in at the server with this address. What is sent raises `McpServerError` that reads on from its
    name."""
    own = httpx2.URL(server)
    bounds = SignInAddressPolicy(own)
    # Behind a proxy the names are looked up there, and it decides where this machine may go.
    proxied = any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXY_VARIABLES)
    async with httpx2.AsyncClient(
        verify=tls_context(),
        transport=None if proxied and not bounds.is_local else _PinnedTransport(bounds),
        timeout=REQUEST_TIMEOUT_S,
        limits=_POOL_LIMITS,
        follow_redirects=False,
    ) as client:

        async def send(request: httpx2.Request) -> httpx2.Response:
            is_own = request.method == "GET" and _origin(request.url) == _origin(own)
            if not is_own:
                await bounds.check_url(request.url)
            # Made by the flow and not by this client, they have none of its headers.
            for name, value in _DEFAULT_HEADERS.items():
                request.headers.setdefault(name, value)
            try:
                with anyio.fail_after(REQUEST_TIMEOUT_S):
                    return await _send_bounded(client, request)
            except TimeoutError:
                raise McpServerError(
                    f"wants a sign-in, and {request.url.host} did not answer about it in time"
                ) from None
            except httpx2.TransportError as error:
                raise McpServerError(
                    f"wants a sign-in, and where that is done {describe_unreachable(error)}"
                ) from error
            except httpx2.DecodingError:
                raise McpServerError(
                    f"wants a sign-in, and {request.url.host} answered in a way that is no text"
                ) from None

        yield send


class SignInAddressPolicy:
    """Where the server at this address may lead us, and a person, for a sign-in."""

    def __init__(self, own: httpx2.URL) -> None:
        self._own = own
        self.is_local = is_loopback(own.host)
        """Whether it is on this machine."""
        self._known_private: bool | None = None

    async def check_url(self, url: httpx2.URL) -> None:
        """That a person, or a token, may be sent there: raises `McpServerError`. Only a server on this machine names
        others here, and only here is plain HTTP as safe as it is with TLS."""
        if url.userinfo:
            raise McpServerError(
                f"wants a sign-in at an address with a password in it, at {url.host}: that is not followed"
            )
        if url.scheme != "https" and not (url.scheme == "http" and self.is_local and is_loopback(url.host)):
            raise McpServerError(f"wants a sign-in at {_origin(url)}, which is not https: nobody is sent there")
        if (address := parse_ip_address(url.host)) is not None:
            await self.check_address(address, url)

    async def check_address(self, address: Address, url: httpx2.URL) -> None:
        """That this address of this machine may be asked. Where calls go anyway, questions may go too."""
        match zone_of(address):
            case NetworkZone.PUBLIC:
                return
            case NetworkZone.PRIVATE_NETWORK if (
                self.is_local or _origin(url) == _origin(self._own) or await self._is_private()
            ):
                return
            case NetworkZone.THIS_MACHINE if self.is_local:
                return
        raise McpServerError(f"wants a sign-in at {url.host}, which is an address inside this machine or its network")

    async def _is_private(self) -> bool:
        """By all addresses of its name: one of them alone, whoever keeps the name could add. Asked for only when it
        matters, and once, so that no later answer about the name opens anything."""
        if self._known_private is None:
            found = parse_ip_address(self._own.host)
            try:
                addresses = [found] if found is not None else await _resolve_addresses(self._own)
            except OSError:
                addresses = []
            self._known_private = bool(addresses) and all(
                zone_of(address) is NetworkZone.PRIVATE_NETWORK for address in addresses
            )
        return self._known_private


def is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK_NAMES:
        return True
    address = parse_ip_address(host)
    return address is not None and address.is_loopback


class _PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to the very address that was looked at: a name may stand for another one a moment later."""

    def __init__(self, bounds: SignInAddressPolicy) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=tls_context(), limits=_POOL_LIMITS)
        self._bounds = bounds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        found = parse_ip_address(request.url.host)
        addresses = [found] if found is not None else await _resolve(request)
        for address in addresses:
            await self._bounds.check_address(address, request.url)
        for address in addresses[:-1]:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._inner.handle_async_request(_pin_request(request, address))
        return await self._inner.handle_async_request(_pin_request(request, addresses[-1]))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _pin_request(request: httpx2.Request, address: Address) -> httpx2.Request:
    """To this address, and still for the name: in the Host header and in the certificate."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


async def _resolve(request: httpx2.Request) -> list[Address]:
    try:
        return await _resolve_addresses(request.url)
    except OSError as error:
        raise httpx2.ConnectError(error.strerror or str(error), request=request) from error


async def _resolve_addresses(url: httpx2.URL) -> list[Address]:
    found = await anyio.getaddrinfo(url.host, url.port or (443 if url.scheme == "https" else 80), type=SOCK_STREAM)
    return [ip_address(address[0].partition("%")[0]) for *_, address in found]


async def _send_bounded(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    response = await client.send(request, stream=True)
    try:
        body = b""
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise McpServerError(
                    f"wants a sign-in, and {request.url.host} said more about it than {MAX_BODY_BYTES // 1024} KiB"
                )
    finally:
        await response.aclose()
    kind = {name: value for name, value in response.headers.items() if name in ("content-type", "location")}
    read = httpx2.Response(response.status_code, headers=kind, content=body, request=request)
    read.next_request = response.next_request
    return read


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
