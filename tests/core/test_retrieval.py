"""What a search answers: callable tools first, locked ones when asked for, and of those just what may be told."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.core.boards import (
    DEV_FILES,
    GITHUB,
    ME,
    NOW,
    OFF,
    SECRET,
    Board,
    board,
    boards,
    damaging,
    views,
)
from tests.core.found import DAMAGE, ask, everything, locked, made, names, plain

from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import LockStatus, general_remedy, status_remedy
from pegboard.core.decision.visibility import agent_visible_spec
from pegboard.core.json.values import JsonObject
from pegboard.core.model.catalogue import Catalogue, ProviderDown, ProviderNeedsSignIn
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import Override
from pegboard.core.presentations.retrieval import MAX_LOCKED_RESULTS, AnswerDetail, ToolSearchQuery, search_tools

BOARD = board([made("issue_a", "A."), made("issue_b", "B."), made("issue_c", "C."), made("pull", "P.")])


@pytest.mark.behaviour("search.compact")
def test_an_answer_holds_what_is_needed_to_call_what_was_found() -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    words = "Opens one. It is numbered."
    tool = Tool(ToolId(GITHUB, "issue"), ToolSpec("issue", "An issue", words, schema, schema, {"readOnlyHint": True}))
    assert ask(board([tool]), "issue") == {
        "tools": [
            {
                "name": "issue",
                "server": "dev~github",
                "signature": "(n?: integer) -> {n?: integer}",
                "description": "Opens one.",
            }
        ],
        "ranker": "lexical",
    }
    assert ask(board([tool]), "issue", detail=AnswerDetail.FULL) == {
        "tools": [
            {
                "name": "issue",
                "server": "dev~github",
                "title": "An issue",
                "description": words,
                "inputSchema": schema,
                "annotations": {"readOnlyHint": True},
            }
        ],
        "ranker": "lexical",
    }


def test_the_words_that_people_gave_a_tool_stand_before_its_own() -> None:
    id = ToolId(GITHUB, "issue_a")
    override = Override(id.toolset, id, name_override="Report", description_override="Report a fault.")
    hung = BOARD.deciding(overrides=(override,))
    assert ask(hung, "issue_a")["tools"] == [
        {"name": "issue_a", "server": "dev~github", "signature": "()", "description": "Report a fault."}
    ]
    assert ask(hung, "issue_a", detail=AnswerDetail.FULL)["tools"] == [
        {
            "name": "issue_a",
            "server": "dev~github",
            "title": "Report",
            "description": "Report a fault.",
            "inputSchema": {"type": "object"},
        }
    ]
    [entry] = ask(locked(hung, issue_a="switched_off"), "issue_a", include_disabled=True)["disabled"]
    assert entry["description"] == "Report a fault."
    [entry] = ask(locked(hung, issue_a="never_approved"), "issue_a", include_disabled=True)["disabled"]
    assert entry["description"] == ""


@pytest.mark.behaviour("locked.entry_fields", "locked.entries_only_when_asked", "locked.remediation_once_per_answer")
def test_locked_tools_come_after_the_callable_ones_with_one_remedy_for_each_status() -> None:
    hung = locked(BOARD, issue_b="switched_off", issue_c="never_approved", pull="denied_by_a_pattern")
    answer = ask(hung, "issue", include_disabled=True)
    assert [*answer] == ["tools", "ranker", "disabled", "remediation"]
    assert names(answer) == ["issue_a"]
    assert answer["disabled"] == [
        {"name": "issue_b", "server": "dev~github", "description": "B.", "status": "disabled_by_user"},
        {"name": "issue_c", "server": "dev~github", "description": "", "status": "pending_approval"},
    ]
    assert answer["remediation"] == {
        "disabled_by_user": status_remedy(LockStatus.DISABLED_BY_USER, Audience.AGENT),
        "pending_approval": status_remedy(LockStatus.PENDING_APPROVAL, Audience.AGENT),
    }


@pytest.mark.behaviour("locked.remediation_absent_without_entries")
@pytest.mark.parametrize("include_disabled", [True, False])
def test_without_locked_matches_nothing_is_said_of_locks(include_disabled: bool) -> None:
    hung = locked(BOARD, pull="switched_off")
    assert [*ask(hung, "issue", include_disabled=include_disabled)] == ["tools", "ranker"]
    assert ask(hung, "no such thing", include_disabled=include_disabled) == {"tools": [], "ranker": "lexical"}


@pytest.mark.behaviour("locked.notice")
def test_a_notice_says_how_many_locked_tools_match_when_nothing_callable_does() -> None:
    one = locked(BOARD, pull="switched_off")
    assert ask(one, "pull") == {
        "tools": [],
        "ranker": "lexical",
        "notice": "1 matching tool exists but is locked. "
        "Search again with include_disabled to see which, why, and what unlocks them.",
    }
    three = locked(BOARD, issue_a="switched_off", issue_b="never_approved", issue_c="denied_by_a_pattern")
    assert ask(three, "issue")["notice"].startswith("3 matching tools exist but are locked.")
    assert "notice" not in ask(three, "issue", include_disabled=True)
    assert "notice" not in ask(locked(BOARD, issue_a="switched_off"), "issue")


@pytest.mark.behaviour("locked.notice")
def test_who_names_a_locked_tool_is_told_so_whatever_else_is_found() -> None:
    tools = [made("issue"), made("issue_b", readOnlyHint=True), made("issue_c")]
    hung = locked(board(tools), issue="switched_off", issue_c="switched_off")
    answer = ask(hung, "issue")
    assert names(answer) == ["issue_b"]
    assert answer["notice"].startswith("1 matching tool exists but is locked.")
    assert "notice" not in ask(hung, "issue", read_only_only=True)
    assert "notice" not in ask(hung, "issue_")


@pytest.mark.behaviour("locked.limit_counts_callable")
def test_the_limit_counts_callable_tools_after_filtering() -> None:
    tools = [made(f"issue_{letter}", readOnlyHint=letter in "dxyz") for letter in "abcdwxyz"]
    hung = locked(board(tools), issue_x="switched_off", issue_y="never_approved")
    answer = ask(hung, "issue", limit=2, read_only_only=True)
    assert names(answer) == ["issue_d", "issue_z"]
    assert names(ask(hung, "issue", limit=1)) == ["issue_a"]


@pytest.mark.behaviour("locked.entries_capped")
@pytest.mark.parametrize(("limit", "shown"), [(1, 1), (3, 3), (10, 10), (100, MAX_LOCKED_RESULTS)])
def test_at_most_ten_locked_tools_are_listed_and_no_more_than_the_limit(limit: int, shown: int) -> None:
    tools = [made(f"issue_{number:02}") for number in range(25)]
    hung = board(tools).deciding(switches={tool.id: OFF for tool in tools})
    answer = ask(hung, "issue", limit=limit, include_disabled=True)
    assert names(answer, "disabled") == [f"issue_{number:02}" for number in range(shown)]
    assert ask(hung, "issue", limit=limit)["notice"].startswith("25 matching tools")


@pytest.mark.behaviour("locked.remediation_once_per_answer")
def test_the_remediation_holds_just_the_statuses_that_are_listed() -> None:
    hung = locked(BOARD, issue_a="never_approved", issue_b="switched_off")
    answer = ask(hung, "issue", limit=1, include_disabled=True)
    assert (names(answer, "disabled"), [*answer["remediation"]]) == (["issue_a"], ["pending_approval"])


def test_where_one_status_has_several_remedies_all_of_them_are_told() -> None:
    other = Tool(ToolId(DEV_FILES, "issue_f"), ToolSpec("issue_f"))
    hung = board([made("issue_a"), other]).deciding(switches={GITHUB: OFF})
    hung = hung.deciding(switches={**hung.policy.decisions.switches, DEV_FILES: OFF})
    both = ask(hung, "issue", include_disabled=True)["remediation"]
    assert both == {"server_disabled": status_remedy(LockStatus.SERVER_DISABLED, Audience.AGENT)}
    signed_out = board([made("issue_a"), other]).with_health(GITHUB, ProviderNeedsSignIn(NOW))
    signed_out = signed_out.with_health(DEV_FILES, ProviderNeedsSignIn(NOW))
    told = ask(signed_out, "issue", include_disabled=True)["remediation"]["server_unavailable"]
    assert told == "Ask the user to sign in: pegboard servers sign-in SERVER"
    mixed = board([made("issue_a"), other]).with_health(GITHUB, ProviderNeedsSignIn(NOW))
    told = ask(mixed.with_health(DEV_FILES, ProviderDown(NOW, "")), "issue", include_disabled=True)["remediation"]
    assert {*told["server_unavailable"].splitlines()} == {
        "Ask the user to sign in: pegboard servers sign-in SERVER",
        status_remedy(LockStatus.SERVER_UNAVAILABLE, Audience.AGENT),
    }


@pytest.mark.behaviour("locked.entry_shows_last_approved_description")
def test_a_changed_tool_is_listed_with_the_description_that_was_approved() -> None:
    id = ToolId(GITHUB, "issue_a")
    hung = BOARD.with_spec(id, ToolSpec("issue_a", description="Do something else entirely."))
    [entry] = ask(hung, "issue_a", include_disabled=True)["disabled"]
    assert (entry["status"], entry["description"]) == ("pending_approval", "A.")


@pytest.mark.behaviour("locked.entry_shows_last_approved_description")
@pytest.mark.parametrize("first", ["switched off", "toolset switched off", "denied by a pattern", "down"])
@pytest.mark.parametrize("hiding", ["never approved", "server quarantined"])
def test_what_is_withheld_stays_so_whichever_lock_is_told_first(first: str, hiding: str) -> None:
    hung = damaging(BOARD, ToolId(GITHUB, "issue_a"), [DAMAGE[first], DAMAGE[hiding]])
    [entry] = ask(hung, "issue_a", include_disabled=True)["disabled"]
    assert entry["description"] == ""


@pytest.mark.behaviour("locked.entry_description_untruncated")
def test_the_description_of_a_locked_tool_is_whole() -> None:
    long = "Grüße, 你好. " * 5_000
    hung = locked(board([made("issue", long)]), issue="switched_off")
    assert ask(hung, "issue", include_disabled=True)["disabled"][0]["description"] == long


@pytest.mark.behaviour("locked.absent_outside_the_view")
def test_what_is_outside_the_view_is_neither_listed_nor_counted() -> None:
    hung = locked(BOARD, issue_a="switched_off").deciding(grants={ME: frozenset()})
    assert ask(hung, "issue", include_disabled=True) == ask(hung, "issue") == {"tools": [], "ranker": "lexical"}


def test_a_schema_that_no_client_could_read_is_shown_as_any_object() -> None:
    deep: Any = {"type": "string"}
    for _ in range(2_000):
        deep = {"type": "array", "items": deep}
    tool = Tool(ToolId(GITHUB, "issue"), ToolSpec("issue", input_schema=deep))
    assert ask(board([tool]), "issue", detail=AnswerDetail.FULL)["tools"][0]["inputSchema"] == {"type": "object"}
    assert ask(board([tool]), "issue")["tools"][0]["signature"] == "()"


def text(answer: dict[str, Any]) -> str:
    return json.dumps(answer)


@pytest.mark.behaviour("locked.default_answers_byte_identical")
@given(boards(), views, st.integers(1, 5), st.booleans())
def test_without_the_flag_an_answer_is_what_it_would_be_without_locked_tools(
    hung: Board, view: View, limit: int, filtered: bool
) -> None:
    asked = ToolSearchQuery("anything", limit, read_only_only=filtered)
    resolution = resolve(hung.catalogue, hung.policy, view)
    opened = {tool.id for tool in resolution.open_tools()}
    listings = {
        source: replace(listing, tools=tuple(tool for tool in listing.tools if tool.id in opened))
        for source, listing in hung.catalogue.listings.items()
    }
    bare = resolve(Catalogue(listings), hung.policy, view)
    # A denial that named what is left out names no tool then, and locks another that it may mean (ADR 16).
    assume({tool.id for tool in bare.open_tools()} == opened)
    with_locks = search_tools(asked, resolution, hung.policy, everything)
    without = search_tools(asked, bare, hung.policy, everything)
    with_locks.pop("notice", None)
    assert text(with_locks) == text(without)


@pytest.mark.behaviour("law.withheld_in_search_and_code")
@given(boards(), views)
def test_no_answer_holds_a_word_of_what_is_withheld(hung: Board, view: View) -> None:
    resolution = resolve(hung.catalogue, hung.policy, view)
    withheld = {
        id
        for id, verdict in resolution.verdicts.items()
        if isinstance(verdict, LockedTool) and agent_visible_spec(verdict.tool, hung.policy) is None
    }
    answer = search_tools(
        ToolSearchQuery("anything", 100, include_disabled=True),
        resolution,
        hung.policy,
        lambda _, among: plain(sorted(withheld & {*among})),
    )
    assert SECRET not in text(answer)
    assert {entry["name"] for entry in answer.get("disabled", [])} == {resolution.names[id] for id in withheld}  # type: ignore[union-attr, index, call-overload]  # a list of objects


@given(boards(), views)
def test_every_tool_of_the_view_is_found_as_what_it_is(hung: Board, view: View) -> None:
    resolution = resolve(hung.catalogue, hung.policy, view)
    answer: Any = search_tools(ToolSearchQuery("x", 100, include_disabled=True), resolution, hung.policy, everything)
    assert {entry["name"] for entry in answer["tools"]} == {
        resolution.names[tool.id] for tool in resolution.open_tools()
    }
    shown = {entry["name"]: entry["status"] for entry in answer.get("disabled", [])}
    verdicts = {resolution.names[v.tool.id]: v for v in resolution.locked_tools()}
    assert shown == {name: verdict.status.value for name, verdict in verdicts.items()}
    for name in shown:
        assert general_remedy(verdicts[name].reason, Audience.AGENT) in answer["remediation"][shown[name]].splitlines()


@given(boards(), views)
def test_what_may_be_read_of_a_tool_is_what_somebody_accepted(hung: Board, view: View) -> None:
    for verdict in resolve(hung.catalogue, hung.policy, view).verdicts.values():
        spec = agent_visible_spec(verdict.tool, hung.policy)
        if isinstance(verdict, OpenTool):
            assert spec is verdict.tool.spec
        approval = hung.policy.decisions.approvals.get(verdict.tool.id)
        accepted = [verdict.tool.spec, *([] if approval is None else [approval.spec])]
        assert spec is None or any(spec is each for each in accepted)
