"""Overrides that do not fit: told by what is wrong, and only where it is known."""

from collections.abc import Sequence

import pytest
from tests.core.boards import GITHUB, NOW, Board, board, key, tool

from pegboard.core.explain.effects import OverrideMisfit, override_misfits
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.ids import BUILTIN, BuiltinKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json

DEV = ToolsetId("dev")
READ = ToolId(GITHUB, "read")
BOARD = board([tool(GITHUB, "read"), tool(GITHUB, "write")])


def found(of: Board, *rows: Override) -> Sequence[OverrideMisfit]:
    made = of.deciding(overrides=rows)
    return tuple(override_misfits(made.catalogue, made.policy))


@pytest.mark.behaviour("overrides.misfit_is_shown")
def test_an_override_of_a_tool_that_its_server_does_not_list_is_told_with_what_is_near() -> None:
    row = Override(DEV, ToolId(GITHUB, "raed"), renderer="code")
    assert found(BOARD, row) == (
        OverrideMisfit(row, "dev~github lists no tool 'raed'. Did you mean 'read'?", ToolId(GITHUB, "raed")),
    )


@pytest.mark.behaviour("overrides.misfit_is_shown")
@pytest.mark.parametrize("target", [Pattern("*", "python_execution"), PYTHON_ID, Pattern("*", "tool_*")])
@pytest.mark.parametrize("of", [BOARD, board([tool(BuiltinKey(), "execute_sql")])])
def test_an_override_of_a_built_in_tool_fits_it_on_the_board_or_not(of: Board, target: ToolId | Pattern) -> None:
    assert found(of, Override(BUILTIN, target, enabled=False)) == ()
    wrong = Override(BUILTIN, Pattern("*", "python_exe"), enabled=False)
    assert [misfit.problem for misfit in found(of, wrong)] == ["no tool of toolset 'builtin' fits '*:python_exe'."]


@pytest.mark.behaviour("overrides.misfit_is_shown")
def test_of_a_server_that_is_down_nothing_is_said() -> None:
    down = BOARD.with_health(GITHUB, ProviderDown(NOW, "gone"))
    rows = (Override(DEV, ToolId(GITHUB, "raed"), renderer="code"), Override(DEV, Pattern("*", "x"), renderer="code"))
    assert found(down, *rows) == ()


@pytest.mark.behaviour("overrides.misfit_is_shown")
@pytest.mark.parametrize(
    ("row", "what", "tool"),
    [
        (Override(ToolsetId("nope"), Pattern("*", "*"), renderer="code"), "there is no toolset 'nope'.", None),
        (
            Override(DEV, ToolId(key("dev~nope"), "x"), renderer="code"),
            "there is no server dev~nope.",
            ToolId(key("dev~nope"), "x"),
        ),
        (Override(DEV, Pattern("*", "x*"), renderer="code"), "no tool of toolset 'dev' fits '*:x*'.", None),
        (Override(DEV, READ, renderer="nope"), "there is no renderer 'nope'.", READ),
        (Override(DEV, READ, renderer_config={}), "no override names a renderer", READ),
        (Override(DEV, READ, renderer="json", renderer_config={"x": 1}), "It takes: value.", READ),
        (
            Override(DEV, READ, arguments={"x": ArgumentOverride(pin=freeze_json(1))}),
            "Until it is corrected, nobody can call",
            READ,
        ),
        (
            Override(DEV, Pattern("*", "read"), arguments={"x": ArgumentOverride(pin=freeze_json(1))}),
            "Until it is corrected, nobody can call",
            READ,
        ),
        (
            Override(DEV, READ, arguments={"x": ArgumentOverride(default=freeze_json(1))}),
            "the tool takes no such argument.",
            READ,
        ),
        (
            Override(DEV, Pattern("*", "*"), arguments={"x": ArgumentOverride(pin=freeze_json(1))}),
            "none of the tools that '*:*' fits takes an argument 'x'.",
            None,
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_override_and_tool(row: Override, what: str, tool: ToolId | None) -> None:
    (misfit,) = found(BOARD, row)
    assert (misfit.override, misfit.tool) == (row, tool)
    assert what in misfit.problem


def test_a_configuration_is_held_against_the_renderer_that_another_override_names() -> None:
    rows = (Override(DEV, READ, renderer="table"), Override(DEV, Pattern("*", "*"), renderer_config={"value": 1}))
    told = [(misfit.override, misfit.tool) for misfit in found(BOARD, *rows)]
    assert told == [(rows[1], READ), (rows[1], ToolId(GITHUB, "write"))]


def test_overrides_that_fit_are_not_told() -> None:
    assert found(BOARD, Override(DEV, READ, renderer="code"), Override(DEV, Pattern("github", "*"), enabled=True)) == ()
