"""The benchmark of search compares like with like: all who are timed find the same tool first."""

from pathlib import Path

import anyio
import pytest
from benchmarks.retrieval.meaning import model_in
from benchmarks.timing import Row
from inline_snapshot import snapshot

from benchmarks import hybrid, large, search, through, timing

TOOLS = 300


def test_all_contenders_find_a_tool_by_its_name_first() -> None:
    sample = search.Sample.of(TOOLS)
    for make in search.contenders().values():
        searched = make(sample.tools)
        assert [searched.best(tool.spec.name.replace("_", " "))[0] for tool in sample.tools] == [*range(TOOLS)]


def test_who_asks_among_half_of_the_tools_is_answered_with_those_alone() -> None:
    sample = search.Sample.of(TOOLS)
    assert len(sample.half) == TOOLS // 2
    for make in search.contenders().values():
        searched = make(sample.tools)
        found = [searched.best(query, sample.half) for query in sample.queries]
        assert all(found)
        assert {place for places in found for place in places} <= sample.half


def test_floor_and_pegboard_agree_on_most_of_the_best() -> None:
    sample = search.Sample.of(TOOLS)
    floor, pegboard = search.PlainLoop(sample.tools), search.Pegboard(sample.tools)
    same = [floor.best(query)[0] in pegboard.best(query)[:3] for query in sample.queries]
    assert sum(same) * 10 >= len(same) * 8


def test_the_table_tells_what_each_costs_and_how_many_times_the_others_that_is() -> None:
    rows = [
        Row("making the index", 5_000, 5_000, {"floor": 4e5, "FTS5": 1e5, "Pegboard": 8e5}),
        Row("50 queries", 5_000, 50, {"floor": 1e6, "FTS5": 2e4, "Pegboard": 1e5}),
    ]
    assert timing.as_text("searching", rows) == snapshot("""\
searching         tools  floor ms  FTS5 ms  Pegboard ms  of floor  of FTS5  µs each
----------------  -----  --------  -------  -----------  --------  -------  -------
making the index  5,000    400.00   100.00       800.00     2.00x    8.00x    160.0
50 queries        5,000  1,000.00    20.00       100.00     0.10x    5.00x  2,000.0\
""")


@pytest.mark.slow
@pytest.mark.behaviour("search.end_to_end")
def test_a_board_is_searched_from_end_to_end_over_the_protocol() -> None:
    told = through.measured(100, servers=2)
    assert told.tools == 100
    assert "100 tools" in through.as_text([told])


def test_a_large_board_is_measured_in_a_process_of_its_own() -> None:
    told = large.measured(60)
    assert (told.tools, told.p50 > 0, told.p99 >= told.p50) == (60, True, True)
    assert "60 tools" in large.as_text([told])


@pytest.mark.slow
def test_a_large_board_is_measured_by_words_and_meaning_too() -> None:
    model = anyio.run(model_in, None)
    assert isinstance(model, Path), model
    told = hybrid.measured(60, model)
    assert (told.tools, told.p50 > 0, told.p99 >= told.p50) == (60, True, True)
    assert "60 tools" in hybrid.as_text([told])
