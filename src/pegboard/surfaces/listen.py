"""Listening: a bound socket and the server on it, ended by a signal in an orderly way."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final

import anyio
import uvicorn
from anyio.abc import TaskGroup
from starlette.types import ASGIApp

GRACE_SECONDS: Final = 5
BACKLOG: Final = 2048


class AddressInUse(Exception):  # noqa: N818  it is told to a person as a sentence
    """The address cannot be listened on; the message says which and what to do."""


def bound(host: str, port: int) -> socket.socket:
    """Bound before anything starts, so that a taken port costs nothing."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise AddressInUse(f"{host!r} is no address of this machine: {error}. Choose another: --host") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise AddressInUse(f"{host}:{port} cannot be listened on: {error.strerror}. Choose another: --port") from None
    return listener


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listens.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours: uvicorn would raise them again after its own end and cut the rest of the house off."""
        yield


class Listening:
    """`async with Listening(app, socket)`: listens inside the block; `ended()` returns when a signal ended it."""

    def __init__(self, app: ASGIApp, listener: socket.socket, stopping: Callable[[], None]) -> None:
        """`stopping` is called before the server waits for open requests: long-lived streams are to end then."""
        self._listener = listener
        self._stopping = stopping
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._over = anyio.Event()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> "Listening":
        self._tasks = await anyio.create_task_group().__aenter__()
        await self._tasks.start(self._listen)
        self._tasks.start_soon(self._await_signal)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        self._stop()
        if not self._over.is_set():
            with anyio.move_on_after(GRACE_SECONDS + 1, shield=True):
                await self._over.wait()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def ended(self) -> None:
        await self._over.wait()

    async def _listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report_start, task_status)
            try:
                await self._server.serve(sockets=[self._listener])
            finally:
                self._over.set()
                tasks.cancel_scope.cancel()

    async def _report_start(self, task_status: anyio.abc.TaskStatus[None]) -> None:
        await self._server.listens.wait()
        task_status.started()
        await anyio.sleep_forever()

    async def _await_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                if self._server.should_exit:
                    self._server.force_exit = True
                self._stop()

    def _stop(self) -> None:
        self._stopping()
        self._server.should_exit = True
