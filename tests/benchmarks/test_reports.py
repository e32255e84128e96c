"""What the benchmarks print, from values made by hand: no process, no clock."""

import json

import pytest
from benchmarks.gateway.__main__ import QUICK, choice_of
from benchmarks.gateway.client import Load, Operation
from benchmarks.gateway.contenders import pegboard_config
from benchmarks.gateway.measure import Cell, Failed, Measured, Plan, Result, Window
from benchmarks.gateway.program import is_upstream
from benchmarks.gateway.report import Ratios, as_json, as_text, ratios_of
from benchmarks.gateway.target import HttpUpstream, StdioUpstream, Target, arguments_of, target_of
from benchmarks.gateway.wire import Era, answer_in
from benchmarks.sample import percentile, ratio
from inline_snapshot import snapshot

from benchmarks import table

PLAN = Plan(seconds=1.0, windows=3, concurrency=32)
CELL = Cell(Operation.CALL, Era.STATELESS, "http", 10)


def measured(key: str, *cpu_of_windows: float) -> Measured:
    windows = tuple(Window(Load(1000, 0, 1.0, 0.001, 0.002), cpu) for cpu in cpu_of_windows)
    return Measured(key, f"the {key}", windows, 31 * 2**20, 0.25)


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
    assert as_text([RESULT], PLAN, "a machine") == snapshot("""\
a machine; 32 clients, 3 windows of 1 s, alternating

tools/call, 2026-07-28, HTTP upstream, 10 tools  (without a gateway 30,000 calls/s; others used 0.25 cores meanwhile)
gateway       CPU µs/call  of floor  FastMCP/this  shared/this  calls/s  p50 ms  p99 ms  RSS MB  first list s
------------  -----------  --------  ------------  -----------  -------  ------  ------  ------  ------------
the floor              50     1.00x        1,000x            -    1,000    1.00    2.00      31          0.25
the pegboard          100     2.00x          500x            -    1,000    1.00    2.00      31          0.25
the sdk       not measured: it ended with status 1: no such luck
the fastmcp        50,000    1,000x         1.00x            -    1,000    1.00    2.00      31          0.25

CPU µs/call: user and system time of the gateway's own processes; the number to compare on a busy machine.
of floor: that, divided by the floor's. FastMCP/this, shared/this: the CPU of create_proxy, or of FastMCP with
one shared client, divided by this row's. first list: from starting the process to a complete tools/list.
Every number is the median of its windows.\
""")


def test_json_holds_the_same_medians_and_every_window() -> None:
    (cell,) = json.loads(json.dumps(as_json([RESULT], PLAN, "a machine")))["cells"]
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


def test_a_ratio_to_a_gateway_that_was_not_measured_is_none() -> None:
    alone = Result(CELL, (measured("pegboard", 0.1),), None, 0.0)
    assert ratios_of(measured("pegboard", 0.1), alone) == Ratios(None, None, None)
    assert (ratio(1.0, 0.0), ratio(None, 1.0), ratio(3.0, 2.0)) == (None, None, 1.5)


def test_a_row_with_errors_says_how_many_and_shows_one() -> None:
    windows = (Window(Load(10, 2, 1.0, 0.001, 0.002, "status 500"), 0.1),)
    flawed = Result(CELL, (Measured("pegboard", "Pegboard", windows, 0, 0.1),), None, 0.0)
    assert "^ and 2 errors, the first: status 500" in as_text([flawed], PLAN, "a machine")


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
    assert pegboard_config(HttpUpstream("http://127.0.0.1:1/mcp")) == snapshot("""\
servers:
  u0:
    url: http://127.0.0.1:1/mcp
    transport: http
    trust: open
""")


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
    assert [contender.key for contender in full.contenders] == ["floor", "pegboard"]


@pytest.mark.parametrize("arguments", [["--tools", "0"], ["--seconds", "0"], ["--only", "nothing"], ["--era", "2024"]])
def test_a_wrong_argument_is_refused_before_anything_starts(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        choice_of(arguments)
