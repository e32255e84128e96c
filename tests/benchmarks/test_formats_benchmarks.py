"""The benchmarks of formats: records judged by rules that are stated, speeds against goals, spoilt texts."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.formats import __main__ as speed
from benchmarks.formats import fuzz
from benchmarks.parser_cases import __main__ as recorded
from benchmarks.parser_cases.cases import case
from benchmarks.parser_cases.judging import set_aside

from pegboard.prompts.formats import FORMATS

CALL = '<tool_call>{"name": "look", "arguments": {"at": 1}}</tool_call>'
LOOK = {"name": "look", "arguments": {"at": 1.0}}


def record(text: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": "hermes", "text": text, "expected": {"content": None, "calls": [*calls]}, **more}


RECORDS = [
    record(CALL, LOOK, stream_chunks=[CALL[:20], CALL[20:]]),
    record(f"{CALL}\n"),
    record("nothing", impl="_DelegatingParser"),
    record(CALL, {"name": "", "arguments": {}}, tools=[{"name": "look"}]),
    record(CALL, {"name": "other", "arguments": {}}, strength="probe: seen"),
    record('<tool_call>{"name": "look", "arguments": {"at": [1', LOOK),
    record("hm</think>" + CALL, LOOK),
    record("hm" + CALL, LOOK, generation_prompt="…<think>", reasoning_format="auto"),
    {**record("a <tool_call>", format="nobody knows"), "expected": {"content": "a <tool_call>", "calls": []}},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(RECORDS), "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no JSON", "Expecting value: line 1 column 1 (char 0)"),
        ("{}", "expected a list of records, each with 'format', 'text' and 'expected'"),
        ("[]", "expected a list of records, each with 'format', 'text' and 'expected'"),
        ("[5]", "record 0: expected an object with 'format', 'text' and in 'expected' a list of 'calls'"),
        ('[{"format": "hermes", "text": "", "expected": {"calls": [5]}}]', "record 0: it cannot be read: TypeError: "),
        ("[" * 100_000, "maximum recursion depth exceeded"),
    ],
)
def test_a_file_of_another_shape_is_told_with_the_place(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.json"
    path.write_text(text, "utf-8")
    assert recorded.main([str(path), "--json"]) == 2
    assert capsys.readouterr().err.startswith(f"{path}: {told}")


@pytest.mark.behaviour("benchmarks.recorded_outputs")
def test_records_are_judged_and_what_contradicts_is_set_aside(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded.main([str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["all"] == {
        "records": 9,
        "invariants": 9,
        "set aside": 4,
        "calls": 4,
        "streamed": 4,
        "text": 5,
        "thinking": 5,
    }
    assert report["unknown_formats"] == {"nobody knows": 1}
    assert (report["calls_of_judged"], report["calls_of_all_but_contradicted"]) == ("80.0 %", "57.1 %")
    (missed,) = report["failures"]
    assert missed["reason"] == "the record runs a call that was cut off, which is never called"
    assert (missed["number"], missed["calls"], missed["complete"]) == (5, [], False)


@pytest.mark.behaviour("benchmarks.recorded_outputs")
def test_the_reason_for_setting_a_record_aside_does_not_depend_on_what_we_read() -> None:
    assert set_aside([case(number, record) for number, record in enumerate(RECORDS)]) == {
        1: "another record of the same text has the calls that this one lacks",
        2: "recorded from a test of the reasoning alone",
        3: "it has a call without a name, which nobody could make",
        4: "a probe: what one parser was seen to do, not what is right",
    }


def test_the_table_has_a_row_for_each_format_and_lists_every_miss(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.main([str(file), "--format", "her.*"])
    told = capsys.readouterr().out
    assert "hermes        8          4      3         3     4         4           8           75.0 %" in told
    assert "hermes #5" in told
    assert "nobody knows" not in told


@pytest.mark.behaviour("benchmarks.format_speed")
def test_speed_is_told_beside_a_floor_and_the_goals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "LONG_ENOUGH", 0.0)
    speed.main(["--quick", "--json", "--format", "hermes", "--format", "codemode"])
    rows = json.loads(capsys.readouterr().out)
    assert [(row["format"], row["job"], row["goal_complete"], row["goal_streamed"]) for row in rows] == [
        ("hermes", "16 KB argument", 100.0, 2.0),
        ("hermes", "100 small calls", None, None),
        ("codemode", "16 KB argument", 12.0, 2.0),
        ("codemode", "100 small calls", None, None),
    ]
    assert all(row["floor"] > 0 and row["complete"] > 0 and row["streamed"] > 0 for row in rows)
    speed.main(["--quick", "--format", "mistral"])
    assert "mistral" in capsys.readouterr().out


@pytest.mark.behaviour("benchmarks.format_speed")
def test_spoilt_texts_are_counted_and_none_breaks_a_rule(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main([str(file), "--texts", "150", "--limit", "60", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (sum(report["texts"].values()), report["bad"]) == (150, [])
    assert report["texts"].keys() <= {*FORMATS}
    fuzz.main([str(file), "--texts", "20", "--limit", "60", "--format", "hermes"])
    assert "20 texts in 1 formats, 0 broke a rule" in capsys.readouterr().out
