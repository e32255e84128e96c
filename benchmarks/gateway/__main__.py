"""`python -m benchmarks.gateway`: what a call and a list cost through Pegboard, the floor and the peers."""

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import get_args

import psutil
import uvloop

from benchmarks.gateway.client import Operation
from benchmarks.gateway.contenders import CONTENDERS, FLOOR, PEGBOARD, Contender
from benchmarks.gateway.field import Transport, field
from benchmarks.gateway.growth import grown
from benchmarks.gateway.measure import Cell, Failed, Plan, Result, measure
from benchmarks.gateway.placement import Placement, available_placement, pin_this_process
from benchmarks.gateway.report import Report, as_json, as_text
from benchmarks.gateway.starting import pauses_of, started
from benchmarks.gateway.wire import Era

SERVERS_TO_START = 20
# What fits into two minutes with every gateway started once.
QUICK = (
    Cell(Operation.CALL, Era.SESSION, "http", 10),
    Cell(Operation.CALL, Era.STATELESS, "http", 10),
    Cell(Operation.LIST, Era.STATELESS, "http", 10),
)


class Part(StrEnum):
    """What can be asked for by itself: all gateways beside each other, and two questions to Pegboard alone."""

    CELLS = "cells"
    GROWTH = "growth"
    STARTING = "starting"


@dataclass(frozen=True, slots=True)
class Choice:
    """What this run measures."""

    plan: Plan
    contenders: tuple[Contender, ...]
    cells: tuple[Cell, ...]
    parts: frozenset[Part]
    pauses: tuple[float, ...]
    """How long each server takes to say its first word."""
    starts: int


def choice_of(arguments: Sequence[str] | None = None) -> tuple[Choice, bool]:
    """The command line, and whether it asks for JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    keys = [contender.key for contender in CONTENDERS]
    parser.add_argument(
        "--only", nargs="+", choices=keys, default=keys, help="these gateways; the floor is always there"
    )
    parser.add_argument("--operation", nargs="+", type=Operation, choices=list(Operation), help="(both)")
    parser.add_argument("--era", nargs="+", type=Era, choices=list(Era), help="(both)")
    parser.add_argument("--upstream", nargs="+", choices=get_args(Transport), help="(both)")
    parser.add_argument("--tools", nargs="+", type=_positive, metavar="N", help="tools of the upstream (10 1000 5000)")
    parser.add_argument("--part", nargs="+", type=Part, choices=list(Part), default=list(Part), help="(all)")
    parser.add_argument("--seconds", type=_positive_seconds, help="length of a window (0.5)")
    parser.add_argument("--windows", type=_positive, help="windows for each gateway and cell (5)")
    parser.add_argument("--concurrency", type=_positive, default=32, help="clients at once (32)")
    parser.add_argument("--quick", action="store_true", help="few cells and short windows, under two minutes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args(arguments)
    plan = Plan(
        seconds=chosen.seconds or (0.3 if chosen.quick else 0.5),
        windows=chosen.windows or (3 if chosen.quick else 5),
        concurrency=chosen.concurrency,
    )
    contenders = tuple(contender for contender in CONTENDERS if contender.key in {FLOOR, *chosen.only})
    parts = frozenset(chosen.part if PEGBOARD in chosen.only else {Part.CELLS})
    pauses = pauses_of(SERVERS_TO_START, 2.0 if chosen.quick else 3.0)
    return Choice(plan, contenders, _cells(chosen), parts, pauses, starts=1 if chosen.quick else 3), chosen.json


def _cells(chosen: argparse.Namespace) -> tuple[Cell, ...]:
    """Every combination asked for; a quick run without any wish takes its own few."""
    if chosen.quick and not (chosen.operation or chosen.era or chosen.upstream or chosen.tools):
        return QUICK
    transports: list[Transport] = chosen.upstream or list(get_args(Transport))
    tools: list[int] = chosen.tools or ([10] if chosen.quick else [10, 1000, 5000])
    operations: list[Operation] = chosen.operation or list(Operation)
    order = product(transports, tools, operations, chosen.era or list(Era))
    return tuple(Cell(operation, era, transport, count) for transport, count, operation, era in order)


async def run(choice: Choice, placement: Placement) -> Report:
    """Every part that was asked for."""
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as folder:
        start = None
        # Before this process is pinned: what many servers do at once must not be squeezed onto one core.
        if Part.STARTING in choice.parts:
            start = await started(choice.pauses, Path(folder), rounds=choice.starts)
    pin_this_process(placement.load)
    results = await _measured(choice, placement) if Part.CELLS in choice.parts else []
    growth: list[Result] = []
    if Part.GROWTH in choice.parts:
        with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as folder:
            growth = await grown(choice.plan, placement, Path(folder))
    return Report(results, growth, start, choice.plan, machine(placement))


async def _measured(choice: Choice, placement: Placement) -> list[Result]:
    """Every cell; gateways stay up over the cells that share an upstream."""
    results: list[Result] = []
    for transport, tools in dict.fromkeys((cell.transport, cell.tools) for cell in choice.cells):
        with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as folder:
            async with field(transport, tools, choice.contenders, placement, Path(folder)) as running:
                cells = [cell for cell in choice.cells if (cell.transport, cell.tools) == (transport, tools)]
                results += [await measure(cell, running, choice.plan) for cell in cells]
    return results


def machine(placement: Placement) -> str:
    cores = psutil.cpu_count() or 1
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{platform.system()} {platform.machine()}, {cores} cores, {python}; {placement}"


def main(arguments: Sequence[str] | None = None) -> int:
    choice, wants_json = choice_of(arguments)
    report = uvloop.run(run(choice, available_placement()))
    print(json.dumps(as_json(report), indent=2) if wants_json else as_text(report))
    rows = [row for result in (*report.results, *report.growth) for row in result.rows]
    ours = [row for row in rows if row.key == FLOOR or row.key.startswith(PEGBOARD)]
    is_incomplete = any(isinstance(row, Failed) for row in ours)
    return int(is_incomplete or (report.started is not None and bool(report.started.problem)))


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return number


def _positive_seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time above 0")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
