"""The per-server rollup: what is callable, what is locked for which reason, and nothing that is zero."""

import pytest
from hypothesis import given
from tests.core.boards import DAMAGES, DEV_FILES, GITHUB, MATH, ME, NOW, OFF, Board, board, boards, tool, views

from pegboard.core.decision.resolve import HiddenTool, OpenTool, Resolution, resolve
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import Selection, View
from pegboard.core.presentations.search import locked_counts, tool_counts

BOARD = board([*(tool(GITHUB, name) for name in "abcdef"), tool(DEV_FILES, "a"), tool(MATH, "add")])
DAMAGE = {damage.name: damage for damage in DAMAGES}


PLAIN = View(ME)


def resolution(board: Board, view: View = PLAIN) -> Resolution:
    return resolve(board.catalogue, board.policy, view)


@pytest.mark.behaviour("counts.callable_and_each_status", "counts.zero_omitted")
def test_a_server_counts_its_callable_tools_and_its_locked_ones_by_status() -> None:
    damaged = BOARD
    for damage, name in [
        ("switched off", "a"),
        ("never approved", "b"),
        ("changed since approval", "c"),
        ("denied by a pattern", "d"),
    ]:
        damaged = DAMAGE[damage].do(damaged, ToolId(GITHUB, name))
    assert tool_counts(resolution(damaged)) == {
        GITHUB: {"callable": 2, "disabled_by_config": 1, "disabled_by_user": 1, "pending_approval": 2},
        DEV_FILES: {"callable": 1},
        MATH: {"callable": 1},
    }
    assert [*tool_counts(resolution(damaged))[GITHUB]] == [
        *("callable", "disabled_by_config", "disabled_by_user", "pending_approval"),
    ]


@pytest.mark.behaviour("counts.only_when_something_is_locked")
def test_a_server_whose_tools_are_all_callable_has_no_rollup() -> None:
    assert locked_counts(resolution(BOARD)) == {}
    down = BOARD.with_health(DEV_FILES, ProviderDown(NOW, "gone"))
    assert locked_counts(resolution(down)) == {DEV_FILES: {"callable": 0, "server_unavailable": 1}}


def test_a_tool_with_several_reasons_is_counted_once_under_the_first() -> None:
    damaged = BOARD.deciding(switches={GITHUB: OFF, ToolId(GITHUB, "a"): OFF})
    assert tool_counts(resolution(damaged))[GITHUB] == {"callable": 0, "server_disabled": 6}


def test_what_is_outside_the_view_is_not_counted() -> None:
    narrowed = View(ME, (Selection(disabled=("toolset:dev",)),))
    assert tool_counts(resolution(BOARD, narrowed)) == {MATH: {"callable": 1}}


@pytest.mark.behaviour("counts.add_up")
@given(boards(), views)
def test_the_counts_add_up_to_what_the_caller_may_know_of(board: Board, view: View) -> None:
    answer = resolution(board, view)
    told = tool_counts(answer)
    for source in board.catalogue.listings:
        present = [v for i, v in answer.verdicts.items() if i.source == source and not isinstance(v, HiddenTool)]
        tally = told.get(source, {"callable": 0})
        assert sum(tally.values()) == len(present)
        assert tally["callable"] == sum(isinstance(verdict, OpenTool) for verdict in present)
        assert all(count > 0 for status, count in tally.items() if status != "callable")
    assert locked_counts(answer) == {source: tally for source, tally in told.items() if len(tally) > 1}
