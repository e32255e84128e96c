"""Binds a socket and runs the HTTP server until it is stopped."""

import errno
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup
from uvicorn.config import Config
from uvicorn.server import Server

from pegboard.ports.fast_path import FastPathHandler
from pegboard.surfaces.http.limits import ConnectionLimits as ConnectionLimits
from pegboard.surfaces.http.protocol import RequestHeadCache, close_overdue, protocol_factory

if TYPE_CHECKING:
    from starlette.types import ASGIApp


log: Final = logging.getLogger(__name__)

GRACE_SECONDS: Final = 5
BACKLOG: Final = 2048
CHECK_INTERVAL_S: Final = 5.0
FORGET_INTERVAL_S: Final = 120.0
"""Seconds. What a caller sent is kept for the next time until the second turn in which it did not come: less than the
five minutes that callers are promised."""
KEEP_ALIVE_SECONDS: Final = 75
"""Longer than clients keep an idle connection: whoever closes first must not be the one who is written to."""
_MIN_CLOSE_CHECK_S: Final = 0.001
_MAX_CLOSE_CHECK_S: Final = 0.1
"""Seconds between two looks whether the last connection is closed: longer and longer ones."""


class ListenError(Exception):
    """The address cannot be listened on; the message says which and what to do."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Listens before anything starts, so that a taken port costs nothing and a client that comes early only waits."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ListenError(f"{host!r} is no address of this machine: {error}. Choose another: --host") from None
    # asyncio turns off Nagle's algorithm only where the protocol is named. With it, an answer that is written in two
    # parts takes 40 ms longer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        option = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
        raise ListenError(f"{host}:{port} cannot be listened on: {error.strerror}. Choose another: {option}") from None
    return listener


def local_url(host: str, port: int) -> str:
    """The URL by which this machine itself reaches a socket that was bound so."""
    try:
        address = ip_address(host)
    except ValueError:
        return f"http://{host}:{port}"
    if address.is_unspecified:
        address = ip_address("::1" if isinstance(address, IPv6Address) else "127.0.0.1")
    return f"http://[{address}]:{port}" if isinstance(address, IPv6Address) else f"http://{address}:{port}"


def is_open_to_others(listener: socket.socket) -> bool:
    """Whether other machines may reach it."""
    return not ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


class WebServer(Server):
    """One that waits for its end instead of looking for it ten times a second, and ends with its last connection."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.is_listening = anyio.Event()
        self._stop_event = anyio.Event()

    def stop(self, *, at_once: bool = False) -> None:
        """After the requests that have begun, or without waiting for them."""
        self.should_exit = True
        self.force_exit = at_once
        self._stop_event.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.is_listening.set()

    async def main_loop(self) -> None:
        # A tick of this number also sets the date that answers have.
        while not await self.on_tick(0):
            with anyio.move_on_after(1.0):
                await self._stop_event.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        state, pause = self.server_state, _MIN_CLOSE_CHECK_S
        for connection in list(state.connections):
            connection.shutdown()
        with anyio.move_on_after(self.config.timeout_graceful_shutdown) as waiting:
            while (state.connections or state.tasks) and not self.force_exit:
                await anyio.sleep(pause)
                pause = min(2 * pause, _MAX_CLOSE_CHECK_S)
            for server in self.servers:
                await server.wait_closed()
        if waiting.cancelled_caught and state.tasks:
            log.warning(
                "Requests that were not answered in time when the gateway stopped, and were broken off: %s",
                len(state.tasks),
            )
            for task in state.tasks:
                task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for whoever runs all of it: uvicorn would end itself and cut the rest of the house off."""
        yield


class HttpServer:
    """`async with Listening(app, socket, stopping)`: listens inside the block."""

    def __init__(
        self,
        app: "ASGIApp",
        listener: socket.socket,
        stopping: Callable[[], None],
        express: FastPathHandler | None = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        """`stopping` is called before the server waits for open requests: long-lived streams are to end then.

        `express` is asked first for what it may have, before the application is; `limits` bound the connections.
        """
        self._listener = listener
        self._on_stop = stopping
        self._fast_path = express
        self._head_cache = RequestHeadCache()
        self._server = WebServer(
            Config(
                app,
                interface="asgi3",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                ws="none",
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                http=protocol_factory(express, self._head_cache, ConnectionLimits() if limits is None else limits),
            )
        )
        self._is_finished = anyio.Event()
        # Shielded: whoever leaves the block asks the server to end, and waits until open requests are answered.
        self._serve_scope = anyio.CancelScope(shield=True)
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> "HttpServer":
        self._tasks = await anyio.create_task_group().__aenter__()
        await self._tasks.start(self._serve)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        self._on_stop()
        self._server.stop()
        with anyio.move_on_after(GRACE_SECONDS + 1, shield=True):
            await self._is_finished.wait()
        self._serve_scope.cancel()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def wait_until_finished(self) -> None:
        await self._is_finished.wait()

    async def _serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with self._serve_scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._report_start, task_status)
                tasks.start_soon(self._close_overdue_connections)
                if self._fast_path is not None:
                    tasks.start_soon(self._forget_callers, self._fast_path)
                try:
                    await self._server.serve(sockets=[self._listener])
                finally:
                    self._is_finished.set()
                    self._serve_scope.cancel()

    async def _close_overdue_connections(self) -> None:
        while True:
            await anyio.sleep(CHECK_INTERVAL_S)
            close_overdue(self._server.server_state.connections)

    async def _forget_callers(self, express: FastPathHandler) -> None:
        callers, turned = express.principals, anyio.current_time()
        while True:
            await anyio.sleep(CHECK_INTERVAL_S)
            if express.principals is not callers:
                callers = express.principals
                self._head_cache.clear()
                express.forget_callers()
            elif anyio.current_time() - turned >= FORGET_INTERVAL_S:
                turned = anyio.current_time()
                self._head_cache.drop_unused()
                express.forget_callers()

    async def _report_start(self, task_status: anyio.abc.TaskStatus[None]) -> None:
        await self._server.is_listening.wait()
        task_status.started()
        await anyio.sleep_forever()
