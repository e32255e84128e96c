"""The stdio transport: a child process whose output is messages and whose error stream is a log.

Not the SDK's own, because a gateway must survive what a server may write: lines without end, bytes that are no text,
noise faster than anyone can read.
"""

import errno
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from shutil import which
from time import perf_counter
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from pegboard.core.model.server import Stdio
from pegboard.processes import child
from pegboard.processes.child import ChildProcess, close_pipes, inherited_environment, read_chunk, start_child
from pegboard.providers.mcp.errors import ConnectionLoss, McpServerError
from pegboard.providers.mcp.fast.requests import CallEncoder
from pegboard.providers.mcp.fast.stdio import CallLineHandler, LineTap, StdioToolCalls, connection_closed_error
from pegboard.providers.mcp.in_flight import PendingRequests
from pegboard.providers.mcp.messages import Line, McpMessageReader, OutputLineSplitter, UnsolicitedFilter, is_not_json
from pegboard.providers.mcp.rate import TurnTimer
from pegboard.providers.mcp.transport import McpTransport

# A server's child process: started with a clean environment, and gone with all it started when it is stopped.

_SHELL: Final = "/bin/sh"


async def start_process(program: Stdio) -> ChildProcess:
    """Raises `McpServerError` that says which part of the declaration is wrong."""
    environment = {**inherited_environment(), **program.env}
    if any("\0" in text for text in (program.command, *program.args, *environment, *environment.values())):
        raise McpServerError("cannot start: its command, an argument or its environment holds a NUL character")
    if program.cwd is not None and not await anyio.Path(program.cwd).is_dir():
        raise McpServerError(
            f"cannot start: the working directory {program.cwd!r} does not exist. Create it or correct cwd"
        )
    command = program.command
    if sys.platform == "win32":
        # CreateProcess finds only .exe by itself, and npx is npx.cmd there.
        command = which(command, path=environment.get("PATH")) or command
    try:
        # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
        with anyio.CancelScope(shield=True):
            process = await _start_command(command, program, environment)
    except FileNotFoundError:
        raise McpServerError(_not_found_message(program, environment)) from None
    except PermissionError:
        raise McpServerError(f"command {program.command!r} may not be executed. Check its permissions") from None
    except ValueError as error:
        raise McpServerError(f"cannot start: {error}") from None
    except OSError as error:
        raise McpServerError(f"command {program.command!r} cannot be executed: {error.strerror or error}") from None
    return process


async def _start_command(command: str, program: Stdio, environment: dict[str, str]) -> ChildProcess:
    try:
        return await start_child([command, *program.args], environment, program.cwd)
    except OSError as error:
        script = which(command, path=environment.get("PATH")) if error.errno == errno.ENOEXEC else None
        if script is None or not await _is_text_file(script):
            raise
        # A script without a first line that names its interpreter: every shell runs one so.
        return await start_child([_SHELL, script, *program.args], environment, program.cwd)


async def _is_text_file(file: str) -> bool:
    async with await anyio.open_file(file, "rb") as opened:
        head = await opened.read(128)
    return b"\0" not in head and not head.startswith(b"\x7fELF")


def _not_found_message(program: Stdio, environment: dict[str, str]) -> str:
    found = which(program.command, path=environment.get("PATH"))
    if found is not None:
        return f"command {program.command!r} names an interpreter in its first line that was not found"
    if os.path.dirname(program.command):
        return f"command {program.command!r} was not found. Correct the path, or install it"
    return f"command {program.command!r} was not found on the PATH. Install it, or write its full path"


async def stop_process(process: ChildProcess, within: float) -> None:
    """The end of its input first, then a request to end, then force; each for its share of the time.

    Whoever is left of its group goes too, even when the server itself left politely.
    """

    async def end_input() -> None:
        if process.stdin is not None:
            process.stdin.close()

    await child.stop_process_group(process, end_input, within)


_NOISE_REST_S: Final = 0.01
"""How long a reader rests after a chunk of nothing but noise, so that a flood costs it a small part of its time."""

_MAX_UNSOLICITED_LINES: Final = 50
_FLOOD_BYTES: Final = 32_768
_EXIT_TIMEOUT_S: Final = 1.0
_LAST_OUTPUT_S: Final = 1.0
_MAX_QUEUED_MESSAGES: Final = 256
_CLOSED_ERRORS: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@asynccontextmanager
async def open_stdio(
    program: Stdio, *, stop: float, hear: Callable[[bytes], None], loss: ConnectionLoss, tickets: PendingRequests
) -> AsyncIterator[McpTransport]:
    """Run the program for as long as the block does. `hear` gets what it writes to its error stream."""
    process = await start_process(program)
    pipe = process.stdin
    assert pipe is not None
    arriving, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    # Room for what is sent while the server is busy reading, so that giving up on a call never waits for it.
    write, leaving = anyio.create_memory_object_stream[SessionMessage](_MAX_QUEUED_MESSAGES)
    sieve = UnsolicitedFilter()
    # Shielded: a child that is being stopped must still get rid of what it has to say, or it cannot end.
    pipes = anyio.CancelScope(shield=True)

    async def pump() -> None:
        with pipes:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read_output, process, arriving, leaving, loss, tickets, sieve)
                tasks.start_soon(_read_stderr, process, hear)
                tasks.start_soon(_write_messages, process, leaving, loss, sieve)
                tasks.start_soon(_watch_exit, process, loss)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump)
            try:
                yield McpTransport(read, write, lambda version, _: StdioToolCalls(pipe, CallEncoder(version), tickets))
            finally:
                with anyio.CancelScope(shield=True):
                    loss.begin_close()
                    read.close()
                    write.close()
                    try:
                        await stop_process(process, stop)
                    finally:
                        pipes.cancel()
    finally:
        for stream in (arriving, read, write, leaving):
            stream.close()
        with anyio.CancelScope(shield=True), anyio.move_on_after(stop):
            await process.wait()
        close_pipes(process)


async def _read_output(
    process: ChildProcess,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    leaving: MemoryObjectReceiveStream[SessionMessage],
    loss: ConnectionLoss,
    tickets: PendingRequests,
    sieve: UnsolicitedFilter,
) -> None:
    assert process.stdout is not None
    lines, taking, turns = OutputLineSplitter(), CallLineHandler(tickets), TurnTimer()

    def awaits(id: int | str) -> bool:
        return tickets.get(id) is not None or sieve.take_expected(id)

    reader = McpMessageReader(f"The server process {process.pid}", tickets.in_flight.has_listener, awaits)
    async with arriving:
        with suppress(*_CLOSED_ERRORS):
            tap = LineTap(process.stdout, lines, taking)
            while chunk := await read_chunk(process.stdout):
                tap.is_busy = True
                if (
                    await _deliver_messages(lines.feed(chunk), taking, turns, sieve, reader, arriving, leaving)
                    > _MAX_UNSOLICITED_LINES
                ):
                    await anyio.sleep(_NOISE_REST_S)
                tap.is_busy = False
        # Those who wait for an answer are told when the stream closes, so the reason comes first.
        loss.report(await _describe_exit(process))
        tickets.fail_all(connection_closed_error)


async def _deliver_messages(
    lines: Iterator[Line],
    taking: CallLineHandler,
    turns: TurnTimer,
    sieve: UnsolicitedFilter,
    reader: McpMessageReader,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    leaving: MemoryObjectReceiveStream[SessionMessage],
) -> int:
    """Pass the messages on. How many lines came that nobody had asked for, or 0 when there was an answer among them."""
    unasked = 0
    answered = False
    began = 0.0
    sieve.begin_chunk()
    for line in lines:
        if began:
            if turns.spend(perf_counter() - began):
                await anyio.sleep(turns.rest_seconds())
            began = 0.0
        noise = is_not_json(line)
        if not noise and taking.take_answer(line):
            answered = True
            continue
        began = perf_counter()
        if noise or taking.take_notification(line) or sieve.can_drop(line):
            unasked += 1
            continue
        session_message = await reader.read_message(line)
        if session_message is not None and taking.take_lenient_answer(session_message, line):
            answered = True
            continue
        message = None if session_message is None else session_message.message
        answered |= isinstance(message, JSONRPCResponse | JSONRPCError)
        unasked += not isinstance(message, JSONRPCResponse | JSONRPCError)
        # A server that asks and asks but reads no answer would fill our memory with them.
        if isinstance(message, JSONRPCRequest) and leaving.statistics().current_buffer_used > _MAX_QUEUED_MESSAGES // 2:
            continue
        if session_message is not None:
            # A session that is gone takes nothing any more, and the rest of the output is only drained.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await arriving.send(session_message)
    turns.reset()
    return 0 if answered else unasked


async def _describe_exit(process: ChildProcess) -> str:
    with anyio.move_on_after(_EXIT_TIMEOUT_S):
        code = await process.wait()
        return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
    return "closed its output"


async def _read_stderr(process: ChildProcess, hear: Callable[[bytes], None]) -> None:
    assert process.stderr is not None
    with suppress(*_CLOSED_ERRORS):
        while chunk := await read_chunk(process.stderr):
            hear(chunk)
            if len(chunk) > _FLOOD_BYTES:
                await anyio.sleep(_NOISE_REST_S)


async def _write_messages(
    process: ChildProcess,
    leaving: MemoryObjectReceiveStream[SessionMessage],
    loss: ConnectionLoss,
    sieve: UnsolicitedFilter,
) -> None:
    assert process.stdin is not None
    try:
        async with leaving:
            async for message in leaving:
                if isinstance(message.message, JSONRPCRequest):
                    sieve.expect(message.message.id)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if process.stdin.is_closing():
                    raise anyio.BrokenResourceError
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
    except _CLOSED_ERRORS:
        # Its input closes a moment before its end is known, and how it ended says more.
        with anyio.move_on_after(_LAST_OUTPUT_S):
            await process.wait()
        loss.report(await _describe_exit(process) if process.returncode is not None else "closed its input")


async def _watch_exit(process: ChildProcess, loss: ConnectionLoss) -> None:
    """A server that ended while a child of its own keeps the output open would seem alive for ever."""
    await process.wait()
    # Its last words may still be in the pipe, and whoever waits for them has a moment to get them.
    await anyio.sleep(_LAST_OUTPUT_S)
    loss.report(await _describe_exit(process))
