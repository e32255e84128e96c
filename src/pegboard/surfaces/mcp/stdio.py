"""MCP over standard input and output. Only the protocol is written to standard output."""

import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from pegboard.core.json.values import MAX_VALUES
from pegboard.core.model.selection import View
from pegboard.surfaces.mcp.gateway_parts import McpParts
from pegboard.surfaces.mcp.presentations.base import Presentation
from pegboard.surfaces.mcp.request_checks import find_excess
from pegboard.surfaces.mcp.server import GatewayMcpServer
from pegboard.surfaces.mcp.wire import UnreadableJson, describe_unreadable, parse_strict_json

# Messages of a pipe: one JSON-RPC message a line. A line that is none is answered, not passed over in silence.

MAX_LINE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class BadLine:
    error: JSONRPCError


class LineSplitter:
    """Cuts what comes in pieces into lines. Of a line that is too long nothing is kept."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = longest
        self._buffer = bytearray()
        self._scan_offset = 0
        self._is_skipping = False

    def feed(self, piece: bytes) -> list[bytes | BadLine]:
        found: list[bytes | BadLine] = []
        self._buffer += piece
        while (end := self._buffer.find(b"\n", self._scan_offset)) >= 0:
            found.append(self._checked_line(bytes(self._buffer[:end])))
            del self._buffer[: end + 1]
            self._scan_offset = 0
        self._scan_offset = len(self._buffer)
        if self._scan_offset > self._max_bytes:
            self._is_skipping = True
            self._buffer.clear()
            self._scan_offset = 0
        return found

    def flush(self) -> list[bytes | BadLine]:
        """What came after the last line end."""
        return [self._checked_line(bytes(self._buffer))] if self._buffer or self._is_skipping else []

    def _checked_line(self, line: bytes) -> bytes | BadLine:
        if self._is_skipping or len(line) > self._max_bytes:
            self._is_skipping = False
            return _bad_line(INVALID_REQUEST, f"A message is longer than {self._max_bytes} bytes. Send less at once.")
        return line


def parse_line(line: bytes | BadLine) -> JSONRPCMessage | BadLine | None:
    """`None` for a blank line, which means nothing."""
    if isinstance(line, BadLine):
        return line
    if not line.strip():
        return None
    if (too_much := find_excess(line, MAX_VALUES)) is not None:
        return _bad_line(INVALID_PARAMS, too_much.why, too_much.id)
    value = parse_strict_json(line)
    if isinstance(value, UnreadableJson) and value.id is not None:
        return _bad_line(INVALID_PARAMS, describe_unreadable(value), value.id)
    if isinstance(value, UnreadableJson):
        return _bad_line(PARSE_ERROR, f"A line cannot be read as JSON: {value.why}. Send one message a line.")
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        id = value.get("id") if isinstance(value, dict) else None
        known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
        return _bad_line(INVALID_REQUEST, "A line is not one JSON-RPC 2.0 message. Send one message a line.", known)


def _bad_line(code: int, message: str, id: RequestId | None = None) -> BadLine:
    return BadLine(JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message)))


# The requests of one pipe that wait for their answer: how many there may be, and whether any are left.

MAX_UNANSWERED: Final = 1_000
"""A client that sends more without reading the answers is not read further until it does."""
LISTEN_METHOD: Final = "subscriptions/listen"
"""Answered only when it ends, so nobody waits for it."""


class UnansweredRequests:
    def __init__(self, most: int = MAX_UNANSWERED) -> None:
        self._slots = anyio.Semaphore(most)
        self._counts: Counter[RequestId] = Counter()
        self._listen_ids: set[RequestId] = set()
        self._change = anyio.Event()

    async def add(self, request: JSONRPCRequest) -> None:
        await self._slots.acquire()
        self._counts[request.id] += 1
        if request.method == LISTEN_METHOD:
            self._listen_ids.add(request.id)

    def mark_answered(self, id: RequestId) -> None:
        """Errors about lines that were no request answer nothing that was added."""
        if id not in self._counts:
            return
        self._counts[id] -= 1
        if not self._counts[id]:
            del self._counts[id]
            self._listen_ids.discard(id)
        self._slots.release()
        self._change.set()

    async def mark_cancelled(self, id: RequestId) -> None:
        self.mark_answered(id)

    async def wait_until_none(self) -> None:
        while self._counts.keys() - self._listen_ids:
            self._change = anyio.Event()
            await self._change.wait()


STARTUP_WAIT_S: Final = 10.0
DRAIN_TIMEOUT_S: Final = 1.0
"""Seconds in which requests sent just before the input ended are still answered, and answers still written."""
CHUNK_BYTES: Final = 65_536

ChoosePresentation: TypeAlias = Callable[[McpParts, anyio.Event], Presentation | None]
"""Makes the presentation of a gateway that is not all there before the event."""

log = logging.getLogger(__name__)


async def serve_stdio(
    parts: McpParts,
    *,
    view: View | None = None,
    settle: float = STARTUP_WAIT_S,
    present: ChoosePresentation | None = None,
    told: str | None = None,
) -> None:
    """Serves until the input ends. The first list of tools waits for the servers, but not longer than `settle`.

    `told` is what is wrong, for the client's model: it goes with the instructions."""
    with _private_pipes() as (source, sink):
        await serve_pipes(parts, source, sink, view=view, settle=settle, present=present, told=told)


async def serve_pipes(
    parts: McpParts,
    source: int,
    sink: int,
    *,
    view: View | None = None,
    settle: float = STARTUP_WAIT_S,
    present: ChoosePresentation | None = None,
    told: str | None = None,
) -> None:
    ready = anyio.Event()
    server = GatewayMcpServer(parts, view, ready, None if present is None else present(parts, ready), told).server
    unanswered = UnansweredRequests()
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

    async def wait_for_servers() -> None:
        await parts.board.wait_until_started(settle)
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
