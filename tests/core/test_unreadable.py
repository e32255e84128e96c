"""Unreadable rows in the decision: each locks exactly what it may have closed, and says which row it is."""

from dataclasses import replace

import pytest
from tests.core.boards import DOCS_FILES, GITHUB, ME, NOW, Board, board, tool

from pegboard.core.catalogue import Up
from pegboard.core.commands import Approve, Grant, TakeBaseline, apply
from pegboard.core.entitling import SetPrincipalConfirmation
from pegboard.core.explain import explain
from pegboard.core.ids import LOCAL, BuiltinKey, PrincipalId, ToolId, ToolsetId
from pegboard.core.override import Override
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Decided, Declared, Policy
from pegboard.core.rejected import Rejected
from pegboard.core.resolve import Locked, Open, resolve
from pegboard.core.running import awaits_first_sight, wanted
from pegboard.core.server import Trust
from pegboard.core.status import Status, detail, remedy, sentence
from pegboard.core.told import told
from pegboard.core.unreadable import (
    Effect,
    GivesNothing,
    GrantsNothing,
    LocksBoard,
    LocksTools,
    StoredRow,
    UnreadableRow,
    describe_effect,
    repair_command,
)
from pegboard.core.view import View

READ, WRITE, OTHER = ToolId(GITHUB, "read"), ToolId(GITHUB, "write"), ToolId(DOCS_FILES, "read")
SEARCH = ToolId(BuiltinKey(), "tool_search")
DEV = ToolsetId("dev")
BOB = PrincipalId("bob")


def three() -> Board:
    return board(
        [tool(GITHUB, "read"), tool(GITHUB, "write"), tool(DOCS_FILES, "read"), tool(BuiltinKey(), "tool_search")]
    )


def row(table: str, effect: Effect, **key: str) -> UnreadableRow:
    return UnreadableRow(StoredRow(table, tuple(key.items())), effect, "a column holds no valid JSON (character 3)")


def lost(of: Board, *rows: UnreadableRow) -> Board:
    """Without the approvals that are not readable."""
    gone = {one for each in rows if each.row.table == "approvals" for one in getattr(each.effect, "subjects", ())}
    decided = of.policy.decided
    approvals = {id: given for id, given in decided.approvals.items() if id not in gone}
    return replace(of, policy=replace(of.policy, decided=replace(decided, approvals=approvals, unreadable=rows)))


def verdicts(of: Board, principal: PrincipalId = LOCAL) -> dict[ToolId, str]:
    found = resolve(of.catalogue, of.policy, View(principal)).verdicts
    return {
        id: one.status.value if isinstance(one, Locked) else "open" if isinstance(one, Open) else "absent"
        for id, one in found.items()
    }


UNKNOWN = Status.DISABLED_UNKNOWN.value
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
    (row("consents", GivesNothing(), id="c"), set()),
    (row("api_tokens", GivesNothing(LOCAL), id="t"), set()),
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
    assert isinstance(verdict, Locked)
    where = "table approvals, row tool_id='mcp:dev~github:read', kind='mcp_tool'"
    assert sentence(verdict.reason) == (f"mcp:dev~github:read is locked: a decision about it cannot be read ({where}).")
    assert remedy(verdict.reason) == "Ask the user to fix the row: pegboard store check"
    assert detail(verdict.reason) == (
        f"{where}: a column holds no valid JSON (character 3). Review the tool and approve it again: "
        "pegboard approvals show mcp:dev~github:read   Or delete the row: pegboard store check --repair"
    )
    trail = explain(of.catalogue, of.policy, View(), READ)
    assert trail is not None
    assert [step.asked for step in trail.steps if not step.lets] == ["Is its exact definition approved?"]
    assert where in next(step.said for step in trail.steps if not step.lets)


def test_an_agent_reads_no_key_of_a_row_that_may_be_another_tools() -> None:
    of = lost(three(), row("switches", LocksBoard(), target="mcp:secret~secret:withheld"))
    verdict = resolve(of.catalogue, of.policy, View()).verdicts[READ]
    assert isinstance(verdict, Locked)
    assert "withheld" not in sentence(verdict.reason)
    assert "table switches, a row whose key cannot be read" in sentence(verdict.reason)
    assert "withheld" in (detail(verdict.reason) or "")


@pytest.mark.behaviour("law.withheld_stays_withheld")
def test_nothing_is_told_to_agents_of_a_tool_whose_approval_or_trust_cannot_be_read() -> None:
    of = three()
    hidden = lost(of, row("approvals", LocksTools((READ,)), tool_id=str(READ)))
    assert told(hidden.tools[READ], hidden.policy) is None
    key = hidden.policy.servers[GITHUB]
    trusting = replace(of.policy, decided=replace(of.policy.decided, trust={}, approvals={}))
    declared = replace(trusting.declared, servers={**trusting.declared.servers, GITHUB: replace(key, trust=Trust.OPEN)})
    trusting = replace(trusting, declared=declared)
    assert told(of.tools[READ], trusting) is not None
    strict = replace(
        trusting, decided=replace(trusting.decided, unreadable=(row("trust", LocksTools((GITHUB,)), x="y"),))
    )
    assert told(of.tools[READ], strict) is None


def test_what_somebody_may_have_switched_off_is_not_started() -> None:
    of = three()
    assert GITHUB in wanted(of.policy)
    for effect in (LocksTools((GITHUB,)), LocksTools((DEV,)), LocksBoard()):
        assert GITHUB not in wanted(lost(of, row("switches", effect, target="x")).policy)
    assert GITHUB in wanted(lost(of, row("switches", LocksTools((READ,)), target="x")).policy)


def test_a_first_sight_that_cannot_be_read_is_not_taken_again() -> None:
    of = board([tool(GITHUB, "read")], trust=Trust.BASELINE)
    fresh = replace(of.policy, decided=Decided())
    listing = replace(of.catalogue.listings[GITHUB], health=Up(NOW))
    assert awaits_first_sight(listing, fresh)
    for effect in (LocksTools((GITHUB,)), GivesNothing()):
        seen = replace(fresh, decided=Decided(unreadable=(row("baselines", effect, x="y"),)))
        assert not awaits_first_sight(listing, seen)
        assert isinstance(apply(seen, TakeBaseline(GITHUB, {}), ME, NOW), Rejected)


@pytest.mark.behaviour("store.unreadable_row_locks")
def test_a_principal_whose_grant_cannot_be_read_may_use_nothing_until_it_is_granted_anew() -> None:
    of = three()
    policy = replace(of.policy, declared=replace(of.policy.declared, grants={BOB: frozenset({DEV})}))
    assert policy.granted(BOB) == frozenset({DEV})
    broken = replace(
        policy, decided=replace(policy.decided, unreadable=(row("grants", GrantsNothing(BOB), principal="bob"),))
    )
    assert (broken.granted(BOB), broken.granted(PrincipalId("eve"))) == (frozenset(), None)
    anyone = replace(
        policy, decided=replace(policy.decided, unreadable=(row("grants", GrantsNothing(None), principal="?"),))
    )
    assert (anyone.granted(BOB), anyone.granted(PrincipalId("eve"))) == (frozenset(), frozenset())
    for grant in (Grant(BOB, frozenset({DEV})), Grant(BOB, None)):
        after = apply(broken, grant, ME, NOW)
        assert isinstance(after, Policy)
        assert (after.decided.unreadable, after.granted(BOB)) == ((), frozenset({DEV}))


def test_who_had_a_token_that_cannot_be_read_is_still_asked_for_one() -> None:
    assert not Policy().callers
    lost_token = Policy(Declared(), Decided(unreadable=(row("api_tokens", GivesNothing(BOB), id="t"),)))
    assert lost_token.callers == {BOB}


@pytest.mark.behaviour("store.unreadable_row_locks", "confirmation.interactive")
def test_while_it_cannot_be_read_how_calls_are_confirmed_no_client_confirms_one() -> None:
    table = "principal_confirmations"
    assert Policy().interactive(LOCAL).is_marked
    for whom in (LOCAL, BOB, None):
        broken = Policy(decided=Decided(unreadable=(row(table, GivesNothing(whom), principal="?"),)))
        assert not broken.interactive(LOCAL).is_marked
        assert "No client confirms a call" in describe_effect(broken.decided.unreadable[0])
    broken = Policy(decided=Decided(unreadable=(row(table, GivesNothing(LOCAL), principal="local"),)))
    for again, marked in ((SetPrincipalConfirmation(LOCAL), True), (SetPrincipalConfirmation(LOCAL, False), False)):
        after = apply(broken, again, ME, NOW)
        assert isinstance(after, Policy)
        assert (after.decided.unreadable, after.interactive(LOCAL).is_marked) == ((), marked)


def test_approving_the_tool_again_replaces_the_row() -> None:
    of = lost(
        three(), row("approvals", LocksTools((READ,)), tool_id=str(READ)), row("consents", GivesNothing(), id="c")
    )
    spec = of.tools[READ].spec
    after = apply(of.policy, Approve(READ, spec, spec.fingerprint), ME, NOW)
    assert isinstance(after, Policy)
    assert [one.row.table for one in after.decided.unreadable] == ["consents"]
    assert verdicts(replace(of, policy=after))[READ] == "open"


def test_every_effect_is_described_with_a_command() -> None:
    for one, _ in CASES:
        assert describe_effect(one).endswith(".")
        assert "pegboard" in repair_command(one)
