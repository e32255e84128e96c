"""Why a tool is absent, told with the act that brings it back and with all that would keep it away after that act."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.core.boards import FILE, GITHUB, ME, NOW, OFF, Board, board, boards, tool, views
from tests.core.launching import launches

from pegboard.core.decision.resolve import HiddenTool, LockedTool, build_visibility_filter, resolve
from pegboard.core.decision.visibility import HiddenByGrants, HiddenBySelection, explain_hidden, hidden_remedy
from pegboard.core.explain.explain import remaining_reasons
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import LaunchFilter
from pegboard.core.model.principals import ApiToken, TokenScope
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets, View
from pegboard.core.policy.policy import GrantSource, PrincipalGrants

READ = ToolId(GITHUB, "read")
BOARD = board([tool(GITHUB, "read")])
BOT, DEV, PROD = PrincipalId("bot"), ToolsetId("dev"), ToolsetId("prod")
TOKEN = ApiToken("1", BOT, "for tests", "pb_", b"", frozenset({TokenScope.CALL}), ME, NOW)


def words(made: Board, view: View) -> tuple[str, str]:
    verdict = resolve(made.catalogue, made.policy, view).verdicts[READ]
    assert isinstance(verdict, HiddenTool)
    return explain_hidden(verdict.reason), hidden_remedy(verdict.reason, READ)


def test_of_many_toolsets_that_a_caller_is_granted_the_number_is_told() -> None:
    many = frozenset(ToolsetId(f"t{number}") for number in range(19))
    said = replace(BOARD.policy.declared, grants={BOT: many}, granted_at={BOT: FILE})
    assert words(replace(BOARD, policy=replace(BOARD.policy, declared=said)), View(BOT)) == (
        "bot may not use toolset dev: it is granted 19 other toolsets.",
        "This is operator policy: in pegboard.yaml:7, add dev to what bot may use (now 19 other toolsets).",
    )


@pytest.mark.behaviour("absent.remedy_is_where_it_was_said")
def test_what_people_granted_is_granted_anew_by_the_command_and_what_the_file_grants_in_its_line() -> None:
    sentence = "bot may not use toolset dev: it is granted prod."
    said = replace(BOARD.policy.declared, grants={BOT: frozenset({PROD})}, granted_at={BOT: FILE})
    declared = replace(BOARD, policy=replace(BOARD.policy, declared=said))
    decided = replace(declared.policy.decisions, tokens={"1": TOKEN})
    of_token = replace(declared, policy=replace(declared.policy, decisions=decided))
    for made in (declared, of_token):
        assert words(made, View(BOT)) == (
            sentence,
            "This is operator policy: in pegboard.yaml:7, add dev to what bot may use (now prod).",
        )
    stored = of_token.deciding(grants={BOT: frozenset({PROD})})
    assert words(stored, View(BOT)) == (
        sentence,
        "Grant toolset dev to bot, under People in Settings or by: pegboard grants set bot dev prod",
    )
    assert words(stored, View(ME)) == (
        "Nobody is called 'me' here, and that name is granted nothing.",
        "Make the name a token: pegboard tokens make me --scope call",
    )


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a bot", "pegboard grants set 'a bot' dev"),
        ("-x", "pegboard grants set -- -x dev"),
        ("a\x1bb", "pegboard grants set PRINCIPAL dev"),
    ],
)
def test_a_name_stands_in_the_command_as_a_shell_reads_it(name: str, command: str) -> None:
    limit = PrincipalGrants(PrincipalId(name), frozenset(), GrantSource.STORE)
    assert hidden_remedy(HiddenByGrants(limit, DEV), READ).partition("by: ")[2] == command


@pytest.mark.behaviour("absent.remedy_is_where_it_was_said")
@pytest.mark.parametrize(
    ("selection", "edit"),
    [
        (
            Selection(TheseToolsets(("docs",))),
            "add dev to toolsets under selection (now toolsets docs)",
        ),
        (
            Selection(AllToolsets(), (), ("*:r*", "write", "toolset:dev")),
            "take '*:r*', 'toolset:dev' out of disabled_tools under selection (now toolsets all, minus *:r*, write, "
            "toolset:dev)",
        ),
        (
            Selection(TheseToolsets(("docs",)), (), ("mcp:dev~github",)),
            "add dev to toolsets under selection (now toolsets docs, minus mcp:dev~github) and take 'mcp:dev~github' "
            "out of disabled_tools under selection (now toolsets docs, minus mcp:dev~github)",
        ),
    ],
)
def test_a_selection_is_told_with_every_edit_that_it_takes(selection: Selection, edit: str) -> None:
    told = hidden_remedy(HiddenBySelection(selection, FILE), READ)
    assert told == f"This is operator policy: in pegboard.yaml:7, {edit}."


def test_a_tool_may_be_left_out_where_another_section_chooses_it() -> None:
    id = ToolId(ToolsetKey(ToolsetId("files")), "delete_file")
    removed = HiddenBySelection(Selection(disabled=("files:delete_file",)), chosen_elsewhere={str(id): "Shop"})
    assert hidden_remedy(removed, id) == (
        "This is operator policy: in pegboard.yaml, choose files:delete_file where Shop is set up, and take it out "
        "of disabled_tools under selection too."
    )


# What remains


@pytest.mark.behaviour("locked.what_remains_is_told")
def test_all_that_would_remain_after_the_first_act_is_told_in_the_order_in_which_it_would_show() -> None:
    locked = BOARD.deciding(approvals={}, switches={READ: OFF}, grants={ME: frozenset({PROD})})
    locked = locked.declaring(selection=Selection(disabled=("read",)))
    view = View(ME).narrow(Selection(TheseToolsets(("prod",))))
    verdict = resolve(locked.catalogue, locked.policy, view).verdicts[READ]
    assert verdict == HiddenTool(BOARD.tools[READ], HiddenBySelection(Selection(disabled=("read",))))
    assert remaining_reasons(
        verdict, build_visibility_filter(locked.catalogue, locked.policy, view), locked.catalogue
    ) == (
        "me may not use toolset dev: it is granted prod.",
        "The request's own narrowing leaves it out: toolsets prod.",
        "mcp:dev~github:read was switched off by me on 2026-01-02 (out of order).",
        "mcp:dev~github:read is waiting for a person's approval.",
    )


@pytest.mark.behaviour("locked.what_remains_is_told")
@given(boards(), views, launches)
def test_the_first_of_all_steps_that_leave_a_tool_out_is_why_it_is_absent(
    board: Board, view: View, launch: LaunchFilter
) -> None:
    seen = view.with_filter(launch)
    way = build_visibility_filter(board.catalogue, board.policy, seen)
    for id, verdict in resolve(board.catalogue, board.policy, seen).verdicts.items():
        removals = way.hidden_reasons(id)
        assert removals[:1] == ((verdict.reason,) if isinstance(verdict, HiddenTool) else ())
        if isinstance(verdict, LockedTool):
            assert len(remaining_reasons(verdict, way, board.catalogue)) == len(verdict.other_reasons)
