"""Python that others wrote is parsed without its warnings: an agent writes nothing into the operator's log."""

import ast
import re
import warnings
from pathlib import Path

import pytest

from pegboard.core.model.python_text import literal_value, parse_module
from pegboard.prompts.spans import parse_lone_call
from pegboard.prompts.tool_shape import ToolShape
from pegboard.providers.sandbox.checks.program import parse_program
from pegboard.providers.sandbox.prelude import WorkerProgram, name_last_line

SHOUTING = "1if 1else 1\n" * 5_000
SEARCH = ToolShape("tool_search", "", {"type": "object"})
SOURCES = Path(__file__).parents[2] / "src" / "pegboard"


@pytest.mark.behaviour("code.no_warnings_in_the_log")
def test_no_warning_of_an_agents_program_is_shown() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert len(parse_module(SHOUTING).body) == 5_000
        assert parse_program(SHOUTING, ()) is not None
        assert name_last_line(WorkerProgram(SHOUTING[:6_000], ())) is not None
        assert parse_lone_call("tool_search(limit=1if 1else 1)", [SEARCH]) is None
        assert literal_value(r'["\d"]') == [r"\d"]
    assert [str(each.message) for each in shown] == []


@pytest.mark.behaviour("code.no_warnings_in_the_log")
def test_other_warnings_are_shown_as_before() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        parse_module("1if 1else 1")
        ast.parse("1if 1else 1", "ours.py")
    assert [each.filename for each in shown] == ["ours.py", "ours.py"]


@pytest.mark.behaviour("code.no_warnings_in_the_log")
def test_nothing_else_in_this_process_parses_python() -> None:
    """What runs within the sandbox's own process, whose output is the program's, is another matter."""
    inside = SOURCES / "providers/sandbox/jail/inside"
    parsing = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        # Only what is written at all is parsed: to parse every module takes seconds.
        if not file.is_relative_to(inside) and re.search(rb"\b(parse|compile|eval|exec)\(", file.read_bytes())
        for node in ast.walk(ast.parse(file.read_bytes(), str(file)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"ast.parse", "compile", "eval", "exec"}
    }
    assert parsing == {"core/model/python_text.py"}
