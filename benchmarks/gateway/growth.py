"""Pegboard with few tools and with many, up at the same time: what the number of tools adds to a call."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.gateway.client import Operation
from benchmarks.gateway.contenders import CONTENDERS, PEGBOARD, Contender
from benchmarks.gateway.field import Absent, Entrant, Field, entered, started_upstream, stopped_afterwards
from benchmarks.gateway.measure import Cell, Plan, Result, measure
from benchmarks.gateway.placement import Placement
from benchmarks.gateway.program import free_port
from benchmarks.gateway.target import Target
from benchmarks.gateway.wire import Era

SIZES = (10, 100, 5000)
"""The first is what the others are compared with."""


async def grown(
    plan: Plan, placement: Placement, folder: Path, *, eras: Sequence[Era] = tuple(Era), sizes: Sequence[int] = SIZES
) -> list[Result]:
    """Calls and lists of one Pegboard for each size, each with one upstream of its own, in alternating windows."""
    with stopped_afterwards() as programs:
        entrants: list[Entrant | Absent] = []
        for tools in sizes:
            upstream = await started_upstream("http", tools, placement, folder, programs)
            contender = of_size(tools)
            entrants.append(await entered(contender, Target(free_port(), tools, upstream), placement, folder, programs))
        running = Field(None, tuple(entrants))
        cells = [Cell(operation, era, "http", max(sizes)) for operation in Operation for era in eras]
        return [await measure(cell, running, plan) for cell in cells]


def of_size(tools: int) -> Contender:
    """Pegboard as everywhere else, under a key that says how many tools it has."""
    (pegboard,) = (contender for contender in CONTENDERS if contender.key == PEGBOARD)
    return replace(pegboard, key=f"{PEGBOARD}-{tools}", title=f"Pegboard, {tools:,} tools")
