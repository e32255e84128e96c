"""Calls over stdio: written to the pipe, answers read line by line."""

import asyncio
from typing import Final

import msgspec
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, JSONRPCError, JSONRPCResponse

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.providers.mcp.errors import NOT_SENT
from pegboard.providers.mcp.fast.event_stream import deliver_progress
from pegboard.providers.mcp.fast.requests import CallEncoder
from pegboard.providers.mcp.fast.response import (
    OFF_LOOP_BYTES,
    ServerMessage,
    outcome_of_message,
    read_outcome,
    read_outcome_now,
    split_plain_answer,
    try_decode_message,
)
from pegboard.providers.mcp.in_flight import PendingRequest, PendingRequests, handle_log_message
from pegboard.providers.mcp.messages import LARGE_MESSAGE_BYTES, Line, OutputLineSplitter, answer_id_in

_MAX_JOINED_BYTES: Final = 65_536
_MAX_UNREAD_BYTES: Final = 4 * 1024 * 1024
"""Bytes that a server has not read yet. With more of them a call waits before it is written."""


class StdioToolCalls:
    def __init__(self, pipe: asyncio.StreamWriter, requests: CallEncoder, tickets: PendingRequests) -> None:
        self._pipe = pipe
        self._encoder = requests
        self._pending = tickets
        self._loop = asyncio.get_running_loop()
        self._pending_lines: list[bytes] = []
        """Lines of this turn of the event loop, which go in one write: each wakes the server, and is a call into the
        kernel that costs as much as all the rest of a call."""

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        ticket = self._pending.begin(progress, peer, admitted.call.principal)
        try:
            line = b"".join((*self._encoder.encode_call(admitted.tool.id.name, admitted.call, ticket), b"\n"))
            if self._pipe.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES:
                await self._wait_for_room(ticket)
            if self._pipe.is_closing():
                raise connection_closed_error()
            waiting: asyncio.Future[tuple[ServerMessage | None, bytes]] = ticket.new_future(self._loop)
            ticket.is_sent = True
            self._write(line)
            message, answer = await waiting
            if message is None:
                source = admitted.tool.id.source
                reads_now = len(answer) <= OFF_LOOP_BYTES
                return (
                    read_outcome_now(answer, ticket.id, source)
                    if reads_now
                    else await read_outcome(answer, ticket.id, source)
                )
            return outcome_of_message(message, answer, ticket.id, admitted.tool.id.source)
        except (asyncio.CancelledError, TimeoutError):
            self._abandon(ticket)
            raise
        finally:
            for question in self._pending.end(ticket):
                await question.closed.wait()

    def close(self) -> None:
        self._pending.fail_all(connection_closed_error)

    async def _wait_for_room(self, ticket: PendingRequest) -> None:
        """Wait until the server has read most of what it was sent."""
        try:
            async with asyncio.timeout_at(ticket.deadline):
                await self._pipe.drain()
        except TimeoutError:
            raise MCPError(NOT_SENT, "does not read what it is sent, so the call was not sent in time") from None
        except ConnectionError:
            raise connection_closed_error() from None

    def _abandon(self, ticket: PendingRequest) -> None:
        if ticket.is_sent and not self._pipe.is_closing():
            self._pending.in_flight.abandon(ticket, ticket.id)
            said = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ticket.id}}
            self._write(msgspec.json.encode(said) + b"\n")

    def _write(self, line: bytes) -> None:
        if not self._pending_lines:
            self._loop.call_soon(self._flush)
        self._pending_lines.append(line)

    def _flush(self) -> None:
        lines, self._pending_lines = self._pending_lines, []
        if self._pipe.is_closing():
            return  # whoever waits is told by who notices that
        if len(lines) == 1 or sum(map(len, lines)) < _MAX_JOINED_BYTES:
            self._pipe.write(b"".join(lines))
        else:
            self._pipe.writelines(lines)


class CallLineHandler:
    """Takes what belongs to our calls off a server's output, before anything is built from it."""

    def __init__(self, tickets: PendingRequests) -> None:
        self._pending = tickets

    def take_answer(self, line: Line) -> bool:
        """Whether this was the answer to a call, which has it now."""
        if not isinstance(line, bytes):
            return False
        if len(line) > LARGE_MESSAGE_BYTES:
            # Read beside the event loop by whoever waits for it.
            ticket = self._pending.get(answer_id_in(line))
            if ticket is not None:
                ticket.resolve((None, line))
            return ticket is not None
        if (plain := split_plain_answer(line)) is not None and (ticket := self._pending.get(plain[0])) is not None:
            ticket.resolve((None, line))
            return True
        message = try_decode_message(line) if len(self._pending) or self._pending.in_flight.abandoned_calls else None
        if message is None or message.method:
            return False
        ticket = self._pending.get(message.id)
        if ticket is None:
            return self._pending.in_flight.take_late_answer(message.id)
        ticket.resolve((message, line))
        return True

    def take_notification(self, line: Line) -> bool:
        """Whether this was progress of a call, or a log message while there are calls, which is told now."""
        if not isinstance(line, bytes) or len(line) > LARGE_MESSAGE_BYTES or not len(self._pending):
            return False
        if _PROGRESS_METHOD not in line:
            return handle_log_message(line, self._pending.in_flight)
        message = try_decode_message(line)
        return message is not None and message.id is None and deliver_progress(message, self._pending)

    def take_lenient_answer(self, found: SessionMessage, line: Line) -> bool:
        """Whether this was an answer that only a lenient reader could read, or what is left of one."""
        message = found.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        ticket = self._pending.get(message.id)
        if ticket is None:
            return False
        if isinstance(message, JSONRPCError):
            ticket.fail(MCPError(message.error.code, message.error.message, message.error.data))
        elif isinstance(line, bytes):
            ticket.resolve((None, line))
        return True


class LineTap:
    """Takes answers off a server's output as they arrive, while nothing that came before them waits to be read.

    To wake the task that reads the rest would cost more than to read an answer.
    """

    def __init__(self, output: asyncio.StreamReader, lines: OutputLineSplitter, taking: CallLineHandler) -> None:
        self._output = output
        self._lines = lines
        self._handler = taking
        self._original_feed = output.feed_data
        self.is_busy = False
        """Whether the reader is at what it took last."""
        output.feed_data = self.feed  # type: ignore[assignment, method-assign]  # asyncio has no other place to look before it

    def feed(self, data: bytes) -> None:
        if self.is_busy or self._output._buffer or not self._lines.is_empty or data[-1:] != b"\n":  # type: ignore[attr-defined]
            self._original_feed(data)
            return
        begins = 0
        for line in data[:-1].split(b"\n"):
            if not self._handler.take_answer(line):
                self._original_feed(data[begins:] if begins else data)
                return
            begins += len(line) + 1


_PROGRESS_METHOD: Final = b'"notifications/progress"'


def connection_closed_error() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")
