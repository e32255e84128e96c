"""The HTTP client of one server: kept open, on the one TLS context of the process, and in words about what failed.

A failed request becomes an answer that tells how it failed. The SDK's transport gives up the whole connection, and with
it every other call, when a request raises.
"""

import json
import logging
import re
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from functools import cache
from http import HTTPStatus
from time import perf_counter
from typing import Any, Final

import anyio
import httpx2

from pegboard import __version__
from pegboard.core.headers import is_owned

from .authorization import Authorization
from .large import LargeMessages, unpacked
from .messages import LONGEST, SMALL
from .pace import Turns, slices
from .trouble import BROKEN_OFF, STATUS, UNSENT, Trouble, unreachable

_CONNECT: Final = 15.0
_NOTICE: Final = 5.0
_MOST_ERROR_TEXT: Final = 65_536
_WORK: Final = 0.000_1
"""Seconds that the next chunk of a stream costs at most to be taken off the wire. What it took longer was waiting."""
_WAIT: Final = 0.001
"""Seconds of waiting after which all there was has been read."""
_NOTIFICATION: Final = b'{"jsonrpc":"2.0","method":"notifications/'
UNSENDABLE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NEVER_LEFT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)

UNAUTHORIZED: Final = "answered HTTP 401: needs sign-in"
SHORT: Final = "answered HTTP 403: whoever signed in did not grant enough for this"
_SIGN_IN: Final = "Ask the user to run: pegboard servers sign-in"

# Their lines name whole addresses, which may hold a key, and sessions, which are one.
for _name, _level in (("httpx2", logging.WARNING), ("mcp.client.streamable_http", logging.ERROR)):
    if (_chatter := logging.getLogger(_name)).level == logging.NOTSET:
        _chatter.setLevel(_level)


@cache
def tls() -> ssl.SSLContext:
    """Building one costs more than a hundred calls, so there is one."""
    return httpx2.create_ssl_context()


class HttpClient(httpx2.AsyncClient):
    """`doubt` is called when something failed that may mean the server is gone."""

    def __init__(
        self, headers: Mapping[str, str], doubt: Callable[[], None], authorization: Authorization | None = None
    ) -> None:
        super().__init__(
            headers={"user-agent": f"pegboard/{__version__}", **_checked(headers)},
            verify=tls(),
            # Every wait on an answer has a deadline of its own, and a stream of changes may be silent for days.
            timeout=httpx2.Timeout(None, connect=_CONNECT),
            # Servers close idle connections after five seconds by widespread default: use none that old.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=4.0),
        )
        self._doubt = doubt
        self._authorization = authorization
        self.session_id: str | None = None
        self.protocol_version: str | None = None
        self.settled: httpx2.URL | None = None
        """Where messages are taken: after a redirect within the server this is not the declared address."""
        self.large: LargeMessages | None = None
        """Where the SDK reads what is answered, large messages are kept from it."""

    def is_direct(self, url: httpx2.URL) -> bool:
        """Whether no proxy of the environment stands between us and this address."""
        return self._transport_for_url(url) is self._transport

    async def send(self, request: httpx2.Request, *, stream: bool = False, **how: Any) -> httpx2.Response:
        self.protocol_version = request.headers.get("mcp-protocol-version", self.protocol_version)
        try:
            if request.method == "POST":
                if (body := await request.aread()).startswith(_NOTIFICATION):
                    return await self._noticed(request, **how)
                if self.large is not None:
                    self.large.ask(body)
            response = await self._sent(request, **how)
        except httpx2.TransportError as error:
            self._doubt()
            code = UNSENT if isinstance(error, _NEVER_LEFT) else BROKEN_OFF
            return _told(request, HTTPStatus.SERVICE_UNAVAILABLE, code, unreachable(error))
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            return await self._refused(request, response)
        self.session_id = response.headers.get("mcp-session-id", self.session_id)
        if request.method == "POST" and response.is_success:
            self.settled = request.url
        response.stream = _Watched(response, self.large)
        if not stream:
            await response.aread()
        return response

    async def _sent(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """With our credentials, and once more when they could be renewed."""
        ours = self._authorization
        if ours is None:
            return await super().send(request, stream=True, **how)
        sent = ours.headers()
        request.headers.update(sent)
        response = await super().send(request, stream=True, **how)
        if response.status_code == HTTPStatus.UNAUTHORIZED and await ours.unauthorized(sent, _challenge(response)):
            await response.aclose()
            request.headers.update(ours.headers())
            response = await super().send(request, stream=True, **how)
            if response.status_code == HTTPStatus.UNAUTHORIZED:
                ours.rejected(_challenge(response))
        return response

    async def _noticed(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """The SDK sends nothing else while a notification is under way, so this one wait is short."""
        with anyio.move_on_after(_NOTICE):
            response = await self._sent(request, **how)
            if response.is_redirect:
                return response
            await response.aclose()
        return httpx2.Response(HTTPStatus.ACCEPTED, request=request)

    async def _refused(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """The server's own JSON-RPC error when it sent one, else its status in words."""
        body = await _beginning(response)
        status = response.status_code
        if (why := unsigned(self._authorization, status, _challenge(response))) is not None:
            self._doubt()
            return _told(request, status, STATUS - status, why)
        if _is_error(body):
            return httpx2.Response(status, content=body, headers={"content-type": "application/json"}, request=request)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in (401, 403, 404):
            self._doubt()
        return _told(request, status, STATUS - status, in_words(status, in_session=self.session_id is not None))


class _Watched(httpx2.AsyncByteStream):
    """A body that may not be endless, and whose breaking off costs one request only."""

    def __init__(self, response: httpx2.Response, large: LargeMessages | None = None) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._large = large
        self._chunks: AsyncIterable[bytes] = response.stream
        if large is not None:
            self._chunks = large.events(unpacked(response)) if self._events else unpacked(response)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        turns, began = Turns(), perf_counter()
        whole: list[bytes] = []
        try:
            async for chunk in self._chunks:
                size += len(chunk)
                if not self._events:
                    if size > LONGEST:
                        raise _Unreadable(f"the answer is longer than {LONGEST // 1024 // 1024} MiB")
                    if self._large is None:
                        yield chunk
                    else:
                        whole.append(chunk)
                    continue
                if (since := perf_counter() - began) > _WAIT:
                    turns.catch_up()
                else:
                    turns.spend(min(since, _WORK))
                for part in slices(chunk):
                    began = perf_counter()
                    yield part
                    await turns.take(perf_counter() - began)
                began = perf_counter()
            if self._large is not None and whole:
                yield await _in_place_of(b"".join(whole), self._large)
        except httpx2.TransportError as error:
            if self._events:
                raise
            raise _Unreadable(unreachable(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _in_place_of(body: bytes, large: LargeMessages) -> bytes:
    if len(body) <= SMALL:
        return body
    found = await large.body(body)
    if found is None:
        raise _Unreadable("the answer is not a JSON-RPC response")
    return found


class _Unreadable(httpx2.StreamError):
    """The kind of error that the SDK's transport answers for one request instead of falling over."""


def in_words(status: int, *, in_session: bool = False) -> str:
    match status:
        case 401:
            return "answered HTTP 401: needs sign-in. Check the credentials in its headers"
        case 403:
            return "answered HTTP 403: the credentials in its headers do not suffice"
        case 404 if in_session:
            return "answered HTTP 404: it has forgotten our session"
        case 404:
            return (
                "answered HTTP 404: there is no MCP server at this address. Check the url; an older server may need "
                "transport: sse"
            )
        case 405:
            return "answered HTTP 405: it takes no messages at this address. An older server may need transport: sse"
        case 429:
            return "answered HTTP 429: too many requests"
        case _:
            try:
                return f"answered HTTP {status}: {HTTPStatus(status).phrase}"
            except ValueError:
                return f"answered HTTP {status}"


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Raises `Trouble` that names the header but never its value."""
    for name, value in headers.items():
        if not name.isascii() or not name.isprintable() or not name or any(mark in name for mark in " :()<>@,;"):
            raise Trouble(f"cannot be asked: {name!r} cannot be the name of an HTTP header. Correct it")
        if is_owned(name):
            raise Trouble(f"cannot be asked: its header {name!r} is written by the transport itself. Remove it")
        if not value.isascii() or UNSENDABLE.search(value):
            told = f"the value of its header {name!r} has a line break, a control character or is not ASCII"
            raise Trouble(f"cannot be asked: {told}. Correct it, or the secret that it refers to")
    return dict(headers)


def unsigned(authorization: Authorization | None, status: int, challenge: str) -> str | None:
    """Why only a person's sign-in can help: whatever the server says beside its status, that is what to do."""
    if authorization is None:
        return None
    if status == HTTPStatus.UNAUTHORIZED:
        return f"{UNAUTHORIZED}. {_SIGN_IN} {authorization.server}"
    if status == HTTPStatus.FORBIDDEN and authorization.forbidden(challenge):
        return f"{SHORT}. {_SIGN_IN} {authorization.server}"
    return None


def only_signing_in_helps(why: str) -> bool:
    """Whether these are the words of `unsigned`."""
    return why.startswith((f"{UNAUTHORIZED}. {_SIGN_IN}", f"{SHORT}. {_SIGN_IN}"))


def _challenge(response: httpx2.Response) -> str:
    return str(response.headers.get("www-authenticate", ""))


def _told(request: httpx2.Request, status: int, code: int, why: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}}
    return httpx2.Response(status, json=error, request=request)


async def _beginning(response: httpx2.Response) -> bytes:
    body = b""
    with anyio.move_on_after(_NOTICE):
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_ERROR_TEXT:
                    break
        except (httpx2.TransportError, httpx2.DecodingError):
            pass  # the status is all we need of it
    await response.aclose()
    return body


def _is_error(body: bytes) -> bool:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return False
    match content:
        case {"jsonrpc": "2.0", "error": {"code": int(), "message": str()}}:
            return True
        case _:
            return False
