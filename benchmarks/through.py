"""Searching a large board from end to end: a real gateway process, real servers behind it, a real client before it.

The servers list their tools over stdio, the client searches at `/mcp/search` and calls what it found. Beside it a
second client calls one tool again and again: how long its calls wait tells whether searching holds anybody up.
"""

import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import httpx2
import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from benchmarks import table
from benchmarks.described import tools_of
from benchmarks.gateway.program import Program, free_port
from benchmarks.gateway.target import ROOT
from benchmarks.large import queries_about
from pegboard.core.model.tool import Tool

SERVERS: Final = 20
QUERIES: Final = 100
PATIENCE: Final = 600.0
_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Through:
    tools: int
    listed_seconds: float
    """From the start of the process until every tool is found."""
    first_seconds: float
    """Wall time of the first search, which takes every tool apart."""
    p50: float
    p99: float
    """Milliseconds of wall time of a search, as its client sees it."""
    cpu_p50: float
    """Of the gateway, for one search."""
    held_up: float
    """Milliseconds that a call of another client took at most, while the first search ran."""
    undisturbed: float
    """The same while nobody searched."""
    megabytes: float

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def measured(size: int, servers: int = SERVERS) -> Through:
    with TemporaryDirectory() as folder:
        return anyio.run(_measured, size, servers, Path(folder))


async def _measured(size: int, servers: int, folder: Path) -> Through:
    each = size // servers
    tools = [tool for seed in range(servers) for tool in tools_of(each, seed, first=seed * each)]
    port, started = free_port(), time.perf_counter()
    config = folder / "pegboard.yaml"
    config.write_text(yaml.safe_dump({"servers": {f"server{seed}": _server(each, seed) for seed in range(servers)}}))
    command = (sys.executable, "-m", "pegboard", "serve", "--config", str(config), "--port", str(port))
    program = Program((*command, "--data-dir", str(folder / "data")), core=None, log=folder / "log")
    try:
        with anyio.fail_after(PATIENCE):
            await _listening(port, program)
            async with _client(port) as client, _client(port) as other:
                await _all_listed(client, servers, program)
                listed = time.perf_counter() - started
                return await _searched(client, other, program, tools, listed)
    finally:
        program.stop()


async def _searched(client: Client, other: Client, program: Program, tools: Sequence[Tool], listed: float) -> Through:
    calm = await _waits(other, tools[0], anyio.Event(), 20)
    done, first, waits = anyio.Event(), 0.0, list[float]()

    async def call_beside() -> None:
        waits.extend(await _waits(other, tools[0], done))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call_beside)
        began = time.perf_counter()
        told = await _found(client, "warm up", explain=True)
        first = time.perf_counter() - began
        done.set()
    if told["explanation"]["searched"] != len(tools):
        raise RuntimeError(
            f"{told['explanation']['searched']} of {len(tools)} tools were searched: {program.last_words()}"
        )
    await _finds_and_calls(client, tools)
    walls, cpus = [], []
    for query in queries_about(tools, QUERIES):
        began, spent = time.perf_counter(), program.cpu_seconds()
        await _found(client, query)
        walls.append((time.perf_counter() - began) * 1e3)
        cpus.append((program.cpu_seconds() - spent) * 1e3)
    walls.sort()
    return Through(
        *(len(tools), listed, first, median(walls), walls[int(0.99 * len(walls))], median(cpus)),
        *(max(waits), max(calm), program.resident_bytes() / 1e6),
    )


async def _finds_and_calls(client: Client, tools: Sequence[Tool]) -> None:
    """What is asked for by name is found first, wherever it is, and can be called."""
    for tool in (tools[0], tools[len(tools) // 2], tools[-1]):
        found = await _found(client, f"please use {tool.spec.name} now")
        name = found["tools"][0]["name"]
        if name != tool.spec.name:
            raise RuntimeError(f"{tool.spec.name!r} was asked for and {name!r} was found.")
        await _called(client, tool)


async def _waits(client: Client, tool: Tool, done: anyio.Event, most: int | None = None) -> list[float]:
    """How long calls take, one after the other, in milliseconds."""
    waits: list[float] = []
    while not done.is_set() and (most is None or len(waits) < most):
        began = time.perf_counter()
        await _called(client, tool)
        waits.append((time.perf_counter() - began) * 1e3)
    return waits


async def _called(client: Client, tool: Tool) -> None:
    properties: Any = tool.spec.input_schema["properties"]
    arguments = {next(iter(properties)): "42"}
    result = await client.call_tool("call_tool", {"name": tool.spec.name, "arguments": arguments})
    if json.loads(_text(result)) != arguments:
        raise RuntimeError(f"{tool.spec.name} answered {result!r}.")


async def _found(client: Client, query: str, **more: object) -> Any:
    return json.loads(_text(await client.call_tool("retrieve_tools", {"query": query, **more})))


def _text(result: object) -> str:
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def _all_listed(client: Client, servers: int, program: Program) -> None:
    """By the health of the servers, so that nothing is searched yet."""
    while True:
        told = json.loads(_text(await client.call_tool("upstream_servers", {})))
        if [server["health"] for server in told["servers"]] == ["up"] * servers:
            return
        if program.exit_status is not None:
            raise RuntimeError(program.last_words())
        await anyio.sleep(_PAUSE)


async def _listening(port: int, program: Program) -> None:
    while True:
        try:
            await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
        except OSError:
            if program.exit_status is not None:
                raise RuntimeError(program.last_words()) from None
            await anyio.sleep(_PAUSE / 10)
        else:
            return


@asynccontextmanager
async def _client(port: int) -> AsyncIterator[Client]:
    patient = httpx2.AsyncClient(timeout=PATIENCE)
    transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp/search", http_client=patient)
    async with patient, Client(transport, read_timeout_seconds=PATIENCE) as client:
        yield client


def _server(tools: int, seed: int) -> dict[str, object]:
    module = "benchmarks.gateway.upstream.described"
    arguments = ["-m", module, "--tools", str(tools), "--seed", str(seed)]
    return {
        "command": sys.executable,
        "args": arguments,
        "cwd": str(ROOT),
        "trust": "open",
        "timeouts": {"start": "300s"},
    }


def as_text(rows: Sequence[Through]) -> str:
    headings = (
        *("end to end", "all listed s", "first search s", "p50 ms", "p99 ms", "CPU ms"),
        *("others wait ms", "when calm", "RSS MB"),
    )
    cells = [
        (
            f"{each.tools:,} tools",
            table.number(each.listed_seconds, 1),
            table.number(each.first_seconds, 1),
            *(table.number(value, 1) for value in (each.p50, each.p99, each.cpu_p50, each.held_up, each.undisturbed)),
            table.number(each.megabytes),
        )
        for each in rows
    ]
    return table.render(headings, cells)
