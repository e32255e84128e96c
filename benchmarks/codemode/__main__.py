"""What a program costs: `python -m benchmarks.codemode [--json] [--quick]`.

How long the smallest program takes in a warm sandbox, without and with the type check, and what the calls of a program
cost more than the same calls without one. The floor of a start is a session of Monty that nobody bounds; the floors of
calls are the same calls by the gateway's own path and by a client over HTTP, and a program in bare Monty.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import anyio

from benchmarks import table
from benchmarks.codemode import nested, starting
from benchmarks.codemode.row import Row
from benchmarks.timing import positive


async def measure(calls: int, rounds: int) -> list[Row]:
    print(f"measuring starts, {rounds} of each", file=sys.stderr)
    rows = await starting.measured(rounds)
    print(f"measuring {calls:,} calls, {max(rounds // 10, 1)} times", file=sys.stderr)
    return [*rows, *await nested.measured(calls, max(rounds // 10, 1))]


def _goal(row: Row) -> str:
    if row.goal is not None:
        return f"{row.goal:g} ms"
    return "" if row.goal_times is None else f"{row.goal_times:g}x"


def as_text(rows: Sequence[Row]) -> str:
    headings = ("job", "floor ms", "Pegboard ms", "of floor", "goal", "ms each")
    return table.render(
        headings,
        [
            (
                row.job,
                table.number(row.floor, 2),
                table.number(row.pegboard, 2),
                table.times(row.times),
                _goal(row),
                table.number(row.pegboard / row.calls, 3),
            )
            for row in rows
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.codemode", description=__doc__)
    parser.add_argument("--calls", type=positive, default=1_000, help="nested calls, one after the other (1,000)")
    parser.add_argument("--rounds", type=positive, default=50, help="samples of each start, the median counts (50)")
    parser.add_argument("--quick", action="store_true", help="twenty calls, three rounds: a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    asked = (20, 3) if chosen.quick else (chosen.calls, chosen.rounds)
    # The loop that a gateway has.
    rows = anyio.run(measure, *asked, backend_options={"use_uvloop": sys.platform != "win32"})
    if chosen.json:
        report = {"benchmark": "codemode", "rows": [{**asdict(row), "of_floor": row.times} for row in rows]}
        print(json.dumps(report, indent=1))
        return 0
    print(as_text(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
