"""`python -m benchmarks.gateway`: what a call and a list cost through Pegboard, the floor and the peers."""

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import get_args

import psutil
import uvloop

from benchmarks.gateway.client import Operation
from benchmarks.gateway.contenders import CONTENDERS, FLOOR, PEGBOARD, Contender
from benchmarks.gateway.field import Transport, field
from benchmarks.gateway.measure import Cell, Failed, Plan, Result, measure
from benchmarks.gateway.placement import Placement, available_placement, pin_this_process
from benchmarks.gateway.report import as_json, as_text
from benchmarks.gateway.wire import Era

# What fits into a minute with every gateway started once.
QUICK = (
    Cell(Operation.CALL, Era.SESSION, "http", 10),
    Cell(Operation.CALL, Era.STATELESS, "http", 10),
    Cell(Operation.LIST, Era.STATELESS, "http", 10),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What this run measures."""

    plan: Plan
    contenders: tuple[Contender, ...]
    cells: tuple[Cell, ...]


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
    parser.add_argument("--tools", nargs="+", type=_positive, metavar="N", help="tools of the upstream (10 1000)")
    parser.add_argument("--seconds", type=_positive_seconds, help="length of a window (1)")
    parser.add_argument("--windows", type=_positive, help="windows for each gateway and cell (5)")
    parser.add_argument("--concurrency", type=_positive, default=32, help="clients at once (32)")
    parser.add_argument("--quick", action="store_true", help="few cells and short windows, under a minute")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args(arguments)
    plan = Plan(
        seconds=chosen.seconds or (0.3 if chosen.quick else 1.0),
        windows=chosen.windows or (3 if chosen.quick else 5),
        concurrency=chosen.concurrency,
    )
    contenders = tuple(contender for contender in CONTENDERS if contender.key in {FLOOR, *chosen.only})
    return Choice(plan, contenders, _cells(chosen)), chosen.json


def _cells(chosen: argparse.Namespace) -> tuple[Cell, ...]:
    """Every combination asked for; a quick run without any wish takes its own few."""
    if chosen.quick and not (chosen.operation or chosen.era or chosen.upstream or chosen.tools):
        return QUICK
    transports: list[Transport] = chosen.upstream or list(get_args(Transport))
    tools: list[int] = chosen.tools or ([10] if chosen.quick else [10, 1000])
    operations: list[Operation] = chosen.operation or list(Operation)
    order = product(transports, tools, operations, chosen.era or list(Era))
    return tuple(Cell(operation, era, transport, count) for transport, count, operation, era in order)


async def run(choice: Choice, placement: Placement) -> list[Result]:
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
    placement = available_placement()
    pin_this_process(placement.load)
    results = uvloop.run(run(choice, placement))
    if wants_json:
        print(json.dumps(as_json(results, choice.plan, machine(placement)), indent=2))
    else:
        print(as_text(results, choice.plan, machine(placement)))
    ours = [row for result in results for row in result.rows if row.key in (FLOOR, PEGBOARD)]
    return int(any(isinstance(row, Failed) for row in ours))


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
