"""`python -m benchmarks.gateway.trace`: the modules of Pegboard that a warm request over HTTP runs through.

A traced gateway stands in front of the benchmark's upstream. Only what every one of the traced requests runs through
counts, so background tasks that happen to run meanwhile are left out.
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from benchmarks.gateway.boards import SIGNED_IN, write_board
from benchmarks.gateway.client import Client, Operation
from benchmarks.gateway.field import Transport, first_list, started_upstream, stopped_afterwards
from benchmarks.gateway.placement import Placement
from benchmarks.gateway.program import Program, free_port
from benchmarks.gateway.target import Target
from benchmarks.gateway.upstream.echo import last_tool_name
from benchmarks.gateway.wire import Endpoint, Era

TOOLS = 10
WARMING_REQUESTS = 30
TRACED_REQUESTS = 20
PAUSE_SECONDS = 0.03
"""Between two requests, so that what one leaves to be done later is not counted for the next."""
TAIL_SECONDS = 0.002
"""What the gateway still does for a request when its client has the answer."""

TRACED_GATEWAY = "benchmarks.gateway.trace_program"


@dataclass(frozen=True, slots=True)
class Event:
    """A function of Pegboard that was entered, or a coroutine that went on."""

    at: int
    module: str
    function: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One warm request, in the order in which it ran."""

    events: tuple[Event, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(event.module for event in self.events))

    @property
    def switches(self) -> int:
        """How often the next function is one of another module."""
        return sum(one.module != other.module for one, other in zip(self.events[:-1], self.events[1:], strict=True))


async def trace_requests(operation: Operation, era: Era, transport: Transport, folder: Path) -> Trace:
    """The functions that each of some warm requests ran through, from the one that ran through fewest."""
    unpinned = Placement(load=None, gateway=None)
    written = folder / "events.json"
    with stopped_afterwards() as programs:
        upstream = await started_upstream(transport, TOOLS, unpinned, folder, programs)
        target = Target(free_port(), TOOLS, upstream)
        where = ("--host", "127.0.0.1", "--port", str(target.port), "--data-dir", str(folder / "pegboard"))
        serve = ("serve", "--config", str(write_board(folder, {"u0": upstream})), *where)
        program = Program((sys.executable, "-m", TRACED_GATEWAY, str(written), *serve), core=None, log=folder / "log")
        programs.append(program)
        endpoint = Endpoint.of(target.url, SIGNED_IN)
        await first_list(program, endpoint, TOOLS, era)
        client = Client(endpoint, era, 1)
        await client.open()
        client.prepare(operation, await client.listed(), last_tool_name(TOOLS))
        for _ in range(WARMING_REQUESTS):
            await client.perform()
        program.signal(signal.SIGUSR1)
        windows = []
        for _ in range(TRACED_REQUESTS + 1):
            await asyncio.sleep(PAUSE_SECONDS)
            begun = time.monotonic_ns()
            await client.perform()
            windows.append((begun, time.monotonic_ns() + int(TAIL_SECONDS * 1e9)))
        await client.close()
    return common_trace(tuple(Event(*event) for event in json.loads(written.read_text())), windows[1:])


def common_trace(events: Sequence[Event], windows: Sequence[tuple[int, int]]) -> Trace:
    """What ran in every window: of the one in which the least ran."""
    runs = [[event for event in events if begun <= event.at <= ended] for begun, ended in windows]
    common = set.intersection(*({(event.module, event.function) for event in run} for run in runs))
    least = min(runs, key=len)
    return Trace(tuple(event for event in least if (event.module, event.function) in common))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway.trace", description=__doc__)
    parser.add_argument("--operation", type=Operation, choices=list(Operation), default=Operation.CALL)
    parser.add_argument("--era", type=Era, choices=list(Era), default=Era.SESSION)
    parser.add_argument("--upstream", choices=get_args(Transport), default="http")
    parser.add_argument("--functions", action="store_true", help="every function, and not only how many")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = asyncio.run(trace_requests(chosen.operation, chosen.era, chosen.upstream, Path(folder)))
    for module in trace.modules:
        functions = [event.function for event in trace.events if event.module == module]
        print(f"{len(functions):4}  {module}" + (f": {', '.join(functions)}" if chosen.functions else ""))
    print(f"{len(trace.events)} functions, {len(trace.modules)} modules, {trace.switches} switches between them")


if __name__ == "__main__":
    main()
