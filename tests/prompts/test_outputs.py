"""Outputs in every format that writes tags, Python or messages: what they hold, whole, in chunks and cut anywhere."""

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.parser_cases.cases import read
from benchmarks.parser_cases.invariants import broken_rule, chunks, cut_call, faults, streamed, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.collect_failures import each_case

from pegboard.prompts.events import join_events
from pegboard.prompts.formats import FORMATS, parse

from .outputs import OUTPUTS, TOOLS, Output

NAMES = sorted({output.format for output in OUTPUTS})
OWN = defaultdict(list)
for _case in read(Path(__file__).parents[2] / "benchmarks" / "parser_cases" / "own.json"):
    OWN[_case.format].append(_case)


def plain(text: str) -> str:
    """Where a call stood, white space may be missing: that is told as markup."""
    return " ".join(text.split())


@pytest.mark.behaviour("formats.tag_family", "formats.recovered", "formats.repairs")
@each_case("output", OUTPUTS, name=lambda output: f"{output.format}: {output.text[:30]!r}")
def test_an_output_holds_what_the_model_meant(output: Output) -> None:
    found = parse(FORMATS[output.format], output.text, output.tools, in_thinking=output.in_thinking)
    calls = [(call.name, dict(call.arguments)) for call in found.calls]
    assert calls == [(name, dict(arguments)) for name, arguments in output.calls]
    assert (plain(found.text), plain(found.thinking)) == (plain(output.said), plain(output.thought))
    assert len(found.broken_calls) == output.broken
    assert any(call.recovered for call in found.calls) == output.recovered
    assert any(call.repairs for call in found.calls) == output.repaired


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@each_case("output", OUTPUTS, name=lambda output: f"{output.format}: {output.text[:30]!r}")
def test_an_output_keeps_every_rule_in_any_chunks_and_cut_anywhere(output: Output) -> None:
    format = FORMATS[output.format]
    assert broken_rule(format, output.text, output.tools, output.in_thinking, random.Random(3), times=8) is None


@pytest.mark.behaviour("formats.repaired_without_guessing")
@each_case("name", OWN)
def test_every_call_that_needs_no_guess_is_read_and_every_repair_is_told(name: str) -> None:
    for case in OWN[name]:
        format = FORMATS[name]
        found = parse(format, case.text, case.tools, in_thinking=case.in_thinking(format))
        calls = [(call.name, dict(call.arguments)) for call in found.calls]
        assert calls == list(case.expected.calls), case.note
        assert not case.repaired or any(call.repairs for call in found.calls), case.note


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@each_case("name", OWN)
def test_repaired_calls_keep_every_rule_in_any_chunks_and_cut_anywhere(name: str) -> None:
    chance = random.Random(name)
    format = FORMATS[name]
    for case in OWN[name]:
        thinking = case.in_thinking(format)
        events = join_events(whole(format, case.text, case.tools, thinking))
        assert faults(events, case.text) is None, case.note
        for _ in range(2):
            parts = list(chunks(case.text, chance))
            assert join_events(streamed(format, parts, case.tools, thinking)) == events, (case.note, parts)
        cut = case.text[: chance.randrange(len(case.text))]
        prefix = whole(format, cut, case.tools, thinking)
        assert (faults(prefix, cut) or cut_call(format, prefix, events)) is None, (case.note, cut)


@pytest.mark.behaviour("formats.incomplete_is_recovered")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "glm45",
            "<tool_call>forecast\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n<arg_key>days</arg_key>\n"
            "</tool_call>",
        ),
        ("poolside_v1", "<tool_call>forecast\n<arg_key>city</arg_key>\n<arg_value>Bern</tool_call>"),
        ("inkling", '<|content_thinking|>So<|content_invoke_tool_json|>{"name":"forecast","args":{"city":"Bern"}}'),
        ("inkling", '<|content_invoke_tool_json|>{"name":"forecast","args":{"city":"Bern"}'),
        (
            "muse_glimmer",
            ' to=self<|message|>So to=tools<|message|><atem:invoke name="forecast"><atem:parameter name="city">Bern'
            "</atem:parameter></atem:invoke><|eom|>",
        ),
    ],
)
def test_a_call_that_lost_a_part_of_itself_waits_for_the_settings(name: str, text: str) -> None:
    (call,) = parse(FORMATS[name], text, TOOLS).calls
    assert (call.name, call.arguments, call.recovered) == ("forecast", {"city": "Bern"}, True)


@pytest.mark.behaviour("formats.repaired_without_guessing")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("minicpm5", '<function name="forecast"><param>Bern</param></function>'),
        ("glm45", "<tool_call>\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n</tool_call>"),
        ("inkling", '<|content_invoke_tool_json|>{"args":{"city":"Bern"}}<|end_message|>'),
        ("inkling", '<|content_invoke_tool_json|>{"name":"forecast","args":{"city":"Ber<|end_message|>'),
        ("pythonic_lfm2", "<|tool_call_start|>[forecast(city=Bern)]<|tool_call_end|>"),
        ("pythonic_lfm2", "<|tool_call_start|>[forecast(tags=['a'<|tool_call_end|>"),
    ],
)
def test_neither_a_name_nor_a_value_is_ever_made_up(name: str, text: str) -> None:
    found = parse(FORMATS[name], text, TOOLS)
    assert found.calls == ()
    assert len(found.broken_calls) == 1


@pytest.mark.behaviour("formats.truncated_is_no_call")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_cut_is_never_a_call_that_the_whole_does_not_hold(name: str) -> None:
    format = FORMATS[name]
    for output in OUTPUTS:
        if output.format != name or output.broken:
            continue
        whole = [(call.name, call.arguments) for call in parse(format, output.text, output.tools).calls]
        for size in range(len(output.text)):
            cut = parse(format, output.text[:size], output.tools).calls
            sure = [(call.name, call.arguments) for call in cut if not call.recovered]
            assert sure == whole[: len(sure)], output.text[:size]


def pieces(name: str) -> Sequence[str]:
    """What outputs of a format are made of, and what spoils them."""
    texts = [output.text for output in OUTPUTS if output.format == name]
    cuts = [text[start : start + size] for text in texts for start in range(0, len(text), 7) for size in (3, 12, 40)]
    return [*texts, *cuts, *"\"'\\{}[]()<>=,: \n", "null", "é", "```", "\\n", "'''"]


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=8)
@given(data=st.data(), in_thinking=st.booleans())
def test_no_pieces_of_outputs_break_a_rule(name: str, data: st.DataObject, in_thinking: bool) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(pieces(name)), max_size=6)))[:300]
    assert broken_rule(FORMATS[name], text, TOOLS, in_thinking, random.Random(5), times=2) is None


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
def test_an_opener_in_thinking_is_found_wherever_it_is_cut() -> None:
    block = "```python\nnow()\n```"
    text = f"So:\n{block}\nand\n```python\nprint(1)\n```\nnow()"
    assert broken_rule(FORMATS["pythonic_block"], text, TOOLS, True, random.Random(5), times=20) is None


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@settings(deadline=None, max_examples=60)
@given(st.sampled_from(OUTPUTS), st.data())
def test_wherever_an_output_is_cut_into_chunks_its_events_are_those_of_the_whole(
    output: Output, data: st.DataObject
) -> None:
    format = FORMATS[output.format]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(output.text)), max_size=40)))
    parts = [output.text[start:end] for start, end in zip([0, *cuts], [*cuts, len(output.text)], strict=True)]
    whole = parse(format, output.text, output.tools, in_thinking=output.in_thinking).events
    assert join_events(streamed(format, parts, output.tools, output.in_thinking)) == join_events(whole)
