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
from pegboard.core.address import Address, Place, place, written
from pegboard.providers.mcp.http_client import tls
from pegboard.providers.mcp.trouble import Trouble, unreachable

WITHIN: Final = 20.0
MOST: Final = 262_144
_LOOPBACK_NAMES: Final = frozenset({"localhost", "ip6-localhost"})
_PROXIES: Final = ("https_proxy", "http_proxy", "all_proxy")

_LIMITS: Final = httpx2.Limits(max_keepalive_connections=0)
"""A person takes minutes between two requests: no connection is kept open meanwhile."""
_OURS: Final = {"user-agent": f"pegboard/{__version__}", "accept": "application/json"}

Send: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


@asynccontextmanager
async def outgoing(server: str) -> AsyncIterator[Send]:
    """For the sign-in at the server with this address. What is sent raises `Trouble` that reads on from its name."""
    own = httpx2.URL(server)
    bounds = Bounds(own)
    # Behind a proxy the names are looked up there, and it decides where this machine may go.
    proxied = any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES)
    async with httpx2.AsyncClient(
        verify=tls(),
        transport=None if proxied and not bounds.local else _Pinned(bounds),
        timeout=WITHIN,
        limits=_LIMITS,
        follow_redirects=False,
    ) as client:

        async def send(request: httpx2.Request) -> httpx2.Response:
            is_own = request.method == "GET" and _origin(request.url) == _origin(own)
            if not is_own:
                await bounds.check(request.url)
            # Made by the flow and not by this client, they have none of its headers.
            for name, value in _OURS.items():
                request.headers.setdefault(name, value)
            try:
                with anyio.fail_after(WITHIN):
                    return await _bounded(client, request)
            except TimeoutError:
                raise Trouble(f"wants a sign-in, and {request.url.host} did not answer about it in time") from None
            except httpx2.TransportError as error:
                raise Trouble(f"wants a sign-in, and where that is done {unreachable(error)}") from error
            except httpx2.DecodingError:
                raise Trouble(f"wants a sign-in, and {request.url.host} answered in a way that is no text") from None

        yield send


class Bounds:
    """Where the server at this address may lead us, and a person, for a sign-in."""

    def __init__(self, own: httpx2.URL) -> None:
        self._own = own
        self.local = is_loopback(own.host)
        """Whether it is on this machine."""
        self._private: bool | None = None

    async def check(self, url: httpx2.URL) -> None:
        """That a person, or a token, may be sent there: raises `Trouble`. Only a server on this machine names others
        here, and only here is plain HTTP as safe as it is with TLS."""
        if url.userinfo:
            raise Trouble(f"wants a sign-in at an address with a password in it, at {url.host}: that is not followed")
        if url.scheme != "https" and not (url.scheme == "http" and self.local and is_loopback(url.host)):
            raise Trouble(f"wants a sign-in at {_origin(url)}, which is not https: nobody is sent there")
        if (address := written(url.host)) is not None:
            await self.check_address(address, url)

    async def check_address(self, address: Address, url: httpx2.URL) -> None:
        """That this address of this machine may be asked. Where calls go anyway, questions may go too."""
        match place(address):
            case Place.OUTSIDE:
                return
            case Place.NETWORK if self.local or _origin(url) == _origin(self._own) or await self._is_private():
                return
            case Place.MACHINE if self.local:
                return
        raise Trouble(f"wants a sign-in at {url.host}, which is an address inside this machine or its network")

    async def _is_private(self) -> bool:
        """By all addresses of its name: one of them alone, whoever keeps the name could add. Asked for only when it
        matters, and once, so that no later answer about the name opens anything."""
        if self._private is None:
            found = written(self._own.host)
            try:
                addresses = [found] if found is not None else await _addresses(self._own)
            except OSError:
                addresses = []
            self._private = bool(addresses) and all(place(address) is Place.NETWORK for address in addresses)
        return self._private


def is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK_NAMES:
        return True
    address = written(host)
    return address is not None and address.is_loopback


class _Pinned(httpx2.AsyncBaseTransport):
    """Connects to the very address that was looked at: a name may stand for another one a moment later."""

    def __init__(self, bounds: Bounds) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=tls(), limits=_LIMITS)
        self._bounds = bounds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        found = written(request.url.host)
        addresses = [found] if found is not None else await _looked_up(request)
        for address in addresses:
            await self._bounds.check_address(address, request.url)
        for address in addresses[:-1]:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._inner.handle_async_request(_pinned(request, address))
        return await self._inner.handle_async_request(_pinned(request, addresses[-1]))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _pinned(request: httpx2.Request, address: Address) -> httpx2.Request:
    """To this address, and still for the name: in the Host header and in the certificate."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


async def _looked_up(request: httpx2.Request) -> list[Address]:
    try:
        return await _addresses(request.url)
    except OSError as error:
        raise httpx2.ConnectError(error.strerror or str(error), request=request) from error


async def _addresses(url: httpx2.URL) -> list[Address]:
    found = await anyio.getaddrinfo(url.host, url.port or (443 if url.scheme == "https" else 80), type=SOCK_STREAM)
    return [ip_address(address[0].partition("%")[0]) for *_, address in found]


async def _bounded(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    response = await client.send(request, stream=True)
    try:
        body = b""
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MOST:
                raise Trouble(f"wants a sign-in, and {request.url.host} said more about it than {MOST // 1024} KiB")
    finally:
        await response.aclose()
    kind = {name: value for name, value in response.headers.items() if name in ("content-type", "location")}
    read = httpx2.Response(response.status_code, headers=kind, content=body, request=request)
    read.next_request = response.next_request
    return read


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
