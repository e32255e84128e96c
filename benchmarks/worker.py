"""`python -m benchmarks.worker`: how many calls of a Python tool one worker process takes in a second, on one core.

Everything runs on one core: the gateway's side, and the worker. The floor is a process that sends back the bytes it
gets, over the same pipes and with the same event loop: no frames, no arguments to read, no result to write.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias, cast

import anyio
import uvloop

from benchmarks import table
from benchmarks.sample import ratio
from pegboard.core.calls.call import AdmittedCall, ToolCall, ToolSuccess
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, ToolsetId, ToolsetKey, WireName
from pegboard.core.model.server import DeclaredAt, Server, StartWithGateway
from pegboard.core.model.tool import OwnTools, PythonTool, Tool, ToolsetLimits
from pegboard.ports.providers import FunctionEntry
from pegboard.providers.python.describe import Describer
from pegboard.providers.python.environments import Environments
from pegboard.providers.python.provider import PythonTools

Once: TypeAlias = Callable[[], Awaitable[object]]
"""One call, from the asking to the answer."""

FLOOR, PEGBOARD = "floor", "Pegboard"
KEY: Final = ToolsetKey(ToolsetId("bench"))
_ADD: Final = "(a: int, b: int) -> int:\n    return a + b\n"
CODE: Final = f"def add{_ADD}\nasync def add_async{_ADD}"
ECHO: Final = "import os\nwhile chunk := os.read(0, 65536):\n    os.write(1, chunk)"
ARGUMENTS: Final = b'{"a":1,"b":2}'
ANSWER: Final = b'{"content":[{"type":"text","text":"3"}],"structuredContent":{"result":3}}'
JOBS: Final = (
    ("one after another", "add", 1),
    ("one after another, async", "add_async", 1),
    ("32 at once", "add", 32),
    ("32 at once, async", "add_async", 32),
)


class Echo(asyncio.SubprocessProtocol):
    """The floor's side of the pipes. Answers come in the order of the questions, and all are of one length."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[bytes]] = []
        self._got = b""
        self._loop = asyncio.get_running_loop()
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.SubprocessTransport, transport)
        self._input = cast(asyncio.WriteTransport, self.transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._got += data
        while len(self._got) >= len(ARGUMENTS):
            self._waiting.pop(0).set_result(self._got[: len(ARGUMENTS)])
            self._got = self._got[len(ARGUMENTS) :]

    async def once(self) -> bytes:
        waiting: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.append(waiting)
        self._input.write(ARGUMENTS)
        return await waiting


@dataclass(frozen=True, slots=True)
class Row:
    job: str
    floor: float
    pegboard: float
    """Calls a second."""

    @property
    def of_floor(self) -> float | None:
        return ratio(self.pegboard, self.floor)


@asynccontextmanager
async def floor() -> AsyncIterator[Once]:
    loop = asyncio.get_running_loop()
    transport, echo = await loop.subprocess_exec(Echo, sys.executable, "-I", "-c", ECHO)
    try:
        yield echo.once
    finally:
        transport.kill()
        await echo.exited.wait()
        transport.close()


@asynccontextmanager
async def toolset(folder: Path) -> AsyncIterator[Callable[[str], Once]]:
    """One worker, and what calls each of its tools as the gateway does."""
    (folder / "sums.py").write_text(CODE)
    environments = Environments(folder / "environments")
    entries = [FunctionEntry(name, f"sums:{name}") for name in ("add", "add_async")]
    described = await Describer(environments)(folder, entries, (), print)
    tools = tuple(PythonTool(entry.entrypoint, one.spec) for entry, one in zip(entries, described, strict=True))
    own = OwnTools("digest", tools, bounds=ToolsetLimits(processes=1))
    server = Server(KEY, own, DeclaredAt("toolset.yaml", 1), starts=StartWithGateway())

    async def no_secrets() -> dict[str, str]:
        return {}

    provider = PythonTools(server, folder, environments, None, no_secrets, lambda: datetime.now(UTC))

    def once(name: str) -> Once:
        spec = next(tool.spec for tool in tools if tool.spec.name == name)
        call = ToolCall(CallId("1"), WireName(name), {"a": 1, "b": 2}, LOCAL_PRINCIPAL, datetime.now(UTC), ARGUMENTS)
        admitted = AdmittedCall(call, Tool(ToolId(KEY, name), spec))
        return lambda: provider.call(admitted)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, lambda: None)
        try:
            yield once
        finally:
            tasks.cancel_scope.cancel()


async def rate(once: Once, at_once: int, seconds: float) -> float:
    """Calls a second, asked for by so many at a time."""
    end, done = time.perf_counter() + seconds, 0

    async def ask() -> None:
        nonlocal done
        while time.perf_counter() < end:
            await once()
            done += 1

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(ask)
    return done / (time.perf_counter() - began)


async def measured(rounds: int, seconds: float) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        async with floor() as echo, toolset(Path(folder)) as tools:
            assert await echo() == ARGUMENTS
            for job, name, at_once in JOBS:
                print(f"measuring {job} …", file=sys.stderr, flush=True)
                once = tools(name)
                assert await once() == ToolSuccess(ANSWER)
                taken = [
                    (await rate(echo, at_once, seconds), await rate(once, at_once, seconds)) for _ in range(rounds)
                ]
                rows.append(Row(job, *(median(each) for each in zip(*taken, strict=True))))
    return rows


def as_text(rows: Sequence[Row]) -> str:
    cells = [
        (each.job, table.number(each.floor), table.number(each.pegboard), table.times(each.of_floor)) for each in rows
    ]
    return table.render(("calls a second", FLOOR, PEGBOARD, "of floor"), cells)


def as_json(rows: Sequence[Row], rounds: int) -> dict[str, object]:
    return {
        "benchmark": "worker",
        "rounds": rounds,
        "rows": [{**asdict(each), "of_floor": each.of_floor} for each in rows],
    }


def on_one_core() -> None:
    """Where the system lets us choose. Children stay where their parent is."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker", description="What one worker takes.")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each, the median counts (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a sample (1)")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of a second: a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    rounds, seconds = (1, 0.1) if chosen.quick else (chosen.rounds, chosen.seconds)
    on_one_core()
    rows = uvloop.run(measured(rounds, seconds))
    print(json.dumps(as_json(rows, rounds), indent=2) if chosen.json else as_text(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
