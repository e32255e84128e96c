"""The scanner that all formats share, seen through Hermes: nothing lost, nothing run that was not whole."""

import random

import pytest
from benchmarks.parser_cases.invariants import broken_rule, streamed
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.prompts.events import (
    Arguments,
    CallDoneEvent,
    CallStartedEvent,
    Markup,
    OutputEvent,
    ParsedCall,
    TextEvent,
    ThinkingEvent,
    join_events,
)
from pegboard.prompts.formats import FORMATS, FormatMessage, FormattedResult, parse
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, Scanner
from pegboard.prompts.tool_shape import ToolShape

HERMES = FORMATS["hermes"]
WEATHER = ToolShape(
    "get_weather",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bern"}}\n</tool_call>'


def read(text: str, *, in_thinking: bool = False) -> list[OutputEvent]:
    return join_events(parse(HERMES, text, (WEATHER,), in_thinking=in_thinking).events)


def calls(text: str, *, in_thinking: bool = False) -> list[ParsedCall]:
    return list(parse(HERMES, text, (WEATHER,), in_thinking=in_thinking).calls)


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
def test_a_call_is_told_from_its_start_to_its_end_with_all_that_stood_around_it() -> None:
    assert read(f"One moment. {CALL}\nDone.") == [
        TextEvent("One moment. "),
        CallStartedEvent(0, "get_weather"),
        Arguments(0, '{"city": "Bern"}'),
        CallDoneEvent(
            0,
            ParsedCall(
                "get_weather",
                {"city": "Bern"},
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bern"}}',
                '{"city": "Bern"}',
            ),
        ),
        Markup("\n</tool_call>\n"),
        TextEvent("Done."),
    ]


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_chunks_of_a_text_give_the_events_of_the_whole(data: st.DataObject) -> None:
    text = f"<think>hm <tool_call></think>I look. {CALL}{CALL} and <tool_call>{{'name': 'get_weather'}}</tool_call> end"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=40)))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert join_events(streamed(HERMES, parts, (WEATHER,), False)) == read(text)


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [
                "<tool_call>",
                "</tool_call>",
                "<think>",
                "</think>",
                '{"name": ',
                '"get_weather"',
                ', "arguments": ',
                "{",
                "}",
                "[",
                "]",
                '"',
                "'",
                "\\",
                ",",
                ":",
                "\n",
                " ",
                "x",
                "é",
                "“",
                "<",
                "{}",
                '{"city": "Bern"}',
                "null",
                "1",
                CALL,
            ]
        ),
        max_size=14,
    ).map("".join),
    st.booleans(),
)
def test_no_text_breaks_a_rule(text: str, in_thinking: bool) -> None:
    assert broken_rule(HERMES, text, (WEATHER,), in_thinking, random.Random(1), times=2) is None


@pytest.mark.behaviour("formats.value_boundary")
def test_a_closing_tag_inside_a_string_does_not_end_the_call() -> None:
    said = '<tool_call>{"name": "get_weather", "arguments": {"city": "a</tool_call>b"}}</tool_call>'
    assert [call.arguments for call in calls(said)] == [{"city": "a</tool_call>b"}]


@pytest.mark.behaviour("formats.truncated_is_no_call")
def test_a_call_that_the_output_ends_in_is_broken_and_never_called() -> None:
    for size in range(len("<tool_call>"), CALL.index("}}") + 1):
        found = parse(HERMES, CALL[:size], (WEATHER,))
        assert not found.calls, CALL[:size]
    cut = parse(HERMES, CALL[:50], (WEATHER,)).broken_calls
    assert [(one.raw, one.why) for one in cut] == [
        (CALL[:50], "The output ended inside a call, so nothing was called. Write the whole call again.")
    ]


def test_a_call_whose_closing_tag_the_server_swallowed_is_a_call() -> None:
    assert [call.name for call in calls(CALL.removesuffix("\n</tool_call>"))] == ["get_weather"]


@pytest.mark.behaviour("formats.thinking_first")
def test_a_call_drafted_in_thinking_is_not_a_call() -> None:
    found = parse(HERMES, f"<think>maybe {CALL}</think>No need.", (WEATHER,))
    assert (found.calls, found.text) == ((), "No need.")


def test_a_prompt_that_opened_the_thinking_makes_the_output_begin_inside() -> None:
    found = parse(HERMES, f"hm</think>{CALL}", (WEATHER,), in_thinking=True)
    assert (found.thinking, [call.name for call in found.calls]) == ("hm", ["get_weather"])


@pytest.mark.behaviour("formats.thinking_first")
def test_a_call_at_the_end_of_thinking_that_never_closes_is_told_as_recovered() -> None:
    (call,) = calls(f"I call it now. {CALL}", in_thinking=True)
    assert (call.name, call.recovered, call.raw) == ("get_weather", True, "")
    assert calls(f"{CALL} or rather not", in_thinking=True) == []


def test_thinking_in_thinking_is_read_once_and_not_once_for_each_level() -> None:
    text = "<think><tool_call>" * 3000
    assert broken_rule(HERMES, text, (WEATHER,), False, random.Random(1), times=1) is None
    assert read(text) == [Markup("<think>"), ThinkingEvent(text.removeprefix("<think>"))]


def test_what_waits_for_more_text_is_never_longer_than_a_header() -> None:
    scanner = HERMES.scanner((WEATHER,))
    assert isinstance(scanner, Scanner)
    for character in CALL.replace("Bern", "x" * 500) * 2:
        scanner.feed(character)
        assert scanner.held_length <= MAX_HEADER_LENGTH


def test_a_misspelt_key_never_runs_a_tool_without_its_arguments() -> None:
    found = parse(HERMES, '<tool_call>{"name": "get_weather", "arts": {"city": "Bern"}}</tool_call>', (WEATHER,))
    assert found.calls == ()
    assert found.broken_calls[0].why == (
        "The call was not made: 'arts' is no key of a call. Put the arguments under \"arguments\". "
        'Write {"name": …, "arguments": {…}} as JSON.'
    )


def test_arguments_that_stand_there_twice_are_refused() -> None:
    said = '<tool_call>{"name": "get_weather", "arguments": {"city": "a"}, "arguments": {"city": "b"}}</tool_call>'
    assert parse(HERMES, said, (WEATHER,)).calls == ()


@pytest.mark.behaviour("formats.repairs")
def test_braces_missing_before_the_closing_tag_are_added_and_told_but_a_value_that_is_cut_never_is() -> None:
    (call,) = calls('<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}</tool_call>')
    assert (call.arguments, call.repairs) == ({"city": "Bern"}, ("what was missing at the end was added: }",))
    (call,) = calls('<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"</tool_call>')
    assert (call.arguments, call.repairs) == ({"city": "Bern"}, ("what was missing at the end was added: }}",))
    for cut in ('{"city": "Ber', '{"city": ', '{"city"', '{"city": "Bern",', '["Bern"'):
        assert calls(f'<tool_call>{{"name": "get_weather", "arguments": {cut}</tool_call>') == [], cut


@pytest.mark.behaviour("formats.recovered")
def test_at_the_end_of_the_output_only_the_last_brace_may_be_missing_and_the_call_is_told_as_recovered() -> None:
    (call,) = calls('<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}')
    assert call.recovered
    assert call.repairs == ("what was missing at the end was added: }",)
    assert calls('<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"') == []


def test_nesting_beyond_the_limit_is_broken_in_one_piece_and_in_chunks_alike() -> None:
    deep = '<tool_call>{"name": "get_weather", "arguments": {"city": ' + "[" * 250 + "]" * 250 + "}}</tool_call>"
    assert calls(deep) == []
    assert join_events(streamed(HERMES, list(deep), (WEATHER,), False)) == read(deep)


def test_brackets_in_a_string_are_no_nesting() -> None:
    said = '<tool_call>{"name": "get_weather", "arguments": {"city": "' + "[{" * 300 + '"}}</tool_call>'
    assert [call.arguments for call in calls(said)] == [{"city": "[{" * 300}]


@pytest.mark.behaviour("formats.names", "formats.coercion")
def test_a_name_is_matched_by_prefix_and_case_and_an_argument_by_its_schema() -> None:
    (call,) = calls('<tool_call>{"name": "functions.Get-Weather", "arguments": {"days": "3"}}</tool_call>')
    assert (call.name, call.arguments) == ("get_weather", {"days": 3})
    assert call.repairs == (
        "the name 'functions.Get-Weather' was read as 'get_weather'",
        "argument 'days': \"3\" was read as an integer",
    )


def test_what_is_rendered_is_read_back_and_results_go_into_one_turn_of_the_user() -> None:
    made = [ParsedCall("get_weather", {"city": 'a "b" </tool_call>'}), ParsedCall("get_weather", {})]
    back = calls(HERMES.calls_text(made))
    assert [(call.name, call.arguments) for call in back] == [(call.name, call.arguments) for call in made]
    assert HERMES.results([FormattedResult("get_weather", "rain"), FormattedResult("get_weather", "sun")]) == (
        FormatMessage("user", "<tool_response>\nrain\n</tool_response>\n<tool_response>\nsun\n</tool_response>"),
    )
