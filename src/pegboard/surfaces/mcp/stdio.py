"""The gateway over its own standard input and output: one client, and nothing but the protocol on the wire."""

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse

from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .lines import BadLine, LineSplitter, parse_line
from .presentation import Presentation
from .server import GatewayMcpServer
from .unanswered import UnansweredRequests

STARTUP_WAIT_S: Final = 10.0
DRAIN_TIMEOUT_S: Final = 1.0
"""Seconds in which requests sent just before the input ended are still answered, and answers still written."""
CHUNK_BYTES: Final = 65_536

ChoosePresentation: TypeAlias = Callable[[Gateway, anyio.Event], Presentation | None]
"""Makes the presentation of a gateway that is not all there before the event."""

log = logging.getLogger(__name__)


async def serve_stdio(
    gateway: Gateway,
    *,
    view: View | None = None,
    settle: float = STARTUP_WAIT_S,
    present: ChoosePresentation | None = None,
    told: str | None = None,
) -> None:
    """Serves until the input ends. The first list of tools waits for the servers, but not longer than `settle`.

    `told` is what is wrong, for the client's model: it goes with the instructions."""
    with _private_pipes() as (source, sink):
        await serve_pipes(gateway, source, sink, view=view, settle=settle, present=present, told=told)


async def serve_pipes(
    gateway: Gateway,
    source: int,
    sink: int,
    *,
    view: View | None = None,
    settle: float = STARTUP_WAIT_S,
    present: ChoosePresentation | None = None,
    told: str | None = None,
) -> None:
    ready = anyio.Event()
    server = GatewayMcpServer(gateway, view, ready, None if present is None else present(gateway, ready), told).server
    unanswered = UnansweredRequests()
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

    async def wait_for_servers() -> None:
        await gateway.wait_until_started(settle)
        ready.set()

    with to_server, from_client, to_client, from_server, to_client.clone() as complaints:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_servers, name="settling")
            tasks.start_soon(_read_messages, source, to_server, complaints, unanswered, name="input")
            # Shielded: who is still waiting for an answer when we are to end is told that there will be none.
            writing = anyio.CancelScope(shield=True)

            async def write() -> None:
                with writing:
                    await _write_messages(sink, from_server, unanswered, tasks.cancel_scope)

            async with anyio.create_task_group() as output:
                output.start_soon(write, name="output")
                try:
                    await server.run(from_client, to_client, server.create_initialization_options())
                finally:
                    writing.deadline = anyio.current_time() + DRAIN_TIMEOUT_S
            tasks.cancel_scope.cancel()


async def _read_messages(
    source: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    unanswered: UnansweredRequests,
) -> None:
    send, chunks = anyio.create_memory_object_stream[bytes](0)
    # A read from a pipe cannot be cancelled, so the thread is left behind when the gateway ends first.
    threading.Thread(target=_pump_input, args=(source, send, anyio.lowlevel.current_token()), daemon=True).start()
    lines = LineSplitter()
    with to_server, to_client, chunks, send:
        async for chunk in chunks:
            for line in lines.feed(chunk):
                await _handle_line(line, to_server, to_client, unanswered)
        for line in lines.flush():
            await _handle_line(line, to_server, to_client, unanswered)
        with anyio.move_on_after(DRAIN_TIMEOUT_S):
            await unanswered.wait_until_none()


async def _handle_line(
    line: bytes | BadLine,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    unanswered: UnansweredRequests,
) -> None:
    message = parse_line(line)
    match message:
        case None:
            return
        case BadLine(error):
            await to_client.send(SessionMessage(error))
        case JSONRPCRequest():
            await unanswered.add(message)
            given_up = ServerMessageMetadata(on_request_unanswered=partial(unanswered.mark_cancelled, message.id))
            await to_server.send(SessionMessage(message, given_up))
        case _:
            await to_server.send(SessionMessage(message))


async def _write_messages(
    sink: int,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    unanswered: UnansweredRequests,
    everything: anyio.CancelScope,
) -> None:
    async for item in from_server:
        message = item.message
        try:
            await anyio.to_thread.run_sync(_write_all, sink, _encode_message(message) + b"\n", abandon_on_cancel=True)
        except OSError:
            log.info("The client has closed its end")
            everything.cancel()
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            unanswered.mark_answered(message.id)


def _encode_message(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:  # one message that cannot be written must not end the connection
        log.exception("A message cannot be written")
        id = message.id if isinstance(message, JSONRPCResponse) else None
        error = ErrorData(code=INTERNAL_ERROR, message="The answer cannot be written. The gateway's log says why.")
        return JSONRPCError(jsonrpc="2.0", id=id, error=error).model_dump_json(exclude_unset=True).encode()


def _write_all(sink: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(sink, rest) :]


def _pump_input(source: int, send: MemoryObjectSendStream[bytes], token: anyio.lowlevel.EventLoopToken) -> None:
    # Whoever would have taken the chunk is gone in each of these cases: there is nobody left to read for.
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.RunFinishedError):
        while chunk := os.read(source, CHUNK_BYTES):
            anyio.from_thread.run(send.send, chunk, token=token)
    with suppress(anyio.RunFinishedError):
        anyio.from_thread.run_sync(send.close, token=token)


@contextmanager
def _private_pipes() -> Iterator[tuple[int, int]]:
    """The two pipes under other numbers: whatever prints in this process, or in a child of it, goes to stderr."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
