"""The laws, held against the real core. `test_laws_can_fail.py` shows that each of these checks can fail."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core import laws
from tests.core.boards import (
    DAMAGES,
    DEV_FILES,
    GITHUB,
    ME,
    SOURCES,
    Board,
    Damage,
    board,
    boards,
    damaged,
    damaging,
    ids,
    open_boards,
    selections,
    tool,
    views,
)
from tests.core.spec_changes import CHANGES, Changed

from pegboard.core.calls.call import ToolCall
from pegboard.core.decision.resolve import judge_listing, judge_tool
from pegboard.core.decision.rules import RULES, Rule
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Allowance, LaunchFilter
from pegboard.core.model.selection import Selection, ToolsetChoice, View

CORE = laws.Core()


@given(open_boards())
def test_a_board_with_nothing_wrong_is_all_open(board: Board) -> None:
    assert laws.opened(CORE.resolve(board.catalogue, board.policy, View(ME))) == board.tools.keys()


@pytest.mark.behaviour("law.one_verdict_per_tool", "locked.one_status", "locked.total")
@given(boards(), views)
def test_every_tool_gets_exactly_one_verdict(board: Board, view: View) -> None:
    laws.every_tool_gets_exactly_one_verdict(CORE, board, view)


@pytest.mark.behaviour("law.narrowing_never_opens")
@given(boards(), views, selections())
def test_a_narrowing_never_opens_a_tool(board: Board, view: View, by: Selection) -> None:
    laws.a_narrowing_never_opens(CORE, board, view, by)


@pytest.mark.behaviour("law.narrowings_commute")
@given(boards(), views, selections(), selections())
def test_narrowings_commute(board: Board, view: View, one: Selection, other: Selection) -> None:
    laws.narrowings_commute(CORE, board, view, one, other)


@pytest.mark.behaviour("law.rule_order_changes_no_verdict")
@given(boards(), st.permutations(RULES), st.integers(0, len(RULES)))
def test_the_order_of_rules_changes_no_verdict_and_none_unlocks(board: Board, order: list[Rule], some: int) -> None:
    laws.a_rule_only_locks(CORE, board, order, some)


@given(boards())
def test_judging_a_whole_listing_is_judging_each_of_its_tools(board: Board) -> None:
    for listing in board.catalogue.listings.values():
        assert judge_listing(listing, board.policy) == {
            tool.id: judge_tool(tool, listing.health, board.policy) for tool in listing.tools
        }


@pytest.mark.behaviour("law.open_is_what_was_approved")
@given(boards(), views)
def test_an_open_tool_is_exactly_the_one_that_was_approved(board: Board, view: View) -> None:
    laws.an_open_tool_is_what_was_approved(CORE, board, view)


@pytest.mark.behaviour("law.open_is_what_was_approved")
@given(board=open_boards(), change=st.sampled_from(CHANGES), data=st.data())
def test_any_change_to_what_is_seen_locks_the_tool_until_it_is_approved_again(
    board: Board, change: Changed, data: st.DataObject
) -> None:
    id = data.draw(st.sampled_from(sorted(board.tools)))
    laws.a_change_locks_it_again(CORE, board, id, change.do)


@pytest.mark.behaviour("law.deciding_is_explaining", "explain.every_step", "explain.absent_names_the_step")
@given(boards(), views)
def test_explaining_is_deciding(board: Board, view: View) -> None:
    laws.explaining_is_deciding(CORE, board, view)


@pytest.mark.behaviour("law.agents_cannot_widen", "request.inside_global")
@given(boards(), views)
def test_nothing_in_a_request_widens_what_its_caller_gets(board: Board, view: View) -> None:
    laws.a_view_never_widens(CORE, board, view)


@pytest.mark.behaviour("law.agents_cannot_widen")
def test_what_an_agent_sends_has_no_field_that_could_widen() -> None:
    """A new field here must be shown to widen nothing before this list grows."""
    assert [field.name for field in fields(View)] == ["principal", "narrowings", "filters"]
    assert [field.name for field in fields(LaunchFilter)] == ["builtins", "servers", "tools"]
    assert [field.name for field in fields(Allowance)] == ["allow", "deny"]
    assert [field.name for field in fields(Selection)] == ["toolsets", "enabled", "disabled"]
    assert [[field.name for field in fields(kind)] for kind in ToolsetChoice.__args__] == [[], ["names"]]
    assert [field.name for field in fields(ToolCall)] == [
        *("id", "name", "arguments", "principal", "at", "raw", "client", "parent", "beside", "headers"),
        *("presentation", "kept_as", "made_by", "audience"),
    ]


@pytest.mark.behaviour("law.agents_cannot_widen")
@given(boards(), views)
def test_what_a_request_says_beside_its_call_decides_nothing(board: Board, view: View) -> None:
    laws.what_stands_beside_decides_nothing(CORE, board, view)


@pytest.mark.behaviour("law.only_admitted_calls_run", "locked.call_is_refused_with_the_same_words")
@given(boards(), views)
def test_only_an_open_tool_with_fitting_arguments_is_admitted(board: Board, view: View) -> None:
    laws.only_an_open_tool_is_admitted(CORE, board, view)


@pytest.mark.behaviour("law.withheld_stays_withheld")
@given(boards(), views)
def test_what_is_withheld_is_in_no_name_and_no_refusal(board: Board, view: View) -> None:
    laws.the_withheld_stays_withheld(CORE, board, view)


@pytest.mark.behaviour("law.order_is_deterministic", "naming.same_view_same_names")
@given(boards(), views, st.permutations(range(len(SOURCES))))
def test_equal_inputs_give_equal_output_in_equal_order(board: Board, view: View, arrival: list[int]) -> None:
    laws.order_is_deterministic(CORE, board, view, arrival)


@pytest.mark.behaviour("naming.unique", "naming.never_moves")
@given(st.lists(ids, unique=True, max_size=12), st.lists(ids, unique=True, max_size=12))
def test_names_are_unique_and_never_move(before: list[ToolId], after: list[ToolId]) -> None:
    laws.names_are_unique_and_never_move(CORE, before, after)


@pytest.mark.behaviour("naming.locked_tools_rename_nothing")
@given(open_boards(), st.data())
def test_a_locked_tool_renames_no_open_one(board: Board, data: st.DataObject) -> None:
    tools = st.sampled_from(sorted(board.tools))
    wrong = data.draw(st.lists(st.tuples(st.sampled_from(DAMAGES), tools), min_size=1, max_size=6))
    laws.a_locked_tool_renames_no_open_one(CORE, damaged(board, wrong))


@pytest.mark.behaviour("naming.locked_tools_rename_nothing")
def test_a_denial_that_names_no_tool_without_the_locked_one_locks_another() -> None:
    """Why the law looks away then: without the denied tool, the entry may mean the other."""
    denied, meant, other = ToolId(DEV_FILES, "docs__files__read"), ToolId(DEV_FILES, "read"), ToolId(GITHUB, "read")
    (among,) = (damage for damage in DAMAGES if damage.name == "among the disabled_tools")
    made = damaging(
        board([tool(id.source, id.name) for id in (denied, meant, other)], sources=SOURCES), denied, [among]
    )
    laws.a_locked_tool_renames_no_open_one(CORE, made)


@pytest.mark.behaviour("naming.never_moves", "naming.old_names_reach_their_tool")
@given(open_boards(), st.sampled_from(DAMAGES), st.data())
def test_an_old_name_reaches_its_tool_and_no_other(board: Board, damage: Damage, data: st.DataObject) -> None:
    id = data.draw(st.sampled_from(sorted(board.tools)))
    laws.an_old_name_reaches_its_tool_and_no_other(CORE, board, id, lambda b, t: damaged(b, [(damage, t)]))
