"""The wall: every verdict is one of five states, and each state comes with the act that would open the tool."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.core.boards import DAMAGES, FILE, GITHUB, MATH, ME, NOW, PERSON, Board, Damage, board, boards, tool

from pegboard.core.argument import Argument, Held
from pegboard.core.catalogue import Asleep, Down, Starting, Up
from pegboard.core.database.source import SourceId
from pegboard.core.gone import Gone, gone, gone_remedy, gone_sentence
from pegboard.core.ids import LOCAL, PrincipalId, ToolId, ToolsetId
from pegboard.core.override import Override
from pegboard.core.passage import NoDatabase
from pegboard.core.policy import Switch
from pegboard.core.resolve import Absent, Locked, resolve
from pegboard.core.selection import Everything, Selection, TheseToolsets
from pegboard.core.server import OnlyTools, Trust
from pegboard.core.tokens import rough_cost
from pegboard.core.tool import Tool
from pegboard.core.unlocking import NOTHING, Act, Action, PegState, state_of, unlocking
from pegboard.core.view import View
from pegboard.core.wall import Peg, Wall, switch_is_on, wall

READ, WRITE, ADD = tool(GITHUB, "read"), tool(GITHUB, "write"), tool(MATH, "add")
OPEN = board((READ, WRITE, ADD))
ID = READ.id
OFF = Switch(False, ME, NOW)


def cost(tool: Tool, name: str) -> int:
    return rough_cost(tool.spec)


def hung(board: Board, view: View | None = None) -> Wall:
    return wall(board.catalogue, board.policy, resolve(board.catalogue, board.policy, view or View()), cost)


def seen(board: Board, view: View | None = None, id: ToolId = ID) -> tuple[PegState, Action]:
    peg = next(peg for peg in hung(board, view).pegs if peg.id == id)
    return peg.state, unlocking(peg.verdict, board.policy)


TOLD = {
    "toolset switched off": (PegState.LOCKED, Action(Act.SWITCH_TOOLSET, "dev", "Switch toolset dev on")),
    "server declared off": (PegState.LOCKED, Action(Act.SWITCH_SERVER, "dev~github", "Switch server dev~github on")),
    "server quarantined": (PegState.WANTS, Action(Act.REVIEW_SERVER, "dev~github", "Review dev~github")),
    "not among the enabled_tools": (
        PegState.LOCKED,
        Action(Act.EDIT_FILE, "pegboard.yaml:7", "Add read to enabled_tools"),
    ),
    "among the disabled_tools": (
        PegState.LOCKED,
        Action(Act.EDIT_FILE, "pegboard.yaml:7", "Take read out of disabled_tools"),
    ),
    "denied by a pattern": (
        PegState.LOCKED,
        Action(Act.EDIT_FILE, "pegboard.yaml:7", "Take the deny pattern 'dev~github:read' out, or narrow it"),
    ),
    "denied by a declared override": (
        PegState.LOCKED,
        Action(Act.EDIT_FILE, "pegboard.yaml", "Take enabled: false out of its override"),
    ),
    "switched off": (PegState.LOCKED, Action(Act.SWITCH_TOOL, str(ID), "Switch it on")),
    "hidden by a person's override": (PegState.LOCKED, Action(Act.SWITCH_TOOL, str(ID), "Switch it on")),
    "hidden by its manifest": (PegState.LOCKED, Action(Act.SWITCH_TOOL, str(ID), "Switch it on")),
    "never approved": (PegState.WANTS, Action(Act.APPROVE, str(ID), "Review and approve it")),
    "changed since approval": (PegState.WANTS, Action(Act.APPROVE, str(ID), "Review what changed and approve it")),
    "down": (PegState.BROKEN, Action(Act.RESTART, "dev~github", "Restart dev~github")),
    "starting": (PegState.BROKEN, NOTHING),
    "needs sign-in": (PegState.WANTS, Action(Act.SIGN_IN, "dev~github", "Sign in to dev~github")),
    "not running": (PegState.LOCKED, NOTHING),
    "nobody's": (PegState.BROKEN, NOTHING),
}


@pytest.mark.behaviour("wall.states")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_whatever_locks_a_tool_has_a_state_and_the_act_that_opens_it(damage: Damage) -> None:
    assert seen(damage.do(OPEN, ID)) == TOLD[damage.name]


def test_an_open_tool_needs_nothing() -> None:
    assert seen(OPEN) == (PegState.OPEN, NOTHING)
    assert seen(OPEN.with_health(GITHUB, Asleep(NOW))) == (PegState.OPEN, NOTHING)


def test_a_first_start_is_nothing_to_worry_about() -> None:
    assert seen(OPEN.with_health(GITHUB, Starting(1, NOW))) == (PegState.LOCKED, NOTHING)


def test_a_tool_that_was_blocked_is_reviewed_and_not_merely_switched_on() -> None:
    blocked = OPEN.deciding(switches={ID: replace(OFF, blocks=True)})
    assert seen(blocked) == (PegState.LOCKED, Action(Act.APPROVE, str(ID), "Review it again"))


def test_what_lacks_a_secret_wants_the_secret_and_no_restart() -> None:
    why = "the secret API_KEY is not set. Run: pegboard toolset secrets set dev API_KEY"
    assert seen(OPEN.with_health(GITHUB, Down(NOW, why))) == (
        PegState.BROKEN,
        Action(Act.SET_SECRET, "dev/API_KEY", "Set the secret API_KEY"),
    )


@pytest.mark.parametrize(
    ("why", "label"),
    [
        ("command 'gihtub' was not found on the PATH. Install it, or write its full path", "'gihtub'"),
        ('command "o\'brien" was not found. Correct the path, or install it', '"o\'brien"'),
    ],
)
def test_a_command_that_is_not_there_is_corrected_in_its_line_and_no_restart_is_offered(why: str, label: str) -> None:
    assert seen(OPEN.with_health(GITHUB, Down(NOW, why))) == (
        PegState.BROKEN,
        Action(Act.EDIT_FILE, "pegboard.yaml:7", f"Install {label}, or correct the command"),
    )
    installed = OPEN.with_server(replace(OPEN.policy.declared.servers[GITHUB], origin=PERSON))
    assert seen(installed.with_health(GITHUB, Down(NOW, why))) == (PegState.BROKEN, NOTHING)


@pytest.mark.parametrize(
    ("declared", "action"),
    [
        (False, Action(Act.CORRECT_OVERRIDE, str(ID), "Correct the override")),
        (True, Action(Act.EDIT_FILE, "pegboard.yaml:7", "Correct the override of its arguments")),
    ],
)
def test_an_override_that_does_not_fit_is_corrected_where_it_was_said(declared: bool, action: Action) -> None:
    strict = replace(READ.spec, input_schema={"type": "object", "properties": {}, "additionalProperties": False})
    unfit = board((replace(READ, spec=strict),))
    row = Override(
        ToolsetId("dev"),
        ID,
        arguments={"path": Argument(pin=Held("x"))},
        declared=declared,
        origins={"arguments": FILE} if declared else {},
    )
    unfit = unfit.declaring(overrides=(row,)) if declared else unfit.deciding(overrides=(row,))
    verdict = resolve(unfit.catalogue, unfit.policy, View()).verdicts[ID]
    assert isinstance(verdict, Locked)
    assert seen(unfit) == (PegState.BROKEN, action)


def test_what_was_installed_so_cannot_be_edited_in_a_file() -> None:
    limited = replace(OPEN.policy.declared.servers[GITHUB], origin=PERSON, limit=OnlyTools(("write",)))
    assert seen(OPEN.with_server(limited)) == (PegState.LOCKED, NOTHING)


def test_own_tools_that_were_declared_off_are_enabled_in_the_file() -> None:
    own = replace(OPEN.policy.declared.servers[MATH], enabled=False)
    assert seen(OPEN.with_server(own), id=ADD.id) == (
        PegState.LOCKED,
        Action(Act.EDIT_FILE, "pegboard.yaml:7", "Set its enabled to true"),
    )


def test_what_is_outside_of_a_view_is_locked_by_choice_and_says_whose() -> None:
    narrow = View().narrowed(Selection(TheseToolsets(("math",))))
    assert seen(OPEN, narrow) == (PegState.LOCKED, Action(Act.WIDEN, str(ID), "Ask without narrowing it away"))
    unselected = OPEN.declaring(selection=Selection(Everything(), (), ("read",)))
    assert seen(unselected) == (
        PegState.LOCKED,
        Action(
            Act.EDIT_FILE,
            "pegboard.yaml",
            "Take 'read' out of disabled_tools under selection (now toolsets all, minus read)",
        ),
    )
    eve = PrincipalId("eve")
    granted = OPEN.deciding(grants={eve: frozenset({ToolsetId("math")})})
    grant = Action(Act.GRANT, "eve", "Grant dev to eve", (ToolsetId("dev"), ToolsetId("math")))
    assert seen(granted, View(eve)) == (PegState.LOCKED, grant)


def test_who_may_ask_no_database_is_given_one_in_the_file() -> None:
    eve, off, shop = PrincipalId("eve"), SourceId("off"), SourceId("shop")
    told = unlocking(Absent(READ, NoDatabase(eve, frozenset({off}), FILE, (shop,))), OPEN.policy)
    assert told == Action(Act.EDIT_FILE, "pegboard.yaml:7", "Name shop under databases of eve (now off)")


# What is no longer offered


@pytest.mark.behaviour("wall.gone")
def test_a_tool_that_people_decided_about_and_nobody_offers_any_more_stays_on_the_wall() -> None:
    former = ToolId(GITHUB, "former")
    decided = OPEN.deciding(
        approvals={**OPEN.policy.decided.approvals, former: OPEN.policy.decided.approvals[ID]},
        switches={ToolId(GITHUB, "off"): OFF},
        overrides=(Override(ToolsetId("dev"), ToolId(GITHUB, "off"), renderer="json"),),
    )
    found = gone(decided.catalogue, decided.policy, View())
    assert found == (Gone(former, approved=True), Gone(ToolId(GITHUB, "off"), switched=True, overridden=True))
    assert [(gone_sentence(each), gone_remedy(each)) for each in found] == [
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
        (peg.text, peg.state, peg.tokens, switch_is_on(peg.verdict, decided.policy)) for peg in hung(decided).pegs
    ] == [
        ("mcp:dev~github:former", PegState.GONE, 0, True),
        ("mcp:dev~github:off", PegState.GONE, 0, False),
        ("mcp:dev~github:read", PegState.OPEN, cost(READ, ""), True),
        ("mcp:dev~github:write", PegState.OPEN, cost(WRITE, ""), True),
        ("math:add", PegState.OPEN, cost(ADD, ""), True),
    ]
    both = Gone(former, approved=True, switched=True)
    assert gone_remedy(both) == "There is nothing to do. Should it come back, what was decided holds."


def test_a_source_that_has_not_listed_what_it_has_may_still_have_it() -> None:
    former = ToolId(GITHUB, "former")
    decided = OPEN.deciding(switches={former: OFF})
    assert gone(decided.with_health(GITHUB, Down(NOW, "it left")).catalogue, decided.policy, View()) == ()
    assert gone(decided.with_health(GITHUB, Up(NOW)).catalogue, decided.policy, View()) == (
        Gone(former, switched=True),
    )


def test_what_is_gone_is_left_out_of_a_view_that_would_not_have_had_it() -> None:
    decided = OPEN.deciding(switches={ToolId(GITHUB, "former"): OFF}, grants={ME: frozenset({ToolsetId("math")})})
    assert gone(decided.catalogue, decided.policy, View(ME)) == ()
    narrow = View().narrowed(Selection(TheseToolsets(("math",))))
    assert gone(decided.catalogue, decided.policy, narrow) == ()
    assert gone(decided.catalogue, decided.policy, View(LOCAL)) != ()


def test_an_approval_of_a_server_that_is_trusted_openly_says_nothing_of_what_it_offers() -> None:
    former = ToolId(GITHUB, "former")
    trusting = board((READ,), trust=Trust.OPEN)
    trusting = trusting.deciding(approvals={former: OPEN.policy.decided.approvals[ID]})
    assert gone(trusting.catalogue, trusting.policy, View()) == ()


# Laws


@pytest.mark.behaviour("wall.states")
@given(boards())
def test_the_wall_has_every_tool_once_and_is_open_exactly_where_the_verdict_is(board: Board) -> None:
    resolution = resolve(board.catalogue, board.policy, View())
    found = hung(board)
    listed = [peg for peg in found.pegs if peg.state is not PegState.GONE]
    assert {peg.id for peg in listed} == set(resolution.verdicts)
    assert len(listed) == len(resolution.verdicts)
    assert {peg.id for peg in listed if peg.state is PegState.OPEN} == set(resolution.open_ids)
    assert all(state_of(peg.verdict) is peg.state for peg in found.pegs)
    assert sum(found.total.states.values()) == len(found.pegs)
    assert found.total.tokens == sum(peg.tokens for peg in listed if peg.state is PegState.OPEN)
    assert sum(each.tokens for each in found.toolsets.values()) == found.total.tokens


@given(boards())
def test_pages_of_the_wall_are_the_wall(board: Board) -> None:
    found = hung(board)
    pegs: list[Peg] = []
    last, more = None, True
    while more:
        page, more = found.after(last, 2)
        pegs += page
        last = page[-1].id if page else last
    assert tuple(pegs) == found.pegs
