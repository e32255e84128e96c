"""The trail: every step that was taken for a tool, what each said, and where it ended."""

import pytest
from tests.core.boards import DEV_FILES, FILE, GITHUB, ME, NOW, OFF, Board, board, tool

from pegboard.core.explain import QUESTIONS, Step, Trail, explain
from pegboard.core.ids import PrincipalId, ToolId, ToolsetId, WireName
from pegboard.core.passage import NarrowedAway, NotGranted, NotSelected
from pegboard.core.policy import Limit, Sayer, Switch
from pegboard.core.presentations import Listed, Presented, Presenting
from pegboard.core.removal import selection_text
from pegboard.core.resolve import Absent, Locked, Open
from pegboard.core.rules import RULES
from pegboard.core.selection import Everything, Selection, TheseToolsets
from pegboard.core.status import OwnerOff, SwitchedOff
from pegboard.core.view import View

READ = ToolId(GITHUB, "read")
BOARD = board([tool(GITHUB, "read"), tool(DEV_FILES, "write")])
ONLY_WRITE = Selection(TheseToolsets(()), ("write",))
YES = [Step(QUESTIONS[rule.__name__], True, "yes") for rule in RULES]


def trail(made: Board, *narrowings: Selection, by: PrincipalId = ME) -> Trail:
    told = explain(made.catalogue, made.policy, View(by, narrowings), READ)
    assert told is not None
    return told


SELECTED, GRANTED, KEPT = (step.asked for step in trail(BOARD, Selection()).steps[:3])
"""The questions that come before those of the rules."""


@pytest.mark.behaviour("explain.every_step")
def test_an_open_tool_passed_every_step() -> None:
    assert trail(BOARD, Selection()) == Trail(
        READ,
        Open(BOARD.tools[READ]),
        "read",
        (
            Step("Does the board's selection choose it?", True, "yes: toolsets all"),
            Step("Is me granted it?", True, "granted: everything"),
            Step("Does the request keep it?", True, "toolsets all"),
            *YES,
        ),
    )


def test_each_rule_that_locks_says_so_in_the_words_of_the_refusal() -> None:
    off = BOARD.deciding(switches={READ: OFF, GITHUB: Switch(False, ME, NOW)})
    told = trail(off)
    assert told.verdict == Locked(
        BOARD.tools[READ], OwnerOff(GITHUB, Switch(False, ME, NOW)), (SwitchedOff(READ, OFF),)
    )
    assert [step for step in told.steps if not step.lets] == [
        Step(
            "Are its server and its toolset on?",
            False,
            "server_disabled: Server dev~github is off: switched off by me on 2026-01-02. "
            "Ask the user to enable the server first: pegboard servers enable dev~github",
        ),
        Step(
            "Is the tool switched on?",
            False,
            "disabled_by_user: mcp:dev~github:read was switched off by me on 2026-01-02 (out of order). "
            "Ask the user to switch the tool on again: pegboard tools enable mcp:dev~github:read",
        ),
    ]


def test_every_rule_has_its_question() -> None:
    assert [*QUESTIONS] == [rule.__name__ for rule in RULES]


def test_every_question_is_one_to_which_yes_lets_the_tool() -> None:
    assert [asked for asked in QUESTIONS.values() if {"no", "not", "never"} & {*asked.lower().split()}] == []


@pytest.mark.behaviour("explain.absent_names_the_step")
def test_the_trail_of_an_absent_tool_names_the_step_that_removed_it_and_asks_the_others_too() -> None:
    unselected = trail(BOARD.declaring(selection=ONLY_WRITE), Selection())
    assert (unselected.verdict, unselected.wire_name) == (Absent(BOARD.tools[READ], NotSelected(ONLY_WRITE)), None)
    assert unselected.steps[: -len(RULES)] == (
        Step(SELECTED, False, "no: toolsets none, plus write"),
        Step(GRANTED, True, "granted: everything"),
        Step(KEPT, True, "toolsets all"),
    )

    docs = frozenset({ToolsetId("docs")})
    ungranted = trail(BOARD.deciding(grants={ME: docs}), ONLY_WRITE)
    limit = Limit(ME, docs, Sayer.STORE)
    assert ungranted.verdict == Absent(BOARD.tools[READ], NotGranted(limit, ToolsetId("dev")))
    assert ungranted.steps[1 : -len(RULES)] == (
        Step(GRANTED, False, "granted: docs"),
        Step(KEPT, False, "toolsets none, plus write"),
    )

    narrowed = trail(BOARD, Selection(), ONLY_WRITE, Selection())
    assert narrowed.verdict == Absent(BOARD.tools[READ], NarrowedAway(ONLY_WRITE))
    assert narrowed.steps[2 : -len(RULES)] == (
        Step(KEPT, True, "toolsets all"),
        Step(KEPT, False, "toolsets none, plus write"),
        Step(KEPT, True, "toolsets all"),
    )


def test_a_tool_outside_the_view_is_still_told_what_else_would_lock_it() -> None:
    told = trail(BOARD.deciding(switches={READ: OFF}), ONLY_WRITE)
    assert [step.asked for step in told.steps if not step.lets] == [
        KEPT,
        QUESTIONS["is_switched_on"],
    ]
    assert told.more == ("mcp:dev~github:read was switched off by me on 2026-01-02 (out of order).",)


def test_a_tool_that_the_catalogue_does_not_have_has_no_trail() -> None:
    assert explain(BOARD.catalogue, BOARD.policy, View(ME), ToolId(GITHUB, "nothing")) is None


def test_the_trail_names_the_tool_as_this_caller_sees_it() -> None:
    held = {WireName("read"): ToolId(DEV_FILES, "read")}
    told = explain(BOARD.catalogue, BOARD.policy, View(ME), READ, held=held)
    assert told is not None
    assert told.wire_name == "dev__read"


@pytest.mark.parametrize(
    ("selection", "text"),
    [
        (Selection(), "toolsets all"),
        (Selection(TheseToolsets(())), "toolsets none"),
        (Selection(TheseToolsets(("a", "b")), ("x",), ("y", "z")), "toolsets a, b, plus x, minus y, z"),
        (Selection(Everything(), (), ("y",)), "toolsets all, minus y"),
    ],
)
def test_a_selection_is_told_in_words(selection: Selection, text: str) -> None:
    assert selection_text(selection) == text


INSTEAD = {
    Presented.META: "5 tools by which they look through the toolsets and call what they find (presentation: meta)",
    Presented.SEARCH: "4 tools by which they find and call all others (presentation: search)",
    Presented.DEFERRED: (
        "2 tools by which they find all others, each of which is listed once it was found (presentation: deferred)"
    ),
    Presented.CODE: "2 tools by which they find all others and call them from programs (presentation: code)",
}


@pytest.mark.behaviour("present.unlisted_is_told")
@pytest.mark.parametrize("presented", INSTEAD)
def test_the_trail_tells_that_an_open_tool_is_not_listed_as_itself_and_how_it_is_reached(presented: Presented) -> None:
    told = trail(BOARD.declaring(presenting=Presenting(presented)))
    assert isinstance(told.verdict, Open)
    assert told.steps[-1] == Step(
        "Is it listed as itself at /mcp?",
        True,
        f"no: clients there are shown {INSTEAD[presented]}; /mcp/direct lists each open tool as itself",
    )


@pytest.mark.behaviour("present.unlisted_is_told")
def test_the_number_of_tools_decides_and_what_is_always_visible_is_listed() -> None:
    few = trail(BOARD.declaring(presenting=Presenting(Presented.AUTO, threshold=2)))
    many = trail(BOARD.declaring(presenting=Presenting(Presented.AUTO, threshold=1)))
    kept = trail(BOARD.declaring(presenting=Presenting(Presented.SEARCH, always_visible=(Listed("read", FILE),))))
    absent = trail(BOARD.declaring(selection=ONLY_WRITE, presenting=Presenting(Presented.SEARCH)))
    assert few.steps == trail(BOARD).steps
    assert many.steps[-1].said == (
        "no: clients there are shown 4 tools by which they find and call all others (presentation: auto, of more than "
        "1 tools); /mcp/direct lists each open tool as itself"
    )
    assert kept.steps[-1] == Step(many.steps[-1].asked, True, "yes: always_visible names it")
    assert absent.steps[-1] == YES[-1]
