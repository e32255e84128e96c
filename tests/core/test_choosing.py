"""Two lists of what to include and exclude: the `enabled` of people's overrides, in one write, and the set of them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.core.boards import DEV_FILES, GITHUB, MATH, NOW, board, tool

from pegboard.core.commands.base import Command, DecisionSummary
from pegboard.core.commands.commands import SetOverride, SetSwitch, SetTrust, apply_command
from pegboard.core.commands.toolset_choice import ChoiceTarget, SetToolsetChoice, tool_choices
from pegboard.core.decision.resolve import LockedTool
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import InstalledBy, Trust
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Policy

YOU = PrincipalId("you")
AT = NOW + timedelta(days=1)
DEV = ToolsetId("dev")
NAMES = ("read_file", "read_page", "write_file", "delete_file")
BOARD = board([*(tool(GITHUB, name) for name in NAMES), tool(MATH, "add")])
EVERY, READS, DELETES = Pattern("*", "*"), Pattern("*", "read_*"), Pattern("*", "delete_*")


def did(policy: Policy, *commands: Command, at: timedelta = timedelta()) -> Policy:
    for command in commands:
        after = apply_command(policy, command, YOU, AT + at)
        assert isinstance(after, Policy), after
        policy = after
    return policy


def choose(includes: tuple[ChoiceTarget, ...] = (), excludes: tuple[ChoiceTarget, ...] = ()) -> SetToolsetChoice:
    return SetToolsetChoice(DEV, includes, excludes)


def names(before: Policy, after: Policy) -> dict[str, tuple[bool, bool]]:
    return {each.tool.id.name: (each.before, each.after) for each in tool_choices(BOARD.catalogue, before, after, DEV)}


@pytest.mark.behaviour("toolsets.chosen_by_lists")
def test_what_is_excluded_leaves_and_what_is_included_more_closely_stays() -> None:
    before = BOARD.policy
    after = did(before, choose(includes=(READS,), excludes=(EVERY,)))
    assert after.version == before.version + 1
    assert names(before, after) == {
        "read_file": (True, True),
        "read_page": (True, True),
        "write_file": (True, False),
        "delete_file": (True, False),
    }
    assert names(after, did(after, choose())) == {
        "read_file": (True, True),
        "read_page": (True, True),
        "write_file": (False, True),
        "delete_file": (False, True),
    }


@pytest.mark.behaviour("toolsets.chosen_by_lists")
def test_a_choice_replaces_what_was_chosen_and_leaves_what_overrides_say_besides() -> None:
    worded = Override(DEV, READS, enabled=False, renderer="code", origins={"renderer": InstalledBy(YOU, NOW)})
    elsewhere = Override(ToolsetId("math"), EVERY, enabled=False)
    policy = did(BOARD.policy, *map(SetOverride, (worded, Override(DEV, DELETES, enabled=False), elsewhere)))
    after = did(policy, choose(excludes=(EVERY,)))
    by = InstalledBy(YOU, AT)
    assert after.decisions.overrides == (
        replace(worded, enabled=None),
        elsewhere,
        Override(DEV, EVERY, enabled=False, origins={"enabled": by}),
    )


@pytest.mark.behaviour("toolsets.chosen_by_lists")
def test_what_was_said_before_keeps_its_author_and_the_same_lists_mean_the_same_whatever_was_before() -> None:
    one, two = Pattern("*", "read_*"), Pattern("*", "*_file")
    first = did(BOARD.policy, choose(includes=(one,), excludes=(two,)))
    again = did(did(first, choose(excludes=(two,))), choose(includes=(one,), excludes=(two,)), at=timedelta(hours=1))
    assert [row.target for row in again.decisions.overrides] == [row.target for row in first.decisions.overrides]
    assert again.decisions.overrides[1] == first.decisions.overrides[1]
    assert names(first, again)["read_file"] == (False, False)


@pytest.mark.behaviour("toolsets.chosen_by_lists")
def test_a_tool_that_is_named_by_id_follows_its_list_and_no_longer_its_switch() -> None:
    read = ToolId(GITHUB, "read_file")
    policy = did(BOARD.policy, SetSwitch(read, False))
    assert names(policy, did(policy, choose(includes=(EVERY,))))["read_file"] == (False, False)
    by_id = did(policy, choose(includes=(read,)))
    assert names(policy, by_id)["read_file"] == (False, True)
    off = did(by_id, SetSwitch(read, False))
    assert names(by_id, off)["read_file"] == (True, False)


@pytest.mark.behaviour("toolsets.chosen_by_lists")
def test_what_waits_for_a_person_is_in_all_the_same() -> None:
    unseen = replace(BOARD.policy, decisions=replace(BOARD.policy.decisions, approvals={}))
    strict = did(unseen, SetTrust(GITHUB, Trust.STRICT))
    told = [*tool_choices(BOARD.catalogue, strict, did(strict, choose(excludes=(DELETES,))), DEV)]
    assert [(each.after, isinstance(each.verdict, LockedTool) and each.verdict.status.value) for each in told] == [
        (True, "pending_approval"),
        (True, "pending_approval"),
        (True, "pending_approval"),
        (False, "disabled_by_user"),
    ]


@pytest.mark.behaviour("toolsets.chosen_by_lists")
@pytest.mark.parametrize(
    ("command", "why"),
    [
        (choose((READS,), (READS,)), "*:read_* is among what to include and what to exclude. Name it once."),
        (
            choose((ToolId(replace(GITHUB, toolset=ToolsetId("docs")), "x"),)),
            "mcp:docs~github:x is not in toolset 'dev'. Choose it there.",
        ),
        (SetToolsetChoice(ToolsetId("nope"), (), ()), "There is no toolset 'nope'. See: pegboard toolset list"),
    ],
)
def test_a_choice_that_contradicts_itself_is_refused(command: SetToolsetChoice, why: str) -> None:
    assert apply_command(BOARD.policy, command, YOU, AT) == CommandRejection(why)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (choose((READS,), (EVERY, DELETES)), "includes *:read_*; excludes *:*, *:delete_*"),
        (choose(excludes=(ToolId(DEV_FILES, "x"),) * 22), f"excludes {', '.join(['mcp:dev~files:x'] * 20)} and 2 more"),
        (choose(), "includes and excludes nothing any more"),
    ],
)
def test_a_choice_is_told_in_the_activity(command: SetToolsetChoice, said: str) -> None:
    assert command.describe() == DecisionSummary("override", "dev", said)
