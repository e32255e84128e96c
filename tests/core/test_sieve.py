"""Filters leave tools out of what a search found and tell of it; names stand first; an explanation counts it all."""

from typing import Any

import pytest
from hypothesis import given
from tests.core.boards import DEV_FILES, DOCS_FILES, ME, OFF, Board, board, boards, views
from tests.core.found import ask, everything, locked, made, names

from pegboard.core.decision.resolve import resolve
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.presentations.retrieval import ToolSearchQuery, search_tools

ELSEWHERE = ((DEV_FILES, "issue_f"), (DOCS_FILES, "issue_o"))


@pytest.mark.behaviour("search.filters")
def test_what_the_filters_left_out_is_told_by_filter() -> None:
    hung = board(
        [
            made("issue_plain"),
            made("issue_reads", readOnlyHint=True, openWorldHint=False),
            made("issue_adds", readOnlyHint=False, destructiveHint=False),
            made("issue_wipes", destructiveHint=True, openWorldHint=True),
        ]
    )
    assert names(ask(hung, "issue", read_only_only=True)) == ["issue_reads"]
    assert names(ask(hung, "issue", exclude_destructive=True)) == ["issue_adds", "issue_reads"]
    assert names(ask(hung, "issue", exclude_open_world=True)) == ["issue_reads"]
    assert ask(hung, "issue", read_only_only=True, exclude_open_world=True)["filter_diagnostics"] == {
        "matched_before_filters": 4,
        "omitted_total": 3,
        "omitted_by_filter": {
            "read_only_only": {"missing_annotation": 2, "explicit": 1},
            "exclude_open_world": {"missing_annotation": 2, "explicit": 1},
        },
        "suggestion": "A tool without the annotation that a filter looks at is left out, whatever it does. "
        "Search without the filter to see it.",
    }
    assert "suggestion" not in ask(hung, "issue_wipes", exclude_destructive=True)["filter_diagnostics"]
    assert "filter_diagnostics" not in ask(hung, "issue_reads", read_only_only=True)


@pytest.mark.behaviour("search.filters")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"server": "dev~github"}, ["issue_a"]),
        ({"server": "github"}, ["issue_a"]),
        ({"toolset": "dev"}, ["issue_a", "issue_f"]),
        ({"toolset": "dev", "server": "files"}, ["issue_f"]),
        ({}, ["issue_a", "issue_f", "issue_o"]),
    ],
)
def test_a_search_can_be_made_in_one_server_or_toolset(filters: dict[str, Any], expected: list[str]) -> None:
    hung = board([made("issue_a"), *(Tool(ToolId(at, name), ToolSpec(name)) for at, name in ELSEWHERE)])
    answer = ask(hung, "issue", **filters)
    assert sorted(names(answer)) == expected
    if filters:
        assert answer["filter_diagnostics"]["omitted_total"] == 3 - len(expected)
    elsewhere = ask(hung, "issue", server="dev~github")["filter_diagnostics"]["omitted_by_filter"]
    assert elsewhere == {"server": {"elsewhere": 2}}


@pytest.mark.behaviour("search.filters", "search.respects_the_view")
def test_a_server_that_is_not_in_the_view_is_told_as_if_it_were_not_there() -> None:
    hung = board([made("issue_a"), *(Tool(ToolId(at, name), ToolSpec(name)) for at, name in ELSEWHERE)])
    assert ask(hung, "issue", server="gitub")["notice"] == (
        "There is no server 'gitub' here. Did you mean 'github' or 'dev~github'?"
    )
    assert ask(hung, "issue", toolset="nowhere at all")["notice"] == (
        "There is no toolset 'nowhere at all' here. Leave the filter out to search everywhere."
    )
    narrow = hung.deciding(grants={ME: frozenset({DOCS_FILES.toolset})})
    for query in ("issue", "no such thing"):
        assert ask(narrow, query, server="github")["notice"] == (
            "There is no server 'github' here. Leave the filter out to search everywhere."
        )
    assert "notice" not in ask(hung, "no such thing", server="github")


@pytest.mark.behaviour("search.exact_names_first")
@pytest.mark.parametrize(
    "query", ["dev__read", "mcp:dev~files:read", "mcp:dev~files:read now", "first `dev__read`, then x_y"]
)
def test_the_name_that_a_client_sees_and_the_id_find_their_tool_first(query: str) -> None:
    other = Tool(ToolId(DOCS_FILES, "read"), ToolSpec("read"))
    hung = board([made("a"), Tool(ToolId(DEV_FILES, "read"), ToolSpec("read")), other])
    resolution = resolve(hung.catalogue, hung.policy, View(ME))
    answer: Any = search_tools(ToolSearchQuery(query), resolution, hung.policy, everything)
    assert (answer["tools"][0]["server"], len(answer["tools"])) == ("dev~files", 3)
    off = hung.deciding(switches={ToolId(DEV_FILES, "read"): OFF})
    locked_first = ask(off, query, include_disabled=True)
    assert [entry["server"] for entry in locked_first["disabled"]] == ["dev~files"]


@pytest.mark.behaviour("search.explained")
def test_an_explained_search_tells_why_and_what_was_left_out() -> None:
    tools = [made(f"issue_{letter}", readOnlyHint=letter in "abc") for letter in "abcdefg"]
    hung = locked(board(tools), issue_f="switched_off", issue_g="never_approved")
    answer = ask(hung, "issue", limit=2, read_only_only=True, explain=True)
    assert [(entry["name"], entry["explanation"]) for entry in answer["tools"]] == [
        ("issue_a", {"place": 0}),
        ("issue_b", {"place": 1}),
    ]
    assert answer["explanation"] == {
        "words": {"searched": ["words"]},
        "searched": 5,
        "matched": 5,
        "shown": 2,
        "omitted": {"by_filters": 2, "by_limit": 1, "locked": 2},
    }
    plain_answer = ask(hung, "issue", limit=2, read_only_only=True)
    assert "explanation" not in plain_answer
    assert "explanation" not in plain_answer["tools"][0]


@pytest.mark.behaviour("search.explained", "search.respects_the_view")
@given(boards(), views)
def test_an_explanation_counts_nothing_outside_the_view(hung: Board, view: View) -> None:
    resolution = resolve(hung.catalogue, hung.policy, view)
    answer: Any = search_tools(ToolSearchQuery("x", 1, explain=True), resolution, hung.policy, everything)
    opened, shut = len([*resolution.open_tools()]), len([*resolution.locked_tools()])
    assert answer["explanation"]["searched"] == answer["explanation"]["matched"] == opened
    assert answer["explanation"]["omitted"] == {"by_filters": 0, "by_limit": max(0, opened - 1), "locked": shut}


@pytest.mark.behaviour("search.filters")
def test_filters_look_at_locked_tools_too_and_a_withheld_one_claims_nothing() -> None:
    hung = board([made("issue_a", readOnlyHint=True), made("issue_b", readOnlyHint=True), made("issue_c")])
    hung = locked(hung, issue_a="switched_off", issue_b="never_approved", issue_c="switched_off")
    answer = ask(hung, "issue", include_disabled=True, read_only_only=True)
    assert names(answer, "disabled") == ["issue_a"]
    assert answer["filter_diagnostics"] == {
        "matched_before_filters": 0,
        "omitted_total": 0,
        "omitted_by_filter": {},
        "locked": {
            "matched_before_filters": 3,
            "omitted_total": 2,
            "omitted_by_filter": {"read_only_only": {"withheld": 1, "missing_annotation": 1, "explicit": 0}},
        },
    }
    plain = ask(hung, "issue", read_only_only=True)
    assert plain["notice"].startswith("1 matching tool exists")
    assert "filter_diagnostics" not in plain, "a default answer counts nothing that is locked"
    nothing = ask(locked(board([made("issue_c")]), issue_c="never_approved"), "issue", include_disabled=True)
    assert "filter_diagnostics" not in nothing
    hidden = ask(
        locked(board([made("issue_c")]), issue_c="never_approved"), "issue", include_disabled=True, read_only_only=True
    )
    assert hidden["filter_diagnostics"]["locked"]["omitted_by_filter"] == {
        "read_only_only": {"withheld": 1, "missing_annotation": 0, "explicit": 0}
    }
