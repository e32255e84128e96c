"""The command that writes calls in every format and reads them back."""

import json
from pathlib import Path

import pytest
from benchmarks.format_roundtrip import UNWRITTEN, main

from pegboard.prompts.formats import FORMATS

ITEM = {
    "id": "one",
    "functions": [
        {
            "name": "plan.trip",
            "description": "Plans.",
            "parameters": {
                "type": "object",
                "properties": {
                    "to": {"type": "string"},
                    "days": {"type": "integer"},
                    "stops": {"type": "array", "items": {"type": "string"}},
                    "note": {"type": "string"},
                },
            },
        }
    ],
    "ground_truth": [
        {"name": "plan.trip", "arguments": {"to": 'Bern\'s "old" town\n<b>', "days": 3, "stops": ["a", "7"]}},
        {"name": "plan.trip", "arguments": {"to": "", "days": -1, "stops": []}},
    ],
}
NULL = {**ITEM, "id": "two", "ground_truth": [{"name": "plan.trip", "arguments": {"note": None}}]}


def run(tmp_path: Path, content: object, *arguments: str) -> int:
    file = tmp_path / "items.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return main([str(file), *arguments])


@pytest.mark.behaviour("benchmarks.format_roundtrip")
def test_calls_come_back_from_every_format_whole_and_in_chunks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, [ITEM, {**ITEM, "ground_truth": []}], "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        name: {"items": 1, "complete": 1, "streamed": 1, "failures": []} for name in FORMATS if name not in UNWRITTEN
    }


def test_what_does_not_come_back_is_told_with_what_was_written_and_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, [NULL], "--format", "glm47", "--json") == 0
    failure = {
        "id": "two",
        "written": "<tool_call>plan.trip<arg_key>note</arg_key><arg_value>null</arg_value></tool_call>",
        "expected": [{"name": "plan.trip", "arguments": {"note": None}}],
        "got": [{"name": "plan.trip", "arguments": {"note": "null"}}],
        "broken": [],
    }
    assert json.loads(capsys.readouterr().out) == {
        "glm47": {
            "items": 1,
            "complete": 0,
            "streamed": 0,
            "failures": [{**failure, "way": "complete"}, {**failure, "way": "streamed"}],
        }
    }
    assert run(tmp_path, [NULL], "--format", "glm47") == 0
    assert "glm47 two (streamed): other calls" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({}, "expected a list of items"),
        ([{"functions": []}], "item 0: expected an object with the lists"),
        ([{"functions": [{}], "ground_truth": []}], "item 0: expected a function with a 'name'"),
        ([{"functions": [], "ground_truth": [{"name": "a"}]}], "item 0: expected a call with 'name'"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_the_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, why: str
) -> None:
    assert run(tmp_path, content) == 2
    assert why in capsys.readouterr().err


def test_a_file_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
