"""What the benchmarks print, from values made by hand: no process, no clock."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
import yaml
from benchmarks.gateway.__main__ import QUICK, Part, choice_of
from benchmarks.gateway.boards import DENIALS, PRINCIPALS, board
from benchmarks.gateway.client import Load, Operation
from benchmarks.gateway.goals import Goal, goals_of
from benchmarks.gateway.measure import Cell, Failed, Measured, Plan, Result, Window
from benchmarks.gateway.program import is_upstream
from benchmarks.gateway.report import Ratios, Report, as_json, as_text, ratios_of
from benchmarks.gateway.starting import Started, pauses_of
from benchmarks.gateway.target import HttpUpstream, StdioUpstream, Target, arguments_of, target_of
from benchmarks.gateway.upstream.echo import tools_of
from benchmarks.gateway.wire import Era, answer_in
from benchmarks.sample import percentile, ratio
from inline_snapshot import snapshot

from benchmarks import table

PLAN = Plan(seconds=1.0, windows=3, concurrency=32)
CELL = Cell(Operation.CALL, Era.STATELESS, "http", 10)


def measured(key: str, *cpu_of_windows: float) -> Measured:
    windows = tuple(Window(Load(1000, 0, 1.0, 0.001, 0.002), cpu) for cpu in cpu_of_windows)
    alone = (Window(Load(100, 0, 0.5, 0.0004, 0.0009), 0.01),)
    return Measured(key, f"the {key}", windows, alone, 5_000, 31 * 2**20, 0.25)


def report(*results: Result, growth: Sequence[Result] = (), started: Started | None = None) -> Report:
    return Report(results, growth, started, PLAN, "a machine")


RESULT = Result(
    CELL,
    (
        measured("floor", 0.05, 0.05, 0.50),
        measured("pegboard", 0.10, 0.09, 0.11),
        Failed("sdk", "the sdk", "it ended with status 1: no such luck"),
        measured("fastmcp", 50.0),
    ),
    30_000.0,
    0.25,
)


def test_the_table_shows_medians_and_ratios_and_why_a_row_is_missing() -> None:
    assert as_text(report(RESULT)) == snapshot("""\
a machine; 32 clients, 3 windows of 1 s, alternating

tools/call, 2026-07-28, HTTP upstream, 10 tools  (without a gateway 30,000 per second; others used 0.25 cores meanwhile)
gateway       CPU µs/call     min  of floor  calls/s  p50 ms c=1  p99 c=1  p50 c=32  p99 c=32  RSS MB  first list s
------------  -----------  ------  --------  -------  ----------  -------  --------  --------  ------  ------------
the floor              50      50     1.00x    1,000        0.40     0.90      1.00      2.00      31          0.25
the pegboard          100      90     2.00x    1,000        0.40     0.90      1.00      2.00      31          0.25
the sdk       not measured: it ended with status 1: no such luck
the fastmcp        50,000  50,000    1,000x    1,000        0.40     0.90      1.00      2.00      31          0.25

CPU: user and system time of the gateway's own processes for one call or one whole list: the number to compare
on a busy machine. of floor: that, divided by the floor's. c=1: with a single client. first list: from the start
of the process to a complete tools/list. Every number is the median of its windows, but for min.

Goals
what                                         goal  measured                                where  met
------------------------------------------  -----  --------  -----------------------------------  ---
CPU of a call, http upstream, of the floor  1.8 x    2.00 x  2026-07-28, http upstream, 10 tools   NO\
""")


def test_json_holds_the_same_medians_and_every_window() -> None:
    (cell,) = json.loads(json.dumps(as_json(report(RESULT))))["cells"]
    floor, pegboard, sdk, _ = cell["rows"]
    assert (floor["cpu_us_per_call"], len(floor["windows"])) == (pytest.approx(50), 3)
    assert pegboard["times_floor"] == pytest.approx(2.0)
    assert sdk == {"gateway": "sdk", "title": "the sdk", "failed": "it ended with status 1: no such luck"}
    assert (cell["operation"], cell["era"], cell["transport"], cell["tools"]) == (
        "tools/call",
        "2026-07-28",
        "http",
        10,
    )


def grown(operation: Operation, small: float, hundred: float, large: float) -> Result:
    sizes = {10: small, 100: hundred, 5000: large}
    rows = tuple(measured(f"pegboard-{tools}", cpu) for tools, cpu in sizes.items())
    return Result(replace(CELL, operation=operation, tools=5000), rows, None, 0.0)


GROWTH = (grown(Operation.CALL, 0.10, 0.10, 0.11), grown(Operation.LIST, 0.1, 0.2, 4.0))
STARTED = Started(20, slowest_pause=3.0, sum_of_pauses=38.0, slowest_alone=4.0, all_together=4.4)


def test_each_goal_is_held_against_the_worst_that_was_measured() -> None:
    stdio = replace(RESULT, cell=replace(CELL, transport="stdio"))
    assert goals_of([RESULT, stdio], GROWTH, STARTED) == snapshot(
        [
            Goal(
                what="CPU of a call, http upstream, of the floor",
                most=1.8,
                measured=2.0,
                unit="x",
                where="2026-07-28, http upstream, 10 tools",
            ),
            Goal(
                what="CPU of a call, stdio upstream, of the floor",
                most=1.8,
                measured=2.0,
                unit="x",
                where="2026-07-28, stdio upstream, 10 tools",
            ),
            Goal(
                what="CPU of a call, 2026-07-28",
                most=1.25,
                measured=1.1,
                unit="x",
                where="the pegboard-5000 of the pegboard-10",
            ),
            Goal(
                what="CPU of a list of 100 tools", most=0.3, measured=0.2, unit="ms", where="2026-07-28, http upstream"
            ),
            Goal(
                what="CPU of a list of 5,000 tools",
                most=3.0,
                measured=4.0,
                unit="ms",
                where="2026-07-28, http upstream",
            ),
            Goal(
                what="memory with 5,000 tools",
                most=120.0,
                measured=31.0,
                unit="MB",
                where="after tools/list, 2026-07-28, http upstream",
            ),
            Goal(
                what="start, of the slowest server's alone", most=1.25, measured=1.1, unit="x", where="20 stdio servers"
            ),
        ]
    )
    assert [goal.met for goal in goals_of([RESULT, stdio], GROWTH, STARTED)] == snapshot(
        [False, False, True, True, False, True, True]
    )
    assert goals_of([], [], replace(STARTED, problem="it did not listen")) == []


def test_growth_and_start_are_told_beside_what_they_are_compared_with() -> None:
    *_, growth, start, goals = as_text(report(growth=GROWTH, started=STARTED)).split("\n\n")
    assert growth == snapshot("""\
Pegboard as the tools grow
one upstream each, all up at once  CPU µs/call 2026-07-28  of the first  CPU ms/list 2026-07-28  of the first
---------------------------------  ----------------------  ------------  ----------------------  ------------
the pegboard-10                                       100         1.00x                    0.10         1.00x
the pegboard-100                                      100         1.00x                    0.20         2.00x
the pegboard-5000                                     110         1.10x                    4.00         40.0x\
""")
    assert start == snapshot("""\
Start of 20 stdio servers; the slowest takes 3.0 s to say a word, all one after the other 38.0 s:
the slowest alone 4.00 s, all together 4.40 s (1.10x)\
""")
    assert goals.startswith("Goals\n")
    assert "not measured: it did not listen" in as_text(report(started=replace(STARTED, problem="it did not listen")))


def test_cells_of_one_kind_are_shown_side_by_side() -> None:
    other = replace(RESULT, cell=replace(CELL, era=Era.SESSION))
    assert as_text(report(RESULT, other)).split("\n\n")[4] == snapshot("""\
CPU of tools/call, HTTP upstream: µs per call (times the floor)
gateway       10 tools 2026-07-28  10 tools 2025-11-25
------------  -------------------  -------------------
the floor              50 (1.00x)           50 (1.00x)
the pegboard          100 (2.00x)          100 (2.00x)
the sdk                         -                    -
the fastmcp       50,000 (1,000x)      50,000 (1,000x)\
""")


def test_servers_that_start_take_between_a_quarter_and_all_of_the_slowest_s_time() -> None:
    assert pauses_of(4, 4.0) == (1.75, 2.5, 3.25, 4.0)
    assert pauses_of(1, 3.0) == (3.0,)


def test_a_ratio_to_a_gateway_that_was_not_measured_is_none() -> None:
    alone = Result(CELL, (measured("pegboard", 0.1),), None, 0.0)
    assert ratios_of(measured("pegboard", 0.1), alone) == Ratios(None, None, None)
    assert (ratio(1.0, 0.0), ratio(None, 1.0), ratio(3.0, 2.0)) == (None, None, 1.5)


def test_a_row_with_errors_says_how_many_and_shows_one() -> None:
    windows = (Window(Load(10, 2, 1.0, 0.001, 0.002, "status 500"), 0.1),)
    flawed = Result(CELL, (Measured("pegboard", "Pegboard", windows, windows, 0, 0, 0.1),), None, 0.0)
    assert "^ and 4 errors, the first: status 500" in as_text(report(flawed))


def test_numbers_keep_the_digits_that_matter() -> None:
    assert [table.times(value) for value in (0.083, 1.0, 12.34, 1508.2, None)] == [
        "0.08x",
        "1.00x",
        "12.3x",
        "1,508x",
        "-",
    ]
    assert [table.number(value, 1) for value in (1234.56, None)] == ["1,234.6", "-"]


def test_a_percentile_of_nothing_is_refused() -> None:
    assert [percentile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 3.0, 4.0, 4.0]
    with pytest.raises(ValueError, match="at least one sample"):
        percentile([], 0.5)


@pytest.mark.parametrize(
    "target",
    [
        Target(9000, 10, HttpUpstream("http://127.0.0.1:1/mcp")),
        Target(9000, 1000, StdioUpstream("python", ("-m", "server", "--tools", "1000"))),
    ],
)
def test_a_target_survives_the_command_line(target: Target) -> None:
    assert target_of(arguments_of(target)) == target


def test_a_gateway_that_names_the_upstream_in_its_arguments_is_not_the_upstream() -> None:
    upstream = ["python", "-m", "benchmarks.gateway.upstream.stdio", "--tools", "10"]
    assert is_upstream(upstream)
    assert not is_upstream(["python", "-m", "benchmarks.gateway.floor", "--port", "1", "--", *upstream])
    assert not is_upstream([])


def test_the_board_that_is_measured_trusts_its_one_server_openly() -> None:
    assert board({"u0": HttpUpstream("http://127.0.0.1:1/mcp")}).splitlines()[:8] == snapshot(
        [
            "servers:",
            "  u0:",
            "    url: http://127.0.0.1:1/mcp",
            "    transport: http",
            "    trust: open",
            "deny:",
            "- '*:*forbidden_0*'",
            "- '*:lookup_*_1'",
        ]
    )
    denied = yaml.safe_load(board({}))["deny"]
    assert len(denied) == DENIALS
    assert len(yaml.safe_load(board({}))["principals"]) == PRINCIPALS
    assert not [name for name in map(name_of, tools_of(5000)) if any(fnmatchcase(f"u0:{name}", one) for one in denied)]


def name_of(tool: Mapping[str, str]) -> str:
    return tool["name"]


def test_an_answer_is_found_in_json_and_in_an_event_stream() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    text = json.dumps(answer)
    notification = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress"})
    stream = f"event: message\r\ndata: {notification}\r\n\r\nevent: message\r\ndata: {text}\r\n\r\n".encode()
    assert answer_in(text.encode(), "application/json") == answer
    assert answer_in(stream, "text/event-stream; charset=utf-8") == answer
    with pytest.raises(ValueError, match="no JSON-RPC answer"):
        answer_in(b": ping\n\n", "text/event-stream")


def test_a_quick_run_takes_its_own_few_cells_unless_told_otherwise() -> None:
    quick, _ = choice_of(["--quick"])
    assert quick.cells == QUICK
    told, wants_json = choice_of(["--quick", "--era", "2025-11-25", "--operation", "tools/list", "--json"])
    assert told.cells == (
        Cell(Operation.LIST, Era.SESSION, "http", 10),
        Cell(Operation.LIST, Era.SESSION, "stdio", 10),
    )
    assert wants_json
    full, _ = choice_of(["--tools", "10", "5000", "--only", "pegboard"])
    assert len(full.cells) == 16
    assert full.parts == set(Part)
    assert [contender.key for contender in full.contenders] == ["floor", "pegboard"]


@pytest.mark.parametrize("arguments", [["--tools", "0"], ["--seconds", "0"], ["--only", "nothing"], ["--era", "2024"]])
def test_a_wrong_argument_is_refused_before_anything_starts(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        choice_of(arguments)
