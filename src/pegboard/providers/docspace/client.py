"""The one HTTP client of a DocSpace: pooled, bounded, and without any memory of who asked.

Questions (GET) are put again when DocSpace is too busy. Nothing else is: a DELETE that was answered with 503 may have
begun its deletion, and a second PUT to `copy` copies twice.
"""

import base64
import errno
import logging
import os
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import Final, TypeAlias, assert_never
from urllib.parse import urljoin, urlsplit

import anyio
import httpcore2
import httpx2

from pegboard import __version__
from pegboard.core.calls.caller_credentials import (
    AccessToken,
    ApiAccess,
    ApiKey,
    Credential,
    Password,
    RawAuthorization,
    url_origin,
)
from pegboard.core.model.network_address import Address, NetworkZone, parse_ip_address, zone_of
from pegboard.ports.providers import Clock
from pegboard.providers.docspace.limits import (
    LARGE_ANSWER_BYTES,
    DocSpaceError,
    DocSpaceLimiter,
    DocSpaceLimits,
    LargeAnswerSlot,
)

# What a failed connection is called: the names that the operating system gives, as today's clients know them.

BAD_PORTS: Final = frozenset(
    {
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109),
        *(110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530),
        *(531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045),
        *(4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    }
)
"""Ports that fetch does not ask, because other protocols live there (Fetch standard, port blocking)."""
_ADDRESS_PATTERN: Final = re.compile(r"\('([^']+)', (\d+)")
"""How asyncio tells which address of a name it tried."""


def describe_network_error(error: Exception, url: httpx2.URL) -> str:
    """`connect ECONNREFUSED 127.0.0.1:443`, `getaddrinfo ENOTFOUND docs.example.com`."""
    port = url.port or (443 if url.scheme == "https" else 80)
    at = f"{url.host}:{port}"
    for cause in _causes(error):
        if isinstance(cause, BaseExceptionGroup) and isinstance(error, httpx2.ConnectError):
            tried = [_describe_attempt(each, at) for each in cause.exceptions if isinstance(each, OSError)]
            if told := [*dict.fromkeys(words for words in tried if words is not None)]:
                return "\n".join(told)
        if isinstance(cause, socket.gaierror):
            return f"getaddrinfo ENOTFOUND {url.host}"
        if (
            isinstance(cause, OSError)
            and cause.errno is not None
            and cause.errno in errno.errorcode
            and not isinstance(cause, ssl.SSLError)
        ):
            name = errno.errorcode[cause.errno]
            if isinstance(error, httpx2.ConnectError):
                return _describe_attempt(cause, at) or f"connect {name} {at}"
            return f"read {name}"
    match error:
        case httpx2.UnsupportedProtocol():
            return "unknown scheme"
        case httpx2.ConnectTimeout():
            return f"connect ETIMEDOUT {at}"
        case httpx2.PoolTimeout():
            return "too many requests are under way. Try again in a moment"
        case httpx2.TimeoutException():
            return f"{at} did not answer in time"
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.WriteError():
            return "other side closed"
        case _:
            innermost = [*_causes(error)][-1]
            return " ".join(str(innermost).split()) or type(innermost).__name__


def _describe_attempt(cause: OSError, at: str) -> str | None:
    """One address that was tried; the one that was asked for where the error does not tell it."""
    name = None if cause.errno is None else errno.errorcode.get(cause.errno)
    if name is None or isinstance(cause, socket.gaierror | ssl.SSLError):
        return None
    found = _ADDRESS_PATTERN.search(str(cause))
    return f"connect {name} {at if found is None else f'{found[1]}:{found[2]}'}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__


# Where a DocSpace that a caller named may lead us: outside, and inside only to what the operator named.
#
# A name is looked up once, and the address that was looked at is the one that is connected to.

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
        """Of this host, each of them looked at. Raises `ForbiddenAddressError`, and `OSError` for a name of nobody."""
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


# The body of an answer, no longer than it may be, also once it is unpacked.
#
# A caller may name the address that is asked, so whoever answers is not trusted: a packed body of a few kilobytes
# can
# hold gigabytes.

ACCEPTED_ENCODINGS: Final = "gzip, deflate"
"""What we say that we can unpack."""
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
"""With the head of gzip or of zlib, whichever it has."""
_RAW_DEFLATE: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
"""How a member of gzip begins. There may be several, one after the other."""


class ResponseTooLongError(Exception):
    """More than was to be read."""


class UndecodableBodyError(Exception):
    """Packed in a way that nobody asked for, or badly."""


async def read_body(response: httpx2.Response, most: int, seat: LargeAnswerSlot) -> bytes:
    """Raises `ResponseTooLongError` and `UndecodableBodyError`, beside what the connection raises. What turns out large
    waits for a seat before any more of it is read."""
    packing = _decoder_for(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    left = most
    async for part in response.aiter_raw():
        if packing is not None:
            part = packing.decode(part, left)
        left -= len(part)
        if left < 0:
            raise ResponseTooLongError
        parts.append(part)
        if most - left > LARGE_ANSWER_BYTES:
            await seat.acquire()
    if packing is not None and not packing.is_complete:
        raise UndecodableBodyError("the answer is cut off in the middle")
    return b"".join(parts)


def _decoder_for(encoding: str) -> "_BodyDecoder | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _BodyDecoder()
        case _:
            raise UndecodableBodyError(f"the answer is packed as {encoding[:40]!r}, which was not asked for")


class _BodyDecoder:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_started = False
        self._trailing = b""
        """What follows the end of a member, until it is clear whether another one begins there."""

    @property
    def is_complete(self) -> bool:
        return self._stream.eof or not self._has_started

    def decode(self, part: bytes, left: int) -> bytes:
        """What it holds, and at most one byte more than is left to be read."""
        found = bytearray()
        while True:
            if self._stream.eof:
                part, self._trailing = self._trailing + part, b""
                if len(part) < len(_GZIP_MAGIC):
                    self._trailing = part
                    return bytes(found)
                if not part.startswith(_GZIP_MAGIC):
                    return bytes(found)  # what some servers fill up with is nobody's to read
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            found += self._decompress(part, left + 1 - len(found))
            part = self._stream.unused_data
            if not self._stream.eof or not part or len(found) > left:
                return bytes(found)

    def _decompress(self, part: bytes, most: int) -> bytes:
        try:
            return self._stream.decompress(part, most)
        except zlib.error as problem:
            if self._has_started:
                raise UndecodableBodyError(f"the answer cannot be unpacked: {problem}") from None
        finally:
            self._has_started = True
        # Some servers send `deflate` without any head.
        self._stream = zlib.decompressobj(_RAW_DEFLATE)
        try:
            return self._stream.decompress(part, most)
        except zlib.error as problem:
            raise UndecodableBodyError(f"the answer cannot be unpacked: {problem}") from None


USER_AGENT: Final = f"pegboard/{__version__}"
BUSY_STATUSES: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE})
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS: Final = 20
_POOL_LIMITS: Final = httpx2.Limits(max_connections=256, max_keepalive_connections=32, keepalive_expiry=4.0)
_CONNECTION_ERRORS: Final = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout, httpx2.PoolTimeout)

# Its lines name whole addresses, and so what people look for.
if (_chatter := logging.getLogger("httpx2")).level == logging.NOTSET:
    _chatter.setLevel(logging.WARNING)

ReplayableBody: TypeAlias = Callable[[], AsyncIterator[bytes]]
"""A body that can be sent again from its beginning."""


@dataclass(frozen=True, slots=True)
class DocSpaceRequest:
    """One request, without credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | ReplayableBody | None = None
    is_large: bool = False
    """Whether a file goes along, this way or that: it may take as long as an operation."""

    @property
    def is_upload(self) -> bool:
        return self.is_large and self.content is not None


@dataclass(frozen=True, slots=True)
class DocSpaceResponse:
    status: int
    reason: str
    content_type: str | None
    body: bytes
    redirected_to: str | None = None
    """The origin that a redirect led to from the one that was asked. Credentials do not follow there."""

    @property
    def text(self) -> str:
        return self.body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class DocSpaceRequestError(DocSpaceError):
    """A request that failed on the way, or whose answer did."""

    def __init__(self, why: str, *, is_connection_failure: bool = False, is_answered: bool = False) -> None:
        """`is_cut`: the connection was not made, or broke. An answer that is late may come from work that was done.
        `is_answered`: somebody is there, whose answer was not read to its end."""
        # Of a name with several addresses, each has a line.
        super().__init__("Fetching request.", DocSpaceError("fetch failed", why.split("\n")))
        self.is_connection_failure = is_connection_failure
        self.is_answered = is_answered


class TruncatedResponseError(DocSpaceRequestError):
    """A good answer whose body did not come to its end."""

    def __init__(self, why: str, *, is_cut: bool) -> None:
        super().__init__(why, is_connection_failure=is_cut)
        self.step, self.why = "terminated", [why]


def credential_headers(credential: Credential) -> dict[str, str]:
    match credential:
        case ApiKey(key):
            return {"authorization": f"Bearer {key}"}
        case AccessToken(token):
            # DocSpace reads it bare, or as the cookie of a signed-in browser; it is sent as both.
            return {"authorization": token, "cookie": f"asc_auth_key={token}"}
        case Password(username, password):
            pair = f"{username}:{password}".encode("utf-8", "replace")
            return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
        case RawAuthorization(authorization):
            return {"authorization": authorization}
        case _:
            assert_never(credential)


def secrets_of(credential: Credential) -> frozenset[str]:
    """What must not be told to anybody: the secret itself, and all that is sent of it."""
    sent = {part for value in credential_headers(credential).values() for part in (value, *value.split()[1:])}
    return frozenset(sent | {credential.password} if isinstance(credential, Password) else sent)


class DocSpaceClient:
    def __init__(
        self, limits: DocSpaceLimits, now: Clock, agent: str = USER_AGENT, bounds: CallerAddressPolicy | None = None
    ) -> None:
        """`bounds` are for what callers name, and for all that it leads to."""
        self._limits = limits
        self._address_policy = bounds or CallerAddressPolicy()
        self._now = now
        self._agent = agent
        self._pool: httpx2.AsyncClient | None = None
        self._restricted_pool: httpx2.AsyncClient | None = None
        self._limiter = DocSpaceLimiter(limits.queue_timeout_s)

    def large_answer_slot(self, access: ApiAccess) -> LargeAnswerSlot:
        """For one call, whatever it asks."""
        return LargeAnswerSlot(self._limiter, _share_key(access.origin, access))

    async def send(
        self,
        access: ApiAccess,
        sending: DocSpaceRequest,
        seat: LargeAnswerSlot,
        *,
        most: int | None = None,
        tries: int | None = None,
    ) -> DocSpaceResponse:
        """Whatever is answered, be it good or bad. A question that DocSpace is too busy for is put again; anything
        else only as often as `tries` says, and then also when the connection broke."""
        insists = tries is not None
        if tries is None:
            tries = self._limits.max_tries if sending.method == "GET" else 1
        for earlier in range(tries):
            is_last = earlier == tries - 1
            try:
                reply, after = await self._send_following_redirects(
                    access, sending, seat, self._limits.max_body_bytes if most is None else most
                )
            except DocSpaceRequestError as unheard:
                if is_last or not insists or not unheard.is_connection_failure:
                    raise
                after = None
            else:
                if is_last or reply.status not in BUSY_STATUSES:
                    return reply
            pause = self._pause_before_retry(after, earlier)
            if pause is None:
                return reply
            await anyio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _pause_before_retry(self, after: str | None, earlier: int) -> float | None:
        """Seconds until the next try; `None` where that is not worth waiting for."""
        asked = _retry_after_seconds(after, self._now) if after is not None else None
        if asked is None:
            return self._limits.retry_pause_s * float(2**earlier)
        return asked if asked <= self._limits.max_retry_pause_s else None

    async def _send_following_redirects(
        self, access: ApiAccess, sending: DocSpaceRequest, seat: LargeAnswerSlot, most: int
    ) -> tuple[DocSpaceResponse, str | None]:
        method, url, content = sending.method, sending.url, sending.content
        headers = dict(sending.headers)
        is_home, moved = True, None
        for _ in range(_MAX_REDIRECTS + 1):
            # Credentials stay home, and do not come back either: whoever sent us away may have chosen where to.
            if is_home and url_origin(url) != access.origin:
                is_home, moved = False, url_origin(url) if url != sending.url else None
            theirs = credential_headers(access.credential) if is_home else {}
            within = self._limits.operation_timeout_s if sending.is_large else self._limits.answer_timeout_s
            async with self._limiter.request_slot(_share_key(url_origin(url), access)):
                with _answer_deadline(within, url):
                    reply, further, after = await self._send_once(
                        method, url, {**headers, **theirs}, content, most, seat, bounded=access.is_from_caller
                    )
            if further is None:
                return replace(reply, redirected_to=moved), after
            url = _redirect_target(url, further)
            if sending.is_upload and url_origin(url) != access.origin:
                raise DocSpaceRequestError(
                    f"DocSpace sends the file on to {url_origin(url)}, and no file goes to another host"
                )
            if (reply.status == 303 and method not in ("GET", "HEAD")) or (
                reply.status in (301, 302) and method == "POST"
            ):
                method, content = "GET", None
                headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
        raise DocSpaceRequestError("redirect count exceeded")

    async def _send_once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | ReplayableBody | None,
        most: int,
        seat: LargeAnswerSlot,
        *,
        bounded: bool,
    ) -> tuple[DocSpaceResponse, str | None, str | None]:
        """The answer, where it sends us on to, and after how long it wants to be asked again."""
        pool = self._pool_for(bounded)
        try:
            request = pool.build_request(
                method,
                url,
                headers=[(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()],
                content=content() if callable(content) else content,
            )
        except (httpx2.InvalidURL, UnicodeError) as problem:
            raise DocSpaceRequestError(str(problem)) from None
        if not self._agent:
            del request.headers["user-agent"]
        try:
            if bounded and is_proxied():
                await self._address_policy.check_url(request.url)
            if request.url.port in BAD_PORTS:
                raise DocSpaceRequestError("bad port")
            response = await pool.send(request, stream=True, follow_redirects=False)
            try:
                further = response.headers.get("location") if response.status_code in _REDIRECT_STATUSES else None
                body = b"" if further is not None else await read_body(response, most, seat)
            except httpx2.HTTPError as error:
                if response.is_success:
                    raise TruncatedResponseError(
                        describe_network_error(error, request.url), is_cut=isinstance(error, _CONNECTION_ERRORS)
                    ) from error
                # What is told of a bad answer is its status.
                body = b""
            finally:
                await response.aclose()
        except ResponseTooLongError:
            raise DocSpaceRequestError(
                f"the answer is longer than {most // 1024 // 1024} MiB", is_answered=True
            ) from None
        except ForbiddenAddressError as inside:
            raise DocSpaceRequestError(str(inside)) from None
        except UndecodableBodyError as problem:
            raise DocSpaceRequestError(str(problem), is_answered=True) from None
        except httpx2.HTTPError as error:
            raise DocSpaceRequestError(
                describe_network_error(error, request.url), is_connection_failure=isinstance(error, _CONNECTION_ERRORS)
            ) from error
        reply = DocSpaceResponse(
            response.status_code, _reason_phrase(response), response.headers.get("content-type"), body
        )
        return reply, further, response.headers.get("retry-after")

    def _pool_for(self, bounded: bool) -> httpx2.AsyncClient:
        if bounded:
            if self._restricted_pool is None:
                # Behind a proxy it is the proxy that looks names up, and decides where this machine may go.
                within = (
                    None if is_proxied() else RestrictedTransport(self._address_policy, _POOL_LIMITS, _tls_context())
                )
                self._restricted_pool = self._new_pool(within)
            return self._restricted_pool
        if self._pool is None:
            self._pool = self._new_pool(None)
        return self._pool

    def _new_pool(self, transport: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={"accept-encoding": ACCEPTED_ENCODINGS, **({"user-agent": self._agent} if self._agent else {})},
            verify=_tls_context(),
            transport=transport,
            timeout=httpx2.Timeout(
                self._limits.answer_timeout_s, connect=self._limits.connect_timeout_s, pool=self._limits.queue_timeout_s
            ),
            limits=_POOL_LIMITS,
            # What DocSpace sets for one caller must never be sent for another.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def close(self) -> None:
        pools, self._pool, self._restricted_pool = (self._pool, self._restricted_pool), None, None
        for pool in pools:
            if pool is not None:
                await pool.aclose()


@cache
def _tls_context() -> ssl.SSLContext:
    """Building one costs more than a hundred calls, so there is one."""
    return httpx2.create_ssl_context()


@contextmanager
def _answer_deadline(seconds: float, url: str) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise DocSpaceRequestError(f"{urlsplit(url).hostname} did not answer within {seconds:g} seconds") from None


def _share_key(origin: str, access: ApiAccess) -> str:
    """Whose share of the connections it is: callers do not use up the operator's."""
    return f"{origin} for callers" if access.is_from_caller else origin


def _redirect_target(url: str, further: str) -> str:
    try:
        url = urljoin(url, further)
        url_origin(url)
    except ValueError:
        raise DocSpaceRequestError("Invalid URL") from None
    if urlsplit(url).scheme not in ("http", "https"):
        raise DocSpaceRequestError("URL scheme must be a HTTP(S) scheme")
    return url


def _reason_phrase(response: httpx2.Response) -> str:
    """The words beside the status. Newer versions of HTTP have none, and get the usual ones."""
    if response.reason_phrase:
        return response.reason_phrase
    try:
        return HTTPStatus(response.status_code).phrase
    except ValueError:
        return ""


def _retry_after_seconds(after: str, now: Clock) -> float | None:
    """`Retry-After` as seconds: it is a number of them, or a date."""
    after = after.strip()
    if after.isdecimal():
        return float(after)
    try:
        return max((parsedate_to_datetime(after) - now()).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
