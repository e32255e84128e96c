"""`pegboard tools search` beside a running gateway: what an agent would find, in words and as JSON."""

import json

import pytest
from tests.surfaces.cli.terminal import Pegboard, peer

from pegboard.core.decision.status import LockStatus, status_remedy
from pegboard.core.model.text import Audience
from pegboard.surfaces.cli.tools import _TEXT_WIDTH, _omitted_text, _shorten

BOARD = {
    "servers": {"three": peer("many", "3", trust="open", disabled_tools=["tool_00002"])},
}


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    assert "is up" in at_gateway("servers", "enable", "three").out


@pytest.mark.behaviour("search.by_every_road")
def test_tools_are_found_and_locked_ones_told_with_their_remedy(at_gateway: Pegboard) -> None:
    found = at_gateway("tools", "search", "tool", "--include-disabled", "--limit", "1")
    assert found.code == 0
    lines = found.out.splitlines()
    assert [line.split()[:3] for line in lines[:2]] == [
        ["TOOL", "SERVER", "DESCRIPTION"],
        ["●", "tool_00000", "three~three"],
    ]
    assert [line.split()[:4] for line in lines[3:5]] == [
        ["LOCKED", "SERVER", "STATUS", "DESCRIPTION"],
        ["○", "tool_00002", "three~three", "disabled_by_config"],
    ]
    assert lines[6:] == [f"disabled_by_config: {status_remedy(LockStatus.DISABLED_BY_CONFIG, Audience.AGENT)}"]


def test_what_is_locked_alone_is_told_of_in_a_notice(at_gateway: Pegboard) -> None:
    found = at_gateway("tools", "search", "00002")
    assert (found.code, found.out) == (
        0,
        "No tool that can be called fits this query.\n\n1 matching tool exists but is locked. "
        "Search again with --include-disabled to see which, why, and what unlocks them.\n",
    )
    letters = at_gateway("tools", "search", "00002", "--json")
    assert [*letters.json] == ["tools", "ranker", "notice"]
    assert letters.out == json.dumps(letters.json, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert at_gateway("tools", "search", "nothing like it").out == "No tool that can be called fits this query.\n"


def test_a_rank_is_explained_by_its_words(at_gateway: Pegboard) -> None:
    found = at_gateway("tools", "search", "the tool zebra", "--explain", "--server", "three", "--limit", "1")
    why, left_out = found.out.splitlines()[3:5]
    assert why.startswith("tool_0000")
    assert "tool (name" in why
    assert left_out == (
        "Of 2 tools 2 match and 1 are shown. No tool has: zebra. Passed over: the. 1 that match are locked."
    )
    full = at_gateway("tools", "search", "tool", "--full", "--toolset", "three", "--json")
    assert {"inputSchema"} <= full.json["tools"][0].keys()


def test_the_filters_say_what_they_left_out(at_gateway: Pegboard) -> None:
    search = ("tools", "search", "tool", "--read-only", "--exclude-destructive", "--exclude-open-world")
    suggestion = at_gateway(*search, "--json").json["filter_diagnostics"]["suggestion"]
    no_tool = at_gateway("tools", "search", "nothing like it").out
    assert at_gateway(*search).out == (
        f"{no_tool}\nThe filters left out 2 of 2: --exclude-open-world 2. {suggestion}\n"
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["", "--json"], 2),
        (["   "], 2),
        (["x" * 2_001], 2),
        (["x", "--limit", "0"], 2),
        (["x", "--limit", "101"], 2),
        (["x", "--toolsets", "nonsense"], 4),
    ],
)
def test_a_search_that_makes_no_sense_ends_with_what_to_do(at_gateway: Pegboard, words: list[str], code: int) -> None:
    assert at_gateway("tools", "search", *words).code == code


def test_what_filters_left_out_is_told_by_the_names_of_their_options() -> None:
    by = {
        "read_only_only": {"explicit": 2},
        "exclude_open_world": {"missing_annotation": 1},
        "server": {"elsewhere": 3},
    }
    counted = {"omitted_total": 6, "matched_before_filters": 9, "omitted_by_filter": by}
    assert _omitted_text("", counted) == (
        "The filters left out 6 of 9: --read-only 2, --exclude-open-world 1, --server 3."
    )


def test_a_long_description_is_cut_at_the_width_of_its_column() -> None:
    assert _shorten("x" * _TEXT_WIDTH) == "x" * _TEXT_WIDTH
    assert _shorten("x" * (_TEXT_WIDTH + 1)) == "x" * (_TEXT_WIDTH - 1) + "…"
    assert _shorten(" a line\nand another ") == "a line and another"
