"""Results as models are told them: bounded, both ends kept, and the schema beside every error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.collect_failures import each_case

from pegboard.core.json.values import JsonObject
from pegboard.core.model.settings import MIN_RESULT_CHARS
from pegboard.prompts.events import BrokenCallEvent
from pegboard.prompts.formats import FORMATS, FormattedResult
from pegboard.prompts.results import (
    EMPTY_RESULT,
    format_broken_calls,
    format_error,
    format_result,
    format_unknown_tool,
    shorten_result,
)
from pegboard.prompts.tool_shape import ToolShape

SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolShape("get_weather", "The weather.", SCHEMA)


@pytest.mark.behaviour("feeding.both_ends")
def test_a_long_result_keeps_both_ends_and_says_what_was_cut() -> None:
    lines = [f"line {number}" for number in range(1_000)]
    told = shorten_result("\n".join(lines), 1_000)
    assert len(told) <= 1_000
    head, note, *tail = told.partition("\n[… ")
    assert (head + note).startswith("line 0\nline 1\n")
    assert tail[-1].endswith("line 998\nline 999")
    assert "8021 of 8889 characters, about 894 lines, were cut here." in told
    kept = [line for line in told.splitlines() if line.startswith("line ")]
    assert kept == [*lines[: kept.index("line 968")], *lines[968:]]


@pytest.mark.behaviour("feeding.both_ends")
@given(st.text(max_size=3_000) | st.text("ab\n", min_size=1_000, max_size=4_000), st.integers(0, 2_500))
def test_no_result_is_longer_than_the_limit_and_a_short_one_is_as_it_was(text: str, limit: int) -> None:
    told = shorten_result(text, limit)
    most = max(limit, MIN_RESULT_CHARS)
    assert len(told) <= most
    if len(text) <= most:
        assert told == text
    else:
        head, _, rest = told.partition("\n[… ")
        assert text.startswith(head)
        assert text.endswith(rest.partition(" …]\n")[2])


@pytest.mark.behaviour("feeding.both_ends")
def test_one_endless_line_is_cut_too() -> None:
    told = shorten_result("a" * 50_000 + "z", 400)
    assert len(told) <= 400
    assert told.startswith("aaa")
    assert told.endswith("z")


def test_an_empty_result_is_said_to_be_empty() -> None:
    assert format_result("get_weather", "") == FormattedResult("get_weather", EMPTY_RESULT)
    assert format_result("get_weather", "sunny", id="c1") == FormattedResult("get_weather", "sunny", "c1")


@pytest.mark.behaviour("feeding.errors_bring_the_schema")
def test_an_error_brings_the_schema_that_the_model_needs() -> None:
    told = format_error("get_weather", "city: this is missing.", WEATHER, id="c1")
    assert told == FormattedResult(
        "get_weather",
        f"city: this is missing.\n\nget_weather takes these arguments (JSON Schema):\n{json.dumps(SCHEMA)}",
        "c1",
        is_error=True,
    )
    assert format_error("get_weather", " ").text == "The call failed."


@pytest.mark.behaviour("feeding.errors_bring_the_schema", "feeding.both_ends")
def test_a_long_error_with_a_huge_schema_keeps_to_the_limit() -> None:
    huge = ToolShape("x", "", {"properties": {f"p{number}": {"type": "string"} for number in range(5_000)}})
    told = format_error("x", "wrong " * 10_000, huge, limit=2_000)
    assert len(told.text) <= 2_000
    assert "x takes these arguments (JSON Schema):" in told.text


@pytest.mark.behaviour("feeding.errors_bring_the_schema")
def test_a_call_of_what_is_no_tool_names_what_is_near() -> None:
    near = format_unknown_tool("get_wether", ["get_weather", "send_mail"], search="tool_search")
    assert near == FormattedResult(
        "get_wether",
        "There is no tool 'get_wether', so nothing was called. Did you mean 'get_weather'? Find others with "
        "tool_search.",
        is_error=True,
    )
    assert format_unknown_tool("x", ["read_file", "send_mail"]).text.endswith("There are: read_file, send_mail.")
    assert format_unknown_tool("x", []).text == "There is no tool 'x', so nothing was called."
    many = format_unknown_tool("x", [f"tool_{number}" for number in range(50)])
    assert many.text.endswith("tool_19 and 30 more.")


@pytest.mark.behaviour("feeding.errors_bring_the_schema")
def test_what_was_no_call_is_told_with_what_was_wrong_and_how_it_is_right() -> None:
    broken = BrokenCallEvent('<tool_call>{"name": "get_weather", "arg', "The output ended inside a call.")
    told = format_broken_calls([broken], FORMATS["hermes"], [WEATHER])
    assert told.role == "user"
    assert told.text.startswith(
        'The output ended inside a call.\nYou wrote: <tool_call>{"name": "get_weather", "arg\n\nget_weather takes '
    )
    assert told.text.endswith(FORMATS["hermes"].instructions([WEATHER]))


@each_case("name", [*FORMATS])
def test_every_format_tells_results_and_errors_with_every_character(name: str) -> None:
    format = FORMATS[name]
    texts = ['{"temp": 7, "sky": "☁"}', "line\nline </tool_response>", "failed: 'x' \\ \"y\""]
    results = [FormattedResult("get_weather", text, f"call{number}", number == 2) for number, text in enumerate(texts)]
    told = format.results(results)
    assert told
    # A backslash stands in what would end the frame of a result.
    joined = "\n".join(message.text for message in told).replace("<\\/tool_response>", "</tool_response>")
    for text in texts:
        assert (
            text in joined or json.dumps(text, ensure_ascii=False)[1:-1] in joined or json.dumps(text)[1:-1] in joined
        )
    assert format.results([]) == ()
