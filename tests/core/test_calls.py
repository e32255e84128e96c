"""Admission: what is refused, in which words, and that only an open tool with fitting arguments gets through."""

import pytest
from hypothesis import given
from tests.core.boards import DOCS_FILES, GITHUB, MATH, ME, OFF, board, texts, tool
from tests.core.laws import call, fits

from pegboard.core.calls.call import AdmittedCall, BadArguments, LockedToolRefusal, UnknownTool, admit, refusal_text
from pegboard.core.decision.resolve import Resolution, resolve
from pegboard.core.decision.status import SwitchedOff
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.overrides.model import Override

READ, WRITE = ToolId(GITHUB, "read"), ToolId(GITHUB, "write")
BOARD = board(
    [tool(GITHUB, "read"), tool(GITHUB, "write"), tool(MATH, "add"), tool(DOCS_FILES, "secret_plan")]
).deciding(switches={WRITE: OFF})


def answer(*narrowings: Selection) -> Resolution:
    return resolve(BOARD.catalogue, BOARD.policy, View(ME, narrowings))


def test_an_open_tool_is_admitted_with_the_call_as_it_came() -> None:
    assert admit(call("read"), answer(), fits) == AdmittedCall(call("read"), BOARD.tools[READ])
    asking = BOARD.deciding(overrides=(Override(GITHUB.toolset, READ, requires_confirmation=True),))
    resolution = resolve(asking.catalogue, asking.policy, View(ME))
    assert admit(call("read"), resolution, fits) == AdmittedCall(call("read"), BOARD.tools[READ], confirm=True)


def test_a_locked_tool_is_refused_before_its_arguments_are_looked_at() -> None:
    def never(tool: object, arguments: object) -> tuple[str, ...]:
        raise AssertionError("a locked tool's arguments were validated")

    assert admit(call("write"), answer(), never) == LockedToolRefusal(WRITE, SwitchedOff(WRITE, OFF))


@pytest.mark.behaviour("admission.unknown_tool_names_near_matches")
def test_an_unknown_name_is_refused_with_the_nearest_that_this_caller_sees() -> None:
    refusal = admit(call("raed"), answer(), fits)
    assert refusal == UnknownTool("raed", ("read",))
    assert refusal_text(refusal) == "There is no tool 'raed' here. Did you mean 'read'?"
    assert refusal_text(UnknownTool("x")) == "There is no tool 'x' here. List the tools to see what there is."


@pytest.mark.behaviour("locked.absent_outside_the_view")
@pytest.mark.parametrize("name", ["secret_plan", "secret_plam", "mcp:docs~files:secret_plan"])
def test_what_is_outside_the_view_is_refused_as_what_does_not_exist(name: str) -> None:
    narrowed = answer(Selection(TheseToolsets(("dev",))))
    assert admit(call(name), narrowed, fits) == UnknownTool(name)


def test_arguments_that_do_not_fit_are_refused_with_each_problem() -> None:
    refusal = admit(call("read"), answer(), lambda tool, arguments: ("path: missing", "mode: not a string"))
    assert refusal == BadArguments(READ, ("path: missing", "mode: not a string"))
    assert refusal_text(refusal) == (
        "The arguments do not fit mcp:dev~github:read:\n- path: missing\n- mode: not a string\n"
        "Correct them and call again."
    )


def test_a_locked_tool_is_refused_in_the_words_of_its_status() -> None:
    refusal = admit(call("write"), answer(), fits)
    assert isinstance(refusal, LockedToolRefusal)
    assert refusal_text(refusal) == (
        "disabled_by_user: mcp:dev~github:write was switched off by me on 2026-01-02 (out of order). "
        "Ask the user to switch the tool on again: pegboard tools enable mcp:dev~github:write"
    )


@given(texts)
def test_any_name_is_answered(name: str) -> None:
    verdict = admit(call(name), answer(), fits)
    if isinstance(verdict, AdmittedCall):
        assert name in ("read", "add", "secret_plan")
    else:
        assert refusal_text(verdict)


def test_a_name_of_a_megabyte_is_not_echoed_whole() -> None:
    refusal = admit(call("x" * 1_000_000), answer(), fits)
    assert isinstance(refusal, UnknownTool)
    assert len(refusal_text(refusal)) < 300
