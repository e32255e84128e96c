"""`pegboard search eval`: queries of a file held against a board, and the end by which a build fails."""

from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, peer

BOARD = {"servers": {"three": peer("many", "3", trust="open", disabled_tools=["tool_00002"])}}


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    assert "is up" in at_gateway("servers", "enable", "three").out


@pytest.mark.behaviour("search.evaluation")
def test_a_build_fails_when_too_few_queries_find_what_they_should(at_gateway: Pegboard, tmp_path: Path) -> None:
    file = tmp_path / "queries.yaml"
    file.write_text("- {query: tool 00001, expected: [tool_00001]}\n- {query: tool 00002, expected: [tool_00002]}\n")
    strict = at_gateway("search", "eval", str(file))
    lenient = at_gateway("search", "eval", str(file), "--min-hit-rate", "0.5", "--json")
    assert (strict.code, lenient.code) == (1, 0)
    lines = strict.out.splitlines()
    assert lines[1].split() == ["●", "tool", "00001", "mcp:three~three:tool_00001", "1"]
    assert "not found. " in lines[2]
    assert lines[4].startswith("1 of 2 queries find a tool that they should among 10 (50%)")
    assert (lenient.json["passed"], lenient.json["rates"]["hitRate"]) == (True, 0.5)


def test_without_a_file_and_without_saved_queries_there_is_nothing_to_run(at_gateway: Pegboard) -> None:
    assert at_gateway("search", "eval").code == 4


@pytest.mark.parametrize("text", ["", "queries: 7", "- [", "queries: []", "just words"])
def test_a_file_that_has_no_queries_is_told(at_gateway: Pegboard, tmp_path: Path, text: str) -> None:
    file = tmp_path / "queries.yaml"
    file.write_text(text)
    told = at_gateway("search", "eval", str(file))
    assert (told.code, "queries.yaml" in told.err) == (3, True)
