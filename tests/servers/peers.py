"""Starting the programs of this folder from a test: over stdio as parameters, over HTTP as an address."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import StdioServerParameters
from tests.support.fork_server import python

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
MAX_LINE = 10_000_000


@dataclass(frozen=True)
class Exchange:
    """All that a peer said to a whole conversation, and how it ended."""

    stdout: bytes
    stderr: bytes
    exit_code: int

    @property
    def messages(self) -> list[Any]:
        return [json.loads(line) for line in self.stdout.splitlines()]


def command(program: str, *arguments: str) -> list[str]:
    """In a fresh process, for tests that look at its process id, its children or its memory, or kill it."""
    if (FOLDER / program).is_dir():
        return [sys.executable, "-m", f"tests.servers.{program}", *arguments]
    return [sys.executable, str(FOLDER / f"{program}.py"), *arguments]


def warm_command(program: str, *arguments: str) -> list[str]:
    """The same, forked from a process that has imported the SDK: a start costs a tenth."""
    return [python(), *command(program, *arguments)[1:]]


def folder(program: str) -> Path | None:
    """Where a program must be started, when that is not anywhere: one of several modules is found from the root."""
    return ROOT if (FOLDER / program).is_dir() else None


def stdio(program: str, *arguments: str, env: Mapping[str, str] | None = None) -> StdioServerParameters:
    executable, *rest = warm_command(program, *arguments)
    return StdioServerParameters(
        command=executable, args=rest, env=dict(env or {}), cwd=folder(program), encoding_error_handler="replace"
    )


def request(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


async def exchange(program: str, *arguments: str, lines: bytes = b"") -> Exchange:
    """Say all the lines at once, close the input, and wait for the end: what is unanswered then is never answered."""
    finished = await anyio.run_process(warm_command(program, *arguments), input=lines, check=False, cwd=folder(program))
    return Exchange(finished.stdout, finished.stderr, finished.returncode)


@asynccontextmanager
async def started(program: str, *arguments: str, fresh: bool = False) -> AsyncIterator[Process]:
    """A peer with its three pipes in the hands of the test; it is killed in the end if it still runs."""
    words = command(program, *arguments) if fresh else warm_command(program, *arguments)
    async with await anyio.open_process(words, cwd=folder(program)) as process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def line_of(stream: ByteReceiveStream | None) -> bytes:
    """The next line of a pipe, byte by byte, so that nothing after it is swallowed."""
    assert stream is not None
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_LINE:
        line += await stream.receive(1)
    return line.removesuffix(b"\n")


@asynccontextmanager
async def http(program: str = "everyday", *arguments: str, transport: str = "http") -> AsyncIterator[str]:
    """The address of a peer that serves streamable HTTP (or SSE) on a free port of this machine."""
    process = await anyio.open_process(warm_command(program, f"--{transport}", "0", *arguments), cwd=folder(program))
    async with process, anyio.create_task_group() as tasks:
        try:
            assert process.stderr is not None
            stderr = BufferedByteReceiveStream(process.stderr)
            while not (line := await stderr.receive_until(b"\n", MAX_LINE)).startswith(b"PORT "):
                pass
            tasks.start_soon(_drain, stderr)
            yield f"http://127.0.0.1:{int(line.removeprefix(b'PORT '))}/{'mcp' if transport == 'http' else transport}"
        finally:
            tasks.cancel_scope.cancel()
            if process.returncode is None:
                process.kill()


async def _drain(stream: ByteReceiveStream) -> None:
    async for _ in stream:
        pass
