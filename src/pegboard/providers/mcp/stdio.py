"""The stdio transport: a child process whose output is messages and whose error stream is a log.

Not the SDK's own, because a gateway must survive what a server may write: lines without end, bytes that are no text,
noise faster than anyone can read.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from pegboard.children.child import Child, let_go, piece
from pegboard.core.server import Stdio

from . import processes
from .messages import Line, Lines, Reader
from .pace import Turns
from .raw.pipe import PipeCalls, Taking, Tap, closed
from .raw.request import Requests
from .raw.tickets import Tickets
from .sieve import Sieve, is_noise
from .transport import Wire
from .trouble import Loss

_REST: Final = 0.01
"""How long a reader rests after a chunk of nothing but noise, so that a flood costs it a small part of its time."""

_FEW: Final = 50
_FLOOD: Final = 32_768
_EXIT_TOLD: Final = 1.0
_LAST_WORDS: Final = 1.0
_QUEUE: Final = 256
_GONE: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@asynccontextmanager
async def stdio(
    program: Stdio, *, stop: float, hear: Callable[[bytes], None], loss: Loss, tickets: Tickets
) -> AsyncIterator[Wire]:
    """Run the program for as long as the block does. `hear` gets what it writes to its error stream."""
    process = await processes.start_process(program)
    pipe = process.stdin
    assert pipe is not None
    arriving, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    # Room for what is sent while the server is busy reading, so that giving up on a call never waits for it.
    write, leaving = anyio.create_memory_object_stream[SessionMessage](_QUEUE)
    sieve = Sieve()
    # Shielded: a child that is being stopped must still get rid of what it has to say, or it cannot end.
    pipes = anyio.CancelScope(shield=True)

    async def pump() -> None:
        with pipes:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, process, arriving, leaving, loss, tickets, sieve)
                tasks.start_soon(_listen, process, hear)
                tasks.start_soon(_write, process, leaving, loss, sieve)
                tasks.start_soon(_watch, process, loss)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump)
            try:
                yield Wire(read, write, lambda version: PipeCalls(pipe, Requests(version), tickets))
            finally:
                with anyio.CancelScope(shield=True):
                    loss.settle()
                    read.close()
                    write.close()
                    try:
                        await processes.stop_process(process, stop)
                    finally:
                        pipes.cancel()
    finally:
        for stream in (arriving, read, write, leaving):
            stream.close()
        with anyio.CancelScope(shield=True), anyio.move_on_after(stop):
            await process.wait()
        let_go(process)


async def _read(
    process: Child,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    leaving: MemoryObjectReceiveStream[SessionMessage],
    loss: Loss,
    tickets: Tickets,
    sieve: Sieve,
) -> None:
    assert process.stdout is not None
    lines, taking, turns = Lines(), Taking(tickets), Turns()

    def awaits(id: int | str) -> bool:
        return tickets.get(id) is not None or sieve.takes(id)

    reader = Reader(f"The server process {process.pid}", tickets.in_flight.hears, awaits)
    async with arriving:
        with suppress(*_GONE):
            tap = Tap(process.stdout, lines, taking)
            while chunk := await piece(process.stdout):
                tap.is_busy = True
                if await _deliver(lines.feed(chunk), taking, turns, sieve, reader, arriving, leaving) > _FEW:
                    await anyio.sleep(_REST)
                tap.is_busy = False
        # Those who wait for an answer are told when the stream closes, so the reason comes first.
        loss.happen(await _ending(process))
        tickets.break_off(closed)


async def _deliver(
    lines: Iterator[Line],
    taking: Taking,
    turns: Turns,
    sieve: Sieve,
    reader: Reader,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    leaving: MemoryObjectReceiveStream[SessionMessage],
) -> int:
    """Pass the messages on. How many lines came that nobody had asked for, or 0 when there was an answer among them."""
    unasked = 0
    answered = False
    began = 0.0
    sieve.begin()
    for line in lines:
        if began:
            if turns.spend(perf_counter() - began):
                await anyio.sleep(turns.rest())
            began = 0.0
        noise = is_noise(line)
        if not noise and taking.answer(line):
            answered = True
            continue
        began = perf_counter()
        if noise or taking.word(line) or sieve.lets_go(line):
            unasked += 1
            continue
        session_message = await reader.message(line)
        if session_message is not None and taking.unusual(session_message, line):
            answered = True
            continue
        message = None if session_message is None else session_message.message
        answered |= isinstance(message, JSONRPCResponse | JSONRPCError)
        unasked += not isinstance(message, JSONRPCResponse | JSONRPCError)
        # A server that asks and asks but reads no answer would fill our memory with them.
        if isinstance(message, JSONRPCRequest) and leaving.statistics().current_buffer_used > _QUEUE // 2:
            continue
        if session_message is not None:
            # A session that is gone takes nothing any more, and the rest of the output is only drained.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await arriving.send(session_message)
    turns.catch_up()
    return 0 if answered else unasked


async def _ending(process: Child) -> str:
    with anyio.move_on_after(_EXIT_TOLD):
        code = await process.wait()
        return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
    return "closed its output"


async def _listen(process: Child, hear: Callable[[bytes], None]) -> None:
    assert process.stderr is not None
    with suppress(*_GONE):
        while chunk := await piece(process.stderr):
            hear(chunk)
            if len(chunk) > _FLOOD:
                await anyio.sleep(_REST)


async def _write(process: Child, leaving: MemoryObjectReceiveStream[SessionMessage], loss: Loss, sieve: Sieve) -> None:
    assert process.stdin is not None
    try:
        async with leaving:
            async for message in leaving:
                if isinstance(message.message, JSONRPCRequest):
                    sieve.ask(message.message.id)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if process.stdin.is_closing():
                    raise anyio.BrokenResourceError
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
    except _GONE:
        # Its input closes a moment before its end is known, and how it ended says more.
        with anyio.move_on_after(_LAST_WORDS):
            await process.wait()
        loss.happen(await _ending(process) if process.returncode is not None else "closed its input")


async def _watch(process: Child, loss: Loss) -> None:
    """A server that ended while a child of its own keeps the output open would seem alive for ever."""
    await process.wait()
    # Its last words may still be in the pipe, and whoever waits for them has a moment to get them.
    await anyio.sleep(_LAST_WORDS)
    loss.happen(await _ending(process))
