"""Errors of servers as sentences."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Final

import anyio
import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

UNUSABLE_ANSWER: Final = -310_001
"""Our own error codes, far from any of the protocol's. This one: the answer came and cannot be used."""
NOT_SENT: Final = -310_100
"""The request never left."""
CONNECTION_BROKEN: Final = -310_101
"""The request left, and the connection broke before the answer."""
HTTP_STATUS_BASE: Final = -311_000
"""Less an HTTP status: the request was answered with that status alone."""

MAX_REASON_LENGTH: Final = 300
"""Characters of a server's own words that a sentence repeats."""
MAX_ERROR_TEXT: Final = 4_000
"""Characters of them that are looked at. More than are shown, or a secret cut in half would not be erased."""

_CONNECTION_CLOSED_PATTERN: Final = re.compile(r"Connection closed\Z|SSE stream (?:ended|failed)\b")
"""The SDK's own errors. By their code they cannot be told from those that servers make up, and the loss of a connection
may be known a moment after them, or just after the server's last answer."""


class McpServerError(Exception):
    """A server failed in a way we have words for; they read on from the server's name."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ConnectionLoss:
    """That a connection is over, and why. The first reason stays, because the others follow from it."""

    def __init__(self, on_loss: Callable[[], None] | None = None) -> None:
        """`on_loss` is called as soon as the reason is known."""
        self._on_loss = on_loss
        self._event = anyio.Event()
        self._is_closing = False
        self.why: str | None = None

    def report(self, why: str) -> None:
        if self.why is None and not self._is_closing:
            self.why = why
            self._event.set()
            if self._on_loss is not None:
                self._on_loss()

    def begin_close(self) -> None:
        """From now on the connection ends because we end it, and that is no reason."""
        self._is_closing = True

    async def wait(self) -> str:
        await self._event.wait()
        assert self.why is not None
        return self.why


def format_seconds(number: float) -> str:
    return f"{number:g} s" if math.isfinite(number) else "any time"


def describe_error(error: BaseException) -> str | None:
    """Why a connection failed, or None when we have no words for it."""
    return next((why for leaf in _leaf_errors(error) if (why := _describe_known(leaf)) is not None), None)


def _leaf_errors(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaf_errors(inner)
    else:
        yield error


def _describe_known(error: BaseException) -> str | None:
    match error:
        case McpServerError():
            return error.why
        case MCPError():
            return describe_refusal(error)
        case httpx2.TransportError():
            return describe_unreachable(error)
        case httpx2.DecodingError():
            return "sent an answer whose compression cannot be undone"
        case anyio.ClosedResourceError() | anyio.BrokenResourceError() | anyio.EndOfStream():
            return "closed the connection"
        case _:
            return None


def is_connection_closed(error: MCPError) -> bool:
    """Whether our own side gave up on the answer, because the connection is over. Else the server answered."""
    return error.code == CONNECTION_CLOSED and _CONNECTION_CLOSED_PATTERN.match(error.message) is not None


def describe_refusal(error: MCPError) -> str:
    """Our own errors are sentences already."""
    if is_connection_closed(error):
        return "closed the connection"
    if error.code <= NOT_SENT:
        return error.message
    if error.code == UNUSABLE_ANSWER:
        return f"answered, but {error.message}"
    return f'answered with an error: "{error.message.strip().rstrip(".")[:MAX_ERROR_TEXT]}" (code {error.code})'


def describe_unreachable(error: httpx2.TransportError) -> str:
    """Names the machine but not the whole address, which may hold a key."""
    try:
        url = error.request.url
        where = f" at {url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
    except RuntimeError:
        where = ""
    if isinstance(error, httpx2.TimeoutException):
        return f"did not answer in time{where}"
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError | httpx2.UnsupportedProtocol):
        return f"cannot be reached{where}: {_first_line(error) or type(error).__name__}"
    return f"broke the connection off{where}: {_first_line(error) or type(error).__name__}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0].rstrip(".")[:300]
