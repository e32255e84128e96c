"""The HTTP connections to one server: kept from call to call, bounded in number, the last one used first.

Some servers hang up after each answer without announcing it. A call sent on such a connection may or may not have run,
and is never sent again, so a connection is used again only at a server that was seen to keep one.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Final

import httpx2
from mcp.shared.exceptions import MCPError

from pegboard.providers.mcp.errors import NOT_SENT
from pegboard.providers.mcp.fast.connection import HttpConnection, ResponseHeadCache
from pegboard.providers.mcp.fast.pending_requests import PendingRequest
from pegboard.providers.mcp.http_client import tls_context

MAX_CONNECTIONS: Final = 128
"""Connections to one server. A further call waits until one is free."""

MAX_QUEUED_CALLS: Final = 2_048
"""Calls that may wait for a connection."""

_CONNECT_TIMEOUT_S: Final = 15.0
_MIN_CONNECT_TIME_S: Final = 0.1
"""Seconds in which nobody can be expected to open a connection."""

_MAX_IDLE_S: Final = 4.0
"""Servers close idle connections after five seconds by widespread default: use none that old."""


_TRIAL_S: Final = 0.02
_LONG_TRIAL_S: Final = 1.0
_MAX_TRIAL_S: Final = _MAX_IDLE_S / 2
"""Seconds that a connection must stay open after an answer to show that the server keeps it: at first, when a server
was seen to hang up, and at most."""

_EARLY_HANG_UP_S: Final = 1.0
"""Who hangs up so soon after an answer does so because of it, and not because nothing came for long."""


class HttpConnectionPool:
    """`doubt` is called when the server cannot be reached."""

    def __init__(
        self, url: httpx2.URL, doubt: Callable[[], None], most: int = MAX_CONNECTIONS, queue: int = MAX_QUEUED_CALLS
    ) -> None:
        self._suspect_loss = doubt
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._tls: ssl.SSLContext | None = tls_context() if url.scheme == "https" else None
        # Names the machine but not the whole address, which may hold a key.
        self.origin = f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
        self.heads = ResponseHeadCache()
        self._max_connections = most
        self._max_queued = queue
        self._open: set[HttpConnection] = set()
        self._opening_count = 0
        self._idle: list[HttpConnection] = []
        self.keeps_alive: bool | None = None
        """Whether the server keeps connections after an answer. `None` before it was seen."""
        self._trial_s = _TRIAL_S
        self._on_trial: dict[HttpConnection, asyncio.TimerHandle] = {}
        self._waiters: deque[asyncio.Future[HttpConnection | None]] = deque()
        self._is_closed = False
        self._loop = asyncio.get_running_loop()

    @property
    def size(self) -> int:
        return len(self._open) + self._opening_count

    @property
    def _none_free_message(self) -> str:
        return f"had no connection to {self.origin} free in time"

    def take_idle(self) -> HttpConnection | None:
        """A connection that is free now."""
        while self._idle:
            exchange = self._idle.pop()
            if exchange.is_open and self._loop.time() - exchange.idle_since < _MAX_IDLE_S:
                return exchange
            exchange.abort()
        return None

    async def acquire(self, ticket: PendingRequest) -> HttpConnection:
        """Wait for one, or open one. Raises `MCPError`: whatever fails here, nothing was sent."""
        while not self._is_closed:
            if (exchange := self.take_idle()) is not None:
                return exchange
            is_first_trial = self.keeps_alive is None and self._on_trial
            if self.size < self._max_connections and not is_first_trial:
                return await self._open_connection(ticket)
            if self._on_trial and not is_first_trial:
                next(iter(self._on_trial)).abort()
            if len(self._waiters) >= self._max_queued:
                raise MCPError(NOT_SENT, f"has {self._max_queued:,} calls waiting for a connection. Try again later")
            waiting = ticket.new_future(self._loop)
            self._waiters.append(waiting)
            try:
                handed: HttpConnection | None = await waiting
            except TimeoutError:
                raise MCPError(NOT_SENT, self._none_free_message) from None
            except asyncio.CancelledError:
                self._return_unused(waiting)
                raise
            if handed is not None and handed.is_open:
                return handed
        raise MCPError(NOT_SENT, "closed the connection before the call was sent")

    def release(self, exchange: HttpConnection) -> None:
        if self._is_closed:
            exchange.abort()
            return
        exchange.idle_since = self._loop.time()
        if not self.keeps_alive:
            self._on_trial[exchange] = self._loop.call_later(self._trial_s, self._end_trial, exchange)
            if self.keeps_alive is False:
                self._wake_waiter(None)
        elif not self._wake_waiter(exchange):
            self._idle.append(exchange)

    def on_hang_up(self, exchange: HttpConnection) -> None:
        """The server closed a connection on which nothing of an answer had come."""
        if exchange.idle_since and self._loop.time() - exchange.idle_since < _EARLY_HANG_UP_S:
            self.keeps_alive = False
            self._trial_s = min(max(2 * self._trial_s, _LONG_TRIAL_S), _MAX_TRIAL_S)
            self._wake_all()

    def forget(self, exchange: HttpConnection) -> None:
        self._open.discard(exchange)
        if (timer := self._on_trial.pop(exchange, None)) is not None:
            timer.cancel()
        if exchange in self._idle:
            self._idle.remove(exchange)
        self._wake_waiter(None)

    def close(self) -> None:
        self._is_closed = True
        for exchange in tuple(self._open):
            exchange.abort()
        self._wake_all()

    def _end_trial(self, exchange: HttpConnection) -> None:
        del self._on_trial[exchange]
        self.keeps_alive = True
        self._idle.append(exchange)
        self._wake_all()

    async def _open_connection(self, ticket: PendingRequest) -> HttpConnection:
        self._opening_count += 1
        try:
            exchange = await self._connect(ticket)
        except BaseException:
            self._opening_count -= 1
            self._wake_waiter(None)
            raise
        self._opening_count -= 1
        self._open.add(exchange)
        if self._is_closed:
            exchange.abort()
        return exchange

    async def _connect(self, ticket: PendingRequest) -> HttpConnection:
        left = ticket.deadline - self._loop.time()
        try:
            async with asyncio.timeout(min(_CONNECT_TIMEOUT_S, max(left, 0.0))):
                _, exchange = await self._loop.create_connection(
                    lambda: HttpConnection(self), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            if left < _MIN_CONNECT_TIME_S:  # the wait for a connection took the time, and not the server
                raise MCPError(NOT_SENT, self._none_free_message) from None
            self._suspect_loss()
            raise MCPError(NOT_SENT, f"did not answer in time at {self.origin}") from None
        except OSError as error:
            self._suspect_loss()
            told = (error.strerror or str(error)).splitlines() or [""]
            raise MCPError(NOT_SENT, f"cannot be reached at {self.origin}: {told[0][:300]}") from None
        return exchange

    def _wake_waiter(self, exchange: HttpConnection | None) -> bool:
        """Hand a connection, or the room for a new one, to whoever waits longest."""
        while self._waiters:
            waiting = self._waiters.popleft()
            if not waiting.done():
                waiting.set_result(exchange)
                return True
        return False

    def _wake_all(self) -> None:
        """Let everybody look again."""
        while self._wake_waiter(None):
            pass

    def _return_unused(self, waiting: "asyncio.Future[HttpConnection | None]") -> None:
        """Whoever gave up waiting may have been handed a connection, or the room for one, in the same moment."""
        if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
            handed = waiting.result()
            if handed is None or not handed.is_open:
                self._wake_waiter(None)
            else:
                self.release(handed)
