"""Output that nobody foresaw: it costs no more than its length, it is told in full, and nothing is raised."""

import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from benchmarks.formats.fuzz import fuzzed
from benchmarks.parser_cases.cases import Case, Expected
from benchmarks.parser_cases.invariants import broken_rule, streamed, whole

from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, Format, parse
from pegboard.prompts.formats.code_mode import CodeModeFormat
from pegboard.prompts.formats.json_formats import JsonFormat
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, Scanner
from pegboard.prompts.tool_shape import ToolShape

TOOL = ToolShape("write", "", {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}})
SCANNED = [name for name in FORMATS if isinstance(FORMATS[name], JsonFormat | CodeModeFormat)]
CALLS = [ParsedCall("write", {"path": 'a "b"\n', "n": 1}), ParsedCall("write", {"path": "c", "n": 2})]
CODE = [
    ParsedCall("python_execution", {"code": 'x = """\n```\n"""\nprint(x)'}),
    ParsedCall("python_execution", {"code": "y()"}),
]

INPUTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "openers alone": ("hermes", lambda k: "<tool_call>" * k),
    "openers with a brace": ("hermes", lambda k: "<tool_call>{" * k),
    "calls that never close": ("hermes", lambda k: '<tool_call>{"name": "a", "arguments": {"x": ' * k),
    "calls that are no JSON": ("hermes", lambda k: '<tool_call>{"name": "a", "arguments": {x y}}</tool_call>' * k),
    "spaces in a call": ("hermes", lambda k: "<tool_call>" + " " * k),
    "spaces behind a string": ("hermes", lambda k: '<tool_call>{"name": "a"' + " " * k),
    "nested arrays": ("hermes", lambda k: '<tool_call>{"name": "a", "arguments": ' + "[" * k + "]" * k + "}"),
    "nested objects": ("mistral", lambda k: "[TOOL_CALLS]a[ARGS]" + '{"a":' * k),
    "inner quotes": (
        "hermes",
        lambda k: '<tool_call>{"name": "a", "arguments": {"x": "' + 'a "b" ' * k + '"}}</tool_call>',
    ),
    "backslashes": ("hermes", lambda k: '<tool_call>{"name": "a", "arguments": {"x": "' + "\\" * k),
    "escaped quotes": ("hermes", lambda k: '<tool_call>{"name": "a", "arguments": {"x": "' + '\\"' * k + '"}}'),
    "single quotes with escapes": ("hermes", lambda k: "<tool_call>{'name': '" + "\\'" * k + "'}</tool_call>"),
    "bare objects in prose": ("llama3_json", lambda k: '{"name": ' * k),
    "bare brackets": ("mistral", lambda k: "[" * k),
    "names before markers": ("mistral", lambda k: "write[TOOL_CALLS]" * k),
    "a name that goes on": ("mistral", lambda k: "write" * k),
    "headers without end": ("kimi_k2", lambda k: "<|tool_call_begin|>functions.write:0" * k),
    "angle brackets": ("hermes", lambda k: "<" * k),
    "fences": ("json", lambda k: "```json\n" * k),
    "fences in a string": ("codemode", lambda k: '```python\nx = """\n' + "```\n" * k + '"""\n```\n'),
    "fences of no language": ("codemode", lambda k: "```\nprint\n" * k),
    "one line of code": ("codemode", lambda k: "```python\n" + "x" * k),
    "thinking in thinking": ("hermes", lambda k: "<think><tool_call>" * k),
    "mended calls in one tag": ("hermes", lambda k: "<tool_call>" + "{'name': 'write'}" * k + "</tool_call>"),
    "comments": ("hermes", lambda k: '<tool_call>{"name": "a", ' + "/* x */" * k + "}</tool_call>"),
    "sets": ("hermes", lambda k: "<tool_call>{a: " + "{" * k + "}" * k + "}</tool_call>"),
    "braces missing at the end": (
        "hermes",
        lambda k: '<tool_call>{"name": "a", "arguments": ' + '{"a":' * k + "</tool_call>",
    ),
    "closing tags behind spaces": (
        "minicpm5",
        lambda k: '<function name="write"><param name="path">' + " " * k + "</param>x" * k + "</param></function>",
    ),
    "entities": (
        "minicpm5",
        lambda k: '<function name="write"><param name="path">' + "&lt;a" * k + "& </param></function>",
    ),
    "arguments without a value": ("glm45", lambda k: "<tool_call>write" + "<arg_key>n</arg_key>" * k + "</tool_call>"),
    "names that are closed again and again": (
        "glm45",
        lambda k: "<tool_call>write<arg_key>n" + "</arg_key>" * k + "<arg_value>1</arg_value></tool_call>",
    ),
    "attributes in a tag that never ends": (
        "minimax_m2",
        lambda k: '<invoke name="write"><parameter name="path">a <parameter ' + " name=a" * k + "</parameter></invoke>",
    ),
    "recipients in thinking": ("muse_glimmer", lambda k: " to=self<|message|>" + "to=a" * k),
    "calls in thinking": ("inkling", lambda k: "<|content_thinking|>" + "<|content_invoke_tool_json|>{" * k),
    "parentheses that are missing": ("pythonic_lfm2", lambda k: "<|tool_call_start|>" + "[write(path='a'<" * k),
}


def steps(act: Callable[[], object]) -> int:
    """Calls of functions, ours and the interpreter's: what does not depend on the machine."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


def linear(format: Format, text: Callable[[int], str], size: int) -> None:
    short, long = text(size), text(2 * size)
    cut, longer_cut = pieces(short), pieces(long)
    once = steps(lambda: whole(format, short, (TOOL,), False))
    assert steps(lambda: whole(format, long, (TOOL,), False)) <= 2.4 * once + 400
    once = steps(lambda: streamed(format, cut, (TOOL,), False))
    assert steps(lambda: streamed(format, longer_cut, (TOOL,), False)) <= 2.4 * once + 400


def pieces(text: str) -> list[str]:
    return [text[place : place + 4] for place in range(0, len(text), 4)]


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@pytest.mark.parametrize("name", INPUTS)
def test_twice_the_output_takes_twice_the_steps_and_breaks_no_rule(name: str) -> None:
    format, text = FORMATS[INPUTS[name][0]], INPUTS[name][1]
    linear(format, text, 250)
    assert broken_rule(format, text(60), (TOOL,), False, random.Random(4), times=2) is None


@pytest.mark.behaviour("law.parsing_is_chunk_independent")
@pytest.mark.parametrize("name", SCANNED)
def test_a_piece_of_a_call_over_and_over_takes_steps_in_proportion(name: str) -> None:
    text = FORMATS[name].calls_text(CODE if name == "codemode" else CALLS)
    chance = random.Random(name)
    for _ in range(3):
        start, end = sorted(chance.sample(range(len(text) + 1), 2))
        linear(FORMATS[name], text[start:end].__mul__, 25)


@pytest.mark.parametrize("name", SCANNED)
def test_what_waits_for_more_is_bounded_however_long_the_output(name: str) -> None:
    format = FORMATS[name]
    scanner = format.scanner((TOOL,))
    if not isinstance(scanner, Scanner):
        pytest.fail(f"{name} is read by something else than a scanner")
    long = ParsedCall("write", {"path": "x y\n" * 2000})
    for character in format.calls_text(CODE if name == "codemode" else [long]):
        scanner.feed(character)
        assert scanner.held_length <= MAX_HEADER_LENGTH + 64, character


def test_an_argument_of_a_million_characters_arrives_whole_in_one_piece_and_in_many() -> None:
    value = 'line "one"\\\n' * 90_000
    for name in ("hermes", "mistral"):
        format = FORMATS[name]
        text = format.calls_text([ParsedCall("write", {"path": value})])
        parts = [text[at : at + 4096] for at in range(0, len(text), 4096)]
        for events in (whole(format, text, (TOOL,), False), streamed(format, parts, (TOOL,), False)):
            assert "Broken" not in {type(event).__name__ for event in events}
        assert parse(format, text, (TOOL,)).calls[0].arguments == {"path": value}


@pytest.mark.parametrize("seed", range(3))
def test_spoilt_outputs_of_every_format_break_no_rule(seed: int) -> None:
    nothing = Expected((), None, None)
    made = {name: CODE if name == "codemode" else CALLS for name in SCANNED}
    texts = [(name, FORMATS[name].calls_text(calls)) for name, two in made.items() for calls in (two, two[:1])]
    cases = [Case(0, name, text, nothing, (TOOL,), (), "", "", "", False, None, None, False) for name, text in texts]
    _, bad, _ = fuzzed(cases, SCANNED, 500, seed, limit=60)
    assert bad == []
