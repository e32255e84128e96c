"""Hostile programs, one after another for as long as you like: `python -m benchmarks.hostile FILE … [--seconds N]`.

They run in a whole gateway, with its store and a real server behind it, as any caller's programs do. The process must
stay as it was: its memory flat, no process of theirs left, an answer to every run, and each run in the activity once.
"""

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import psutil

from benchmarks import table
from benchmarks.codemode import place
from benchmarks.escapes.cases import BadFileError, Case, read
from benchmarks.sandboxes import MODES
from pegboard.core.calls.call import ToolFailure, ToolSuccess
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, CodeLimits, CodeSettings, PythonSandbox
from pegboard.gateway.gateway import Gateway
from pegboard.ports.audit import AuditQuery

LIMITS = CodeLimits(cpu=1, wall=1.5)
TOOL = "async def echo(x=None): return (await bench.mirror(value=x))['value']\n"
"""The tool that attacks call, as they call it."""
GROWTH = 24
"""Megabytes that the second half of the rounds may lie above the first, at most, by their medians. What starts is not
counted. Between two times that the gateway gives back what is free, a round may hold some ten more than the next."""
LEAST = 8
"""The same by the least of each half, where nothing large is held: what is kept for good shows there."""
ENOUGH = 10
"""Rounds from which on memory is judged: before, chance and what is loaded late tell more."""
POINTS = 24
_ENDS = 20.0
Report = dict[str, object]


async def besieged(mode: str, cases: Sequence[Case], seconds: float, rounds: int, at_once: int) -> Report:
    """Whole rounds through the programs, until the time is over and at least so many were done."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    ends: Counter[str] = Counter()
    ids: list[str] = []
    memory: list[int] = []
    began = time.monotonic()
    settings = CodeSettings(python=PythonSandbox(mode), check=False, limits=LIMITS, runs=at_once)
    async with place.gateway(place.MIRROR, settings) as gateway:
        turns = anyio.CapacityLimiter(at_once)

        async def run(case: Case) -> None:
            async with turns:
                ends[await _end(gateway, case, ids)] += 1

        # The first round loads what any further one uses again.
        while len(memory) < rounds + 1 or time.monotonic() - began < seconds:
            async with anyio.create_task_group() as programs:
                for case in cases:
                    programs.start_soon(run, case)
            gc.collect()
            memory.append(psutil.Process().memory_info().rss >> 20)
        recorded = await _recorded(gateway)
    return {
        "mode": mode,
        "programs": len(ids),
        "answered": sum(ends.values()),
        "recorded": sum(recorded[id] == 1 for id in ids),
        "strangers": len(recorded.keys() - {*ids}),
        "ends": dict(ends.most_common()),
        "rounds": len(memory),
        "seconds": round(time.monotonic() - began, 1),
        "memory_mb": {
            "after_the_first_round": memory[0],
            "most_after": max(memory[1:]),
            "last": memory[-1],
            **growth(memory),
            "least_over_time": _least_over_time(memory),
        },
        "processes_left": await _left(before),
    }


def growth(memory: Sequence[int]) -> dict[str, int]:
    """Of the second half over the first, without the first tenth, in which everything is loaded."""
    warm = memory[len(memory) // 10 :]
    first, second = sorted(warm[: len(warm) // 2] or warm), sorted(warm[len(warm) // 2 :])
    return {"growth": second[len(second) // 2] - first[len(first) // 2], "least_growth": second[0] - first[0]}


def _least_over_time(memory: Sequence[int]) -> list[int]:
    """The least of as many stretches of the time as there are points, one after another."""
    size = max(1, -(-len(memory) // POINTS))
    return [min(memory[at : at + size]) for at in range(0, len(memory), size)]


def problems(report: Report) -> list[str]:
    """What is not as it must be."""
    memory = report["memory_mb"]
    assert isinstance(memory, Mapping)
    found = [
        f"{report['programs']} programs, {report[key]} {key}"
        for key in ("answered", "recorded")
        if report[key] != report["programs"]
    ]
    found += [f"{report[key]} {words}" for key, words in _NONE.items() if report[key]]
    if not isinstance(report["rounds"], int) or report["rounds"] < ENOUGH:
        return found
    found += [f"memory grew by {memory['growth']} MB"] if memory["growth"] > GROWTH else []
    return found + ([f"the least memory grew by {memory['least_growth']} MB"] if memory["least_growth"] > LEAST else [])


_NONE = {"processes_left": "processes left", "strangers": "records of programs that nobody ran"}


async def _end(gateway: Gateway, case: Case, ids: list[str]) -> str:
    call = place.call("python_execution", {"code": TOOL + case.code})
    ids.append(call.id)
    ended = await gateway.code_mode.run(call, View())
    if not isinstance(ended, ToolSuccess | ToolFailure):
        return type(ended).__name__
    error = json.loads(ended.body)["structuredContent"]["error"]
    return "no error" if error is None else str(error["type"])


async def _recorded(gateway: Gateway) -> Counter[str]:
    """How often each program is in the activity."""
    found: Counter[str] = Counter()
    before: int | None = None
    while True:
        back = await gateway.audit.page_before(AuditQuery(tool=str(PYTHON_ID), before=before, limit=1_000))
        found.update(row.call_id for row in back.rows)
        if (before := back.before) is None:
            return found


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
    wrong = [f"{report['mode']}: {problem}" for report in reports for problem in problems(report)]
    if chosen.json:
        print(json.dumps({"benchmark": "hostile", "modes": reports, "problems": wrong}, indent=1))
        return bool(wrong)
    keys = ("programs", "answered", "recorded", "rounds", "seconds", "processes_left")
    rows = []
    for report in reports:
        memory = report["memory_mb"]
        assert isinstance(memory, Mapping)
        held = [str(memory[key]) for key in ("after_the_first_round", "most_after", "last", "growth", "least_growth")]
        rows.append([str(report["mode"]), *(str(report[key]) for key in keys), *held])
    print(
        table.render(
            ("mode", *(key.replace("_", " ") for key in keys), "MB at first", "most", "last", "growth", "of the least"),
            rows,
        )
    )
    for report in reports:
        print(report["mode"], report["ends"])
        memory = report["memory_mb"]
        assert isinstance(memory, Mapping)
        print(report["mode"], "least MB over time:", *memory["least_over_time"])
    print("\n".join(wrong) or "all as it must be", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
