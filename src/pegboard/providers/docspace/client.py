"""The one HTTP client of a DocSpace: pooled, bounded, and without any memory of who asked.

Questions (GET) are put again when DocSpace is too busy. Nothing else is: a DELETE that was answered with 503 may have
begun its deletion, and a second PUT to `copy` copies twice.
"""

import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, TypeAlias
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2

from pegboard import __version__
from pegboard.core.docspace.credential import DocSpaceAccess, url_origin
from pegboard.ports import Clock

from .body import ACCEPTED_ENCODINGS, ResponseTooLongError, UndecodableBodyError, read_body
from .bounds import CallerAddressPolicy, ForbiddenAddressError, RestrictedTransport, is_proxied
from .limits import DocSpaceLimits
from .network import BAD_PORTS, describe_network_error
from .seat import LargeAnswerSlot
from .shares import DocSpaceLimiter
from .trouble import DocSpaceError

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

    def large_answer_slot(self, access: DocSpaceAccess) -> LargeAnswerSlot:
        """For one call, whatever it asks."""
        return LargeAnswerSlot(self._limiter, _share_key(access.origin, access))

    async def send(
        self,
        access: DocSpaceAccess,
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
        self, access: DocSpaceAccess, sending: DocSpaceRequest, seat: LargeAnswerSlot, most: int
    ) -> tuple[DocSpaceResponse, str | None]:
        method, url, content = sending.method, sending.url, sending.content
        headers = dict(sending.headers)
        is_home, moved = True, None
        for _ in range(_MAX_REDIRECTS + 1):
            # Credentials stay home, and do not come back either: whoever sent us away may have chosen where to.
            if is_home and url_origin(url) != access.origin:
                is_home, moved = False, url_origin(url) if url != sending.url else None
            theirs = access.credential.headers() if is_home else {}
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


def _share_key(origin: str, access: DocSpaceAccess) -> str:
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
