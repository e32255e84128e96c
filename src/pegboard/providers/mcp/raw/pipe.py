"""Calls to a server over stdio: written straight to its input, and answers taken from its output line by line."""

import asyncio
from typing import Final

import msgspec
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, JSONRPCError, JSONRPCResponse

from pegboard.core.call import Admitted, Outcome
from pegboard.ports import Peer, Progress
from pegboard.providers.mcp.messages import LARGE, Line, Lines, id_in
from pegboard.providers.mcp.notes import noted
from pegboard.providers.mcp.transport import HeaderMap
from pegboard.providers.mcp.trouble import UNSENT

from .listening import told
from .reply import BESIDE, Message, meaning, message_in, read, read_now, result_in
from .request import Requests
from .tickets import Ticket, Tickets

_SMALL: Final = 65_536
_CROWDED: Final = 4 * 1024 * 1024
"""Bytes that a server has not read yet. With more of them a call waits before it is written."""


class PipeCalls:
    def __init__(self, pipe: asyncio.StreamWriter, requests: Requests, tickets: Tickets) -> None:
        self._pipe = pipe
        self._requests = requests
        self._tickets = tickets
        self._loop = asyncio.get_running_loop()
        self._unwritten: list[bytes] = []
        """Lines of this turn of the event loop, which go in one write: each wakes the server, and is a call into the
        kernel that costs as much as all the rest of a call."""

    async def call(
        self, admitted: Admitted, progress: Progress | None, peer: Peer | None, wanted: HeaderMap | None = None
    ) -> Outcome:
        ticket = self._tickets.begin(progress, peer, admitted.call.principal)
        try:
            line = b"".join((*self._requests.body(admitted.tool.id.name, admitted.call, ticket), b"\n"))
            if self._pipe.transport.get_write_buffer_size() > _CROWDED:
                await self._room(ticket)
            if self._pipe.is_closing():
                raise closed()
            waiting: asyncio.Future[tuple[Message | None, bytes]] = ticket.wait(self._loop)
            ticket.sent = True
            self._write(line)
            message, answer = await waiting
            if message is None:
                source = admitted.tool.id.source
                reads_now = len(answer) <= BESIDE
                return read_now(answer, ticket.id, source) if reads_now else await read(answer, ticket.id, source)
            return meaning(message, answer, ticket.id, admitted.tool.id.source)
        except (asyncio.CancelledError, TimeoutError):
            self._give_up(ticket)
            raise
        finally:
            for question in self._tickets.end(ticket):
                await question.closed.wait()

    def close(self) -> None:
        self._tickets.break_off(closed)

    async def _room(self, ticket: Ticket) -> None:
        """Wait until the server has read most of what it was sent."""
        try:
            async with asyncio.timeout_at(ticket.deadline):
                await self._pipe.drain()
        except TimeoutError:
            raise MCPError(UNSENT, "does not read what it is sent, so the call was not sent in time") from None
        except ConnectionError:
            raise closed() from None

    def _give_up(self, ticket: Ticket) -> None:
        if ticket.sent and not self._pipe.is_closing():
            self._tickets.in_flight.give_up(ticket, ticket.id)
            said = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ticket.id}}
            self._write(msgspec.json.encode(said) + b"\n")

    def _write(self, line: bytes) -> None:
        if not self._unwritten:
            self._loop.call_soon(self._flush)
        self._unwritten.append(line)

    def _flush(self) -> None:
        lines, self._unwritten = self._unwritten, []
        if self._pipe.is_closing():
            return  # whoever waits is told by who notices that
        if len(lines) == 1 or sum(map(len, lines)) < _SMALL:
            self._pipe.write(b"".join(lines))
        else:
            self._pipe.writelines(lines)


class Taking:
    """Takes what belongs to our calls off a server's output, before anything is built from it."""

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets

    def answer(self, line: Line) -> bool:
        """Whether this was the answer to a call, which has it now."""
        if not isinstance(line, bytes):
            return False
        if len(line) > LARGE:
            # Read beside the event loop by whoever waits for it.
            ticket = self._tickets.get(id_in(line))
            if ticket is not None:
                ticket.settle((None, line))
            return ticket is not None
        if (plain := result_in(line)) is not None and (ticket := self._tickets.get(plain[0])) is not None:
            ticket.settle((None, line))
            return True
        message = message_in(line) if len(self._tickets) or self._tickets.in_flight.given_up else None
        if message is None or message.method:
            return False
        ticket = self._tickets.get(message.id)
        if ticket is None:
            return self._tickets.in_flight.answered(message.id)
        ticket.settle((message, line))
        return True

    def word(self, line: Line) -> bool:
        """Whether this was progress of a call, or a log message while there are calls, which is told now."""
        if not isinstance(line, bytes) or len(line) > LARGE or not len(self._tickets):
            return False
        if _PROGRESS not in line:
            return noted(line, self._tickets.in_flight)
        message = message_in(line)
        return message is not None and message.id is None and told(message, self._tickets)

    def unusual(self, found: SessionMessage, line: Line) -> bool:
        """Whether this was an answer that only a lenient reader could read, or what is left of one."""
        message = found.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        ticket = self._tickets.get(message.id)
        if ticket is None:
            return False
        if isinstance(message, JSONRPCError):
            ticket.fail(MCPError(message.error.code, message.error.message, message.error.data))
        elif isinstance(line, bytes):
            ticket.settle((None, line))
        return True


class Tap:
    """Takes answers off a server's output as they arrive, while nothing that came before them waits to be read.

    To wake the task that reads the rest would cost more than to read an answer.
    """

    def __init__(self, output: asyncio.StreamReader, lines: Lines, taking: Taking) -> None:
        self._output = output
        self._lines = lines
        self._taking = taking
        self._feed = output.feed_data
        self.is_busy = False
        """Whether the reader is at what it took last."""
        output.feed_data = self.feed  # type: ignore[assignment, method-assign]  # asyncio has no other place to look before it

    def feed(self, data: bytes) -> None:
        if self.is_busy or self._output._buffer or not self._lines.is_empty or data[-1:] != b"\n":  # type: ignore[attr-defined]
            self._feed(data)
            return
        begins = 0
        for line in data[:-1].split(b"\n"):
            if not self._taking.answer(line):
                self._feed(data[begins:] if begins else data)
                return
            begins += len(line) + 1


_PROGRESS: Final = b'"notifications/progress"'


def closed() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")
