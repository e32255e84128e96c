"""The benchmark of deciding compares like with like: floor and Pegboard say the same of every tool."""

import pytest
from benchmarks.boards import board_of
from benchmarks.resolve import Row
from inline_snapshot import snapshot

from benchmarks import resolve
from pegboard.core.calls.call import AdmittedCall
from pegboard.core.decision.resolve import HiddenTool, Resolution
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import Tool

TOOLS = 250


def resolved(act: resolve.Act) -> Resolution:
    resolution = act()
    assert isinstance(resolution, Resolution)
    return resolution


def opened(resolution: Resolution) -> set[ToolId]:
    return {tool.id for tool in resolution.open_tools()}


def floor_opens(tools: int) -> set[ToolId]:
    verdicts = resolve.plain_loop(board_of(tools))()
    assert isinstance(verdicts, dict)
    return {id for id, is_open in verdicts.items() if is_open}


@pytest.mark.parametrize("act", [resolve.first_time, resolve.after_a_decision])
def test_floor_and_pegboard_open_the_same_tools(act: resolve.ActOnBoard) -> None:
    resolution = resolved(act(board_of(TOOLS)))
    assert opened(resolution) == floor_opens(TOOLS)
    assert 0 < len(opened(resolution)) < len(resolution.verdicts) == TOOLS


def test_the_new_list_replaces_the_old_one_of_its_server_alone() -> None:
    before = resolved(resolve.first_time(board_of(TOOLS)))
    after = resolved(resolve.after_one_new_list(board_of(TOOLS)))
    (gone,) = before.verdicts.keys() - after.verdicts.keys()
    assert (str(gone.source), after.verdicts.keys() <= before.verdicts.keys()) == ("set0~server0", True)


def test_the_narrow_view_is_accepted_and_the_misspelt_one_is_not() -> None:
    narrow = resolved(resolve.another_view(board_of(TOOLS)))
    present: list[Tool] = [verdict.tool for verdict in narrow.verdicts.values() if not isinstance(verdict, HiddenTool)]
    assert (narrow.unknown_in_narrowing, len(present)) == ((), 99)
    misspelt = resolved(resolve.misspelt_view(board_of(TOOLS)))
    assert [unknown.text for unknown in misspelt.unknown_in_narrowing] == ["mcp:set0~server0:fnd_0_1"]


def test_a_remembered_view_is_the_same_answer_and_not_an_equal_one() -> None:
    act = resolve.remembered(board_of(TOOLS))
    assert act() is act()


@pytest.mark.parametrize("tools", [2, 10, TOOLS])
def test_the_call_that_is_timed_is_one_that_is_admitted(tools: int) -> None:
    assert isinstance(resolve.remembered_and_admitted(board_of(tools))(), AdmittedCall)


def test_the_table_shows_what_a_larger_board_costs() -> None:
    rows = [Row(resolve.REMEMBERED_VIEW, 10, 0.1, 4.0), Row(resolve.REMEMBERED_VIEW, 10_000, 0.1, 5.0)]
    assert resolve.as_text(rows) == snapshot("""\
deciding            tools  floor µs  Pegboard µs  of floor  ns a tool
-----------------  ------  --------  -----------  --------  ---------
a remembered view      10      0.10         4.00     40.0x        400
a remembered view  10,000      0.10         5.00     50.0x          0

A remembered view costs 1.25x as much on the largest board as on the smallest.\
""")
