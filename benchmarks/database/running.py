"""What a guarded statement costs beside the driver alone: one small statement, and ten thousand rows made JSON."""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Final

import msgspec

from benchmarks import table
from benchmarks.database.sales import ROWS, SELECT_ALL, Measurable
from benchmarks.gateway.peers.environment import Unavailable
from pegboard.core.database import Limits
from pegboard.ports.databases import Rows

GOAL_MILLISECONDS: Final = 2.0
GOAL_TIMES: Final = 1.5
SMALL: Final = (
    "SELECT id, customer, amount FROM sales WHERE id = 77",
    "SELECT city, COUNT(*) AS sales FROM sales WHERE id < 50 GROUP BY city ORDER BY city",
    "WITH few AS (SELECT * FROM sales WHERE id < 20) SELECT f.id, s.note FROM few AS f JOIN sales AS s ON s.id = f.id",
)
_PLENTY: Final = Limits(rows=ROWS, bytes=64_000_000, cell=2_000, seconds=60.0)


@dataclass(frozen=True, slots=True)
class Ran:
    engine: str
    bare: float
    """Milliseconds of a small statement by the driver alone."""
    guarded: float
    bare_rows: float
    """Milliseconds of ten thousand rows by the driver alone, made JSON by the standard library."""
    guarded_rows: float

    @property
    def overhead(self) -> float:
        return self.guarded - self.bare

    @property
    def times(self) -> float:
        return self.guarded_rows / self.bare_rows

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "overhead_ms": self.overhead, "rows_times": self.times}


async def ran(one: Measurable, rounds: int) -> Ran:
    """In turn, so that whatever else this machine does is in both."""
    small: tuple[list[float], list[float]] = [], []
    rows: tuple[list[float], list[float]] = [], []
    for number in range(-2, 20 * rounds):
        statement = SMALL[number % len(SMALL)]
        spent = await _timed(lambda s=statement: one.bare(s)), await _timed(lambda s=statement: _answered(one, s))  # type: ignore[misc]
        if number >= 0:
            small[0].append(spent[0])
            small[1].append(spent[1])
    for number in range(-1, rounds):
        spent = await _timed(lambda: _bare_rows(one)), await _timed(lambda: _guarded_rows(one))
        if number >= 0:
            rows[0].append(spent[0])
            rows[1].append(spent[1])
    return Ran(one.name, median(small[0]), median(small[1]), median(rows[0]), median(rows[1]))


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1e3


async def _answered(one: Measurable, statement: str) -> Rows:
    answer = await one.engine.run(statement, (), _PLENTY)
    if not isinstance(answer, Rows):
        raise RuntimeError(f"{one.name} did not answer {statement!r}: {answer}")
    return answer


async def _bare_rows(one: Measurable) -> int:
    return len(json.dumps([[*row] for row in await one.bare(SELECT_ALL)], default=str))


async def _guarded_rows(one: Measurable) -> int:
    answer = await _answered(one, SELECT_ALL)
    assert len(answer.rows) == ROWS
    return len(msgspec.json.encode(answer.rows))


def as_text(found: Sequence[Ran | tuple[str, Unavailable]]) -> str:
    headings = ("engine", "driver ms", "guarded ms", "guard ms", f"{ROWS:,} rows ms", "guarded ms", "of driver")
    cells = [
        (
            each.engine,
            *(table.number(spent, 2) for spent in (each.bare, each.guarded, each.overhead)),
            *(table.number(spent, 1) for spent in (each.bare_rows, each.guarded_rows)),
            table.times(each.times),
        )
        if isinstance(each, Ran)
        else (each[0], f"not measured: {each[1].reason}")
        for each in found
    ]
    goals = f"goals: guard under {GOAL_MILLISECONDS:g} ms, rows within {GOAL_TIMES:g} of the driver"
    return f"{table.render(headings, cells)}\n{goals}"
