"""Where a DocSpace that a caller named may lead us: outside, and inside only to what the operator named.

A name is looked up once, and the address that was looked at is the one that is connected to.
"""

import os
import ssl
from collections.abc import Iterable
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import Final
from urllib.parse import urlsplit

import anyio
import httpcore2
import httpx2

from pegboard.core.address import Address, NetworkZone, parse_ip_address, zone_of

_PROXY_VARIABLES: Final = ("https_proxy", "http_proxy", "all_proxy")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class ForbiddenAddressError(Exception):
    """An address that nobody goes to because a caller says so."""


class CallerAddressPolicy:
    def __init__(self) -> None:
        self._allowed_origins: frozenset[tuple[str, int]] = frozenset()

    def allow(self, origins: Iterable[str]) -> None:
        """The only places inside this machine and its network that callers may lead to, as the operator says."""
        self._allowed_origins = frozenset(_host_and_port(origin) for origin in origins)

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Of this host, each of them looked at. Raises `OutOfBoundsError`, and `OSError` for a name of nobody."""
        found = parse_ip_address(host)
        addresses = [found] if found is not None else await _resolve_addresses(host, port)
        for address in addresses:
            self._check_address(address, host, port)
        return addresses

    async def check_url(self, url: httpx2.URL) -> None:
        """Behind a proxy names are looked up there: here, what this machine knows of them is looked at."""
        try:
            await self.resolve(*_host_and_port(str(url)))
        except OSError:
            return

    def _check_address(self, address: Address, host: str, port: int) -> None:
        match zone_of(address):
            case NetworkZone.PUBLIC:
                return
            case NetworkZone.THIS_MACHINE | NetworkZone.PRIVATE_NETWORK if (
                host.lower(),
                port,
            ) in self._allowed_origins:
                return
            case NetworkZone.THIS_MACHINE | NetworkZone.PRIVATE_NETWORK:
                how = "The operator can name it under docspace.request_base_urls"
            case NetworkZone.UNROUTABLE:
                how = "No caller leads there"
        raise ForbiddenAddressError(f"{host}:{port} is inside the gateway's own machine or network. {how}")


def is_proxied() -> bool:
    return any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXY_VARIABLES)


class RestrictedTransport(httpx2.AsyncHTTPTransport):
    """Connects within the bounds. Connections are kept by the name they were made for, as everywhere."""

    def __init__(self, bounds: CallerAddressPolicy, limits: httpx2.Limits, context: ssl.SSLContext) -> None:
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_RestrictedBackend(bounds),
        )


class _RestrictedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, bounds: CallerAddressPolicy) -> None:
        self._policy = bounds
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                addresses = await self._policy.resolve(host, port)
        except TimeoutError as late:
            raise httpcore2.ConnectTimeout(str(late)) from late
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for at, address in enumerate(addresses, 1):
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if at == len(addresses):
                    raise
        raise httpcore2.ConnectError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


async def _resolve_addresses(host: str, port: int) -> list[Address]:
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(ip_address(address[0].partition("%")[0]) for *_, address in found))


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
