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
from pegboard.core.docspace.credential import Access, origin
from pegboard.ports import Clock

from .body import ENCODINGS, TooLong, Unreadable, read
from .bounds import Bounded, Bounds, OutOfBoundsError, is_proxied
from .limits import Limits
from .network import BAD_PORTS, in_words
from .seat import Seat
from .shares import Crowd
from .trouble import Trouble

AGENT: Final = f"pegboard/{__version__}"
BUSY: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE})
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_MOST_MOVES: Final = 20
_POOLED: Final = httpx2.Limits(max_connections=256, max_keepalive_connections=32, keepalive_expiry=4.0)
_CUT: Final = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout, httpx2.PoolTimeout)

# Its lines name whole addresses, and so what people look for.
if (_chatter := logging.getLogger("httpx2")).level == logging.NOTSET:
    _chatter.setLevel(logging.WARNING)

Content: TypeAlias = Callable[[], AsyncIterator[bytes]]
"""A body that can be sent again from its beginning."""


@dataclass(frozen=True, slots=True)
class Sending:
    """One request, without credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | Content | None = None
    is_large: bool = False
    """Whether a file goes along, this way or that: it may take as long as an operation."""

    @property
    def is_upload(self) -> bool:
        return self.is_large and self.content is not None


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    reason: str
    content_type: str | None
    body: bytes
    moved: str | None = None
    """The origin that a redirect led to from the one that was asked. Credentials do not follow there."""

    @property
    def text(self) -> str:
        return self.body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class Unheard(Trouble):
    """A request that failed on the way, or whose answer did."""

    def __init__(self, why: str, *, is_cut: bool = False, is_answered: bool = False) -> None:
        """`is_cut`: the connection was not made, or broke. An answer that is late may come from work that was done.
        `is_answered`: somebody is there, whose answer was not read to its end."""
        # Of a name with several addresses, each has a line.
        super().__init__("Fetching request.", Trouble("fetch failed", why.split("\n")))
        self.is_cut = is_cut
        self.is_answered = is_answered


class BrokenOff(Unheard):
    """A good answer whose body did not come to its end."""

    def __init__(self, why: str, *, is_cut: bool) -> None:
        super().__init__(why, is_cut=is_cut)
        self.step, self.why = "terminated", [why]


class Client:
    def __init__(self, limits: Limits, now: Clock, agent: str = AGENT, bounds: Bounds | None = None) -> None:
        """`bounds` are for what callers name, and for all that it leads to."""
        self._limits = limits
        self._bounds = bounds or Bounds()
        self._now = now
        self._agent = agent
        self._pool: httpx2.AsyncClient | None = None
        self._bounded: httpx2.AsyncClient | None = None
        self._crowd = Crowd(limits.patience)

    def seat(self, access: Access) -> Seat:
        """For one call, whatever it asks."""
        return Seat(self._crowd, _place(access.origin, access))

    async def ask(
        self, access: Access, sending: Sending, seat: Seat, *, most: int | None = None, tries: int | None = None
    ) -> Reply:
        """Whatever is answered, be it good or bad. A question that DocSpace is too busy for is put again; anything
        else only as often as `tries` says, and then also when the connection broke."""
        insists = tries is not None
        if tries is None:
            tries = self._limits.tries if sending.method == "GET" else 1
        for earlier in range(tries):
            is_last = earlier == tries - 1
            try:
                reply, after = await self._once(access, sending, seat, self._limits.body if most is None else most)
            except Unheard as unheard:
                if is_last or not insists or not unheard.is_cut:
                    raise
                after = None
            else:
                if is_last or reply.status not in BUSY:
                    return reply
            pause = self._pause(after, earlier)
            if pause is None:
                return reply
            await anyio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _pause(self, after: str | None, earlier: int) -> float | None:
        """Seconds until the next try; `None` where that is not worth waiting for."""
        asked = _seconds(after, self._now) if after is not None else None
        if asked is None:
            return self._limits.pause * float(2**earlier)
        return asked if asked <= self._limits.longest_pause else None

    async def _once(self, access: Access, sending: Sending, seat: Seat, most: int) -> tuple[Reply, str | None]:
        method, url, content = sending.method, sending.url, sending.content
        headers = dict(sending.headers)
        is_home, moved = True, None
        for _ in range(_MOST_MOVES + 1):
            # Credentials stay home, and do not come back either: whoever sent us away may have chosen where to.
            if is_home and origin(url) != access.origin:
                is_home, moved = False, origin(url) if url != sending.url else None
            theirs = access.credential.headers() if is_home else {}
            within = self._limits.operation if sending.is_large else self._limits.answer
            async with self._crowd.under_way(_place(origin(url), access)):
                with _heard_within(within, url):
                    reply, further, after = await self._sent(
                        method, url, {**headers, **theirs}, content, most, seat, bounded=access.is_brought
                    )
            if further is None:
                return replace(reply, moved=moved), after
            url = _moved(url, further)
            if sending.is_upload and origin(url) != access.origin:
                raise Unheard(f"DocSpace sends the file on to {origin(url)}, and no file goes to another host")
            if (reply.status == 303 and method not in ("GET", "HEAD")) or (
                reply.status in (301, 302) and method == "POST"
            ):
                method, content = "GET", None
                headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
        raise Unheard("redirect count exceeded")

    async def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | Content | None,
        most: int,
        seat: Seat,
        *,
        bounded: bool,
    ) -> tuple[Reply, str | None, str | None]:
        """The answer, where it sends us on to, and after how long it wants to be asked again."""
        pool = self._opened(bounded)
        try:
            request = pool.build_request(
                method,
                url,
                headers=[(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()],
                content=content() if callable(content) else content,
            )
        except (httpx2.InvalidURL, UnicodeError) as problem:
            raise Unheard(str(problem)) from None
        if not self._agent:
            del request.headers["user-agent"]
        try:
            if bounded and is_proxied():
                await self._bounds.check(request.url)
            if request.url.port in BAD_PORTS:
                raise Unheard("bad port")
            response = await pool.send(request, stream=True, follow_redirects=False)
            try:
                further = response.headers.get("location") if response.status_code in _MOVED else None
                body = b"" if further is not None else await read(response, most, seat)
            except httpx2.HTTPError as error:
                if response.is_success:
                    raise BrokenOff(in_words(error, request.url), is_cut=isinstance(error, _CUT)) from error
                # What is told of a bad answer is its status.
                body = b""
            finally:
                await response.aclose()
        except TooLong:
            raise Unheard(f"the answer is longer than {most // 1024 // 1024} MiB", is_answered=True) from None
        except OutOfBoundsError as inside:
            raise Unheard(str(inside)) from None
        except Unreadable as problem:
            raise Unheard(str(problem), is_answered=True) from None
        except httpx2.HTTPError as error:
            raise Unheard(in_words(error, request.url), is_cut=isinstance(error, _CUT)) from error
        reply = Reply(response.status_code, _reason(response), response.headers.get("content-type"), body)
        return reply, further, response.headers.get("retry-after")

    def _opened(self, bounded: bool) -> httpx2.AsyncClient:
        if bounded:
            if self._bounded is None:
                # Behind a proxy it is the proxy that looks names up, and decides where this machine may go.
                within = None if is_proxied() else Bounded(self._bounds, _POOLED, _tls())
                self._bounded = self._made(within)
            return self._bounded
        if self._pool is None:
            self._pool = self._made(None)
        return self._pool

    def _made(self, transport: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={"accept-encoding": ENCODINGS, **({"user-agent": self._agent} if self._agent else {})},
            verify=_tls(),
            transport=transport,
            timeout=httpx2.Timeout(self._limits.answer, connect=self._limits.connect, pool=self._limits.patience),
            limits=_POOLED,
            # What DocSpace sets for one caller must never be sent for another.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def close(self) -> None:
        pools, self._pool, self._bounded = (self._pool, self._bounded), None, None
        for pool in pools:
            if pool is not None:
                await pool.aclose()


@cache
def _tls() -> ssl.SSLContext:
    """Building one costs more than a hundred calls, so there is one."""
    return httpx2.create_ssl_context()


@contextmanager
def _heard_within(seconds: float, url: str) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise Unheard(f"{urlsplit(url).hostname} did not answer within {seconds:g} seconds") from None


def _place(origin: str, access: Access) -> str:
    """Whose share of the connections it is: callers do not use up the operator's."""
    return f"{origin} for callers" if access.is_brought else origin


def _moved(url: str, further: str) -> str:
    try:
        url = urljoin(url, further)
        origin(url)
    except ValueError:
        raise Unheard("Invalid URL") from None
    if urlsplit(url).scheme not in ("http", "https"):
        raise Unheard("URL scheme must be a HTTP(S) scheme")
    return url


def _reason(response: httpx2.Response) -> str:
    """The words beside the status. Newer versions of HTTP have none, and get the usual ones."""
    if response.reason_phrase:
        return response.reason_phrase
    try:
        return HTTPStatus(response.status_code).phrase
    except ValueError:
        return ""


def _seconds(after: str, now: Clock) -> float | None:
    """`Retry-After` as seconds: it is a number of them, or a date."""
    after = after.strip()
    if after.isdecimal():
        return float(after)
    try:
        return max((parsedate_to_datetime(after) - now()).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
