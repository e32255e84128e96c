"""Calls in a shape that the format does not write, expressions, and ends of lines of another system."""

import random

import pytest
from benchmarks.parser_cases.invariants import broken_rule

from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, parse
from pegboard.prompts.tool_shape import ToolShape

TEXT: Json = {"type": "string"}
TOOLS = tuple(
    ToolShape(name, parameters={"type": "object", "properties": {"city": TEXT, "time": TEXT}})
    for name in ("get_weather", "get_time")
)
PARIS = ("get_weather", {"city": "Paris"})


def calls_of(format: str, text: str) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in parse(FORMATS[format], text, TOOLS).calls]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
            "the call was written as tags, not as JSON",
        ),
        ('<tool_call>get_weather(city="Paris")</tool_call>', "the call was written as Python, not as JSON"),
        ('<tool_call>get_weather{"city":"Paris"}</tool_call>', "the name stood before the object"),
        ('<tool_call>\nget_weather\n{"city":"Paris"}\n</tool_call>', "the name stood before the object"),
    ],
)
def test_a_call_of_another_shape_is_read_between_the_tags_of_hermes_and_told_as_a_repair(text: str, told: str) -> None:
    found = parse(FORMATS["hermes"], text, TOOLS)
    assert [(call.name, call.arguments, call.repairs) for call in found.calls] == [(*PARIS, (told,))]
    assert (found.text.strip(), found.broken_calls) == ("", ())
    assert broken_rule(FORMATS["hermes"], text, TOOLS, False, random.Random(3), times=5) is None


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call><function=get_weather><parameter=city>Paris</tool_call>",
        "<tool_call><function=get_weather></function> and so on</tool_call>",
        "<tool_call>get_weather(city=there)</tool_call>",
        '<tool_call>get_weather("Paris")</tool_call>',
        '<tool_call>get_weather(city="Paris")',
        "<tool_call><function=get_weather>",
        '<tool_call>get_weather(city="Paris"</tool_call>',
    ],
)
def test_what_of_another_shape_cannot_be_read_is_told_to_the_model_and_not_shown_as_the_answer(text: str) -> None:
    found = parse(FORMATS["hermes"], text, TOOLS)
    assert (found.calls, found.text, [one.raw for one in found.broken_calls]) == (
        (),
        "",
        [text.removesuffix("</tool_call>")],
    )
    assert broken_rule(FORMATS["hermes"], text, TOOLS, False, random.Random(3), times=5) is None


@pytest.mark.parametrize(
    "text",
    [
        "To end a call write </tool_call>.",
        "The <tool_call> tag opens a call, `</tool_call>` ends it.",
        "Write <tool_call>some_name(x=1) and more.",
    ],
)
def test_prose_about_the_tags_of_hermes_is_shown_whole(text: str) -> None:
    found = parse(FORMATS["hermes"], text, TOOLS)
    assert (found.text, found.calls, found.broken_calls) == (text, (), ())
    assert broken_rule(FORMATS["hermes"], text, TOOLS, False, random.Random(3), times=5) is None


@pytest.mark.parametrize("value", ['"a" + "b"', '"x" if 1 else "y"', '"a".join(["b"])', '"%s" % city', '"a" * 3'])
def test_an_expression_is_no_value_and_the_model_is_told(value: str) -> None:
    found = parse(FORMATS["pythonic"], f"[get_weather(city={value})]", TOOLS)
    assert (found.calls, len(found.broken_calls)) == ((), 1)


def test_strings_in_a_row_are_one_and_quotes_inside_a_string_are_still_mended() -> None:
    assert calls_of("pythonic", """[get_weather(city="a" 'b\\n' "c")]""") == [("get_weather", {"city": "ab\nc"})]
    assert calls_of("pythonic", '[get_weather(city="say "hi" to")]') == [("get_weather", {"city": 'say "hi" to'})]


def test_line_breaks_of_windows_around_a_value_belong_to_the_tags() -> None:
    text = FORMATS["qwen3_coder"].calls_text([ParsedCall(*PARIS)])
    assert calls_of("qwen3_coder", text.replace("\n", "\r\n")) == [PARIS]
    for value in ("\r\na\r\n", "a\r", "\ra", "\r\n", "\n", "\r"):
        for format in ("qwen3_coder", "seed_oss", "glm45"):
            made = ParsedCall("get_weather", {"city": value})
            assert calls_of(format, FORMATS[format].calls_text([made])) == [("get_weather", {"city": value})]


@pytest.mark.parametrize("format", ["gemma4", "functiongemma"])
def test_null_is_nothing_where_the_format_marks_its_texts(format: str) -> None:
    for value in (None, "null"):
        text = FORMATS[format].calls_text([ParsedCall("get_weather", {"time": value})])
        assert calls_of(format, text) == [("get_weather", {"time": value})]
