"""Whom a tool is kept from, told to whoever sees it open."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import FILE, GITHUB, TOOLSETS, Board, board, boards, tool

from pegboard.core.decision.resolve import HiddenTool, resolve
from pegboard.core.explain.explain import MAX_CALLERS, CallerWithout, callers_without
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.policy.policy import Policy

READ = ToolId(GITHUB, "read")
BOARD = board([tool(GITHUB, "read")])
BOT, ADA = PrincipalId("bot"), PrincipalId("ada")


def policy(**granted: list[str]) -> Policy:
    """Those with a name here, each with what it is granted."""
    principals = {PrincipalId(id): Principal(PrincipalId(id), FILE) for id in granted}
    grants = {PrincipalId(id): frozenset(map(ToolsetId, toolsets)) for id, toolsets in granted.items()}
    return replace(BOARD.policy, declared=replace(BOARD.policy.declared, principals=principals, grants=grants))


@pytest.mark.behaviour("explain.who_does_not_get_it")
def test_who_sees_a_tool_open_is_told_who_does_not_get_it_and_why() -> None:
    told = (CallerWithout(BOT, "bot may not use toolset dev: it is granted prod."),)
    asked = policy(bot=["prod"], ada=["dev"])
    assert callers_without(BOARD.catalogue, asked, View(LOCAL_PRINCIPAL), READ) == told
    assert callers_without(BOARD.catalogue, asked, View(ADA), READ) == told


@pytest.mark.behaviour("explain.who_does_not_get_it")
def test_whom_it_is_kept_from_is_told_of_nobody_else() -> None:
    asked = policy(bot=["prod"], eve=[])
    assert callers_without(BOARD.catalogue, asked, View(BOT), READ) == ()
    chosen = replace(asked, declared=replace(asked.declared, selection=Selection(TheseToolsets(("prod",)))))
    assert callers_without(BOARD.catalogue, chosen, View(LOCAL_PRINCIPAL), READ) == ()


def test_of_very_many_the_first_are_told() -> None:
    asked = policy(**{f"p{number:03}": [] for number in range(MAX_CALLERS + 5)})
    told = callers_without(BOARD.catalogue, asked, View(LOCAL_PRINCIPAL), READ)
    assert [each.principal for each in told] == [f"p{number:03}" for number in range(MAX_CALLERS)]


@given(boards(), st.frozensets(st.sampled_from(TOOLSETS)))
def test_it_is_told_as_it_is_decided(made: Board, granted: frozenset[ToolsetId]) -> None:
    declared = replace(made.policy.declared, principals={BOT: Principal(BOT, FILE)}, grants={BOT: granted})
    asked = replace(made.policy, declared=declared)
    mine, its = (resolve(made.catalogue, asked, View(who)).verdicts for who in (LOCAL_PRINCIPAL, BOT))
    for id in made.catalogue.tools:
        is_without = not isinstance(mine[id], HiddenTool) and isinstance(its[id], HiddenTool)
        assert [each.principal for each in callers_without(made.catalogue, asked, View(LOCAL_PRINCIPAL), id)] == [
            BOT
        ] * is_without
