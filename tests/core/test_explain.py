"""The trail: every step that was taken for a tool, what each said, and where it ended."""

import pytest
from tests.core.boards import DEV_FILES, FILE, GITHUB, ME, NOW, OFF, Board, board, tool

from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool
from pegboard.core.decision.rules import RULES
from pegboard.core.decision.status import OwnerOff, SwitchedOff
from pegboard.core.decision.visibility import (
    HiddenByGrants,
    HiddenByNarrowerView,
    HiddenBySelection,
    describe_selection,
)
from pegboard.core.explain.explain import RULE_QUESTIONS, DecisionStep, DecisionTrail, explain
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId, WireName
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets, View
from pegboard.core.model.settings import PinnedEntry, PresentationMode, PresentationSettings
from pegboard.core.policy.policy import GrantSource, PrincipalGrants, Switch

READ = ToolId(GITHUB, "read")
BOARD = board([tool(GITHUB, "read"), tool(DEV_FILES, "write")])
ONLY_WRITE = Selection(TheseToolsets(()), ("write",))
YES = [DecisionStep(RULE_QUESTIONS[rule.__name__], True, "yes") for rule in RULES]


def trail(made: Board, *narrowings: Selection, by: PrincipalId = ME) -> DecisionTrail:
    told = explain(made.catalogue, made.policy, View(by, narrowings), READ)
    assert told is not None
    return told


SELECTED, GRANTED, KEPT = (step.question for step in trail(BOARD, Selection()).steps[:3])
"""The questions that come before those of the rules."""


@pytest.mark.behaviour("explain.every_step")
def test_an_open_tool_passed_every_step() -> None:
    assert trail(BOARD, Selection()) == DecisionTrail(
        READ,
        OpenTool(BOARD.tools[READ]),
        "read",
        (
            DecisionStep("Does the board's selection choose it?", True, "yes: toolsets all"),
            DecisionStep("Is me granted it?", True, "granted: everything"),
            DecisionStep("Does the request keep it?", True, "toolsets all"),
            *YES,
        ),
    )


def test_each_rule_that_locks_says_so_in_the_words_of_the_refusal() -> None:
    off = BOARD.deciding(switches={READ: OFF, GITHUB: Switch(False, ME, NOW)})
    told = trail(off)
    assert told.verdict == LockedTool(
        BOARD.tools[READ], OwnerOff(GITHUB, Switch(False, ME, NOW)), (SwitchedOff(READ, OFF),)
    )
    assert [step for step in told.steps if not step.passes] == [
        DecisionStep(
            "Are its server and its toolset on?",
            False,
            "server_disabled: Server dev~github is off: switched off by me on 2026-01-02. "
            "Enable the server first: pegboard servers enable dev~github",
        ),
        DecisionStep(
            "Is the tool switched on?",
            False,
            "disabled_by_user: mcp:dev~github:read was switched off by me on 2026-01-02 (out of order). "
            "Switch the tool on again: pegboard tools enable mcp:dev~github:read",
        ),
    ]


def test_every_rule_has_its_question() -> None:
    assert [*RULE_QUESTIONS] == [rule.__name__ for rule in RULES]


def test_every_question_is_one_to_which_yes_lets_the_tool() -> None:
    assert [asked for asked in RULE_QUESTIONS.values() if {"no", "not", "never"} & {*asked.lower().split()}] == []


@pytest.mark.behaviour("explain.absent_names_the_step")
def test_the_trail_of_an_absent_tool_names_the_step_that_removed_it_and_asks_the_others_too() -> None:
    unselected = trail(BOARD.declaring(selection=ONLY_WRITE), Selection())
    assert (unselected.verdict, unselected.wire_name) == (
        HiddenTool(BOARD.tools[READ], HiddenBySelection(ONLY_WRITE)),
        None,
    )
    assert unselected.steps[: -len(RULES)] == (
        DecisionStep(SELECTED, False, "no: toolsets none, plus write"),
        DecisionStep(GRANTED, True, "granted: everything"),
        DecisionStep(KEPT, True, "toolsets all"),
    )

    docs = frozenset({ToolsetId("docs")})
    ungranted = trail(BOARD.deciding(grants={ME: docs}), ONLY_WRITE)
    limit = PrincipalGrants(ME, docs, GrantSource.STORE)
    assert ungranted.verdict == HiddenTool(BOARD.tools[READ], HiddenByGrants(limit, ToolsetId("dev")))
    assert ungranted.steps[1 : -len(RULES)] == (
        DecisionStep(GRANTED, False, "granted: docs"),
        DecisionStep(KEPT, False, "toolsets none, plus write"),
    )

    narrowed = trail(BOARD, Selection(), ONLY_WRITE, Selection())
    assert narrowed.verdict == HiddenTool(BOARD.tools[READ], HiddenByNarrowerView(ONLY_WRITE))
    assert narrowed.steps[2 : -len(RULES)] == (
        DecisionStep(KEPT, True, "toolsets all"),
        DecisionStep(KEPT, False, "toolsets none, plus write"),
        DecisionStep(KEPT, True, "toolsets all"),
    )


def test_a_tool_outside_the_view_is_still_told_what_else_would_lock_it() -> None:
    told = trail(BOARD.deciding(switches={READ: OFF}), ONLY_WRITE)
    assert [step.question for step in told.steps if not step.passes] == [
        KEPT,
        RULE_QUESTIONS["is_switched_on"],
    ]
    assert told.remaining_reasons == ("mcp:dev~github:read was switched off by me on 2026-01-02 (out of order).",)


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
        (Selection(AllToolsets(), (), ("y",)), "toolsets all, minus y"),
    ],
)
def test_a_selection_is_told_in_words(selection: Selection, text: str) -> None:
    assert describe_selection(selection) == text


INSTEAD = {
    PresentationMode.META: "5 tools by which they look through the toolsets and call what they find (presentation: "
    "meta)",
    PresentationMode.SEARCH: "4 tools by which they find and call all others (presentation: search)",
    PresentationMode.DEFERRED: (
        "2 tools by which they find all others, each of which is listed once it was found (presentation: deferred)"
    ),
    PresentationMode.CODE: "2 tools by which they find all others and call them from programs (presentation: code)",
}


@pytest.mark.behaviour("present.unlisted_is_told")
@pytest.mark.parametrize("presented", INSTEAD)
def test_the_trail_tells_that_an_open_tool_is_not_listed_as_itself_and_how_it_is_reached(
    presented: PresentationMode,
) -> None:
    told = trail(BOARD.declaring(presenting=PresentationSettings(presented)))
    assert isinstance(told.verdict, OpenTool)
    assert told.steps[-1] == DecisionStep(
        "Is it listed as itself at /mcp?",
        True,
        f"no: clients there are shown {INSTEAD[presented]}; /mcp/direct lists each open tool as itself",
    )


@pytest.mark.behaviour("present.unlisted_is_told")
def test_the_number_of_tools_decides_and_what_is_always_visible_is_listed() -> None:
    few = trail(BOARD.declaring(presenting=PresentationSettings(PresentationMode.AUTO, threshold=2)))
    many = trail(BOARD.declaring(presenting=PresentationSettings(PresentationMode.AUTO, threshold=1)))
    kept = trail(
        BOARD.declaring(
            presenting=PresentationSettings(PresentationMode.SEARCH, always_visible=(PinnedEntry("read", FILE),))
        )
    )
    absent = trail(BOARD.declaring(selection=ONLY_WRITE, presenting=PresentationSettings(PresentationMode.SEARCH)))
    assert few.steps == trail(BOARD).steps
    assert many.steps[-1].answer == (
        "no: clients there are shown 4 tools by which they find and call all others (presentation: auto, of more than "
        "1 tools); /mcp/direct lists each open tool as itself"
    )
    assert kept.steps[-1] == DecisionStep(many.steps[-1].question, True, "yes: always_visible names it")
    assert absent.steps[-1] == YES[-1]
