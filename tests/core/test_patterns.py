"""Patterns: which tools fit, which of two is the more specific, and that many at once mean what each means."""

import fnmatch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.boards import DEV_FILES, DOCS_FILES, EVERY_ID, GITHUB, MATH, texts

from pegboard.core.model.ids import BadId, BuiltinKey, SourceKey, ToolId
from pegboard.core.model.patterns import MAX_PATTERN_CHARS, Pattern, PatternSet, is_pattern, matches_glob, parse_pattern

globs = st.lists(
    st.sampled_from(["*", "?", "[", "]", "!", "-", "a", "b", "ab", "^", "\\", "\n", "[a-c]", "[!a]"]), max_size=8
)
GLOBS = globs.map("".join)
PATTERNS = st.builds(
    Pattern,
    st.sampled_from(["*", "dev", "d*", "files", "dev~files", "*~files", "math", "builtin", "[dm]*", "?", "nothing"]),
    st.sampled_from(["*", "read", "re*", "*e*", "?e?d", "[rw]*", "write", "what[?]", "*__*", "", "工*", "x?*"]),
)


def matched(text: str) -> list[str]:
    parsed = parse_pattern(text)
    assert isinstance(parsed, Pattern)
    sources: tuple[SourceKey, ...] = (GITHUB, DEV_FILES, DOCS_FILES, MATH, BuiltinKey())
    return [str(id) for s in sources for id in (ToolId(s, "read_file"), ToolId(s, "write")) if parsed.matches(id)]


@pytest.mark.behaviour(
    "ids.pattern_of_one_scope", "ids.pattern_across_scopes", "ids.pattern_scope_kinds", "ids.pattern_wildcards"
)
@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("github:*", ["mcp:dev~github:read_file", "mcp:dev~github:write"]),
        ("dev:w*", ["mcp:dev~github:write", "mcp:dev~files:write"]),
        ("files:write", ["mcp:dev~files:write", "mcp:docs~files:write"]),
        ("dev~files:write", ["mcp:dev~files:write"]),
        ("*~files:write", ["mcp:dev~files:write", "mcp:docs~files:write"]),
        ("math:*", ["math:read_file", "math:write"]),
        ("builtin:*", ["read_file", "write"]),
        (
            "*:read_*",
            [*(f"mcp:{s}:read_file" for s in ("dev~github", "dev~files", "docs~files")), "math:read_file", "read_file"],
        ),
        (
            "read_*",
            [*(f"mcp:{s}:read_file" for s in ("dev~github", "dev~files", "docs~files")), "math:read_file", "read_file"],
        ),
        ("d???:[!r]*", ["mcp:docs~files:write"]),
        ("[dm]*:wr?te", ["mcp:dev~github:write", "mcp:dev~files:write", "mcp:docs~files:write", "math:write"]),
        ("mcp:dev~files:*", ["mcp:dev~files:read_file", "mcp:dev~files:write"]),
        ("mcp:dev~*", [f"mcp:dev~{s}:{t}" for s in ("github", "files") for t in ("read_file", "write")]),
        ("mcp:*:write", ["mcp:dev~github:write", "mcp:dev~files:write", "mcp:docs~files:write"]),
        ("*:write_", []),
        ("*:rite", []),
        ("de:*", []),
        ("DEV:*", []),
    ],
)
def test_a_pattern_fits_whole_names_in_its_scope_and_nothing_else(text: str, tools: list[str]) -> None:
    assert matched(text) == tools


@pytest.mark.parametrize("text", [":", ":x", "x:", "mcp:", "mcp::x", "mcp:x:"])
def test_half_a_pattern_is_refused(text: str) -> None:
    refused = parse_pattern(text)
    assert refused == BadId(text, f"{text!r} is not a pattern: write scope:name, for example github:* or *:read_*")


def test_a_pattern_longer_than_any_id_is_refused_before_it_costs_anything() -> None:
    refused = parse_pattern("[" * 1_000_000)
    assert refused == BadId("[" * MAX_PATTERN_CHARS, "a pattern of 1000000 characters is too long: use at most 512")


@given(GLOBS, st.text("ab[]!-^\\\n", max_size=6))
@example("[", "[")
@example("[]", "[]")
@example("[]a]", "]")
@example("[!]", "[!]")
@example("[!]]", "a")
@example("[b-a]", "a")
@example("[[a]", "[")
@example("[a&&b]", "&")
@example("[--a]", "-")
@example("[^a]", "^")
def test_a_glob_means_what_the_shell_means_by_it(glob: str, text: str) -> None:
    assert matches_glob(glob, text) == fnmatch.fnmatchcase(text, glob)


@given(GLOBS | texts)
def test_what_is_no_pattern_fits_itself_alone(text: str) -> None:
    if not is_pattern(text):
        assert matches_glob(text, text)
        assert not matches_glob(text, text + "a")
        assert fnmatch.fnmatchcase(text, text)


def test_a_glob_of_many_stars_takes_no_longer_than_its_length() -> None:
    assert not matches_glob("*a" * 200 + "b", "a" * 5000)


@given(st.lists(PATTERNS, max_size=8))
def test_many_patterns_at_once_fit_what_each_of_them_fits(each: list[Pattern]) -> None:
    many = PatternSet(tuple(each))
    for id in EVERY_ID:
        assert many.matching_indexes(id) == tuple(place for place, one in enumerate(each) if one.matches(id))


@pytest.mark.behaviour("overrides.exact_scope_before_exact_name", "overrides.more_literals_win")
def test_specificity_is_exact_scope_then_exact_name_then_more_literal_characters() -> None:
    weakest_first = [
        Pattern("*", "*"),
        Pattern("*", "[a-z0-9_]*"),
        Pattern("*", "?"),
        Pattern("*", "r*"),
        Pattern("*", "[rw]ead*"),
        Pattern("g*", "read*"),
        Pattern("*", "read"),
        Pattern("g*", "read"),
        Pattern("github", "*"),
        Pattern("github", "read_*"),
        Pattern("github", "read"),
    ]
    ranks = [each.specificity for each in weakest_first]
    assert ranks == sorted(ranks)
    assert ranks[:3] == [(0, 0, 0)] * 3


def test_a_class_counts_as_no_literal_however_much_it_lists() -> None:
    assert Pattern("*", "read_[abcdefgh]*").specificity == (0, 0, 5)
    assert Pattern("*", "read_file*").specificity == (0, 0, 9)
