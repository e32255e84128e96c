"""Hostile programs, one after another for as long as you like: `python -m benchmarks.hostile FILE … [--seconds N]`.

The process that runs them must stay as it was: its memory flat, no process of theirs left, and an answer to every run.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import psutil

from benchmarks import table
from benchmarks.escapes.cases import BadFileError, Case, read
from benchmarks.sandboxes import MODES
from pegboard.core.tool import Json
from pegboard.ports.sandbox import Function, Host, Limits, Program, Reply, Sandbox, SandboxAway, Suspended

LIMITS = Limits(cpu=1, wall=1.5)
ECHO = Function("", "echo", parameters=("x",))
_ENDS = 20.0
Report = dict[str, object]


class Echo(Host):
    async def call(self, ordinal: int, function: Function, arguments: Mapping[str, Json]) -> Reply:
        return arguments.get("x")

    def printed(self, text: str) -> None:
        pass


async def besieged(mode: str, cases: Sequence[Case], seconds: float, rounds: int, at_once: int) -> Report:
    """Whole rounds through the programs, until the time is over and at least so many were done."""
    sandbox = MODES[mode]()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    ends: Counter[str] = Counter()
    started = 0
    memory: list[int] = []
    began = time.monotonic()
    turns = anyio.CapacityLimiter(at_once)

    async def run(case: Case) -> None:
        async with turns:
            ends[await _end(sandbox, case)] += 1

    try:
        # The first round loads what any further one uses again.
        while len(memory) < rounds + 1 or time.monotonic() - began < seconds:
            async with anyio.create_task_group() as programs:
                for case in cases:
                    started += 1
                    programs.start_soon(run, case)
            memory.append(psutil.Process().memory_info().rss >> 20)
    finally:
        await sandbox.aclose()
    return {
        "mode": mode,
        "programs": started,
        "answered": sum(ends.values()),
        "ends": dict(ends.most_common()),
        "rounds": len(memory),
        "seconds": round(time.monotonic() - began, 1),
        "memory_mb": {"after_the_first_round": memory[0], "most_after": max(memory[1:]), "last": memory[-1]},
        "processes_left": await _left(before),
    }


async def _end(sandbox: Sandbox, case: Case) -> str:
    try:
        ran = await sandbox.run(Program(case.code, (ECHO,)), Echo(), LIMITS)
    except SandboxAway as away:
        return f"SandboxAway: {away}"
    if isinstance(ran, Suspended):
        return "Suspended"
    return "no error" if ran.error is None else ran.error.type


async def _left(before: set[int]) -> int:
    """Processes of ours that were not there before. What was killed may take a moment to be gone."""
    children: set[int] = set()
    with anyio.move_on_after(_ENDS):
        while children := {child.pid for child in psutil.Process().children(recursive=True)} - before:  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.1)
    return len(children)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="attacks, as for benchmarks.escapes")
    parser.add_argument("--seconds", type=float, default=60, help="for each sandbox; an hour is 3600")
    parser.add_argument("--rounds", type=int, default=1, help="rounds at least, after the first")
    parser.add_argument("--at-once", type=int, default=4, help="programs at the same time")
    parser.add_argument("--mode", action="append", choices=sorted(MODES), help="only these sandboxes")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    chosen = parser.parse_args(arguments)
    try:
        cases = [case for file in chosen.files for case in read(file)]
    except BadFileError as error:
        print(error, file=sys.stderr)
        return 2
    reports: list[Report] = []
    for mode in chosen.mode or [*MODES]:
        print(f"measuring {mode}: {len(cases)} hostile programs, round after round", file=sys.stderr)
        reports.append(anyio.run(besieged, mode, cases, chosen.seconds, chosen.rounds, chosen.at_once))
    if chosen.json:
        print(json.dumps({"benchmark": "hostile", "modes": reports}, indent=1))
        return 0
    keys = ("programs", "answered", "rounds", "seconds", "processes_left")
    rows = []
    for report in reports:
        memory = report["memory_mb"]
        assert isinstance(memory, Mapping)
        held = [str(memory[key]) for key in ("after_the_first_round", "most_after", "last")]
        rows.append([str(report["mode"]), *(str(report[key]) for key in keys), *held])
    print(table.render(("mode", *(key.replace("_", " ") for key in keys), "MB at first", "most", "last"), rows))
    for report in reports:
        print(report["mode"], report["ends"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
