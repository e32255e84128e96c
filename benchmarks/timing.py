"""Floor and product, timed in turn on one thread: CPU time of this process, so that other work hardly shows."""

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TypeAlias

from benchmarks import table
from benchmarks.sample import ratio

Act: TypeAlias = Callable[[], object]
"""What is timed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One job, by all that did it."""

    job: str
    tools: int
    units: int
    """How many tools or queries the job is about: what a single one costs is told by it."""
    microseconds: Mapping[str, float]
    """By who did it. The first is the floor, the last is Pegboard."""

    @property
    def pegboard(self) -> float:
        return [*self.microseconds.values()][-1]

    @property
    def times_others(self) -> Mapping[str, float | None]:
        return {who: ratio(self.pegboard, spent) for who, spent in [*self.microseconds.items()][:-1]}

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "times": dict(self.times_others)}


def row(job: str, tools: int, units: int, made: Mapping[str, Callable[[], Act]], rounds: int) -> Row:
    """Each round makes every act anew, untimed, and times it once."""
    spent: dict[str, list[float]] = {who: [] for who in made}
    for _ in range(rounds):
        for who, make in made.items():
            act = make()
            gc.collect()
            started = time.process_time_ns()
            act()
            spent[who].append((time.process_time_ns() - started) / 1e3)
    return Row(job, tools, units, {who: median(each) for who, each in spent.items()})


def as_text(first: str, rows: Sequence[Row]) -> str:
    """Milliseconds of each, what a single unit costs Pegboard, and how many times the others' that is."""
    contenders = [*rows[0].microseconds]
    headings = (
        *(first, "tools"),
        *(f"{who} ms" for who in contenders),
        *(f"of {who}" for who in contenders[:-1]),
        "µs each",
    )
    cells = [
        (
            each.job,
            table.number(each.tools),
            *(table.number(spent / 1e3, 2) for spent in each.microseconds.values()),
            *(table.times(times) for times in each.times_others.values()),
            table.number(each.pegboard / each.units, 1),
        )
        for each in rows
    ]
    return table.render(headings, cells)


def flags(name: str, description: str, sizes: Sequence[int], rounds: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--tools", nargs="+", type=positive, default=[*sizes], metavar="N", help="sizes of the board")
    parser.add_argument(
        "--rounds", type=positive, default=rounds, help=f"samples of each, the median counts ({rounds})"
    )
    parser.add_argument("--quick", action="store_true", help="one board of 200 tools, one round: a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def chosen_sizes(chosen: argparse.Namespace) -> tuple[list[int], int]:
    """The boards and the rounds that were asked for."""
    return ([200], 1) if chosen.quick else (sorted(set(chosen.tools)), chosen.rounds)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return number
