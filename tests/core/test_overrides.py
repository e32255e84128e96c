"""Overrides: field by field the most specific wins, what is unset says nothing, and every field can be cleared."""

from dataclasses import fields, replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import BUILTINS, DEV_FILES, DOCS_FILES, GITHUB, ME, NOW, Board, board, tool
from tests.core.laws import call, fits

from pegboard.core.calls.call import AdmittedCall, admit
from pegboard.core.commands.commands import SetOverride, apply_command
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import LockStatus
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.overrides.model import (
    NO_OVERRIDE,
    OVERRIDE_FIELDS,
    ArgumentOverride,
    EffectiveOverride,
    Override,
    OverrideIndex,
    freeze_json,
    merge_overrides,
)
from pegboard.core.policy.policy import Policy, Switch

READ = ToolId(GITHUB, "read")
DEV = ToolsetId("dev")
ROWS = (
    Override(DEV, Pattern("*", "*"), renderer="text"),
    Override(DEV, Pattern("*", "r*"), renderer="code"),
    Override(DEV, Pattern("*", "rea*"), renderer="diff"),
    Override(DEV, Pattern("*", "read"), renderer="table"),
    Override(DEV, Pattern("github", "*"), renderer="html"),
    Override(DEV, Pattern("github", "read"), renderer="json"),
    Override(DEV, READ, renderer="markdown"),
)
"""Weakest first."""

SAYS_ALL = Override(
    DEV,
    READ,
    renderer="code",
    renderer_config={"language": "python"},
    name_override="Read it",
    description_override="Reads",
    requires_confirmation=True,
    enabled=False,
    arguments={"path": ArgumentOverride(pin=freeze_json("/srv"))},
)
PLACES = ("renderer", "renderer_config", "name_override", "description_override", "requires_confirmation", "enabled")
PLACES_OF_ALL = (*PLACES, "arguments.path.pin")


@pytest.mark.behaviour(
    "overrides.renderer", "overrides.name_is_for_display", "overrides.description", "overrides.requires_confirmation"
)
def test_an_override_says_what_it_sets_and_where_each_field_came_from() -> None:
    assert merge_overrides(READ, [SAYS_ALL]) == EffectiveOverride(
        renderer="code",
        renderer_config={"language": "python"},
        name_override="Read it",
        description_override="Reads",
        requires_confirmation=True,
        enabled=False,
        arguments={"path": ArgumentOverride(pin=freeze_json("/srv"))},
        origin=dict.fromkeys(PLACES_OF_ALL, SAYS_ALL),
    )


def test_the_fields_of_an_override_are_those_that_are_merged() -> None:
    others = ["is_declared", "origins", "from_manifest", "is_assumed", "is_optional"]
    assert [f.name for f in fields(Override)] == ["toolset", "target", *OVERRIDE_FIELDS, *others]
    assert [f.name for f in fields(EffectiveOverride)] == [*OVERRIDE_FIELDS, "origin"]


@pytest.mark.behaviour(
    "overrides.exact_id_wins", "overrides.exact_scope_before_exact_name", "overrides.more_literals_win"
)
def test_the_most_specific_wins_in_whatever_order_they_were_written() -> None:
    for strongest in range(1, len(ROWS) + 1):
        told = ROWS[:strongest]
        for rows in (told, told[::-1]):
            assert merge_overrides(READ, rows).renderer == told[-1].renderer
    for rows in permutations(ROWS[-3:]):
        assert merge_overrides(READ, rows).renderer == "markdown"


@pytest.mark.behaviour("overrides.more_literals_win")
def test_among_equals_the_later_one_wins() -> None:
    one, other = Override(DEV, Pattern("*", "r*d"), renderer="a"), Override(DEV, Pattern("*", "re*"), renderer="b")
    assert merge_overrides(READ, [one, other]).renderer == "b"
    assert merge_overrides(READ, [other, one]).renderer == "a"


@pytest.mark.behaviour("overrides.field_by_field", "overrides.unset_is_not_false")
def test_each_field_is_decided_by_itself() -> None:
    rows = [
        Override(DEV, Pattern("*", "*"), enabled=False, renderer="text", requires_confirmation=True),
        Override(DEV, Pattern("github", "*"), renderer="code"),
        Override(DEV, READ, name_override="Read", requires_confirmation=False),
    ]
    shown = merge_overrides(READ, rows)
    assert (shown.enabled, shown.renderer, shown.name_override, shown.requires_confirmation) == (
        False,
        "code",
        "Read",
        False,
    )
    assert shown.origin == {
        "enabled": rows[0],
        "renderer": rows[1],
        "name_override": rows[2],
        "requires_confirmation": rows[2],
    }


@pytest.mark.behaviour("overrides.person_on_top_of_declared")
def test_a_persons_word_lies_on_the_declared_base_however_specific_that_is() -> None:
    declared = Override(DEV, READ, renderer="declared", name_override="Declared", is_declared=True)
    person = Override(DEV, Pattern("*", "*"), renderer="person")
    shown = merge_overrides(READ, [person, declared])
    assert (shown.renderer, shown.name_override) == ("person", "Declared")


@pytest.mark.behaviour("overrides.per_toolset", "overrides.per_server_when_standalone")
def test_an_override_is_seen_in_its_own_toolset_only() -> None:
    rows = [
        Override(DEV, Pattern("files", "*"), renderer="code"),
        Override(ToolsetId("docs"), Pattern("*", "*"), renderer="html"),
    ]
    assert merge_overrides(ToolId(DEV_FILES, "read"), rows).renderer == "code"
    assert merge_overrides(ToolId(DOCS_FILES, "read"), rows).renderer == "html"
    assert merge_overrides(ToolId(BUILTINS, "read"), rows) == NO_OVERRIDE
    assert merge_overrides(READ, [Override(ToolsetId("docs"), READ, renderer="never")]) == NO_OVERRIDE


def decided(board: Board, *rows: Override) -> Policy:
    return board.deciding(overrides=rows).policy


OPEN_BOARD = board([tool(GITHUB, "read"), tool(GITHUB, "write")])


@pytest.mark.behaviour("overrides.enabled_hides", "ids.unchanged_by_override")
def test_an_override_hides_one_tool_and_renames_and_changes_none() -> None:
    plain = resolve(OPEN_BOARD.catalogue, OPEN_BOARD.policy, View(ME))
    hidden = resolve(OPEN_BOARD.catalogue, decided(OPEN_BOARD, SAYS_ALL), View(ME))
    verdict = hidden.verdicts[READ]
    assert isinstance(verdict, LockedTool)
    assert (verdict.status, verdict.tool) == (LockStatus.DISABLED_BY_USER, OPEN_BOARD.tools[READ])
    assert hidden.verdicts[ToolId(GITHUB, "write")] == plain.verdicts[ToolId(GITHUB, "write")]
    assert hidden.names == plain.names


@pytest.mark.behaviour("overrides.provider_untouched")
def test_a_call_reaches_the_tool_as_its_provider_knows_it() -> None:
    renamed = decided(OPEN_BOARD, Override(DEV, READ, name_override="Look", description_override="Looks"))
    admitted = admit(call("read"), resolve(OPEN_BOARD.catalogue, renamed, View(ME)), fits)
    assert admitted == AdmittedCall(call("read"), OPEN_BOARD.tools[READ])
    assert renamed.overrides.for_tool(READ).name_override == "Look"


@pytest.mark.behaviour("overrides.unset_is_not_false")
def test_a_row_that_only_sets_a_renderer_does_not_switch_a_tool_on() -> None:
    rows = (Override(DEV, Pattern("*", "*"), enabled=False), Override(DEV, READ, renderer="code"))
    assert isinstance(resolve(OPEN_BOARD.catalogue, decided(OPEN_BOARD, *rows), View(ME)).verdicts[READ], LockedTool)


def test_a_more_specific_row_that_says_enabled_shows_the_tool_again() -> None:
    rows = (Override(DEV, Pattern("*", "*"), enabled=False), Override(DEV, READ, enabled=True))
    resolution = resolve(OPEN_BOARD.catalogue, decided(OPEN_BOARD, *rows), View(ME))
    assert [type(verdict) for verdict in resolution.verdicts.values()] == [OpenTool, LockedTool]


def test_a_switch_thrown_on_shows_what_a_pattern_hides() -> None:
    hidden = OPEN_BOARD.deciding(
        overrides=(Override(DEV, Pattern("*", "*"), enabled=False),), switches={READ: Switch(True, ME, NOW)}
    )
    assert isinstance(resolve(hidden.catalogue, hidden.policy, View(ME)).verdicts[READ], OpenTool)


@pytest.mark.behaviour("overrides.clearable")
@pytest.mark.parametrize("field", OVERRIDE_FIELDS)
def test_every_field_can_be_cleared_again_and_a_row_that_says_nothing_is_dropped(field: str) -> None:
    policy = applied(OPEN_BOARD.policy, SAYS_ALL)
    cleared = applied(policy, replace(SAYS_ALL, **{field: None}))  # type: ignore[arg-type]  # only fields that may be None
    assert getattr(cleared.overrides.for_tool(READ), field) is None
    left = [place for place in PLACES_OF_ALL if place.split(".")[0] != field]
    assert [*cleared.overrides.for_tool(READ).origin] == left
    assert applied(cleared, Override(DEV, READ)).decisions.overrides == ()


def applied(policy: Policy, override: Override) -> Policy:
    after = apply_command(policy, SetOverride(override), ME, NOW)
    assert isinstance(after, Policy)
    return after


targets = st.one_of(
    st.sampled_from([READ, ToolId(GITHUB, "write"), ToolId(DEV_FILES, "read"), ToolId(DOCS_FILES, "read")]),
    st.builds(Pattern, st.sampled_from(["*", "github", "dev", "g*"]), st.sampled_from(["*", "read", "r*", "?????"])),
)
rows = st.builds(
    Override,
    st.sampled_from([DEV, ToolsetId("docs")]),
    targets,
    renderer=st.sampled_from([None, "a", "b"]),
    enabled=st.sampled_from([None, True, False]),
    is_declared=st.booleans(),
)


@pytest.mark.behaviour("overrides.applied_to_discovered_tools")
@given(st.lists(rows, max_size=8))
def test_the_index_says_what_holding_every_row_against_the_tool_says(each: list[Override]) -> None:
    for id in (READ, ToolId(DEV_FILES, "read"), ToolId(DOCS_FILES, "write"), ToolId(BUILTINS, "read")):
        fitting = [(not r.is_declared, r.specificity, place, r) for place, r in enumerate(each) if r.matches(id)]
        ranked = [row for *_, row in sorted(fitting, key=lambda one: one[:3])]
        expected = {name: [r for r in ranked if getattr(r, name) is not None] for name in OVERRIDE_FIELDS}
        index = OverrideIndex(tuple(each))
        shown = index.for_tool(id)
        assert shown.origin == {name: said[-1] for name, said in expected.items() if said}
        assert all(getattr(shown, name) == getattr(row, name) for name, row in shown.origin.items())
        assert index.disables(id) is (shown.enabled is False)


TICKETS, IN_CLIENT = ConfirmationMode.TICKET, ConfirmationMode.IN_CLIENT


@pytest.mark.behaviour("confirmation.modes")
@pytest.mark.parametrize("target", [READ, Pattern("*", "*")])
@pytest.mark.parametrize("layer", ["file", "manifest", "person"])
def test_a_ticket_of_any_override_is_loosened_by_no_other(target: ToolId | Pattern, layer: str) -> None:
    strict = Override(DEV, target, confirmation=TICKETS, is_declared=layer == "file", from_manifest=layer == "manifest")
    rows = [
        strict,
        Override(DEV, READ, confirmation=IN_CLIENT),
        Override(DEV, READ, confirmation=IN_CLIENT, is_declared=True),
    ]
    index = OverrideIndex(tuple(rows))
    setting = index.confirmation_setting(READ)
    assert setting is not None
    assert (setting.mode, setting.name) == (TICKETS, str(target))
    assert index.for_tool(READ).origin["confirmation"] == strict


@pytest.mark.behaviour("overrides.declared_confirmation_stays")
def test_a_confirmation_that_the_file_requires_is_loosened_by_no_person() -> None:
    declared = Override(DEV, Pattern("*", "*"), requires_confirmation=True, is_declared=True)
    persons = [
        Override(DEV, Pattern("*", "*"), requires_confirmation=True),
        Override(DEV, READ, requires_confirmation=False),
    ]
    for rows in ([declared, persons[1]], [declared, *persons]):
        index = OverrideIndex(tuple(rows))
        assert index.requires_confirmation(READ)
        assert index.for_tool(READ).requires_confirmation is True
        assert index.for_tool(READ).origin["requires_confirmation"] == declared
    loosened = Override(DEV, READ, requires_confirmation=False, is_declared=True)
    assert not OverrideIndex((declared, loosened)).requires_confirmation(READ), "within the file the most specific wins"
    assert OverrideIndex((loosened, persons[0])).requires_confirmation(READ), "a person may ask for more"
    assert not OverrideIndex(tuple(persons)).requires_confirmation(READ)
    manifest = Override(DEV, READ, requires_confirmation=True, from_manifest=True)
    assert not OverrideIndex((manifest, persons[1])).requires_confirmation(READ), (
        "what a toolset brings is no policy of the file"
    )
