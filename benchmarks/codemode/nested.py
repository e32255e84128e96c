"""Calls that a program makes one after the other, beside the same calls made in three other ways, all in turns.

Every call goes to one MCP server over stdio, through a gateway with its policy, validation and audit: by the gateway's
own path in this process, by a client at `/mcp` of a gateway in another, and by a program. The calls of bare Monty reach
nobody: its program awaits a function of the host that answers at once.
"""

import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import anyio
import yaml
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic_monty import AsyncMonty, ExternalModule

from benchmarks.codemode import place
from benchmarks.codemode.row import Row
from benchmarks.gateway.client import Client
from benchmarks.gateway.wire import Endpoint, Era
from pegboard.core.calls.call import ToolSuccess
from pegboard.core.model.selection import View
from pegboard.core.model.settings import CodeLimits, CodeSettings
from pegboard.gateway.gateway import Gateway

Way = Callable[[int], Awaitable[None]]


@asynccontextmanager
async def _client() -> AsyncIterator[Client]:
    """Of a gateway that runs by itself, as people run it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pegboard.yaml"
        file.write_text(yaml.safe_dump(place.board(place.ECHO)), "utf-8")
        words = ["-m", "pegboard", "serve", "--config", str(file), "--data-dir", folder, "--port", "0", "--json"]
        async with await anyio.open_process([sys.executable, *words], stderr=None) as process:
            assert process.stdout is not None
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 65_536)
            client = Client(Endpoint.of(json.loads(line)["endpoint"]), Era.STATELESS, 1)
            try:
                await client.open()
                with anyio.fail_after(60):
                    while "echo" not in (await client.listed()).names:  # noqa: ASYNC110 - no event tells it
                        await anyio.sleep(0.1)
                yield client
            finally:
                client.abandon()
                process.terminate()


async def _directly(gateway: Gateway, count: int) -> None:
    for number in range(count):
        ended = await gateway.caller.call(place.call("echo", {"text": str(number)}), View())
        assert isinstance(ended, ToolSuccess), ended


async def _over_http(client: Client, count: int) -> None:
    for _ in range(count):
        await client.called()


async def _in_a_program(gateway: Gateway, count: int) -> None:
    code = f"for number in range({count}):\n    await bench.echo(text=str(number))\n'done'"
    ended = await gateway.code_mode.run(place.call("python_execution", {"code": code}), View())
    assert isinstance(ended, ToolSuccess), ended
    said = json.loads(ended.body)["structuredContent"]
    assert (said["result"], len(said["tool_calls"])) == ("done", count)


async def _in_bare_monty(pool: AsyncMonty, count: int) -> None:
    async def echo(*, text: str) -> str:
        return text

    code = f"import bench\nfor number in range({count}):\n    await bench.echo(text=str(number))\n'done'"
    modules = {"bench": ExternalModule({"echo": echo}, stubs="")}
    async with pool.checkout(external_modules=modules, limits={"max_suspensions": 3 * count + 100}) as session:
        assert await session.feed_run(code) == "done"


async def _timed(ways: Mapping[str, Way], calls: int, rounds: int) -> dict[str, float]:
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        await way(min(calls, 20))
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            await way(calls)
            spent[name].append((time.perf_counter() - started) * 1e3)
    return {name: median(each) for name, each in spent.items()}


async def measured(calls: int, rounds: int) -> list[Row]:
    """Milliseconds for so many calls, the median of the rounds."""
    # As many calls as it takes, in one program: more than a file may allow.
    settings = CodeSettings(limits=CodeLimits(calls=calls))
    async with (
        place.gateway(place.ECHO, settings) as gateway,
        _client() as client,
        AsyncMonty(min_processes=1, max_processes=1) as pool,
    ):
        ways: dict[str, Way] = {
            "in process": lambda count: _directly(gateway, count),
            "at /mcp": lambda count: _over_http(client, count),
            "bare Monty": lambda count: _in_bare_monty(pool, count),
            "program": lambda count: _in_a_program(gateway, count),
        }
        took = await _timed(ways, calls, rounds)
    took["in process + bare Monty"] = took["in process"] + took["bare Monty"]
    goals = {"in process": 2.0}
    floors = ("in process", "at /mcp", "bare Monty", "in process + bare Monty")
    return [
        Row(f"{calls:,} calls; {floor}", took[floor], took["program"], None, calls, goals.get(floor))
        for floor in floors
    ]
