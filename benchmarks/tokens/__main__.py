"""`python -m benchmarks.tokens`: tokens that an agent pays per task, by the way in which it is shown tools."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Final

import anyio
from mcp import Client
from mcp.client._memory import InMemoryTransport

from benchmarks import table
from benchmarks.sample import percentile, ratio
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PresentationMode
from pegboard.gateway.gateway import Gateway
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.server import GatewayMcpServer

from .agents import (
    Agent,
    Context,
    Paid,
    deferring,
    deferring_stateless,
    direct,
    floor,
    looking_through,
    searching,
    searching_full,
)
from .board import gateway_over
from .tasks import BadTasksError, Task, Tasks, made, read

SESSION, STATELESS = "legacy", "2026-07-28"
FLOOR: Final = "floor: just what the task takes"


@dataclass(frozen=True, slots=True)
class Way:
    """How an agent is shown tools, and what it does with them."""

    presented: PresentationMode
    agent: Agent
    mode: str = SESSION


WAYS: Final[Mapping[str, Way]] = {
    "direct: everything is listed": Way(PresentationMode.DIRECT, direct),
    "search, full answers": Way(PresentationMode.SEARCH, searching_full),
    "search, compact, describe_tool": Way(PresentationMode.SEARCH, searching),
    "meta, always the right toolset": Way(PresentationMode.META, looking_through),
    "deferred, with a session": Way(PresentationMode.DEFERRED, deferring),
    "deferred, stateless": Way(PresentationMode.DEFERRED, deferring_stateless, STATELESS),
}


@dataclass(frozen=True)
class Row:
    way: str
    paid: tuple[Paid, ...]

    @property
    def ordered(self) -> list[float]:
        return sorted(each.tokens for each in self.paid)

    @property
    def mean(self) -> float:
        return mean(self.ordered)

    @property
    def some(self) -> float:
        """The share of tasks of which the agent has seen a tool at least."""
        return mean(each.seen > 0 for each in self.paid)

    @property
    def share(self) -> float:
        """The share of the tools that a task takes which the agent has seen, on average."""
        return mean(each.seen / each.needs for each in self.paid)

    def as_json(self, least: float) -> dict[str, object]:
        return {
            "way": self.way,
            "mean": self.mean,
            "median": percentile(self.ordered, 0.5),
            "p90": percentile(self.ordered, 0.9),
            "times_floor": ratio(self.mean, least),
            "calls": mean(each.calls for each in self.paid),
            "some_seen": self.some,
            "share_seen": self.share,
        }


async def rows_of(tasks: Tasks, say: Callable[[str], None]) -> list[Row]:
    specs = {tool.id: tool.spec for tool in tasks.tools}
    rows = [Row(FLOOR, tuple(floor(specs[id] for id in task.needs) for task in tasks.tasks))]
    async with gateway_over(tasks.tools) as gateway:
        for name, way in WAYS.items():
            say(f"measuring {name} …")
            rows.append(Row(name, tuple([await paid_by(gateway, way, task) for task in tasks.tasks])))
    return rows


async def paid_by(gateway: Gateway, way: Way, task: Task) -> Paid:
    """A conversation of its own for each task."""
    names = gateway.board.resolution(View()).names
    server = GatewayMcpServer(gateway, presentation=presentation_of(way.presented, gateway)).server
    async with Client(InMemoryTransport(server), mode=way.mode) as client:
        context = Context(client, {names[id]: id for id in task.needs})
        context.reads(client.instructions or "")
        await way.agent(context, task)
    return context.paid


def as_text(tasks: Tasks, rows: Sequence[Row]) -> str:
    least = rows[0].mean
    cells = [
        (
            row.way,
            *(table.number(value) for value in (row.mean, percentile(row.ordered, 0.5), percentile(row.ordered, 0.9))),
            table.times(ratio(row.mean, least)),
            table.number(mean(each.calls for each in row.paid), 1),
            table.number(100 * row.some, 0, " %"),
            table.number(100 * row.share, 0, " %"),
        )
        for row in rows
    ]
    headings = ("tokens per task", "mean", "median", "p90", "of floor", "calls", "one seen", "of all seen")
    title = f"{tasks.name}: {len(tasks.tasks)} tasks among {len(tasks.tools):,} tools"
    return f"{title}\n\n{table.render(headings, cells)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tokens",
        description="Tokens that an agent pays until it can call the tools of a task.",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="a folder with tools.jsonl and queries.jsonl; without one, tasks are made up",
    )
    parser.add_argument("--quick", action="store_true", help="three tasks: a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    try:
        tasks = made(200, 20) if chosen.data is None else read(chosen.data)
    except BadTasksError as error:
        parser.exit(2, f"{error}\n")
    if chosen.quick:
        tasks = Tasks(tasks.name, tasks.tools, tasks.tasks[:3])
    rows = anyio.run(rows_of, tasks, lambda text: print(text, file=sys.stderr, flush=True))
    if chosen.json:
        told = [row.as_json(rows[0].mean) for row in rows]
        about = {"benchmark": "tokens", "data": tasks.name, "tools": len(tasks.tools), "tasks": len(tasks.tasks)}
        print(json.dumps({**about, "rows": told}, indent=2))
    else:
        print(as_text(tasks, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
