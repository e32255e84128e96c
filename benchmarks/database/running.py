"""What a guarded statement costs beside the driver alone: one small statement, and ten thousand rows made JSON.

No small statement comes twice, because those of models seldom do: neither the driver nor the guard knows one already.
"""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Final

import msgspec

from benchmarks import table
from benchmarks.database.sales import ROWS, SELECT_ALL, Measurable
from benchmarks.gateway.peers.environment import Unavailable
from pegboard.core.databases.rows import QueryRows
from pegboard.core.model.databases import QueryLimits

GOAL_MILLISECONDS: Final = 2.0
GOAL_TIMES: Final = 1.5
_SMALL: Final = (
    "SELECT id, customer, amount FROM sales WHERE id = {0}",
    "SELECT city, COUNT(*) AS sales FROM sales WHERE id BETWEEN {0} AND {0} + 50 GROUP BY city ORDER BY city",
    "WITH few AS (SELECT * FROM sales WHERE id BETWEEN {0} AND {0} + 20) "
    "SELECT f.id, s.note FROM few AS f JOIN sales AS s ON s.id = f.id",
)
_PLENTY: Final = QueryLimits(rows=ROWS, bytes=64_000_000, cell_chars=2_000, seconds=60.0)


@dataclass(frozen=True, slots=True)
class Ran:
    engine: str
    bare: float
    """Milliseconds of a small statement by the driver alone."""
    guarded: float
    bare_cpu: float
    """Milliseconds that this process alone worked for it, neither a worker nor a server."""
    guarded_cpu: float
    bare_rows: float
    """Milliseconds of ten thousand rows by the driver alone, made JSON by the standard library."""
    guarded_rows: float
    least: float
    """Milliseconds that the guard costs in the fastest tenth of both: what it is where nothing else runs."""

    @property
    def overhead(self) -> float:
        return self.guarded - self.bare

    @property
    def overhead_cpu(self) -> float:
        return self.guarded_cpu - self.bare_cpu

    @property
    def times(self) -> float:
        return self.guarded_rows / self.bare_rows

    def as_json(self) -> dict[str, object]:
        return {
            **asdict(self),
            "overhead_ms": self.overhead,
            "overhead_cpu_ms": self.overhead_cpu,
            "rows_times": self.times,
        }


async def ran(one: Measurable, rounds: int) -> Ran:
    """In turn, so that whatever else this machine does is in both."""
    small: tuple[list[_Spent], list[_Spent]] = [], []
    rows: tuple[list[_Spent], list[_Spent]] = [], []
    for number in range(-12, 20 * rounds):
        statement = small_statement(number + 12)
        bare = await _timed(partial(one.bare, statement))
        guarded = await _timed(partial(_answered, one, statement))
        if number >= 0:
            small[0].append(bare)
            small[1].append(guarded)
    for number in range(-1, rounds):
        bare, guarded = await _timed(partial(_bare_rows, one)), await _timed(partial(_guarded_rows, one))
        if number >= 0:
            rows[0].append(bare)
            rows[1].append(guarded)
    least = _fast(small[1]) - _fast(small[0])
    (bare, guarded), (bare_rows, guarded_rows) = map(_middle, small), map(_middle, rows)
    return Ran(one.name, bare.wall, guarded.wall, bare.cpu, guarded.cpu, bare_rows.wall, guarded_rows.wall, least)


def small_statement(number: int) -> str:
    return _SMALL[number % len(_SMALL)].format(number)


@dataclass(frozen=True, slots=True)
class _Spent:
    """Milliseconds."""

    wall: float
    cpu: float


def _middle(spent: Sequence[_Spent]) -> _Spent:
    return _Spent(median(each.wall for each in spent), median(each.cpu for each in spent))


def _fast(spent: Sequence[_Spent]) -> float:
    return sorted(each.wall for each in spent)[len(spent) // 10]


async def _timed(work: Callable[[], Awaitable[object]]) -> _Spent:
    started, worked = time.perf_counter(), time.process_time()
    await work()
    return _Spent((time.perf_counter() - started) * 1e3, (time.process_time() - worked) * 1e3)


async def _answered(one: Measurable, statement: str) -> QueryRows:
    answer = await one.engine.run(statement, (), _PLENTY)
    if not isinstance(answer, QueryRows):
        raise RuntimeError(f"{one.name} did not answer {statement!r}: {answer}")
    return answer


async def _bare_rows(one: Measurable) -> int:
    return len(json.dumps([[*row] for row in await one.bare(SELECT_ALL)], default=str))


async def _guarded_rows(one: Measurable) -> int:
    answer = await _answered(one, SELECT_ALL)
    assert len(answer.rows) == ROWS
    return len(msgspec.json.encode(answer.rows))


def as_text(found: Sequence[Ran | tuple[str, Unavailable]]) -> str:
    headings = (
        "engine",
        "driver ms",
        "guarded ms",
        "guard ms",
        "at best ms",
        "CPU here ms",
        f"{ROWS:,} rows ms",
        "guarded ms",
        "of driver",
    )
    cells = [
        (
            each.engine,
            *(
                table.number(spent, 2)
                for spent in (each.bare, each.guarded, each.overhead, each.least, each.overhead_cpu)
            ),
            *(table.number(spent, 1) for spent in (each.bare_rows, each.guarded_rows)),
            table.times(each.times),
        )
        if isinstance(each, Ran)
        else (each[0], f"not measured: {each[1].reason}")
        for each in found
    ]
    goals = f"goals: guard under {GOAL_MILLISECONDS:g} ms, rows within {GOAL_TIMES:g} of the driver"
    return f"{table.render(headings, cells)}\n{goals}"
