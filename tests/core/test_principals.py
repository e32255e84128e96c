"""Callers with names: what they are granted, and what a name that nobody gave has."""

from dataclasses import replace

import pytest
from tests.core.boards import FILE, GITHUB, MATH, board, tool

from pegboard.core.decision.resolve import HiddenTool, resolve
from pegboard.core.decision.visibility import HiddenByGrants
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.principals import Principal, TokenScope
from pegboard.core.model.selection import View
from pegboard.core.policy.policy import DeclaredSettings, GrantSource, Policy, PolicyDecisions, PrincipalGrants

ALICE, BOB, MALLORY = map(PrincipalId, ("alice", "bob", "mallory"))
DEV, DOCS = ToolsetId("dev"), ToolsetId("docs")
NAMED = {who: Principal(who, FILE, (who.encode(),)) for who in (ALICE, BOB)}


@pytest.mark.behaviour("principals.a_name_nobody_gave_has_nothing")
def test_once_callers_have_names_a_name_that_nobody_gave_is_granted_nothing() -> None:
    decided = PolicyDecisions(grants={MALLORY: frozenset({DEV})})
    policy = Policy(DeclaredSettings(principals=NAMED, grants={ALICE: frozenset({DEV})}), decided)
    granted = {who: policy.granted_toolsets(who) for who in (ALICE, BOB, MALLORY, LOCAL_PRINCIPAL)}
    assert granted == {ALICE: frozenset({DEV}), BOB: None, MALLORY: frozenset(), LOCAL_PRINCIPAL: None}


def test_while_no_caller_has_a_name_nothing_is_taken_from_any() -> None:
    policy = Policy(DeclaredSettings(grants={ALICE: frozenset({DEV})}))
    assert {who: policy.granted_toolsets(who) for who in (ALICE, MALLORY)} == {ALICE: frozenset({DEV}), MALLORY: None}


def test_what_a_person_granted_at_run_time_goes_before_the_file() -> None:
    decided = PolicyDecisions(grants={ALICE: frozenset({DOCS})})
    policy = Policy(DeclaredSettings(principals=NAMED, grants={ALICE: frozenset({DEV})}), decided)
    assert policy.granted_toolsets(ALICE) == frozenset({DOCS})


@pytest.mark.behaviour("principals.a_name_nobody_gave_has_nothing")
def test_every_tool_is_absent_for_a_name_that_nobody_gave() -> None:
    wall = board([tool(GITHUB, "read"), tool(MATH, "add")])
    policy = replace(wall.policy, declared=replace(wall.policy.declared, principals=NAMED))
    resolution = resolve(wall.catalogue, policy, View(MALLORY))
    nothing = PrincipalGrants(MALLORY, frozenset(), GrantSource.NOBODY)
    assert dict(resolution.verdicts) == {
        id: HiddenTool(one, HiddenByGrants(nothing, id.toolset)) for id, one in wall.tools.items()
    }
    assert resolution.names == {}


def test_a_principal_does_not_print_its_hashes() -> None:
    told = f"Principal(id='alice', at={FILE!r}, databases=None, scopes={frozenset({TokenScope.CALL})!r})"
    assert repr(Principal(ALICE, FILE, (b"\x01secret",))) == told
