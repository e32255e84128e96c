"""The benchmark of the scanner reads what it says it reads."""

import pytest
from benchmarks.described import tools_of

from benchmarks import scan
from pegboard.core.json.values import JsonObject
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.scan.scanner import scan_tool as findings

TOOLS = 120


def test_a_board_is_the_same_each_time_and_no_two_tools_are_alike() -> None:
    assert tools_of(TOOLS, 7) == tools_of(TOOLS, 7)
    fingerprints = {tool.spec.fingerprint for seed in (7, 8) for tool in tools_of(TOOLS, seed)}
    assert len(fingerprints) == 2 * TOOLS


def test_every_round_reads_tools_that_nobody_has_read() -> None:
    first, second = scan.unread(TOOLS), scan.unread(TOOLS)
    assert {tool.spec.fingerprint for tool in first}.isdisjoint(tool.spec.fingerprint for tool in second)


@pytest.mark.parametrize(("make", "poisoned"), [(scan.unread, 0), (scan.read_before, 0), (scan.poisoned, TOOLS)])
def test_floor_and_pegboard_read_all_tools_and_pegboard_finds_the_poisoned(make: scan.Made, poisoned: int) -> None:
    tools = make(TOOLS)
    assert scan.plain_reading(tools)() == []
    assert sum(each.needs_own_review for each in scan.board_scan(tools)()) == poisoned


def test_the_floor_finds_its_word_wherever_it_stands() -> None:
    (tool,) = tools_of(1)
    schema: JsonObject = {"properties": {"a": {"enum": ["x", "IGNORE it"]}}}
    told = Tool(tool.id, ToolSpec("a", description="", input_schema=schema))
    assert scan.plain_reading([tool, told])() == [told]


def test_the_long_text_is_long_and_ordinary() -> None:
    spec = scan.long_text()
    assert (len(spec.description), findings(spec)) == (scan.LONG, ())
