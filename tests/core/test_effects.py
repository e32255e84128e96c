"""What an override says and what comes of it: what has no effect is told with what decides instead."""

from dataclasses import replace

import pytest
from tests.core.boards import FILE, GITHUB, ME, NOW, Board, board, tool

from pegboard.core.argument import Argument, held
from pegboard.core.effects import Effect, Idle, effects, idle
from pegboard.core.ids import ServerKey, ToolId, ToolsetId
from pegboard.core.override import Override
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Switch
from pegboard.core.tool import ToolSpec

DEV = ToolsetId("dev")
READ, WRITE = ToolId(GITHUB, "read"), ToolId(GITHUB, "write")
EVERY = Pattern("*", "*")
SPEC = ToolSpec("read", input_schema={"properties": {"path": {}, "limit": {}}})


def made(*rows: Override, switches: dict[ToolId | ServerKey | ToolsetId, Switch] | None = None) -> Board:
    plain = board([replace(tool(GITHUB, "read"), spec=SPEC), tool(GITHUB, "write")])
    file, people = (tuple(row for row in rows if row.declared is declared) for declared in (True, False))
    return plain.declaring(overrides=file).deciding(overrides=people, switches={**(switches or {})})


def vain(of: Board, row: Override) -> list[Idle]:
    return [*idle(row, row, of.catalogue, of.policy)]


@pytest.mark.behaviour("overrides.nearest_switch_wins", "overrides.without_effect_is_told")
def test_a_switch_of_the_tools_own_holds_against_a_pattern_and_that_is_told() -> None:
    row = Override(DEV, EVERY, enabled=False)
    of = made(row, switches={READ: Switch(True, ME, NOW)})
    why = f"its own switch is on, by me on 2026-01-02. To change that: pegboard tools disable {READ}"
    assert effects(of.tools[READ], of.policy) == {"enabled": Effect(why, holds=False)}
    assert effects(of.tools[WRITE], of.policy) == {}
    assert vain(of, row) == [Idle(READ, "enabled", why)]


@pytest.mark.behaviour("overrides.without_effect_is_told")
def test_a_person_who_enables_what_the_file_takes_away_is_told_so() -> None:
    row = Override(DEV, READ, enabled=True)
    of = made(Override(DEV, EVERY, enabled=False, declared=True, origins={"enabled": FILE}), row)
    why = f"{READ} is denied by the operator: a declared override sets enabled to false (pegboard.yaml:7)"
    assert vain(of, row) == [Idle(READ, "enabled", why)]


@pytest.mark.behaviour("overrides.without_effect_is_told")
@pytest.mark.parametrize(
    ("said", "aspect", "why"),
    [
        (Argument(pin=held("/mine")), "pin", "the operator's file decides it (pegboard.yaml:7)"),
        (Argument(hide=False), "hide", "the operator's file decides it (pegboard.yaml:7)"),
        (Argument(default=held("/mine")), "default", "the argument is pinned"),
        (Argument(description="Mine"), "description", "the argument is pinned"),
    ],
)
def test_what_a_person_says_of_an_argument_that_the_file_pins_has_no_effect(
    said: Argument, aspect: str, why: str
) -> None:
    file = Override(
        DEV, READ, arguments={"path": Argument(pin=held("/srv"))}, declared=True, origins={"arguments.path": FILE}
    )
    row = Override(DEV, READ, arguments={"path": said})
    assert vain(made(file, row), row) == [Idle(READ, f"arguments.path.{aspect}", why)]


def test_what_does_not_fit_is_told_as_that_and_not_once_more() -> None:
    row = Override(DEV, READ, arguments={"nope": Argument(default=held(1))})
    of = made(row)
    assert not effects(of.tools[READ], of.policy)["arguments.nope.default"].holds
    assert vain(of, row) == []


@pytest.mark.behaviour("overrides.without_effect_is_told")
def test_a_pattern_is_told_of_the_tools_whose_own_override_says_otherwise() -> None:
    row, own = Override(DEV, EVERY, renderer="json", name_override="All"), Override(DEV, READ, renderer="code")
    assert vain(made(own, row), row) == [Idle(READ, "renderer", f"the override of {READ} decides it")]
    assert vain(made(own, row), own) == []
