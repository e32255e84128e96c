"""Unreadable rows in the decision: each locks exactly what it may have closed, and says which row it is."""

from dataclasses import replace

import pytest
from tests.core.boards import DOCS_FILES, GITHUB, ME, NOW, Board, board, tool

from pegboard.core.commands.access import SetPrincipalConfirmation
from pegboard.core.commands.commands import ApproveTool, SetGrants, TakeBaseline, apply_command
from pegboard.core.commands.first_sight import awaits_first_sight, servers_to_run
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import LockStatus, explain_reason, operator_detail, remedy
from pegboard.core.decision.visibility import agent_visible_spec
from pegboard.core.explain.explain import explain
from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.ids import LOCAL_PRINCIPAL, BuiltinKey, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust
from pegboard.core.model.text import Audience
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Policy, PolicyDecisions
from pegboard.core.policy.unreadable_rows import (
    LocksBoard,
    LocksTools,
    RevokesGrants,
    RevokesPermission,
    StoredRow,
    UnreadableEffect,
    UnreadableRow,
    describe_effect,
    repair_command,
)

READ, WRITE, OTHER = ToolId(GITHUB, "read"), ToolId(GITHUB, "write"), ToolId(DOCS_FILES, "read")
SEARCH = ToolId(BuiltinKey(), "tool_search")
DEV = ToolsetId("dev")
BOB = PrincipalId("bob")


def three() -> Board:
    return board(
        [tool(GITHUB, "read"), tool(GITHUB, "write"), tool(DOCS_FILES, "read"), tool(BuiltinKey(), "tool_search")]
    )


def row(table: str, effect: UnreadableEffect, **key: str) -> UnreadableRow:
    return UnreadableRow(StoredRow(table, tuple(key.items())), effect, "a column holds no valid JSON (character 3)")


def lost(of: Board, *rows: UnreadableRow) -> Board:
    """Without the approvals that are not readable."""
    gone = {one for each in rows if each.row.table == "approvals" for one in getattr(each.effect, "subjects", ())}
    decided = of.policy.decisions
    approvals = {id: given for id, given in decided.approvals.items() if id not in gone}
    return replace(of, policy=replace(of.policy, decisions=replace(decided, approvals=approvals, unreadable=rows)))


def verdicts(of: Board, principal: PrincipalId = LOCAL_PRINCIPAL) -> dict[ToolId, str]:
    found = resolve(of.catalogue, of.policy, View(principal)).verdicts
    return {
        id: one.status.value if isinstance(one, LockedTool) else "open" if isinstance(one, OpenTool) else "absent"
        for id, one in found.items()
    }


UNKNOWN = LockStatus.DISABLED_UNKNOWN.value
CASES = [
    (row("approvals", LocksTools((READ,)), tool_id=str(READ)), {READ}),
    (row("switches", LocksTools((READ,)), target=str(READ)), {READ}),
    (row("switches", LocksTools((SEARCH,)), target="tool_search"), {SEARCH}),
    (row("switches", LocksTools((GITHUB,)), target="dev~github"), {READ, WRITE}),
    (row("switches", LocksTools((DEV,)), target="dev"), {READ, WRITE}),
    (row("switches", LocksBoard(), target="?"), {READ, WRITE, OTHER, SEARCH}),
    (row("trust", LocksTools((GITHUB,)), toolset_id="dev"), {READ, WRITE}),
    (row("tool_overrides", LocksTools((Override(DEV, WRITE),)), tool_id=str(WRITE)), {WRITE}),
    (row("tool_overrides", LocksTools((Override(DEV, Pattern("*", "*")),)), tool_id="*:*"), {READ, WRITE}),
    (row("toolset_files", LocksTools((DEV,)), path="x"), {READ, WRITE}),
    (row("baselines", LocksTools((GITHUB,)), toolset_id="dev"), set()),
    (row("consents", RevokesPermission(), id="c"), set()),
    (row("api_tokens", RevokesPermission(LOCAL_PRINCIPAL), id="t"), set()),
]


@pytest.mark.parametrize(("one", "locked"), CASES, ids=[f"{one.row.table} {one.effect}" for one, _ in CASES])
@pytest.mark.behaviour("store.unreadable_row_locks")
def test_a_row_locks_exactly_the_tools_that_it_may_have_closed(one: UnreadableRow, locked: set[ToolId]) -> None:
    found = verdicts(lost(three(), one))
    assert {id for id, verdict in found.items() if verdict == UNKNOWN} == locked
    assert {verdict for id, verdict in found.items() if id not in locked} <= {"open"}


@pytest.mark.behaviour("verdicts.unreadable_row_is_named")
def test_the_refusal_names_the_row_and_operators_read_what_is_wrong_and_what_to_do() -> None:
    broken = row("approvals", LocksTools((READ,)), tool_id=str(READ), kind="mcp_tool")
    of = lost(three(), broken)
    verdict = resolve(of.catalogue, of.policy, View()).verdicts[READ]
    assert isinstance(verdict, LockedTool)
    where = "table approvals, row tool_id='mcp:dev~github:read', kind='mcp_tool'"
    assert explain_reason(verdict.reason) == (
        f"mcp:dev~github:read is locked: a decision about it cannot be read ({where})."
    )
    assert remedy(verdict.reason, Audience.AGENT) == "Ask the user to fix the row: pegboard store check"
    assert operator_detail(verdict.reason) == (
        f"{where}: a column holds no valid JSON (character 3). Review the tool and approve it again: "
        "pegboard approvals show mcp:dev~github:read   Or delete the row: pegboard store check --repair"
    )
    trail = explain(of.catalogue, of.policy, View(), READ)
    assert trail is not None
    assert [step.question for step in trail.steps if not step.passes] == ["Is its exact definition approved?"]
    assert where in next(step.answer for step in trail.steps if not step.passes)


def test_an_agent_reads_no_key_of_a_row_that_may_be_another_tools() -> None:
    of = lost(three(), row("switches", LocksBoard(), target="mcp:secret~secret:withheld"))
    verdict = resolve(of.catalogue, of.policy, View()).verdicts[READ]
    assert isinstance(verdict, LockedTool)
    assert "withheld" not in explain_reason(verdict.reason)
    assert "table switches, a row whose key cannot be read" in explain_reason(verdict.reason)
    assert "withheld" in (operator_detail(verdict.reason) or "")


@pytest.mark.behaviour("law.withheld_stays_withheld")
def test_nothing_is_told_to_agents_of_a_tool_whose_approval_or_trust_cannot_be_read() -> None:
    of = three()
    hidden = lost(of, row("approvals", LocksTools((READ,)), tool_id=str(READ)))
    assert agent_visible_spec(hidden.tools[READ], hidden.policy) is None
    key = hidden.policy.servers[GITHUB]
    trusting = replace(of.policy, decisions=replace(of.policy.decisions, trust={}, approvals={}))
    declared = replace(trusting.declared, servers={**trusting.declared.servers, GITHUB: replace(key, trust=Trust.OPEN)})
    trusting = replace(trusting, declared=declared)
    assert agent_visible_spec(of.tools[READ], trusting) is not None
    strict = replace(
        trusting, decisions=replace(trusting.decisions, unreadable=(row("trust", LocksTools((GITHUB,)), x="y"),))
    )
    assert agent_visible_spec(of.tools[READ], strict) is None


def test_what_somebody_may_have_switched_off_is_not_started() -> None:
    of = three()
    assert GITHUB in servers_to_run(of.policy)
    for effect in (LocksTools((GITHUB,)), LocksTools((DEV,)), LocksBoard()):
        assert GITHUB not in servers_to_run(lost(of, row("switches", effect, target="x")).policy)
    assert GITHUB in servers_to_run(lost(of, row("switches", LocksTools((READ,)), target="x")).policy)


def test_a_first_sight_that_cannot_be_read_is_not_taken_again() -> None:
    of = board([tool(GITHUB, "read")], trust=Trust.BASELINE)
    fresh = replace(of.policy, decisions=PolicyDecisions())
    listing = replace(of.catalogue.listings[GITHUB], health=ProviderUp(NOW))
    assert awaits_first_sight(listing, fresh)
    for effect in (LocksTools((GITHUB,)), RevokesPermission()):
        seen = replace(fresh, decisions=PolicyDecisions(unreadable=(row("baselines", effect, x="y"),)))
        assert not awaits_first_sight(listing, seen)
        assert isinstance(apply_command(seen, TakeBaseline(GITHUB, {}), ME, NOW), CommandRejection)


@pytest.mark.behaviour("store.unreadable_row_locks")
def test_a_principal_whose_grant_cannot_be_read_may_use_nothing_until_it_is_granted_anew() -> None:
    of = three()
    policy = replace(of.policy, declared=replace(of.policy.declared, grants={BOB: frozenset({DEV})}))
    assert policy.granted_toolsets(BOB) == frozenset({DEV})
    broken = replace(
        policy, decisions=replace(policy.decisions, unreadable=(row("grants", RevokesGrants(BOB), principal="bob"),))
    )
    assert (broken.granted_toolsets(BOB), broken.granted_toolsets(PrincipalId("eve"))) == (frozenset(), None)
    anyone = replace(
        policy, decisions=replace(policy.decisions, unreadable=(row("grants", RevokesGrants(None), principal="?"),))
    )
    assert (anyone.granted_toolsets(BOB), anyone.granted_toolsets(PrincipalId("eve"))) == (frozenset(), frozenset())
    for grant in (SetGrants(BOB, frozenset({DEV})), SetGrants(BOB, None)):
        after = apply_command(broken, grant, ME, NOW)
        assert isinstance(after, Policy)
        assert (after.decisions.unreadable, after.granted_toolsets(BOB)) == ((), frozenset({DEV}))


def test_who_had_a_token_that_cannot_be_read_is_still_asked_for_one() -> None:
    assert not Policy().callers
    lost_token = Policy(
        DeclaredSettings(), PolicyDecisions(unreadable=(row("api_tokens", RevokesPermission(BOB), id="t"),))
    )
    assert lost_token.callers == {BOB}


@pytest.mark.behaviour("store.unreadable_row_locks", "confirmation.interactive")
def test_while_it_cannot_be_read_how_calls_are_confirmed_no_client_confirms_one() -> None:
    table = "principal_confirmations"
    assert Policy().interactive_mark(LOCAL_PRINCIPAL).is_marked
    for whom in (LOCAL_PRINCIPAL, BOB, None):
        broken = Policy(decisions=PolicyDecisions(unreadable=(row(table, RevokesPermission(whom), principal="?"),)))
        assert not broken.interactive_mark(LOCAL_PRINCIPAL).is_marked
        assert "No client confirms a call" in describe_effect(broken.decisions.unreadable[0])
    broken = Policy(
        decisions=PolicyDecisions(unreadable=(row(table, RevokesPermission(LOCAL_PRINCIPAL), principal="local"),))
    )
    for again, marked in (
        (SetPrincipalConfirmation(LOCAL_PRINCIPAL), True),
        (SetPrincipalConfirmation(LOCAL_PRINCIPAL, False), False),
    ):
        after = apply_command(broken, again, ME, NOW)
        assert isinstance(after, Policy)
        assert (after.decisions.unreadable, after.interactive_mark(LOCAL_PRINCIPAL).is_marked) == ((), marked)


def test_approving_the_tool_again_replaces_the_row() -> None:
    of = lost(
        three(), row("approvals", LocksTools((READ,)), tool_id=str(READ)), row("consents", RevokesPermission(), id="c")
    )
    spec = of.tools[READ].spec
    after = apply_command(of.policy, ApproveTool(READ, spec, spec.fingerprint), ME, NOW)
    assert isinstance(after, Policy)
    assert [one.row.table for one in after.decisions.unreadable] == ["consents"]
    assert verdicts(replace(of, policy=after))[READ] == "open"


def test_every_effect_is_described_with_a_command() -> None:
    for one, _ in CASES:
        assert describe_effect(one).endswith(".")
        assert "pegboard" in repair_command(one)
