"""How long everybody else waits while programs send and get many values: `python -m benchmarks.codemode.stalls`.

Several programs at once call a tool with as many values as may leave a sandbox in one call, and get them back, over a
real gateway and a real server. Meanwhile a task of the same event loop wants its turn every few milliseconds: how late
it gets that is how long any other request waits. The floor is the same task while nothing else runs.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Final

import anyio

from benchmarks import table
from benchmarks.codemode import place
from benchmarks.sample import percentile
from benchmarks.timing import positive
from pegboard.core.calls.call import ToolFailure, ToolSuccess
from pegboard.core.model.selection import View
from pegboard.core.model.settings import CodeSettings, PythonSandbox
from pegboard.gateway.gateway import Gateway

_BEAT: Final = 0.005
GOAL: Final = 250.0
"""Milliseconds."""
Report = dict[str, object]


async def _program(gateway: Gateway, calls: int, values: int, ends: list[str]) -> None:
    code = (
        f"values = [{{'a': n}} for n in range({values // 2})]\n"
        f"for _ in range({calls}):\n    got = await bench.mirror(value=values)\nlen(got['value'])"
    )
    ended = await gateway.code_mode.run(place.call("python_execution", {"code": code}), View())
    assert isinstance(ended, ToolSuccess | ToolFailure), ended
    said = json.loads(ended.body)["structuredContent"]
    ends.append("returned" if said["error"] is None else f"{said['error']['type']}: {said['error']['message']}")


async def _late(until: anyio.Event) -> list[float]:
    """Milliseconds by which each turn came too late."""
    found: list[float] = []
    while not until.is_set():
        started = time.perf_counter()
        await anyio.sleep(_BEAT)
        found.append((time.perf_counter() - started - _BEAT) * 1e3)
    return found


async def measured(python: PythonSandbox, programs: int, calls: int, values: int) -> Report:
    async with place.gateway(place.MIRROR, CodeSettings(python=python, runs=programs)) as gateway:
        ends: list[str] = []
        # What the first program loads is not what is asked about.
        await _program(gateway, 1, 2, [])
        late: dict[str, list[float]] = {}
        took = 0.0
        for what in ("floor", "programs"):
            over = anyio.Event()

            async def beat(what: str = what, over: anyio.Event = over) -> None:
                late[what] = await _late(over)

            async with anyio.create_task_group() as beside:
                beside.start_soon(beat)
                if what == "floor":
                    await anyio.sleep(2)
                else:
                    started = time.perf_counter()
                    async with anyio.create_task_group() as running:
                        for _ in range(programs):
                            running.start_soon(_program, gateway, calls, values, ends)
                    took = time.perf_counter() - started
                over.set()
    return {
        "python": python.value,
        "programs": programs,
        "calls": programs * calls,
        "values": values,
        "seconds": round(took, 2),
        "floor_worst_ms": round(max(late["floor"]), 1),
        "p99_ms": round(percentile(sorted(late["programs"]), 0.99), 1),
        "worst_ms": round(max(late["programs"]), 1),
        "ends": {end: ends.count(end) for end in sorted(set(ends))},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.codemode.stalls", description=__doc__)
    parser.add_argument("--programs", type=positive, default=8, help="at the same time (8)")
    parser.add_argument("--calls", type=positive, default=5, help="of each program (5)")
    parser.add_argument("--values", type=positive, default=49_000, help="in each call and each answer (49,000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    reports: list[Report] = []
    for python in PythonSandbox:
        print(f"measuring {chosen.programs} programs in {python.value}", file=sys.stderr)
        asked = (python, chosen.programs, chosen.calls, chosen.values)
        reports.append(anyio.run(measured, *asked, backend_options={"use_uvloop": sys.platform != "win32"}))
    if chosen.json:
        print(json.dumps({"benchmark": "codemode.stalls", "goal_ms": GOAL, "modes": reports}, indent=1))
        return 0
    headings = ("python", "programs", "calls", "values", "seconds", "floor_worst_ms", "p99_ms", "worst_ms")
    rows = [[str(report[key]) for key in headings] for report in reports]
    print(table.render(tuple(key.replace("_", " ") for key in headings), rows))
    for report in reports:
        print(report["python"], report["ends"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
