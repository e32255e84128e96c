"""What the board knows of servers that have not listed anything: it hangs there locked, and can never be called."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.boards import ME, NOW, key, server, toolset

from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, resolve
from pegboard.core.decision.visibility import agent_visible_spec
from pegboard.core.explain.explain import explain
from pegboard.core.model.catalogue import (
    Catalogue,
    Health,
    Listing,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ServerKey, ToolId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import Server, Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions, Switch
from pegboard.core.presentations.search import list_upstream_servers
from pegboard.gateway.board import BoardState

FOUR, FIVE = key("four~four"), key("five~five")
READ, WRITE = ToolId(FOUR, "read"), ToolId(FOUR, "write")
OFF = Switch(False, ME, NOW)


def policy(*servers: Server, approved: tuple[ToolId, ...] = (READ, WRITE), **decided: object) -> Policy:
    every = servers or (server(FOUR, trust=Trust.STRICT), server(FIVE, trust=Trust.OPEN))
    approvals = {id: Approval(ToolSpec(id.name, description=f"Would {id.name}."), ME, NOW) for id in approved}
    return Policy(
        DeclaredSettings(
            servers={each.key: each for each in every},
            toolsets={each.key.toolset: toolset(each.key.toolset) for each in every},
        ),
        replace(PolicyDecisions(approvals=approvals), **decided),  # type: ignore[arg-type]  # checked by dataclasses
    )


def up(source: ServerKey, *names: str) -> Listing:
    ids = [ToolId(source, name) for name in names]
    return Listing(
        source, ProviderUp(NOW), tuple(Tool(id, ToolSpec(id.name, description=f"Would {id.name}.")) for id in ids)
    )


def hung(policy: Policy, *listings: Listing) -> BoardState:
    board = BoardState(policy)
    for listing in listings:
        board.publish(listing)
    return board


def statuses(board: BoardState, view: View | None = None) -> Mapping[str, str]:
    """By the names that clients see."""
    resolution = board.resolution(view or View(ME))
    return {
        name: verdict.status.value if isinstance(verdict := resolution.verdicts[id], LockedTool) else "open"
        for id, name in resolution.names.items()
    }


@pytest.mark.parametrize(
    ("health", "of_four", "switches", "status"),
    [
        (ProviderOff(), server(FOUR, trust=Trust.STRICT), {FOUR: OFF}, "server_disabled"),
        (ProviderOff(), server(FOUR, trust=Trust.BASELINE, quarantined=True), {}, "server_quarantined"),
        (ProviderStart(1, NOW), server(FOUR, trust=Trust.BASELINE), {}, "server_unavailable"),
        (ProviderDown(NOW, "it fell"), server(FOUR, trust=Trust.STRICT), {}, "server_unavailable"),
        (ProviderNeedsSignIn(NOW), server(FOUR, trust=Trust.STRICT), {}, "server_unavailable"),
    ],
)
@pytest.mark.behaviour("locked.known_from_approvals")
def test_what_was_approved_of_a_server_that_has_not_listed_hangs_locked_with_its_status(
    health: Health, of_four: Server, switches: Mapping[ServerKey, Switch], status: str
) -> None:
    board = hung(policy(of_four, switches=switches), Listing(FOUR, health))
    assert statuses(board) == {"read": status, "write": status}
    told_of = list_upstream_servers(board.catalogue, board.policy, board.resolution(View(ME)))["servers"]
    assert isinstance(told_of, list)
    assert [server["tools"] for server in told_of if isinstance(server, dict)] == [{"callable": 0, status: 2}]
    trail = explain(board.catalogue, board.policy, View(ME), READ)
    assert trail is not None
    assert isinstance(trail.verdict, LockedTool)
    spec = agent_visible_spec(board.catalogue.tools[READ], board.policy)
    assert (spec is None) == (status == "server_quarantined")


@pytest.mark.behaviour("locked.known_from_approvals")
def test_the_first_list_of_a_server_takes_the_place_of_what_was_remembered() -> None:
    board = hung(policy(), Listing(FOUR, ProviderStart(1, NOW)))
    board.publish(up(FOUR, "read"))
    assert statuses(board) == {"read": "open"}
    board.publish(Listing(FOUR, ProviderDown(NOW, "it fell")))
    assert statuses(board) == {}, "what it listed is the roster's to keep, and it does not list the other any more"
    empty = hung(
        policy(),
        Listing(FOUR, ProviderStart(1, NOW)),
        Listing(FOUR, ProviderUp(NOW)),
        Listing(FOUR, ProviderDown(NOW, "it fell")),
    )
    assert statuses(empty) == {}


@pytest.mark.parametrize("health", [ProviderUp(NOW), ProviderAsleep(NOW)])
@pytest.mark.behaviour("locked.known_from_approvals", "law.only_admitted_calls_run")
def test_what_is_only_remembered_is_never_open_whatever_is_said_of_its_server(health: Health) -> None:
    listing = replace(up(FOUR, "read", "write"), health=health)
    decided = policy()
    opened = resolve(Catalogue({FOUR: listing}), decided, View(ME))
    assert all(isinstance(verdict, OpenTool) for verdict in opened.verdicts.values())
    remembered = Catalogue({FOUR: replace(listing, is_remembered=True)})
    resolution = resolve(remembered, decided, View(ME))
    assert [verdict.status.value for verdict in resolution.locked_tools()] == ["server_unavailable"] * 2
    trail = explain(remembered, decided, View(ME), READ)
    assert trail is not None
    assert trail.verdict == resolution.verdicts[READ]


@pytest.mark.behaviour("locked.known_from_approvals")
def test_a_decision_changes_what_is_remembered() -> None:
    board = hung(policy(approved=()), Listing(FOUR, ProviderOff()))
    assert statuses(board) == {}
    board.set_policy(policy(approved=(READ,)))
    assert statuses(board) == {"read": "server_unavailable"}
    before = board.catalogue
    board.set_policy(replace(board.policy, decisions=replace(board.policy.decisions, version=7)))
    assert board.catalogue is before
    board.set_policy(policy(trust={FOUR: Trust.OPEN}))
    assert statuses(board) == {}, "of a server that is trusted openly nothing is stored"
    board.remove(FOUR)
    assert statuses(board) == {}


@pytest.mark.behaviour("locked.known_from_approvals", "approvals.quarantine")
def test_what_was_seen_of_a_server_in_quarantine_hangs_there_until_it_lists_and_its_words_are_withheld() -> None:
    strict = policy(server(FOUR, trust=Trust.STRICT, quarantined=True), approved=())
    board = hung(strict, Listing(FOUR, ProviderOff()))
    board.publish_preview(up(FOUR, "read"))
    assert statuses(board) == {"read": "server_quarantined"}
    assert agent_visible_spec(board.catalogue.tools[READ], board.policy) is None
    board.publish(Listing(FOUR, ProviderOff()))
    board.set_policy(replace(strict, decisions=replace(strict.decisions, version=3)))
    assert statuses(board) == {"read": "server_quarantined"}
    board.publish_preview(Listing(FOUR, ProviderDown(NOW, "it fell")))
    assert statuses(board) == {"read": "server_quarantined"}, "a look in vain takes nothing away"
    released = policy(server(FOUR, trust=Trust.STRICT), approved=())
    board.set_policy(released)
    board.publish(up(FOUR, "write"))
    assert statuses(board) == {"write": "pending_approval"}
    board.publish_preview(up(FOUR, "read"))
    assert statuses(board) == {"write": "pending_approval"}


# Names


@pytest.mark.behaviour("naming.approved_names_are_held")
def test_the_name_of_an_approved_tool_is_held_for_it_from_the_start() -> None:
    off = policy(switches={FOUR: OFF})
    board = hung(off, Listing(FOUR, ProviderOff()), up(FIVE, "read", "other"))
    assert statuses(board) == {
        "five__read": "open",
        "other": "open",
        "read": "server_disabled",
        "write": "server_disabled",
    }
    gone = hung(policy(), up(FOUR, "write"), up(FIVE, "read"))
    assert statuses(gone) == {"five__read": "open", "write": "open"}
    assert gone.resolution(View(ME)).find_tool("read") is None
    renamed = hung(policy(), up(FOUR, "read"), up(FIVE, "read"))
    assert statuses(renamed) == {"five__read": "open", "read": "open"}, (
        "and it gives way to nobody who was not approved"
    )


@pytest.mark.behaviour("naming.approved_names_are_held")
def test_a_name_that_two_tools_were_approved_under_is_held_for_neither_and_their_longer_names_are() -> None:
    six = ToolId(key("six~six"), "read")
    servers = [server(id, trust=Trust.STRICT) for id in (FOUR, key("six~six"))]
    both = policy(*servers, server(FIVE, trust=Trust.OPEN), approved=(READ, six), switches={FOUR: OFF})
    board = hung(
        both, Listing(FOUR, ProviderOff()), Listing(key("six~six"), ProviderOff()), up(FIVE, "read", "four__read")
    )
    opened = {name: status for name, status in statuses(board).items() if status == "open"}
    assert opened == {"read": "open", "five__four__read": "open"}


@pytest.mark.behaviour("naming.approved_names_are_held", "locked.absent_outside_the_view")
def test_what_a_view_does_not_have_holds_no_name_in_it() -> None:
    board = hung(policy(switches={FOUR: OFF}), Listing(FOUR, ProviderOff()), up(FIVE, "read"))
    narrow = View(ME, (Selection(TheseToolsets(("five",))),))
    assert statuses(board, narrow) == {"read": "open"}
    assert isinstance(board.resolution(narrow).verdicts[READ], HiddenTool)
    part = View(ME, (Selection(disabled=("mcp:four~four:read",)),))
    assert statuses(board, part) == {"read": "open", "write": "server_disabled"}
