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
from pegboard.core.model.server import is_transport_header
from pegboard.core.model.text import Audience
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.errors import (
    CONNECTION_BROKEN,
    HTTP_STATUS_BASE,
    NOT_SENT,
    McpServerError,
    describe_unreachable,
)
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES, MAX_ON_LOOP_BYTES, LargeMessageExchange, decompress_body
from pegboard.providers.mcp.rate import TurnTimer, slices

_CONNECT_TIMEOUT_S: Final = 15.0
_NOTIFICATION_TIMEOUT_S: Final = 5.0
_MAX_ERROR_BYTES: Final = 65_536
_MAX_CHUNK_WORK_S: Final = 0.000_1
"""Seconds that the next chunk of a stream costs at most to be taken off the wire. What it took longer was waiting."""
_CAUGHT_UP_AFTER_S: Final = 0.001
"""Seconds of waiting after which all there was has been read."""
_NOTIFICATION_PREFIX: Final = b'{"jsonrpc":"2.0","method":"notifications/'
UNSENDABLE_CHARACTERS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_SENT_ERRORS: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)

NEEDS_SIGN_IN_MESSAGE: Final = "answered HTTP 401: needs sign-in"
INSUFFICIENT_SCOPE_MESSAGE: Final = "answered HTTP 403: whoever signed in did not grant enough for this"
_SIGN_IN_HINT: Final = Audience.AGENT.request("run: pegboard servers sign-in")

# Their lines name whole addresses, which may hold a key, and sessions, which are one.
for _name, _level in (("httpx2", logging.WARNING), ("mcp.client.streamable_http", logging.ERROR)):
    if (_chatter := logging.getLogger(_name)).level == logging.NOTSET:
        _chatter.setLevel(_level)


@cache
def tls_context() -> ssl.SSLContext:
    """Building one costs more than a hundred calls, so there is one."""
    return httpx2.create_ssl_context()


class McpHttpClient(httpx2.AsyncClient):
    """`doubt` is called when something failed that may mean the server is gone."""

    def __init__(
        self, headers: Mapping[str, str], doubt: Callable[[], None], authorization: Authorization | None = None
    ) -> None:
        super().__init__(
            headers={"user-agent": f"pegboard/{__version__}", **_check_headers(headers)},
            verify=tls_context(),
            # Every wait on an answer has a deadline of its own, and a stream of changes may be silent for days.
            timeout=httpx2.Timeout(None, connect=_CONNECT_TIMEOUT_S),
            # Servers close idle connections after five seconds by widespread default: use none that old.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=4.0),
        )
        self._suspect_loss = doubt
        self._authorization = authorization
        self.session_id: str | None = None
        self.protocol_version: str | None = None
        self.final_url: httpx2.URL | None = None
        """Where messages are taken: after a redirect within the server this is not the declared address."""
        self.large_messages: LargeMessageExchange | None = None
        """Where the SDK reads what is answered, large messages are kept from it."""

    def is_direct(self, url: httpx2.URL) -> bool:
        """Whether no proxy of the environment stands between us and this address."""
        return self._transport_for_url(url) is self._transport

    async def send(self, request: httpx2.Request, *, stream: bool = False, **how: Any) -> httpx2.Response:
        self.protocol_version = request.headers.get("mcp-protocol-version", self.protocol_version)
        try:
            if request.method == "POST":
                if (body := await request.aread()).startswith(_NOTIFICATION_PREFIX):
                    return await self._send_notification(request, **how)
                if self.large_messages is not None:
                    self.large_messages.register_request(body)
            response = await self._send_authorized(request, **how)
        except httpx2.TransportError as error:
            self._suspect_loss()
            code = NOT_SENT if isinstance(error, _NOT_SENT_ERRORS) else CONNECTION_BROKEN
            return _json_rpc_error(request, HTTPStatus.SERVICE_UNAVAILABLE, code, describe_unreachable(error))
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            return await self._error_response(request, response)
        self.session_id = response.headers.get("mcp-session-id", self.session_id)
        if request.method == "POST" and response.is_success:
            self.final_url = request.url
        response.stream = _BoundedStream(response, self.large_messages)
        if not stream:
            await response.aread()
        return response

    async def _send_authorized(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """With our credentials, and once more when they could be renewed."""
        ours = self._authorization
        if ours is None:
            return await super().send(request, stream=True, **how)
        sent = ours.headers
        request.headers.update(sent)
        response = await super().send(request, stream=True, **how)
        if response.status_code == HTTPStatus.UNAUTHORIZED and await ours.handle_unauthorized(
            sent, _challenge_header(response)
        ):
            await response.aclose()
            request.headers.update(ours.headers)
            response = await super().send(request, stream=True, **how)
            if response.status_code == HTTPStatus.UNAUTHORIZED:
                ours.mark_rejected(_challenge_header(response))
        return response

    async def _send_notification(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """The SDK sends nothing else while a notification is under way, so this one wait is short."""
        with anyio.move_on_after(_NOTIFICATION_TIMEOUT_S):
            response = await self._send_authorized(request, **how)
            if response.is_redirect:
                return response
            await response.aclose()
        return httpx2.Response(HTTPStatus.ACCEPTED, request=request)

    async def _error_response(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """The server's own JSON-RPC error when it sent one, else its status in words."""
        body = await _read_error_body(response)
        status = response.status_code
        if (why := sign_in_message(self._authorization, status, _challenge_header(response))) is not None:
            self._suspect_loss()
            return _json_rpc_error(request, status, HTTP_STATUS_BASE - status, why)
        if _is_json_rpc_error(body):
            return httpx2.Response(status, content=body, headers={"content-type": "application/json"}, request=request)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in (401, 403, 404):
            self._suspect_loss()
        return _json_rpc_error(
            request,
            status,
            HTTP_STATUS_BASE - status,
            describe_http_status(status, in_session=self.session_id is not None),
        )


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that may not be endless, and whose breaking off costs one request only."""

    def __init__(self, response: httpx2.Response, large: LargeMessageExchange | None = None) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._is_event_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._large_messages = large
        self._chunks: AsyncIterable[bytes] = response.stream
        if large is not None:
            self._chunks = (
                large.replace_events(decompress_body(response)) if self._is_event_stream else decompress_body(response)
            )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        turns, began = TurnTimer(), perf_counter()
        whole: list[bytes] = []
        try:
            async for chunk in self._chunks:
                size += len(chunk)
                if not self._is_event_stream:
                    if size > MAX_MESSAGE_BYTES:
                        raise _UnreadableBodyError(f"the answer is longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MiB")
                    if self._large_messages is None:
                        yield chunk
                    else:
                        whole.append(chunk)
                    continue
                if (since := perf_counter() - began) > _CAUGHT_UP_AFTER_S:
                    turns.reset()
                else:
                    turns.spend(min(since, _MAX_CHUNK_WORK_S))
                for part in slices(chunk):
                    began = perf_counter()
                    yield part
                    await turns.spend_and_rest(perf_counter() - began)
                began = perf_counter()
            if self._large_messages is not None and whole:
                yield await _substitute_large(b"".join(whole), self._large_messages)
        except httpx2.TransportError as error:
            if self._is_event_stream:
                raise
            raise _UnreadableBodyError(describe_unreachable(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _substitute_large(body: bytes, large: LargeMessageExchange) -> bytes:
    if len(body) <= MAX_ON_LOOP_BYTES:
        return body
    found = await large.replace_body(body)
    if found is None:
        raise _UnreadableBodyError("the answer is not a JSON-RPC response")
    return found


class _UnreadableBodyError(httpx2.StreamError):
    """The kind of error that the SDK's transport answers for one request instead of falling over."""


def describe_http_status(status: int, *, in_session: bool = False) -> str:
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


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Raises `McpServerError` that names the header but never its value."""
    for name, value in headers.items():
        if not name.isascii() or not name.isprintable() or not name or any(mark in name for mark in " :()<>@,;"):
            raise McpServerError(f"cannot be asked: {name!r} cannot be the name of an HTTP header. Correct it")
        if is_transport_header(name):
            raise McpServerError(f"cannot be asked: its header {name!r} is written by the transport itself. Remove it")
        if not value.isascii() or UNSENDABLE_CHARACTERS.search(value):
            told = f"the value of its header {name!r} has a line break, a control character or is not ASCII"
            raise McpServerError(f"cannot be asked: {told}. Correct it, or the secret that it refers to")
    return dict(headers)


def sign_in_message(authorization: Authorization | None, status: int, challenge: str) -> str | None:
    """Why only a person's sign-in can help: whatever the server says beside its status, that is what to do."""
    if authorization is None:
        return None
    if status == HTTPStatus.UNAUTHORIZED:
        return f"{NEEDS_SIGN_IN_MESSAGE}. {_SIGN_IN_HINT} {authorization.server}"
    if status == HTTPStatus.FORBIDDEN and authorization.handle_forbidden(challenge):
        return f"{INSUFFICIENT_SCOPE_MESSAGE}. {_SIGN_IN_HINT} {authorization.server}"
    return None


def is_sign_in_message(why: str) -> bool:
    """Whether these are the words of `unsigned`."""
    return why.startswith(
        (f"{NEEDS_SIGN_IN_MESSAGE}. {_SIGN_IN_HINT}", f"{INSUFFICIENT_SCOPE_MESSAGE}. {_SIGN_IN_HINT}")
    )


def _challenge_header(response: httpx2.Response) -> str:
    return str(response.headers.get("www-authenticate", ""))


def _json_rpc_error(request: httpx2.Request, status: int, code: int, why: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}}
    return httpx2.Response(status, json=error, request=request)


async def _read_error_body(response: httpx2.Response) -> bytes:
    body = b""
    with anyio.move_on_after(_NOTIFICATION_TIMEOUT_S):
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_ERROR_BYTES:
                    break
        except (httpx2.TransportError, httpx2.DecodingError):
            pass  # the status is all we need of it
    await response.aclose()
    return body


def _is_json_rpc_error(body: bytes) -> bool:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return False
    match content:
        case {"jsonrpc": "2.0", "error": {"code": int(), "message": str()}}:
            return True
        case _:
            return False
