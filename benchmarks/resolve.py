"""`python -m benchmarks.resolve`: what deciding costs, first and when it is remembered, beside a plain loop.

The floor is a loop over the same tools with dicts and sets, as somebody would write it who needs no reasons, no
patterns, no narrowing and no names. Times are CPU time of this process, so other work on the machine hardly shows.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import TypeAlias

from benchmarks import table
from benchmarks.boards import THEN, TOOLS_PER_SERVER, SampleBoard, board_of, listing_of
from benchmarks.sample import ratio
from pegboard.core.calls.call import ToolCall, admit
from pegboard.core.decision.resolve import resolve
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, WireName
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.validation import Validators

Act: TypeAlias = Callable[[], object]
"""What is timed."""

ActOnBoard: TypeAlias = Callable[[SampleBoard], Act]

HEADINGS = ("deciding", "tools", "floor µs", "Pegboard µs", "of floor", "ns a tool")
REPEATED = 2_000
REMEMBERED_VIEW = "a remembered view"


@dataclass(frozen=True, slots=True)
class Case:
    """One question asked of a board. Each round makes both acts anew, untimed, and times them `repeats` times over."""

    name: str
    floor: ActOnBoard
    pegboard: ActOnBoard
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    case: str
    tools: int
    floor_us: float
    pegboard_us: float

    @property
    def times_floor(self) -> float | None:
        return ratio(self.pegboard_us, self.floor_us)


def plain_loop(board: SampleBoard) -> Act:
    """The same verdicts for one who asks only yes or no, with everything looked up ready made."""
    tools = [tool for listing in board.listings for tool in listing.tools]
    policy = board.policy
    prints = {tool.id: tool.spec.fingerprint for tool in tools}
    approved = {id: approval.fingerprint for id, approval in policy.decisions.approvals.items()}
    off = frozenset(id for id in policy.decisions.switches if isinstance(id, ToolId))
    up = frozenset(listing.source for listing in board.listings)
    denied = frozenset(tool.id for tool in tools if policy.deny_patterns.matching_indexes(tool.id))

    def loop() -> dict[ToolId, bool]:
        return {
            id: id.source in up and id not in off and id not in denied and approved.get(id) == print_
            for id, print_ in prints.items()
        }

    return loop


def plain_lookup(board: SampleBoard) -> Act:
    """A remembered answer, by the same view as a key."""
    known = {("local", ("set0", "set1")): object(), ("local", ()): object()}
    return lambda: known.get(("local", ("set0", "set1")))


def plain_admission(board: SampleBoard) -> Act:
    known = {("local", ()): {tool.id.name: True for tool in board.listings[0].tools}}
    name = _called(board).id.name
    return lambda: known[("local", ())].get(name)


def first_time(board: SampleBoard) -> Act:
    """Nothing remembered: new tools without fingerprints, a policy whose patterns are not compiled."""
    fresh = board_of(sum(len(listing.tools) for listing in board.listings))
    catalogue = fresh.catalogue
    return lambda: resolve(catalogue, fresh.policy, View())


def after_a_decision(board: SampleBoard) -> Act:
    """A person decided something: a new policy, everything judged again."""
    hung = _hung(board)
    decided = replace(board.policy.decisions, version=board.policy.version + 1)
    policy = Policy(board.policy.declared, decided)

    def act() -> object:
        hung.set_policy(policy)
        return hung.resolution(View())

    return act


def after_one_new_list(board: SampleBoard) -> Act:
    """One server lists anew: the others' verdicts are at hand."""
    hung = _hung(board)
    listing = listing_of(0, max(1, min(TOOLS_PER_SERVER, len(board.listings[0].tools)) - 1))

    def act() -> object:
        hung.publish(listing)
        return hung.resolution(View())

    return act


def another_view(board: SampleBoard) -> Act:
    """A caller who narrows in a way nobody has before."""
    hung = _hung(board)
    return lambda: hung.resolution(_narrow_view())


def misspelt_view(board: SampleBoard) -> Act:
    """A caller who narrows by a name that means nothing here: the answer names what is near."""
    hung = _hung(board)
    view = View(narrowings=(Selection(disabled=("mcp:set0~server0:fnd_0_1",)),))
    return lambda: hung.resolution(view)


def remembered(board: SampleBoard) -> Act:
    """The same question again; the view is read from the request, so it is a new, equal value."""
    hung = _hung(board)
    hung.resolution(_narrow_view())
    return lambda: hung.resolution(_narrow_view())


def remembered_and_admitted(board: SampleBoard) -> Act:
    """One call: the remembered answer, the gate, and the arguments against the schema."""
    hung, validate = _hung(board), Validators().problems
    tool = _called(board)
    name = hung.resolution(View()).names[tool.id]
    call = ToolCall(CallId("1"), WireName(name), {"query": "a"}, LOCAL_PRINCIPAL, THEN)
    admit(call, hung.resolution(View()), validate)
    return lambda: admit(call, hung.resolution(View()), validate)


CASES = (
    Case("first time, nothing remembered", plain_loop, first_time),
    Case("after a decision", plain_loop, after_a_decision),
    Case("after one server's new list", plain_loop, after_one_new_list),
    Case("a view nobody asked for before", plain_loop, another_view),
    Case("a view that names no tool, refused", plain_loop, misspelt_view),
    Case(REMEMBERED_VIEW, plain_lookup, remembered, REPEATED),
    Case("one call: remembered view, gate, schema", plain_admission, remembered_and_admitted, REPEATED),
)


def measured(case: Case, boards: Mapping[int, SampleBoard], rounds: int) -> list[Row]:
    """Floor and Pegboard in turn, and the boards in turn, so that a busy minute weighs on all of them alike."""
    floor: dict[int, list[float]] = {tools: [] for tools in boards}
    pegboard: dict[int, list[float]] = {tools: [] for tools in boards}
    for _ in range(rounds):
        for tools, board in boards.items():
            floor[tools].append(_microseconds(case.floor(board), case.repeats))
            pegboard[tools].append(_microseconds(case.pegboard(board), case.repeats))
    return [Row(case.name, tools, median(floor[tools]), median(pegboard[tools])) for tools in boards]


def growth(rows: Sequence[Row], case: str) -> float | None:
    """How many times as much a case costs on the largest board as on the smallest."""
    costs = {row.tools: row.pegboard_us for row in rows if row.case == case}
    return ratio(costs[max(costs)], costs[min(costs)]) if costs else None


def as_text(rows: Sequence[Row]) -> str:
    cells = [
        (
            row.case,
            table.number(row.tools),
            table.number(row.floor_us, 2),
            table.number(row.pegboard_us, 2),
            table.times(row.times_floor),
            table.number(row.pegboard_us * 1e3 / row.tools),
        )
        for row in rows
    ]
    grown = table.times(growth(rows, REMEMBERED_VIEW))
    flat = f"A remembered view costs {grown} as much on the largest board as on the smallest."
    return f"{table.render(HEADINGS, cells)}\n\n{flat}"


def as_json(rows: Sequence[Row], rounds: int) -> dict[str, object]:
    return {
        "benchmark": "resolve",
        "rounds": rounds,
        "rows": [{**asdict(row), "times_floor": row.times_floor} for row in rows],
        "growth": {case.name: growth(rows, case.name) for case in CASES},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resolve", description="What deciding costs.")
    parser.add_argument("--tools", nargs="+", type=_positive, default=[10, 1_000, 10_000], metavar="N")
    parser.add_argument("--rounds", type=_positive, default=9, help="samples of each, the median counts (9)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    rows: list[Row] = []
    boards = {tools: board_of(tools) for tools in sorted(set(chosen.tools))}
    for case in CASES:
        print(f"measuring {case.name} …", file=sys.stderr, flush=True)
        rows += measured(case, boards, chosen.rounds)
    print(json.dumps(as_json(rows, chosen.rounds), indent=2) if chosen.json else as_text(rows))
    return 0


def _microseconds(act: Act, repeats: int) -> float:
    gc.collect()
    started = time.process_time_ns()
    for _ in range(repeats):
        act()
    return (time.process_time_ns() - started) / repeats / 1e3


def _hung(board: SampleBoard) -> BoardState:
    """A board that has answered the plain question once."""
    hung = BoardState(board.policy, board.catalogue)
    hung.resolution(View())
    return hung


def _narrow_view() -> View:
    return View(narrowings=(Selection(TheseToolsets(("set0",)), disabled=("mcp:set0~server0:find_0_1",)),))


def _called(board: SampleBoard) -> Tool:
    """The second tool of the first server: neither switched off nor denied."""
    return board.listings[0].tools[min(1, len(board.listings[0].tools) - 1)]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
