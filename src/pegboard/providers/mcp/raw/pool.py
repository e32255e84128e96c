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

from pegboard.providers.mcp.http_client import tls
from pegboard.providers.mcp.trouble import UNSENT

from .exchange import Exchange, KnownHeads
from .tickets import Ticket

MOST: Final = 128
"""Connections to one server. A further call waits until one is free."""

QUEUE: Final = 2_048
"""Calls that may wait for a connection."""

_CONNECT: Final = 15.0
_LITTLE: Final = 0.1
"""Seconds in which nobody can be expected to open a connection."""

_FRESH: Final = 4.0
"""Servers close idle connections after five seconds by widespread default: use none that old."""


_TRIAL: Final = 0.02
_LONG_TRIAL: Final = 1.0
_LONGEST_TRIAL: Final = _FRESH / 2
"""Seconds that a connection must stay open after an answer to show that the server keeps it: at first, when a server
was seen to hang up, and at most."""

_SOON: Final = 1.0
"""Who hangs up so soon after an answer does so because of it, and not because nothing came for long."""


class Pool:
    """`doubt` is called when the server cannot be reached."""

    def __init__(self, url: httpx2.URL, doubt: Callable[[], None], most: int = MOST, queue: int = QUEUE) -> None:
        self._doubt = doubt
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._tls: ssl.SSLContext | None = tls() if url.scheme == "https" else None
        # Names the machine but not the whole address, which may hold a key.
        self.where = f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
        self.heads = KnownHeads()
        self._most = most
        self._queue = queue
        self._open: set[Exchange] = set()
        self._opening = 0
        self._idle: list[Exchange] = []
        self.keeps: bool | None = None
        """Whether the server keeps connections after an answer. `None` before it was seen."""
        self._trial = _TRIAL
        self._on_trial: dict[Exchange, asyncio.TimerHandle] = {}
        self._waiting: deque[asyncio.Future[Exchange | None]] = deque()
        self._closed = False
        self._loop = asyncio.get_running_loop()

    @property
    def size(self) -> int:
        return len(self._open) + self._opening

    @property
    def _none_free(self) -> str:
        return f"had no connection to {self.where} free in time"

    def take(self) -> Exchange | None:
        """A connection that is free now."""
        while self._idle:
            exchange = self._idle.pop()
            if exchange.is_open and self._loop.time() - exchange.idle_since < _FRESH:
                return exchange
            exchange.abort()
        return None

    async def acquire(self, ticket: Ticket) -> Exchange:
        """Wait for one, or open one. Raises `MCPError`: whatever fails here, nothing was sent."""
        while not self._closed:
            if (exchange := self.take()) is not None:
                return exchange
            is_first_trial = self.keeps is None and self._on_trial
            if self.size < self._most and not is_first_trial:
                return await self._opened(ticket)
            if self._on_trial and not is_first_trial:
                next(iter(self._on_trial)).abort()
            if len(self._waiting) >= self._queue:
                raise MCPError(UNSENT, f"has {self._queue:,} calls waiting for a connection. Try again later")
            waiting = ticket.wait(self._loop)
            self._waiting.append(waiting)
            try:
                handed: Exchange | None = await waiting
            except TimeoutError:
                raise MCPError(UNSENT, self._none_free) from None
            except asyncio.CancelledError:
                self._pass_on(waiting)
                raise
            if handed is not None and handed.is_open:
                return handed
        raise MCPError(UNSENT, "closed the connection before the call was sent")

    def release(self, exchange: Exchange) -> None:
        if self._closed:
            exchange.abort()
            return
        exchange.idle_since = self._loop.time()
        if not self.keeps:
            self._on_trial[exchange] = self._loop.call_later(self._trial, self._stayed, exchange)
            if self.keeps is False:
                self._wake(None)
        elif not self._wake(exchange):
            self._idle.append(exchange)

    def hung_up(self, exchange: Exchange) -> None:
        """The server closed a connection on which nothing of an answer had come."""
        if exchange.idle_since and self._loop.time() - exchange.idle_since < _SOON:
            self.keeps = False
            self._trial = min(max(2 * self._trial, _LONG_TRIAL), _LONGEST_TRIAL)
            self._wake_all()

    def forget(self, exchange: Exchange) -> None:
        self._open.discard(exchange)
        if (timer := self._on_trial.pop(exchange, None)) is not None:
            timer.cancel()
        if exchange in self._idle:
            self._idle.remove(exchange)
        self._wake(None)

    def close(self) -> None:
        self._closed = True
        for exchange in tuple(self._open):
            exchange.abort()
        self._wake_all()

    def _stayed(self, exchange: Exchange) -> None:
        del self._on_trial[exchange]
        self.keeps = True
        self._idle.append(exchange)
        self._wake_all()

    async def _opened(self, ticket: Ticket) -> Exchange:
        self._opening += 1
        try:
            exchange = await self._connected(ticket)
        except BaseException:
            self._opening -= 1
            self._wake(None)
            raise
        self._opening -= 1
        self._open.add(exchange)
        if self._closed:
            exchange.abort()
        return exchange

    async def _connected(self, ticket: Ticket) -> Exchange:
        left = ticket.deadline - self._loop.time()
        try:
            async with asyncio.timeout(min(_CONNECT, max(left, 0.0))):
                _, exchange = await self._loop.create_connection(
                    lambda: Exchange(self), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            if left < _LITTLE:  # the wait for a connection took the time, and not the server
                raise MCPError(UNSENT, self._none_free) from None
            self._doubt()
            raise MCPError(UNSENT, f"did not answer in time at {self.where}") from None
        except OSError as error:
            self._doubt()
            told = (error.strerror or str(error)).splitlines() or [""]
            raise MCPError(UNSENT, f"cannot be reached at {self.where}: {told[0][:300]}") from None
        return exchange

    def _wake(self, exchange: Exchange | None) -> bool:
        """Hand a connection, or the room for a new one, to whoever waits longest."""
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(exchange)
                return True
        return False

    def _wake_all(self) -> None:
        """Let everybody look again."""
        while self._wake(None):
            pass

    def _pass_on(self, waiting: "asyncio.Future[Exchange | None]") -> None:
        """Whoever gave up waiting may have been handed a connection, or the room for one, in the same moment."""
        if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
            handed = waiting.result()
            if handed is None or not handed.is_open:
                self._wake(None)
            else:
                self.release(handed)
