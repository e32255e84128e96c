"""What a conversation has found: a memory of bounded length, held against a resolution each time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import BUILTINS, EVERY_ID, GITHUB, ME, Board, board, boards, tool, views

from pegboard.core.decision.resolve import OpenTool, Resolution, resolve
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import DEFAULT_MATERIALIZED, MAX_MATERIALIZED
from pegboard.core.presentations.own_tools import (
    ConversationTools,
    MaterializedTools,
    always_shown_tools,
    conversation_tools,
)

found_ids = st.lists(st.sampled_from(EVERY_ID), max_size=12)
histories = st.lists(found_ids, max_size=5)
bounds = st.integers(1, 8)


def id(name: str) -> ToolId:
    return ToolId(GITHUB, name)


A, B, C, D, E = map(id, "abcde")


def found(*searches: list[ToolId], most: int = DEFAULT_MATERIALIZED) -> MaterializedTools:
    kept = MaterializedTools()
    for each in searches:
        kept = kept.with_found(each, most)
    return kept


def resolved(hung: Board, view: View = View(ME)) -> Resolution:  # noqa: B008  a constant
    return resolve(hung.catalogue, hung.policy, view)


@pytest.mark.behaviour("deferred.bounded")
@pytest.mark.parametrize(
    ("searches", "most", "kept"),
    [
        ([], 3, ()),
        ([[]], 3, ()),
        ([[A, B]], 3, (A, B)),
        ([[A, B], [B, C]], 3, (A, B, C)),
        ([[A, B, C], [D]], 3, (A, B, D)),
        ([[A, B, C], [A, D]], 3, (A, B, D)),
        ([[A, B, C], [D, E]], 3, (A, D, E)),
        ([[A, B, C, D, E]], 3, (A, B, C)),
        ([[A], [B, C, D, E]], 3, (A, B, C)),
        ([[A, A, B]], 3, (A, B)),
        ([[A, B, C], [C, D]], 1, (C,)),
        # The user's own query first, then two of the model's.
        ([[A, B], [C], [D, E]], 2, (A, D)),
        ([[A, B], [C], [D, E]], 3, (A, D, E)),
        ([[A, B], [C], [D, E]], 4, (A, C, D, E)),
    ],
)
def test_the_best_of_every_search_stays_and_the_worst_leave(
    searches: list[list[ToolId]], most: int, kept: tuple[ToolId, ...]
) -> None:
    assert found(*searches, most=most).ids == kept


@pytest.mark.behaviour("deferred.bounded")
def test_a_second_search_does_not_take_the_places_of_the_best_that_the_user_asked_for() -> None:
    books, notes = [*map(id, ("find", "lend", "return", "order", "sell"))], [*map(id, ("write", "delete"))]
    assert [each.name for each in found(books, notes, most=5).ids] == ["find", "lend", "return", "write", "delete"]


@pytest.mark.behaviour("deferred.builtins_take_no_place")
@given(histories, found_ids, bounds)
def test_built_ins_that_a_search_finds_take_no_place(before: list[list[ToolId]], last: list[ToolId], most: int) -> None:
    builtin = ToolId(BUILTINS, "execute_sql")
    former = found(*before, most=most)
    assert former.with_found([builtin, *last], most) == former.with_found(last, most)


@pytest.mark.behaviour("deferred.bounded")
@given(histories, found_ids, bounds)
def test_a_memory_is_never_longer_than_its_bound_and_holds_the_best_of_every_search(
    before: list[list[ToolId]], last: list[ToolId], most: int
) -> None:
    former = found(*before, most=most)
    latter = former.with_found(last, most)
    fresh = [each for each in dict.fromkeys(last) if not isinstance(each.source, BuiltinKey)][:most]
    best = fresh[: (most + 1) // 2]
    assert len(latter.ids) == len({*latter.ids}) <= most
    assert {*best} <= {*latter.ids} <= {*former.ids, *fresh}
    rank = {each: place for search in former.searches for place, each in enumerate(search)}
    gone = [rank[each] for each in former.ids if each not in latter.ids]
    stayed = [rank[each] for each in former.ids if each in latter.ids and each not in best]
    # Nothing leaves while something stays that an earlier search ranked lower.
    assert max(stayed) <= min(gone) if gone and stayed else True
    assert not gone or len(latter.ids) == most
    # The first search, which is the user's own, is never the first to lose its best.
    first = former.searches[0][0] if former.searches else None
    assert first is None or first in latter.ids or {*latter.ids} == {*best}


@pytest.mark.behaviour("deferred.bounded")
@given(histories, found_ids, bounds)
def test_what_stays_keeps_its_place_and_what_is_new_comes_after_it(
    before: list[list[ToolId]], last: list[ToolId], most: int
) -> None:
    former = found(*before, most=most)
    latter = former.with_found(last, most)
    stayed = [each for each in former.ids if each in latter.ids]
    fresh = [each for each in dict.fromkeys(last) if each not in former.ids and each in latter.ids]
    assert all(latter.searches)
    assert [*latter.ids] == [*stayed, *fresh]
    assert former.with_found([], most) == former
    assert latter.with_found(last, most) == latter


@pytest.mark.behaviour("deferred.visible", "deferred.widens_nothing")
@given(boards(), views, found_ids, st.frozensets(st.sampled_from(EVERY_ID), max_size=4))
def test_a_conversation_is_shown_exactly_the_open_ones_of_what_stands_and_what_it_found(
    hung: Board, view: View, memory: list[ToolId], always: frozenset[ToolId]
) -> None:
    resolution = resolved(hung, view)
    opened = [each.id for each in resolution.open_tools()]
    stands = [each for each in opened if isinstance(each.source, BuiltinKey) or each in always]
    later = [
        each
        for each in dict.fromkeys(memory)
        if each in opened and each not in stands and not isinstance(each.source, BuiltinKey)
    ]
    told = conversation_tools(
        resolution, always_shown_tools(resolution, always), MaterializedTools().with_found(memory)
    )
    assert told == ConversationTools((*stands, *later), len(stands) < len(opened))
    assert all(isinstance(resolution.verdicts[each], OpenTool) for each in told.tools)


@pytest.mark.behaviour("deferred.visible")
@given(boards(), views, found_ids, found_ids)
def test_a_search_adds_to_the_end_of_the_list(
    hung: Board, view: View, before: list[ToolId], more: list[ToolId]
) -> None:
    resolution, memory = resolved(hung, view), MaterializedTools().with_found(before, MAX_MATERIALIZED)
    stands = always_shown_tools(resolution, ())
    former = conversation_tools(resolution, stands, memory).tools
    latter = conversation_tools(resolution, stands, memory.with_found(more, MAX_MATERIALIZED)).tools
    assert latter[: len(former)] == former


@pytest.mark.behaviour("deferred.visible")
def test_built_ins_are_shown_without_being_found_and_are_not_deferred() -> None:
    hung = board([tool(BUILTINS, "python_execution")])
    resolution = resolved(hung)
    assert conversation_tools(resolution, always_shown_tools(resolution, ()), MaterializedTools()) == ConversationTools(
        (ToolId(BUILTINS, "python_execution"),), False
    )
