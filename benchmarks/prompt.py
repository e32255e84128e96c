"""`python -m benchmarks.prompt`: what building a prompt costs on a large board, beside joining its finished texts.

The floor joins the finished texts of the prompt, which somebody has to do who knew them all before. Pegboard decides
about built-ins, formats and tools, renders those, counts what they cost and makes the body of the request. Times are
CPU time of this process, so other work on the machine hardly shows.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Final, TypeAlias

from benchmarks import table
from benchmarks.boards import board_of
from benchmarks.sample import ratio
from pegboard.core.decision.resolve import Resolution, resolve
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import NO_FILTER, Allowance, LaunchFilter, Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PromptSettings
from pegboard.prompts import BuiltPrompt, Model, build, capabilities, chat_request, model_facts

Act: TypeAlias = Callable[[], object]

HEADINGS: Final = ("building a prompt", "tools", "floor µs", "Pegboard µs", "of floor", "goal µs")
GOAL_US: Final = 5_000.0
SAID: Final = [{"role": "user", "content": "find what was said about boats"}]
DENYING: Final = LaunchFilter(tools=Allowance(deny=(Pattern("*", "drop_*"), Pattern("set9*", "*"))))
CASES: Final = (
    ("2 tools in hermes, a small model", model_facts("nobody-knows:3b"), NO_FILTER),
    ("10 tools in hermes, a large model", model_facts("nobody-knows:70b"), NO_FILTER),
    ("10 tools natively, a large model", model_facts("qwen3:235b"), NO_FILTER),
    ("10 tools in pythonic, through a filter", model_facts("llama4:109b", {"tools": False}), DENYING),
)


@dataclass(frozen=True, slots=True)
class Row:
    case: str
    tools: int
    floor_us: float
    pegboard_us: float

    @property
    def times_floor(self) -> float | None:
        return ratio(self.pegboard_us, self.floor_us)


def resolved(tools: int) -> Resolution:
    board = board_of(tools)
    return resolve(board.catalogue, board.policy, View())


def prompt_of(resolution: Resolution, model: Model, launch: LaunchFilter, found: Sequence[ToolId]) -> BuiltPrompt:
    settings = PromptSettings()
    return build(capabilities(settings, model, launch, resolution, found), settings)


def pegboard(resolution: Resolution, model: Model, launch: LaunchFilter) -> Act:
    found = resolution.open_ids[:: max(1, len(resolution.open_ids) // 20)]

    def act() -> object:
        return chat_request(prompt_of(resolution, model, launch, found), SAID)

    return act


def floor(resolution: Resolution, model: Model, launch: LaunchFilter) -> Act:
    body = pegboard(resolution, model, launch)()
    assert isinstance(body, dict)
    prompt = prompt_of(resolution, model, launch, resolution.open_ids[:: max(1, len(resolution.open_ids) // 20)])
    texts = [part.text for part in prompt.parts if not part.in_tools_array]
    rest = {key: value for key, value in body.items() if key != "messages"}

    def act() -> object:
        return {**rest, "messages": [{"role": "system", "content": "\n\n".join(texts)}, *SAID]}

    return act


def measured(tools: Sequence[int], rounds: int) -> list[Row]:
    """Floor and Pegboard in turn, the boards in turn, after a first time that is not counted."""
    boards = {count: resolved(count) for count in tools}
    rows: list[Row] = []
    for name, model, launch in CASES:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        for count, resolution in boards.items():
            plain, ours = floor(resolution, model, launch), pegboard(resolution, model, launch)
            taken = [(_microseconds(plain), _microseconds(ours)) for _ in range(rounds + 1)][1:]
            rows.append(Row(name, count, median(each[0] for each in taken), median(each[1] for each in taken)))
    return rows


def as_text(rows: Sequence[Row]) -> str:
    cells = [
        (
            row.case,
            table.number(row.tools),
            table.number(row.floor_us, 2),
            table.number(row.pegboard_us, 2),
            table.times(row.times_floor),
            table.number(GOAL_US),
        )
        for row in rows
    ]
    return table.render(HEADINGS, cells)


def as_json(rows: Sequence[Row], rounds: int) -> dict[str, object]:
    return {
        "benchmark": "prompt",
        "rounds": rounds,
        "goal_us": GOAL_US,
        "rows": [{**asdict(row), "times_floor": row.times_floor} for row in rows],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt", description="What building a prompt costs.")
    parser.add_argument("--tools", nargs="+", type=_positive, default=[100, 10_000], metavar="N")
    parser.add_argument("--rounds", type=_positive, default=50, help="samples of each, the median counts (50)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    rows = measured(sorted(set(chosen.tools)), chosen.rounds)
    print(json.dumps(as_json(rows, chosen.rounds), indent=2) if chosen.json else as_text(rows))
    return 0


def _microseconds(act: Act) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.process_time_ns()
        act()
        return (time.process_time_ns() - started) / 1e3
    finally:
        gc.enable()


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("give a number from 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
