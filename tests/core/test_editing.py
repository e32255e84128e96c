"""One edit of one override: what it says and clears, what stays, and whose word each field is."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import GITHUB, ME, NOW, board, tool

from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import EditOverride, SetSwitch, apply_command
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import BadId, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import DeclaredAt, InstalledBy
from pegboard.core.overrides.model import (
    OVERRIDE_FIELDS,
    ArgumentOverride,
    Override,
    OverrideEdit,
    freeze_json,
    parse_target,
)
from pegboard.core.policy.policy import Policy, Switch

DEV = ToolsetId("dev")
READ = ToolId(GITHUB, "read")
PLACE = Override(DEV, READ)
YOU, LATER = PrincipalId("you"), NOW + timedelta(hours=1)
BOARD = board([tool(GITHUB, "read"), tool(GITHUB, "write")])
MINE, YOURS = InstalledBy(ME, NOW), InstalledBy(YOU, LATER)


def after(policy: Policy, command: Command, *, by: PrincipalId = ME) -> Policy:
    done = apply_command(policy, command, by, NOW if by == ME else LATER)
    assert isinstance(done, Policy), done
    return done


def says(row: Override, *cleared: str) -> EditOverride:
    return EditOverride(OverrideEdit(row, frozenset(cleared)))


@pytest.mark.behaviour("overrides.whose_word", "overrides.field_by_field")
def test_each_field_is_the_word_of_whoever_said_it_last() -> None:
    policy = after(BOARD.policy, says(replace(PLACE, renderer="code", name_override="Look")))
    policy = after(policy, says(replace(PLACE, name_override="See", enabled=False)), by=YOU)
    assert policy.decisions.overrides == (
        Override(
            DEV,
            READ,
            renderer="code",
            name_override="See",
            enabled=False,
            origins={"renderer": MINE, "name_override": YOURS, "enabled": YOURS},
        ),
    )


@pytest.mark.behaviour("overrides.clearable")
@pytest.mark.parametrize("cleared", [*OVERRIDE_FIELDS, "arguments.path"])
def test_a_field_is_cleared_alone_and_a_row_that_says_nothing_is_gone(cleared: str) -> None:
    whole = replace(
        PLACE,
        renderer="code",
        renderer_config={},
        name_override="a",
        description_override="b",
        requires_confirmation=False,
        confirmation=ConfirmationMode.TICKET,
        enabled=True,
        arguments={"path": ArgumentOverride(hide=True)},
    )
    policy = after(BOARD.policy, says(whole))
    (row,) = after(policy, says(PLACE, cleared)).decisions.overrides
    field = cleared.split(".")[0]
    assert row.fields_set == tuple(name for name in OVERRIDE_FIELDS if name != field)
    assert {name.split(".")[0] for name in row.origins} == {*row.fields_set}
    assert after(policy, says(PLACE, *OVERRIDE_FIELDS)).decisions.overrides == ()


@pytest.mark.behaviour("overrides.clearable")
def test_one_argument_is_said_and_cleared_without_the_others() -> None:
    policy = after(
        BOARD.policy,
        says(replace(PLACE, arguments={"a": ArgumentOverride(hide=True), "b": ArgumentOverride(hide=True)})),
    )
    policy = after(policy, says(replace(PLACE, arguments={"b": ArgumentOverride(pin=freeze_json(1))})), by=YOU)
    (row,) = after(policy, says(PLACE, "arguments.a")).decisions.overrides
    assert row == Override(
        DEV, READ, arguments={"b": ArgumentOverride(pin=freeze_json(1))}, origins={"arguments.b": YOURS}
    )


def test_clearing_what_nobody_said_is_refused_and_a_file_that_says_it_is_named() -> None:
    declared = replace(PLACE, is_declared=True, renderer="code", origins={"renderer": DeclaredAt("pegboard.yaml", 7)})
    done = apply_command(BOARD.declaring(overrides=(declared,)).policy, says(PLACE, "renderer"), ME, NOW)
    assert done == CommandRejection(
        "No person's override of mcp:dev~github:read in 'dev' says renderer. "
        "It is declared at pegboard.yaml:7: edit the file."
    )
    assert apply_command(BOARD.policy, says(PLACE, "renderer"), ME, NOW) == CommandRejection(
        "No person's override of mcp:dev~github:read in 'dev' says renderer. See: pegboard overrides list"
    )


def test_an_edit_of_another_field_leaves_the_tools_switch_alone() -> None:
    off = BOARD.deciding(switches={READ: Switch(False, ME, NOW)}).policy
    assert after(off, says(replace(PLACE, renderer="code"))).decisions.switches == off.decisions.switches
    assert after(off, says(replace(PLACE, enabled=True))).decisions.switches == {}


def test_a_switch_takes_the_word_of_the_override_of_the_same_tool() -> None:
    policy = after(BOARD.policy, says(replace(PLACE, enabled=False, renderer="code")))
    (row,) = after(policy, SetSwitch(READ, True)).decisions.overrides
    assert row == Override(DEV, READ, renderer="code", origins={"renderer": MINE})


def test_an_override_of_a_toolset_that_does_not_exist_is_refused() -> None:
    done = apply_command(BOARD.policy, says(Override(ToolsetId("nope"), Pattern("*", "*"), renderer="code")), ME, NOW)
    assert isinstance(done, CommandRejection)


edits = st.lists(
    st.builds(
        OverrideEdit,
        st.builds(
            Override,
            st.just(DEV),
            st.sampled_from([READ, Pattern("*", "*")]),
            renderer=st.sampled_from([None, "a", "b"]),
            enabled=st.sampled_from([None, True, False]),
            arguments=st.none()
            | st.dictionaries(st.sampled_from("xy"), st.just(ArgumentOverride(hide=True)), min_size=1),
        ),
        st.frozensets(st.sampled_from(["renderer", "enabled", "arguments", "arguments.x"]), max_size=2),
    ),
    max_size=6,
)


@pytest.mark.behaviour("overrides.unset_is_not_false")
@given(edits)
def test_an_edit_changes_what_it_names_and_nothing_else(each: list[OverrideEdit]) -> None:
    policy = BOARD.policy
    for edit in each:
        before = {(row.toolset, row.target): row for row in policy.decisions.overrides}
        done = apply_command(policy, EditOverride(edit), ME, NOW)
        if isinstance(done, CommandRejection):
            continue
        now = {(row.toolset, row.target): row for row in done.decisions.overrides}
        place = edit.changes.toolset, edit.changes.target
        assert {key: row for key, row in now.items() if key != place} == {
            key: row for key, row in before.items() if key != place
        }
        old, new = before.get(place, Override(*place)), now.get(place, Override(*place))
        for name in ("renderer", "enabled"):
            said = getattr(edit.changes, name)
            kept = None if name in edit.cleared_fields else getattr(old, name)
            assert getattr(new, name) is (kept if said is None else said)
        assert all(row.fields_set for row in now.values())
        assert {name.split(".")[0] for name in new.origins} == {*new.fields_set}
        policy = done


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mcp:dev~github:read", READ),
        ("mcp:github:read", READ),
        ("mcp:dev~github:a:b", ToolId(GITHUB, "a:b")),
        ("github:*", Pattern("github", "*")),
        ("github:read", Pattern("github", "read")),
        ("read", Pattern("*", "read")),
        ("mcp:dev~github", Pattern("dev~github", "*")),
        ("mcp:dev~github:r*", Pattern("dev~github", "r*")),
        ("toolset:dev", Pattern("*", "*")),
    ],
)
def test_an_override_is_about_a_tool_by_its_id_or_about_what_a_pattern_fits(text: str, expected: object) -> None:
    assert parse_target(text, DEV) == expected


@pytest.mark.parametrize("text", ["", ":", "github:", "mcp:docs~github:read", "x" * 600])
def test_what_names_no_tool_of_the_toolset_is_told(text: str) -> None:
    assert isinstance(parse_target(text, DEV), BadId)
