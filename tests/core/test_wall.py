"""The wall: every verdict is one of five states, and each state comes with the act that would open the tool."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.core.boards import DAMAGES, FILE, GITHUB, MATH, ME, NOW, PERSON, Board, Damage, board, boards, tool

from pegboard.core.decision.resolve import HiddenTool, LockedTool, resolve
from pegboard.core.decision.visibility import HiddenWithoutDatabase
from pegboard.core.explain.board import Dashboard, ToolCard, build_dashboard, is_switch_on
from pegboard.core.explain.states import (
    NO_ACTION,
    ActionKind,
    MissingTool,
    SuggestedAction,
    ToolState,
    describe_missing,
    missing_remedy,
    missing_tools,
    state_of,
    suggest_action,
)
from pegboard.core.model.catalogue import ProviderAsleep, ProviderDown, ProviderStart, ProviderUp
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets, View
from pegboard.core.model.server import OnlyTools, Trust
from pegboard.core.model.tool import Tool
from pegboard.core.overrides.model import ArgumentOverride, FrozenJson, Override
from pegboard.core.policy.policy import Switch
from pegboard.core.presentations.entries import rough_tool_cost

READ, WRITE, ADD = tool(GITHUB, "read"), tool(GITHUB, "write"), tool(MATH, "add")
OPEN = board((READ, WRITE, ADD))
ID = READ.id
OFF = Switch(False, ME, NOW)


def cost(tool: Tool, name: str) -> int:
    return rough_tool_cost(tool.spec)


def hung(board: Board, view: View | None = None) -> Dashboard:
    return build_dashboard(board.catalogue, board.policy, resolve(board.catalogue, board.policy, view or View()), cost)


def seen(board: Board, view: View | None = None, id: ToolId = ID) -> tuple[ToolState, SuggestedAction]:
    peg = next(peg for peg in hung(board, view).cards if peg.id == id)
    return peg.state, suggest_action(peg.verdict, board.policy)


TOLD = {
    "toolset switched off": (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.ENABLE_TOOLSET, "dev", "Switch toolset dev on"),
    ),
    "server declared off": (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.ENABLE_SERVER, "dev~github", "Switch server dev~github on"),
    ),
    "server quarantined": (
        ToolState.NEEDS_ACTION,
        SuggestedAction(ActionKind.REVIEW_SERVER, "dev~github", "Review dev~github"),
    ),
    "not among the enabled_tools": (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.EDIT_FILE, "pegboard.yaml:7", "Add read to enabled_tools"),
    ),
    "among the disabled_tools": (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.EDIT_FILE, "pegboard.yaml:7", "Take read out of disabled_tools"),
    ),
    "denied by a pattern": (
        ToolState.LOCKED,
        SuggestedAction(
            ActionKind.EDIT_FILE, "pegboard.yaml:7", "Take the deny pattern 'dev~github:read' out, or narrow it"
        ),
    ),
    "denied by a declared override": (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.EDIT_FILE, "pegboard.yaml", "Take enabled: false out of its override"),
    ),
    "switched off": (ToolState.LOCKED, SuggestedAction(ActionKind.ENABLE_TOOL, str(ID), "Switch it on")),
    "hidden by a person's override": (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.ENABLE_TOOL, str(ID), "Switch it on"),
    ),
    "hidden by its manifest": (ToolState.LOCKED, SuggestedAction(ActionKind.ENABLE_TOOL, str(ID), "Switch it on")),
    "never approved": (ToolState.NEEDS_ACTION, SuggestedAction(ActionKind.APPROVE, str(ID), "Review and approve it")),
    "changed since approval": (
        ToolState.NEEDS_ACTION,
        SuggestedAction(ActionKind.APPROVE, str(ID), "Review what changed and approve it"),
    ),
    "down": (ToolState.BROKEN, SuggestedAction(ActionKind.RESTART, "dev~github", "Restart dev~github")),
    "starting": (ToolState.BROKEN, NO_ACTION),
    "needs sign-in": (
        ToolState.NEEDS_ACTION,
        SuggestedAction(ActionKind.SIGN_IN, "dev~github", "Sign in to dev~github"),
    ),
    "not running": (ToolState.LOCKED, NO_ACTION),
    "nobody's": (ToolState.BROKEN, NO_ACTION),
}


@pytest.mark.behaviour("wall.states")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_whatever_locks_a_tool_has_a_state_and_the_act_that_opens_it(damage: Damage) -> None:
    assert seen(damage.do(OPEN, ID)) == TOLD[damage.name]


def test_an_open_tool_needs_nothing() -> None:
    assert seen(OPEN) == (ToolState.OPEN, NO_ACTION)
    assert seen(OPEN.with_health(GITHUB, ProviderAsleep(NOW))) == (ToolState.OPEN, NO_ACTION)


def test_a_first_start_is_nothing_to_worry_about() -> None:
    assert seen(OPEN.with_health(GITHUB, ProviderStart(1, NOW))) == (ToolState.LOCKED, NO_ACTION)


def test_a_tool_that_was_blocked_is_reviewed_and_not_merely_switched_on() -> None:
    blocked = OPEN.deciding(switches={ID: replace(OFF, blocks=True)})
    assert seen(blocked) == (ToolState.LOCKED, SuggestedAction(ActionKind.APPROVE, str(ID), "Review it again"))


def test_what_lacks_a_secret_wants_the_secret_and_no_restart() -> None:
    why = "the secret API_KEY is not set. Run: pegboard toolset secrets set dev API_KEY"
    assert seen(OPEN.with_health(GITHUB, ProviderDown(NOW, why))) == (
        ToolState.BROKEN,
        SuggestedAction(ActionKind.SET_SECRET, "dev/API_KEY", "Set the secret API_KEY"),
    )


@pytest.mark.parametrize(
    ("why", "label"),
    [
        ("command 'gihtub' was not found on the PATH. Install it, or write its full path", "'gihtub'"),
        ('command "o\'brien" was not found. Correct the path, or install it', '"o\'brien"'),
    ],
)
def test_a_command_that_is_not_there_is_corrected_in_its_line_and_no_restart_is_offered(why: str, label: str) -> None:
    assert seen(OPEN.with_health(GITHUB, ProviderDown(NOW, why))) == (
        ToolState.BROKEN,
        SuggestedAction(ActionKind.EDIT_FILE, "pegboard.yaml:7", f"Install {label}, or correct the command"),
    )
    installed = OPEN.with_server(replace(OPEN.policy.declared.servers[GITHUB], origin=PERSON))
    assert seen(installed.with_health(GITHUB, ProviderDown(NOW, why))) == (ToolState.BROKEN, NO_ACTION)


@pytest.mark.parametrize(
    ("declared", "action"),
    [
        (False, SuggestedAction(ActionKind.EDIT_OVERRIDE, str(ID), "Correct the override")),
        (True, SuggestedAction(ActionKind.EDIT_FILE, "pegboard.yaml:7", "Correct the override of its arguments")),
    ],
)
def test_an_override_that_does_not_fit_is_corrected_where_it_was_said(declared: bool, action: SuggestedAction) -> None:
    strict = replace(READ.spec, input_schema={"type": "object", "properties": {}, "additionalProperties": False})
    unfit = board((replace(READ, spec=strict),))
    row = Override(
        ToolsetId("dev"),
        ID,
        arguments={"path": ArgumentOverride(pin=FrozenJson("x"))},
        is_declared=declared,
        origins={"arguments": FILE} if declared else {},
    )
    unfit = unfit.declaring(overrides=(row,)) if declared else unfit.deciding(overrides=(row,))
    verdict = resolve(unfit.catalogue, unfit.policy, View()).verdicts[ID]
    assert isinstance(verdict, LockedTool)
    assert seen(unfit) == (ToolState.BROKEN, action)


def test_what_was_installed_so_cannot_be_edited_in_a_file() -> None:
    limited = replace(OPEN.policy.declared.servers[GITHUB], origin=PERSON, limit=OnlyTools(("write",)))
    assert seen(OPEN.with_server(limited)) == (ToolState.LOCKED, NO_ACTION)


def test_own_tools_that_were_declared_off_are_enabled_in_the_file() -> None:
    own = replace(OPEN.policy.declared.servers[MATH], enabled=False)
    assert seen(OPEN.with_server(own), id=ADD.id) == (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.EDIT_FILE, "pegboard.yaml:7", "Set its enabled to true"),
    )


def test_what_is_outside_of_a_view_is_locked_by_choice_and_says_whose() -> None:
    narrow = View().narrow(Selection(TheseToolsets(("math",))))
    assert seen(OPEN, narrow) == (
        ToolState.LOCKED,
        SuggestedAction(ActionKind.WIDEN_SELECTION, str(ID), "Ask without narrowing it away"),
    )
    unselected = OPEN.declaring(selection=Selection(AllToolsets(), (), ("read",)))
    assert seen(unselected) == (
        ToolState.LOCKED,
        SuggestedAction(
            ActionKind.EDIT_FILE,
            "pegboard.yaml",
            "Take 'read' out of disabled_tools under selection (now toolsets all, minus read)",
        ),
    )
    eve = PrincipalId("eve")
    granted = OPEN.deciding(grants={eve: frozenset({ToolsetId("math")})})
    grant = SuggestedAction(ActionKind.GRANT, "eve", "Grant dev to eve", (ToolsetId("dev"), ToolsetId("math")))
    assert seen(granted, View(eve)) == (ToolState.LOCKED, grant)


def test_who_may_ask_no_database_is_given_one_in_the_file() -> None:
    eve, off, shop = PrincipalId("eve"), DatabaseId("off"), DatabaseId("shop")
    told = suggest_action(HiddenTool(READ, HiddenWithoutDatabase(eve, frozenset({off}), FILE, (shop,))), OPEN.policy)
    assert told == SuggestedAction(
        ActionKind.EDIT_FILE, "pegboard.yaml:7", "Name shop under databases of eve (now off)"
    )


# What is no longer offered


@pytest.mark.behaviour("wall.gone")
def test_a_tool_that_people_decided_about_and_nobody_offers_any_more_stays_on_the_wall() -> None:
    former = ToolId(GITHUB, "former")
    decided = OPEN.deciding(
        approvals={**OPEN.policy.decisions.approvals, former: OPEN.policy.decisions.approvals[ID]},
        switches={ToolId(GITHUB, "off"): OFF},
        overrides=(Override(ToolsetId("dev"), ToolId(GITHUB, "off"), renderer="json"),),
    )
    found = missing_tools(decided.catalogue, decided.policy, View())
    assert found == (
        MissingTool(former, has_approval=True),
        MissingTool(ToolId(GITHUB, "off"), has_switch=True, has_override=True),
    )
    assert [(describe_missing(each), missing_remedy(each)) for each in found] == [
        (
            "dev~github no longer offers former. Kept for it: an approval.",
            "There is nothing to do. Should it come back, as it was approved, it is open again.",
        ),
        (
            "dev~github no longer offers off. Kept for it: a switch, an override.",
            "There is nothing to do. Should it come back, what was decided holds.",
        ),
    ]
    assert [
        (peg.text, peg.state, peg.tokens, is_switch_on(peg.verdict, decided.policy)) for peg in hung(decided).cards
    ] == [
        ("mcp:dev~github:former", ToolState.MISSING, 0, True),
        ("mcp:dev~github:off", ToolState.MISSING, 0, False),
        ("mcp:dev~github:read", ToolState.OPEN, cost(READ, ""), True),
        ("mcp:dev~github:write", ToolState.OPEN, cost(WRITE, ""), True),
        ("math:add", ToolState.OPEN, cost(ADD, ""), True),
    ]
    both = MissingTool(former, has_approval=True, has_switch=True)
    assert missing_remedy(both) == "There is nothing to do. Should it come back, what was decided holds."


def test_a_source_that_has_not_listed_what_it_has_may_still_have_it() -> None:
    former = ToolId(GITHUB, "former")
    decided = OPEN.deciding(switches={former: OFF})
    assert (
        missing_tools(decided.with_health(GITHUB, ProviderDown(NOW, "it left")).catalogue, decided.policy, View()) == ()
    )
    assert missing_tools(decided.with_health(GITHUB, ProviderUp(NOW)).catalogue, decided.policy, View()) == (
        MissingTool(former, has_switch=True),
    )


def test_what_is_gone_is_left_out_of_a_view_that_would_not_have_had_it() -> None:
    decided = OPEN.deciding(switches={ToolId(GITHUB, "former"): OFF}, grants={ME: frozenset({ToolsetId("math")})})
    assert missing_tools(decided.catalogue, decided.policy, View(ME)) == ()
    narrow = View().narrow(Selection(TheseToolsets(("math",))))
    assert missing_tools(decided.catalogue, decided.policy, narrow) == ()
    assert missing_tools(decided.catalogue, decided.policy, View(LOCAL_PRINCIPAL)) != ()


def test_an_approval_of_a_server_that_is_trusted_openly_says_nothing_of_what_it_offers() -> None:
    former = ToolId(GITHUB, "former")
    trusting = board((READ,), trust=Trust.OPEN)
    trusting = trusting.deciding(approvals={former: OPEN.policy.decisions.approvals[ID]})
    assert missing_tools(trusting.catalogue, trusting.policy, View()) == ()


# Laws


@pytest.mark.behaviour("wall.states")
@given(boards())
def test_the_wall_has_every_tool_once_and_is_open_exactly_where_the_verdict_is(board: Board) -> None:
    resolution = resolve(board.catalogue, board.policy, View())
    found = hung(board)
    listed = [peg for peg in found.cards if peg.state is not ToolState.MISSING]
    assert {peg.id for peg in listed} == set(resolution.verdicts)
    assert len(listed) == len(resolution.verdicts)
    assert {peg.id for peg in listed if peg.state is ToolState.OPEN} == set(resolution.open_ids)
    assert all(state_of(peg.verdict) is peg.state for peg in found.cards)
    assert sum(found.totals.states.values()) == len(found.cards)
    assert found.totals.tokens == sum(peg.tokens for peg in listed if peg.state is ToolState.OPEN)
    assert sum(each.tokens for each in found.toolsets.values()) == found.totals.tokens


@given(boards())
def test_pages_of_the_wall_are_the_wall(board: Board) -> None:
    found = hung(board)
    pegs: list[ToolCard] = []
    last, more = None, True
    while more:
        page, more = found.cards_after(last, 2)
        pegs += page
        last = page[-1].id if page else last
    assert tuple(pegs) == found.cards
