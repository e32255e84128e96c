"""Alternating windows of load on gateways that are all up, and the medians of what each window cost."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.gateway.client import AnswerError, Client, Load, Operation, connect_anew, put_load
from benchmarks.gateway.field import Absent, Entrant, Field, Transport
from benchmarks.gateway.program import busy_seconds, family_seconds
from benchmarks.gateway.upstream.echo import last_tool_name
from benchmarks.gateway.wire import Endpoint, Era

LISTING_CLIENTS = 4
"""A list is large: more clients than this only measure how fast the load client can throw answers away."""
WINDOWS_ALONE = 3
WARMING_CLIENTS = 4
WARMING_SECONDS = 0.2
# One window of a slow gateway can take many times the seconds asked for; two such budgets are all it gets.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing measured over all gateways."""

    operation: Operation
    era: Era
    transport: Transport
    tools: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how hard. Beside the windows with all clients there are shorter ones with a single client."""

    seconds: float
    windows: int
    concurrency: int

    def clients(self, operation: Operation) -> int:
        return self.concurrency if operation is Operation.CALL else min(self.concurrency, LISTING_CLIENTS)

    @property
    def windows_alone(self) -> int:
        return min(self.windows, WINDOWS_ALONE)

    @property
    def seconds_alone(self) -> float:
        return self.seconds / 2


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of load and the CPU time the gateway spent on it."""

    load: Load
    cpu_seconds: float

    @property
    def cpu_per_call(self) -> float:
        return self.cpu_seconds / (self.load.calls + self.load.errors)

    @property
    def calls_per_second(self) -> float:
        return self.load.calls / self.load.seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """A gateway's windows in one cell. The medians are what is reported."""

    key: str
    title: str
    windows: tuple[Window, ...]
    alone: tuple[Window, ...]
    """The windows with a single client."""
    list_bytes: int
    resident_bytes: int
    first_list_seconds: float

    @property
    def cpu_per_call(self) -> float:
        return median(window.cpu_per_call for window in self.windows)

    @property
    def least_cpu_per_call(self) -> float:
        return min(window.cpu_per_call for window in self.windows)

    @property
    def calls_per_second(self) -> float:
        return median(window.calls_per_second for window in self.windows)

    @property
    def p50(self) -> float:
        return median(window.load.p50 for window in self.windows)

    @property
    def p99(self) -> float:
        return median(window.load.p99 for window in self.windows)

    @property
    def p50_alone(self) -> float:
        return median(window.load.p50 for window in self.alone)

    @property
    def p99_alone(self) -> float:
        return median(window.load.p99 for window in self.alone)

    @property
    def errors(self) -> int:
        return sum(window.load.errors for window in (*self.windows, *self.alone))

    @property
    def problem(self) -> str:
        return next((one.load.problem for one in (*self.windows, *self.alone) if one.load.problem), "")


@dataclass(frozen=True, slots=True)
class Failed:
    """A gateway without numbers in one cell, and why."""

    key: str
    title: str
    reason: str


Row = Measured | Failed


@dataclass(frozen=True, slots=True)
class Result:
    """One cell measured. The ceiling is what client and upstream do with no gateway between them."""

    cell: Cell
    rows: tuple[Row, ...]
    ceiling_calls_per_second: float | None
    cores_used_by_others: float


@dataclass(slots=True)
class _Lane:
    """One gateway while its cell is measured."""

    entrant: Entrant
    clients: list[Client] = field(default_factory=list[Client])
    windows: list[Window] = field(default_factory=list[Window])
    alone: list[Window] = field(default_factory=list[Window])
    list_bytes: int = 0
    spent: float = 0.0
    failure: str = ""


async def measure(cell: Cell, running: Field, plan: Plan) -> Result:
    """All gateways of the field in this cell, a window each in turn."""
    busy, family, started = busy_seconds(), family_seconds(), time.perf_counter()
    ceiling = None if running.upstream is None else await _ceiling(running.upstream, cell, plan)
    lanes = {
        entrant.contender.key: await _opened(entrant, cell, plan)
        for entrant in running.entrants
        if isinstance(entrant, Entrant)
    }
    for number in range(plan.windows):
        for lane in lanes.values():
            await _add_window(lane, plan)
            if number < plan.windows_alone:
                await _add_window_alone(lane, plan)
    rows: list[Row] = []
    for entrant in running.entrants:
        if isinstance(entrant, Absent):
            rows.append(_failed(entrant, entrant.reason))
        else:
            rows.append(_row(lanes[entrant.contender.key]))
    for lane in lanes.values():
        await _closed(lane.clients)
    others = (busy_seconds() - busy) - (family_seconds() - family)
    return Result(cell, tuple(rows), ceiling, max(0.0, others / (time.perf_counter() - started)))


async def _ceiling(upstream: Endpoint, cell: Cell, plan: Plan) -> float:
    clients, _ = await _clients(upstream, cell, cell.tools, plan)
    load = await put_load(clients, plan.seconds)
    await _closed(clients)
    return load.calls / load.seconds


async def _opened(entrant: Entrant, cell: Cell, plan: Plan) -> _Lane:
    lane = _Lane(entrant)
    if cell.era not in entrant.contender.eras:
        lane.failure = f"it speaks {' and '.join(entrant.contender.eras)} only"
        return lane
    print(f"measuring {described(cell)} through {entrant.contender.title} …", file=sys.stderr, flush=True)
    try:
        lane.clients, lane.list_bytes = await _clients(entrant.endpoint, cell, entrant.tools, plan)
        await put_load(lane.clients[:WARMING_CLIENTS], min(WARMING_SECONDS, plan.seconds))
    except (OSError, AnswerError) as problem:
        lane.failure = _reason(entrant, problem)
    return lane


async def _clients(endpoint: Endpoint, cell: Cell, tools: int, plan: Plan) -> tuple[list[Client], int]:
    clients = [Client(endpoint, cell.era, number) for number in range(1, plan.clients(cell.operation) + 1)]
    for client in clients:
        await client.open()
    listed = await clients[0].listed()
    if len(listed.names) != tools:
        raise AnswerError(f"it listed {len(listed.names)} tools where the upstream has {tools}")
    await clients[0].called()
    for client in clients:
        client.prepare(cell.operation, listed, last_tool_name(tools))
    return clients, listed.size


async def _add_window(lane: _Lane, plan: Plan) -> None:
    budget = PATIENCE * plan.windows * plan.seconds
    if lane.failure or (lane.windows and lane.spent >= budget):
        return
    if window := await _window(lane, lane.clients, plan.seconds):
        lane.windows.append(window)
        lane.spent += window.load.seconds


async def _add_window_alone(lane: _Lane, plan: Plan) -> None:
    if not lane.failure and (window := await _window(lane, lane.clients[:1], plan.seconds_alone)):
        lane.alone.append(window)


async def _window(lane: _Lane, clients: Sequence[Client], seconds: float) -> Window | None:
    try:
        await connect_anew(clients)
        before = lane.entrant.program.cpu_seconds()
        load = await put_load(clients, seconds)
    except (OSError, AnswerError) as problem:
        lane.failure = _reason(lane.entrant, problem)
        return None
    return Window(load, lane.entrant.program.cpu_seconds() - before)


def _row(lane: _Lane) -> Row:
    contender = lane.entrant.contender
    if lane.failure:
        return _failed(lane.entrant, lane.failure)
    return Measured(
        contender.key,
        contender.title,
        windows=tuple(lane.windows),
        alone=tuple(lane.alone),
        list_bytes=lane.list_bytes,
        resident_bytes=lane.entrant.program.resident_bytes(),
        first_list_seconds=lane.entrant.first_list_seconds,
    )


def _failed(entrant: Entrant | Absent, reason: str) -> Failed:
    return Failed(entrant.contender.key, entrant.contender.title, reason)


def _reason(entrant: Entrant, problem: Exception) -> str:
    said = str(problem) or type(problem).__name__
    if (status := entrant.program.exit_status) is not None:
        return f"{said}; it ended with status {status}: {entrant.program.last_words()}"
    return said


async def _closed(clients: Sequence[Client]) -> None:
    for client in clients:
        try:
            await client.close()
        except (OSError, AnswerError):
            client.abandon()


def described(cell: Cell) -> str:
    upstream = "HTTP upstream" if cell.transport == "http" else "stdio upstream"
    plural = "tool" if cell.tools == 1 else "tools"
    return f"{cell.operation}, {cell.era}, {upstream}, {cell.tools:,} {plural}"
