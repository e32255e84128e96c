"""What Pegboard aims at, and how far it is: printed with every run, asserted by none, because machines differ."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.gateway.client import Operation
from benchmarks.gateway.contenders import FLOOR, PEGBOARD
from benchmarks.gateway.measure import Measured, Result
from benchmarks.gateway.starting import Started
from benchmarks.sample import ratio

CALL_TIMES_FLOOR = 1.8
CALL_GROWTH = 1.25
LIST_MS = {100: 0.3, 5000: 3.0}
RESIDENT_MB = 120.0
MANY_TOOLS = 5000
START_TIMES_SLOWEST = 1.25


@dataclass(frozen=True, slots=True)
class Goal:
    """One aim beside the worst that was measured for it."""

    what: str
    most: float
    measured: float
    unit: str
    where: str = ""

    @property
    def met(self) -> bool:
        return self.measured <= self.most


def goals_of(results: Sequence[Result], growth: Sequence[Result], started: Started | None) -> list[Goal]:
    """Every goal that this run can say something about."""
    found = [*_calls(results), *_growth(growth), *_lists([*results, *growth]), *_memory([*results, *growth])]
    if started is not None and not started.problem:
        times = started.all_together / started.slowest_alone
        where = f"{started.servers} stdio servers"
        found.append(Goal("start, of the slowest server's alone", START_TIMES_SLOWEST, times, "x", where))
    return found


def _calls(results: Sequence[Result]) -> Iterator[Goal]:
    for transport in ("http", "stdio"):
        measured = [
            (times, f"{_where(result)}, {result.cell.tools:,} tools")
            for result in results
            if result.cell.operation is Operation.CALL and result.cell.transport == transport
            if (times := _times_floor(result)) is not None
        ]
        if measured:
            worst, where = max(measured)
            yield Goal(f"CPU of a call, {transport} upstream, of the floor", CALL_TIMES_FLOOR, worst, "x", where)


def _growth(growth: Sequence[Result]) -> Iterator[Goal]:
    for result in growth:
        rows = [row for row in result.rows if isinstance(row, Measured)]
        if result.cell.operation is Operation.CALL and len(rows) == len(result.rows):
            times = rows[-1].cpu_per_call / rows[0].cpu_per_call
            yield Goal(
                f"CPU of a call, {result.cell.era}", CALL_GROWTH, times, "x", f"{rows[-1].title} of {rows[0].title}"
            )


def _lists(results: Sequence[Result]) -> Iterator[Goal]:
    for tools, most in LIST_MS.items():
        measured = [
            (row.cpu_per_call * 1e3, _where(result))
            for result in results
            if result.cell.operation is Operation.LIST
            for row in _pegboards(result, tools)
        ]
        if measured:
            worst, where = max(measured)
            yield Goal(f"CPU of a list of {tools:,} tools", most, worst, "ms", where)


def _memory(results: Sequence[Result]) -> Iterator[Goal]:
    measured = [
        (row.resident_bytes / 2**20, f"after {result.cell.operation}, {_where(result)}")
        for result in results
        for row in _pegboards(result, MANY_TOOLS)
    ]
    if measured:
        most, where = max(measured)
        yield Goal(f"memory with {MANY_TOOLS:,} tools", RESIDENT_MB, most, "MB", where)


def _pegboards(result: Result, tools: int) -> Iterator[Measured]:
    """The rows of Pegboard with that many tools: in a cell of that size, or by the size in its own key."""
    for row in result.rows:
        is_of_size = row.key == f"{PEGBOARD}-{tools}" or (row.key == PEGBOARD and result.cell.tools == tools)
        if isinstance(row, Measured) and is_of_size:
            yield row


def _where(result: Result) -> str:
    return f"{result.cell.era}, {result.cell.transport} upstream"


def _times_floor(result: Result) -> float | None:
    by_key: Callable[[str], float | None] = {
        row.key: row.cpu_per_call for row in result.rows if isinstance(row, Measured)
    }.get
    return ratio(by_key(PEGBOARD), by_key(FLOOR))
