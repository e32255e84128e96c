"""What a format writes it reads: calls for the history, its own instructions, any values in any chunks."""

import random
from collections.abc import Mapping

import pytest
from benchmarks.parser_cases.invariants import broken_rule, streamed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import ALIASES, FORMATS, FormatMessage, FormattedResult, find_format, parse
from pegboard.prompts.formats.base import EXAMPLE
from pegboard.prompts.scanner import collect_output
from pegboard.prompts.tool_shape import ToolShape

from .outputs import FORECAST, OUTPUTS, TOOLS

NAMES = sorted({output.format for output in OUTPUTS})
EXACT = ("harmony", "inkling", "pythonic", "pythonic_bare", "pythonic_block", "pythonic_lfm2", "pythonic_olmo3")
"""Formats that tell text from numbers by themselves, so that no schema is needed."""
WRAPPED = ("gemini_json", "json_generic")
"""Formats whose outermost object names no tool: without a marker before it, what cannot be read is text."""
WITHOUT_CALLS_TEXT = frozenset(("native", "codemode"))
"""Formats that write calls into the request or as a program."""
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
LETTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.text(LETTERS) | st.sampled_from(
    [
        "</parameter>",
        "</x> <x",
        "null",
        "7",
        "[1]",
        '"q"',
        "\n a \n",
        "<",
        "</",
        "it's",
        "\\n",
        "{a:1}",
        "a,b",
        "<|",
        "`",
    ]
)
TYPED: Mapping[str, st.SearchStrategy[Json]] = {
    "string": TEXT,
    "integer": st.integers(-(10**15), 10**15),
    "number": st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda one: round(one, 6)),
    "boolean": st.booleans(),
    "array": st.lists(TEXT | st.integers(-99, 99), max_size=3),
    "object": st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), TEXT, max_size=3),
}


def calls_of(name: str, text: str, tools: tuple[ToolShape, ...]) -> list[tuple[str, Json]]:
    return [(call.name, dict(call.arguments)) for call in parse(FORMATS[name], text, tools).calls]


@pytest.mark.behaviour("formats.tag_family")
@pytest.mark.parametrize("name", NAMES)
def test_what_a_format_teaches_it_reads(name: str) -> None:
    format = FORMATS[name]
    properties: Json = {"second": {"type": "integer"}, "third": {"type": "array"}}
    tools = tuple(ToolShape(call.name, parameters={"type": "object", "properties": properties}) for call in EXAMPLE)
    assert calls_of(name, format.calls_text(EXAMPLE), tools) == [(call.name, dict(call.arguments)) for call in EXAMPLE]
    assert "".join(format.calls_text(EXAMPLE).partition("tool_name")[:2]) in format.instructions(tools)
    assert all(tool.name in format.tools_text(TOOLS) and tool.description in format.tools_text(TOOLS) for tool in TOOLS)
    assert format.calls_text([]) == ""


@pytest.mark.parametrize("name", EXACT)
@settings(deadline=None, max_examples=12)
@given(st.lists(st.dictionaries(st.text(LETTERS, min_size=1, max_size=8), JSON, max_size=4), min_size=1, max_size=3))
def test_any_arguments_come_back_from_formats_that_know_text_from_numbers(
    name: str, given: list[dict[str, Json]]
) -> None:
    tools = (ToolShape("act"),)
    text = FORMATS[name].calls_text([ParsedCall("act", arguments) for arguments in given])
    assert calls_of(name, text, tools) == [("act", arguments) for arguments in given]


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(EXACT)))
@settings(deadline=None, max_examples=12)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True),
        st.one_of([st.tuples(st.just(kind), values) for kind, values in TYPED.items()]),
        max_size=4,
    ),
    st.randoms(use_true_random=False),
)
def test_arguments_come_back_by_their_schema_whole_and_in_chunks(
    name: str, given: dict[str, tuple[str, Json]], chance: random.Random
) -> None:
    properties: Json = {key: {"type": kind} for key, (kind, _) in given.items()}
    tools = (ToolShape("act", parameters={"type": "object", "properties": properties}),)
    arguments = {key: value for key, (_, value) in given.items()}
    text = FORMATS[name].calls_text([ParsedCall("act", arguments)])
    assert calls_of(name, text, tools) == [("act", arguments)]
    assert broken_rule(FORMATS[name], text[:120], tools, False, chance, times=1) is None


WHOLE_NUMBERS: Json = {"type": "object", "properties": {"id": {"type": "integer"}, "n": {"type": "number"}}}


@settings(deadline=None, max_examples=10)
@given(st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40))
@example(1234567890123456789, 1234567890123456789)
@pytest.mark.behaviour("formats.exact_integers")
def test_whole_numbers_come_back_exactly_in_every_format(integer: int, number: int) -> None:
    assert isinstance(WHOLE_NUMBERS, dict)
    tools = (ToolShape("act", parameters=WHOLE_NUMBERS),)
    arguments: dict[str, Json] = {"id": integer, "n": number}
    for name, format in FORMATS.items():
        if name not in WITHOUT_CALLS_TEXT:
            assert [
                repr(call) for call in calls_of(name, format.calls_text([ParsedCall("act", arguments)]), tools)
            ] == [repr(("act", arguments))], name


@pytest.mark.behaviour("formats.given_twice")
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - WITHOUT_CALLS_TEXT))
def test_an_argument_given_twice_breaks_the_call_in_every_format(name: str) -> None:
    tools = (ToolShape("act", parameters={"type": "object", "properties": {"city": {"type": "string"}}}),)
    written = FORMATS[name].calls_text([ParsedCall("act", {"city": "Oslo", "town": "Bergen"})])
    text = written.replace("town", "city")
    found = parse(FORMATS[name], text, tools)
    assert found.calls == ()
    if name in WRAPPED:
        assert found.text == text
        return
    assert ["'city'" in broken.why and "twice" in broken.why for broken in found.broken_calls] == [True]


def test_a_format_is_found_by_its_name_and_by_every_alias_in_any_case() -> None:
    for name, format in FORMATS.items():
        aliases = [alias for alias, meant in ALIASES.items() if meant == name]
        for said in (name, name.upper(), *aliases, *(alias.replace("_", "-") for alias in aliases)):
            assert find_format(said) is format, said
    assert {*ALIASES.values()} <= {*FORMATS}
    assert find_format("nothing like it") is None


@pytest.mark.parametrize("name", NAMES)
def test_results_go_back_in_their_order_with_all_of_their_text(name: str) -> None:
    messages = FORMATS[name].results(
        [FormattedResult("forecast", "sun & <rain>"), FormattedResult("now", "late", is_error=True)]
    )
    said = "\n".join(message.text for message in messages)
    assert said.index("sun & <rain>") < said.index("late")
    assert {message.role for message in messages} <= {"tool", "user"}
    assert FORMATS[name].results([]) == ()


def test_results_of_one_turn_share_a_message_of_the_user_where_the_format_has_it_so() -> None:
    assert FORMATS["qwen3_coder"].results([FormattedResult("a", "1"), FormattedResult("b", "2")]) == (
        FormatMessage("user", "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"),
    )
    assert FORMATS["deepseek_v32"].results([FormattedResult("a", "1")]) == (
        FormatMessage("user", "<function_results>\n<result>1</result>\n</function_results>"),
    )


HOSTILE = {
    "unclosed openers": lambda one: one * 3000,
    "an opener and spaces": lambda one: one + " " * 200_000,
    "an opener and brackets": lambda one: one + "[{(" * 20_000,
    "an opener and quotes": lambda one: one + "'\"" * 20_000,
    "an opener and backslashes": lambda one: one + "\\" * 100_000,
    "an opener and tags": lambda one: one + "</parameter> x <" * 10_000,
}


@each_case("kind", HOSTILE)
@pytest.mark.parametrize("name", NAMES)
def test_hostile_outputs_are_told_to_the_last_character(name: str, kind: str) -> None:
    format = FORMATS[name]
    text = HOSTILE[kind](format.calls_text([ParsedCall("forecast", {"city": "@"})]).split("@")[0])
    whole = parse(format, text, TOOLS)
    chunked = collect_output(
        streamed(format, [text[place : place + 997] for place in range(0, len(text), 997)], TOOLS, False)
    )
    assert (whole.text, whole.calls, whole.broken_calls) == (chunked.text, chunked.calls, chunked.broken_calls)


@pytest.mark.parametrize("name", NAMES)
def test_an_argument_of_a_megabyte_comes_back_in_chunks(name: str) -> None:
    format = FORMATS[name]
    content = 'def f(x):\n    """doc"""\n    return {"a": [x, \'y\']}  # <b> & \\d\n' * 16_000
    text = format.calls_text([ParsedCall("forecast", {"city": content, "days": 1})])
    found = collect_output(
        streamed(format, [text[place : place + 4096] for place in range(0, len(text), 4096)], (FORECAST,), False)
    )
    assert [dict(call.arguments) for call in found.calls] == [{"city": content, "days": 1}]


def test_a_prompt_that_ends_in_an_opener_of_thinking_has_begun_it() -> None:
    for name in NAMES:
        format = FORMATS[name]
        for _, end in format.thinking_markers:
            found = parse(format, f"hm{end}", TOOLS, in_thinking=True)
            assert (found.thinking, found.text, found.broken_calls) == ("hm", "", ()), name
