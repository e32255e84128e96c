"""What an override says and what comes of it: what has no effect is told with what decides instead."""

from dataclasses import replace

import pytest
from tests.core.boards import FILE, GITHUB, ME, NOW, Board, board, tool

from pegboard.core.explain.effects import IneffectiveField, OverrideEffect, ineffective_fields, override_effects
from pegboard.core.model.ids import ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Switch

DEV = ToolsetId("dev")
READ, WRITE = ToolId(GITHUB, "read"), ToolId(GITHUB, "write")
EVERY = Pattern("*", "*")
SPEC = ToolSpec("read", input_schema={"properties": {"path": {}, "limit": {}}})


def made(*rows: Override, switches: dict[ToolId | ServerKey | ToolsetId, Switch] | None = None) -> Board:
    plain = board([replace(tool(GITHUB, "read"), spec=SPEC), tool(GITHUB, "write")])
    file, people = (tuple(row for row in rows if row.is_declared is declared) for declared in (True, False))
    return plain.declaring(overrides=file).deciding(overrides=people, switches={**(switches or {})})


def vain(of: Board, row: Override) -> list[IneffectiveField]:
    return [*ineffective_fields(row, row, of.catalogue, of.policy)]


@pytest.mark.behaviour("overrides.nearest_switch_wins", "overrides.without_effect_is_told")
def test_a_switch_of_the_tools_own_holds_against_a_pattern_and_that_is_told() -> None:
    row = Override(DEV, EVERY, enabled=False)
    of = made(row, switches={READ: Switch(True, ME, NOW)})
    why = f"its own switch is on, by me on 2026-01-02. To change that: pegboard tools disable {READ}"
    assert override_effects(of.tools[READ], of.policy) == {"enabled": OverrideEffect(why, is_effective=False)}
    assert override_effects(of.tools[WRITE], of.policy) == {}
    assert vain(of, row) == [IneffectiveField(READ, "enabled", why)]


@pytest.mark.behaviour("overrides.without_effect_is_told")
def test_a_person_who_enables_what_the_file_takes_away_is_told_so() -> None:
    row = Override(DEV, READ, enabled=True)
    of = made(Override(DEV, EVERY, enabled=False, is_declared=True, origins={"enabled": FILE}), row)
    why = f"{READ} is denied by the operator: a declared override sets enabled to false (pegboard.yaml:7)"
    assert vain(of, row) == [IneffectiveField(READ, "enabled", why)]


@pytest.mark.behaviour("overrides.without_effect_is_told")
@pytest.mark.parametrize(
    ("said", "aspect", "why"),
    [
        (ArgumentOverride(pin=freeze_json("/mine")), "pin", "the operator's file decides it (pegboard.yaml:7)"),
        (ArgumentOverride(hide=False), "hide", "the operator's file decides it (pegboard.yaml:7)"),
        (ArgumentOverride(default=freeze_json("/mine")), "default", "the argument is pinned"),
        (ArgumentOverride(description="Mine"), "description", "the argument is pinned"),
    ],
)
def test_what_a_person_says_of_an_argument_that_the_file_pins_has_no_effect(
    said: ArgumentOverride, aspect: str, why: str
) -> None:
    file = Override(
        DEV,
        READ,
        arguments={"path": ArgumentOverride(pin=freeze_json("/srv"))},
        is_declared=True,
        origins={"arguments.path": FILE},
    )
    row = Override(DEV, READ, arguments={"path": said})
    assert vain(made(file, row), row) == [IneffectiveField(READ, f"arguments.path.{aspect}", why)]


def test_what_does_not_fit_is_told_as_that_and_not_once_more() -> None:
    row = Override(DEV, READ, arguments={"nope": ArgumentOverride(default=freeze_json(1))})
    of = made(row)
    assert not override_effects(of.tools[READ], of.policy)["arguments.nope.default"].is_effective
    assert vain(of, row) == []


@pytest.mark.behaviour("overrides.without_effect_is_told")
def test_a_pattern_is_told_of_the_tools_whose_own_override_says_otherwise() -> None:
    row, own = Override(DEV, EVERY, renderer="json", name_override="All"), Override(DEV, READ, renderer="code")
    assert vain(made(own, row), row) == [IneffectiveField(READ, "renderer", f"the override of {READ} decides it")]
    assert vain(made(own, row), own) == []
