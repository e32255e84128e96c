"""Calls as tags: entities, forgotten tags, and what stands around the messages of Muse Glimmer."""

import random

import pytest
from benchmarks.parser_cases.invariants import broken_rule

from pegboard.core.json.values import Json
from pegboard.prompts.formats import FORMATS, parse
from pegboard.prompts.scanner import ParsedOutput
from pegboard.prompts.tool_shape import ToolShape

TEXT: Json = {"type": "string"}
TOOLS = (ToolShape("book", parameters={"type": "object", "properties": {"place": TEXT, "n": {"type": "integer"}}}),)
FORGOTTEN = "the closing tag of an argument was missing"


def checked(name: str, text: str) -> ParsedOutput:
    """The output, read whole, after every rule was checked on it in chunks."""
    assert broken_rule(FORMATS[name], text, TOOLS, False, random.Random(text), times=10) is None
    return parse(FORMATS[name], text, TOOLS)


@pytest.mark.parametrize(
    ("written", "value", "is_told"),
    [
        ("R&amp;D &lt;x&gt;", "R&D <x>", False),
        ("R&D &lt;x&gt;", "R&D <x>", True),
        ("caf&eacute; &lt;x&gt; &#233;", "caf&eacute; <x> é", True),
        ("a < b &amp;&amp; c", "a < b &amp;&amp; c", False),
    ],
)
def test_entities_are_resolved_beside_an_ampersand_that_is_none(written: str, value: str, is_told: bool) -> None:
    text = f'<function name="book"><param name="place">{written}</param></function>'
    (call,) = checked("minicpm5", text).calls
    told = ("argument 'place': an & that begins no entity of XML was kept",) if is_told else ()
    assert (call.arguments, call.repairs) == ({"place": value}, told)


CALL = (
    '<|start|>assistant to=tools<|message|><atem:function_calls>\n<atem:invoke name="book">\n'
    '<atem:parameter name="place">A</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>'
)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("<|start|>assistant to=self<|message|>I think.<|eom|>\n", ""),
        ("<|start|>assistant to=user<|message|>I book.<|eom|> \n ", "I book."),
        ("I book.\n", "I book.\n"),
        ("I book <|start|> now.\n", "I book <|start|> now.\n"),
        ("\n", "\n"),
    ],
)
def test_a_message_to_a_tool_counts_behind_white_space_and_behind_text(before: str, said: str) -> None:
    found = checked("muse_glimmer", before + CALL)
    assert [call.arguments for call in found.calls] == [{"place": "A"}]
    assert (found.text, found.calls[0].recovered) == (said, False)


def test_the_header_of_a_message_is_quoted_inside_another_one() -> None:
    found = checked("muse_glimmer", "<|start|>assistant to=user<|message|>So: " + CALL)
    assert found.calls == ()


def test_a_call_written_as_python_between_tags_is_broken_and_no_text() -> None:
    found = checked("glm45", '<tool_call>book(place="A")</tool_call>')
    assert (found.calls, found.text) == ((), "")
    assert found.broken_calls[0].why.startswith("The call was not made: it is written as Python.")
    assert checked("glm45", "<tool_call>other(place) is text").text == "<tool_call>other(place) is text"


WITHOUT_LAST_TAG = {
    "dots": ('<dots_function_call><invoke name="book"><parameter name="place">', "</invoke>", "</dots_function_call>"),
    "glm45": ("<tool_call>book\n<arg_key>place</arg_key>\n<arg_value>", "</tool_call>", "\n<tool_call>"),
    "minicpm5": ('<function name="book"><param name="place">', "</function>", "\n<function"),
    "minimax_m2": (
        '<minimax:tool_call><invoke name="book"><parameter name="place">',
        "</invoke>",
        "</minimax:tool_call>",
    ),
    "muse_glimmer": (
        '<|start|>assistant to=tools<|message|><atem:function_calls><atem:invoke name="book">'
        '<atem:parameter name="place">',
        "</atem:invoke>",
        "</atem:function_calls>",
    ),
    "poolside_v1": ("<tool_call>book\n<arg_key>place</arg_key>\n<arg_value>", "</tool_call>", "\n<tool_call>"),
    "qwen3_coder": ("<tool_call>\n<function=book>\n<parameter=place>", "</function>", "\n</tool_call>"),
    "seed_oss": ("<seed:tool_call><function=book><parameter=place>", "</function>", "</seed:tool_call>"),
}


@pytest.mark.behaviour("formats.incomplete_is_recovered")
@pytest.mark.parametrize("name", sorted(WITHOUT_LAST_TAG))
def test_a_forgotten_last_tag_follows_one_rule_and_leaves_no_line_break(name: str) -> None:
    before, call_close, behind = WITHOUT_LAST_TAG[name]
    for line in ("", "\n", "\n  "):
        at_end = checked(name, f"{before}A{line}{call_close}").calls[0]
        assert (at_end.arguments, at_end.repairs, at_end.recovered) == ({"place": "A"}, (FORGOTTEN,), True)
        followed = checked(name, f"{before}A{line}{call_close}{behind}").calls[0]
        assert (followed.arguments, followed.repairs, followed.recovered) == ({"place": "A"}, (FORGOTTEN,), False)


@pytest.mark.parametrize("name", ["dots", "poolside_v1", "qwen3_coder", "seed_oss"])
def test_one_line_break_at_each_end_of_a_value_belongs_to_the_tags_of_some_formats(name: str) -> None:
    before, call_close, _ = WITHOUT_LAST_TAG[name]
    value_close = {"poolside_v1": "</arg_value>"}.get(name, "</parameter>")
    (call,) = checked(name, f"{before}\n\n A \n\n{value_close}{call_close}").calls
    assert call.arguments == {"place": "\n A \n"}
