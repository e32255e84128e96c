"""Every format that writes JSON behind a marker, or JSON alone: as models write it, rightly and not quite."""

import random
from dataclasses import dataclass

import pytest
from benchmarks.parser_cases.invariants import broken_rule
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, FormattedResult, find_format, parse
from pegboard.prompts.formats.json_formats import JsonFormat
from pegboard.prompts.scanners.json_calls import CORRECTION
from pegboard.prompts.tool_shape import ToolShape

TOOLS = (
    ToolShape("look", "Look at a place.", {"type": "object", "properties": {"at": {"type": "string"}}}),
    ToolShape("wait", "Do nothing.", {"type": "object", "properties": {}}),
    ToolShape("dig-up", "Dig.", {"type": "object", "properties": {"deep": {"type": "integer"}}, "required": ["deep"]}),
)
JSON_FORMATS = tuple(name for name, each in FORMATS.items() if isinstance(each, JsonFormat))
HOSTILE: tuple[dict[str, Json], ...] = (
    {"at": 'a "quoted" \\ path\n\twith </tool_call> [TOOL_CALLS] ``` <|tool_call_end|> and { [ braces'},
    {"at": "北京 — \U0001f600 \u2028", "deep": [1, -2.5e3, True, None, {"x": {"y": []}}]},
    {},
    {"at": "", "1": "", "a b": "x"},
)


@dataclass(frozen=True)
class Output:
    format: str
    text: str
    calls: tuple[tuple[str, dict[str, Json]], ...]
    said: str = ""
    repaired: bool = False
    broken: int = 0


LOOK: tuple[str, dict[str, Json]] = ("look", {"at": "Bern"})
WAIT: tuple[str, dict[str, Json]] = ("wait", {})
BEGIN, SEPARATOR, END = ("<\uff5ctool\u2581" + word + "\uff5c>" for word in ("call\u2581begin", "sep", "call\u2581end"))
OUTPUTS = (
    Output(
        "hermes", 'Hm. <tool_call>{"arguments": {"at": "Bern"}, "name": "look"}</tool_call> So.', (LOOK,), "Hm. So."
    ),
    Output(
        "hermes", '<TOOL_CALL>{"tool_name": "look", "tool_args": {"at": "Bern"}}></TOOL_CALL>', (LOOK,), repaired=True
    ),
    Output("hermes", "<tool_call>{'name': 'wait', 'arguments': {}}</tool_call>", (WAIT,), repaired=True),
    Output("hermes", '<tool_call>{"name": "wait"}</tool_call>', (WAIT,)),
    Output(
        "hermes",
        '<tool_call>{"name": "look", "arguments": "{\\"at\\": \\"Bern\\"}"}</tool_call>',
        (LOOK,),
        repaired=True,
    ),
    Output(
        "hermes",
        '<tool_call>\n[{"name": "look", "arguments": {"at": "Bern"}}, {"name": "wait"}]\n</tool_call>',
        (LOOK, WAIT),
    ),
    Output(
        "hermes", '<tool_call>{"name": "look", "arguments": {"at": "Bern"}}\n{"name": "wait"}</tool_call>', (LOOK, WAIT)
    ),
    Output("hermes", '```json\n{"name": "look", "arguments": {"at": "Bern"}}\n```', (LOOK,)),
    Output("hermes", 'I call {"name": "wait", "arguments": {}} now', (WAIT,), "I call now"),
    Output("hermes", 'It is {"name": "John", "arguments": {}}', (), 'It is {"name": "John", "arguments": {}}'),
    Output("hermes", "<tool_call></tool_call>", (), broken=1),
    Output("hermes", '<tool_call id="1">{"name": "wait", "arguments": {}}</tool_call>', (WAIT,)),
    Output("hermes", '<tool_call>{{"name": "wait", "arguments": {}}}</tool_call>', (WAIT,), repaired=True),
    Output("hermes", '<scratch_pad>{"name": "wait", "arguments": {}}</scratch_pad>No.', (), "No."),
    Output("hermes", "see <tool_call and <tool_call x", (), "see <tool_call and <tool_call x"),
    Output("hermes", "<tool_call>not at all</tool_call>", (), "<tool_call>not at all</tool_call>"),
    Output("hermes", '<tool_call>{"name": "look", "arguments": [1]}</tool_call>', (), broken=1),
    Output("hermes_longcat", '<longcat_tool_call>{"name": "wait", "arguments": {}}</longcat_tool_call>', (WAIT,)),
    Output(
        "mistral",
        '[TOOL_CALLS] [{"name": "look", "arguments": {"at": "Bern"}}, {"name": "wait", "arguments": {}}]',
        (LOOK, WAIT),
    ),
    Output("mistral", '[TOOL_CALLS]look[ARGS]{"at": "Bern"}[TOOL_CALLS]wait[ARGS]{}', (LOOK, WAIT)),
    Output("mistral", 'Yes.[TOOL_CALLS]look[CALL_ID]a1B2c3D4e[ARGS]{"at": "Bern"}</s>', (LOOK,), "Yes."),
    Output("mistral", '[TOOL_CALLS]look{"at": "Bern"}', (LOOK,)),
    Output("mistral", '[TOOL_CALLS]dig-up[ARGS]{"deep": 3}', (("dig-up", {"deep": 3}),)),
    Output("mistral", 'look[TOOL_CALLS]{"at": "Bern"}', (LOOK,), repaired=True),
    Output("mistral", 'I look[TOOL_CALLS][ARGS]{"at": "Bern"}', (LOOK,), "I", repaired=True),
    Output("mistral", "I wait look[TOOL_CALLS]wait[ARGS]{}", (WAIT,), "I wait look"),
    Output("mistral", 'overlook[TOOL_CALLS]{"at": "Bern"}', (), "overlook", broken=1),
    Output("mistral", '[TOOL_CALLS][ARGS]{"at": "Bern"}', (), broken=1),
    Output("mistral", '[{"name": "look", "arguments": {"at": "Bern"}}] there', (LOOK,), "there"),
    Output("mistral", '[TOOL_CALLS]look[ARGS]{"at": "Bern"}, wait[ARGS]{}', (LOOK, WAIT)),
    Output("mistral", '[TOOL_CALLS]look[ARGS]{"at": "Bern"}, and then {', (LOOK,), ", and then {"),
    Output("mistral", 'look[ARGS]{"at": "Bern"}', (LOOK,), repaired=True),
    Output("mistral", "I look[ARGS] at it", (), "I look[ARGS] at it"),
    Output("mistral", "behind [ARGS]{} nothing", (), "behind [ARGS]{} nothing"),
    Output("mistral", "[THINK][TOOL_CALLS]wait[ARGS]{}[/THINK]no", (), "no"),
    Output("mistral", "see [1] and [TOOL_CAL", (), "see [1] and [TOOL_CAL"),
    Output("json", '{"name": "look", "parameters": {"at": "Bern"}}', (LOOK,)),
    Output("json", '{"action": "look", "action_input": {"at": "Bern"}}', (LOOK,)),
    Output(
        "json",
        '{"function": {"name": "look", "arguments": "{\\"at\\": \\"Bern\\"}"}, "type": "function"}',
        (LOOK,),
        repaired=True,
    ),
    Output(
        "json",
        '{"tool_calls": [{"name": "look", "args": {"at": "Bern"}}, {"function": {"name": "wait"}}]}',
        (LOOK, WAIT),
    ),
    Output("json", '```json\n[{"name": "look", "arguments": {"at": "Bern"}}]\n```\nthere', (LOOK,), "there"),
    Output("json", '{"name": "look", "arguments": {"at": "Bern"}}, {"name": "wait"}', (LOOK, WAIT)),
    Output("json", '{"name": "look", "arguments": {"at": "Bern"}}, as said', (LOOK,), ", as said"),
    Output("json", '{"answer": 42}', (), '{"answer": 42}'),
    Output("json", '{"name": "look", "colour": "red"}', (), '{"name": "look", "colour": "red"}'),
    Output("json", 'Take {"name": "look", "arguments": {}}', (), 'Take {"name": "look", "arguments": {}}'),
    Output("json", '{"name": "look", "arguments": {"at": ', (), broken=1),
    Output("llama3_json", '<|python_tag|>{"name": "look", "parameters": {"at": "Bern"}}<|eom_id|>', (LOOK,)),
    Output("llama3_json", '<|python_tag|>look.call(at="Bern")<|eom_id|>', (), broken=1),
    Output("llama3_json", "<|python_tag|>look(at='Bern')", (), broken=1),
    Output("llama3_json", "<|python_tag|>print(2)", (), "<|python_tag|>print(2)"),
    Output(
        "llama3_json",
        'Well {"name": "look", "parameters": {"at": "Bern"}}; {"name": "wait", "parameters": {}} so',
        (LOOK, WAIT),
        "Well so",
    ),
    Output("granite3", '<|tool_call|>[{"name": "look", "arguments": {"at": "Bern"}}]', (LOOK,)),
    Output(
        "granite_20b",
        '<function_call> {"name": "look", "arguments": {"at": "Bern"}}<function_call> {"name": "wait"}',
        (LOOK, WAIT),
    ),
    Output("json_apertus", '<|tools_prefix|>[{"look": {"at": "Bern"}}, {"wait": {}}]<|tools_suffix|>', (LOOK, WAIT)),
    Output(
        "cohere",
        "<|START_THINKING|>x<|END_THINKING|><|START_ACTION|>"
        '[{"tool_call_id": "0", "tool_name": "look", "parameters": {"at": "Bern"}}]<|END_ACTION|>',
        (LOOK,),
    ),
    Output("gigachat3", '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "wait", "arguments": {}}</s>', (WAIT,)),
    Output("json_phi4mini", 'functools[{"name": "look", "arguments": {"at": "Bern"}}]', (LOOK,)),
    Output("json_phi4mini", "import functools, then", (), "import functools, then"),
    Output("functionary", '<function=look>{"at": "Bern"}</function>', (LOOK,)),
    Output("functionary", '>>>look\n{"at": "Bern"}', (LOOK,)),
    Output("functionary", "wait\n{}>>>all\nDone.", (WAIT,), "Done."),
    Output("functionary", "Hello\nthere", (), "Hello there"),
    Output(
        "kimi_k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>"
        '{"at": "Bern"}<|tool_call_end|><|tool_calls_section_end|>',
        (LOOK,),
    ),
    Output("kimi_k2", "<|tool_call_begin|>wait<|tool_call_argument_begin|>{}<|tool_call_end|>", (WAIT,)),
    Output("kimi_k2", "<|tool_call_begin|>7<|tool_call_argument_begin|>{}<|tool_call_end|>", (), broken=1),
    Output("deepseek_v3", f'{BEGIN}function{SEPARATOR}look\n```json\n{{"at": "Bern"}}\n```{END}', (LOOK,)),
    Output("deepseek_v31", f'{BEGIN}look{SEPARATOR}{{"at": "Bern"}}{END}{BEGIN}wait{SEPARATOR}{{}}{END}', (LOOK, WAIT)),
    Output("nemotron_v2", 'x</think><TOOLCALL>[{"name": "wait", "arguments": {}}]</TOOLCALL>', (WAIT,), "x</think>"),
    Output("json_internlm2", '<|action_start|> <|plugin|>{"name": "wait", "parameters": {}}<|action_end|>', (WAIT,)),
    Output("pipeline_default", '[TOOL_CALLS] [{"name": "wait", "arguments": {}}]', (WAIT,)),
    Output("pipeline_default", '<tool_call>{"name": "wait", "arguments": {}}</tool_call>', (WAIT,)),
)


@pytest.mark.behaviour("formats.json_family", "formats.bare_json", "formats.nothing_vanishes")
@each_case("output", OUTPUTS, name=lambda output: f"{output.format}: {output.text[:40]}")
def test_an_output_is_read_as_it_is_meant_whole_and_in_chunks(output: Output) -> None:
    format = FORMATS[output.format]
    found = parse(format, output.text, TOOLS)
    assert tuple((call.name, call.arguments) for call in found.calls) == output.calls
    assert " ".join(found.text.split()) == " ".join(output.said.split())
    assert len(found.broken_calls) == output.broken
    assert any(call.repairs for call in found.calls) == output.repaired
    assert broken_rule(format, output.text, TOOLS, False, random.Random(1)) is None


@pytest.mark.behaviour("formats.json_family")
@pytest.mark.parametrize("name", JSON_FORMATS)
def test_what_a_format_renders_it_reads_back(name: str) -> None:
    format = FORMATS[name]
    made = [ParsedCall(tool.name, arguments) for tool, arguments in zip((*TOOLS, TOOLS[0]), HOSTILE, strict=True)]
    text = f"I begin.\n{format.calls_text(made)}"
    found = parse(format, text, TOOLS)
    assert [(call.name, call.arguments) for call in found.calls] == [(call.name, call.arguments) for call in made]
    assert [call.repairs for call in found.calls] == [()] * len(made)
    assert broken_rule(format, text, TOOLS, False, random.Random(2), times=3) is None
    assert format.calls_text([]) == ""


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_format_shows_every_tool_tells_how_to_call_and_gives_results_back(name: str) -> None:
    format = FORMATS[name]
    shown = format.tools_text(TOOLS)
    assert all(tool.name in shown and tool.description in shown for tool in TOOLS)
    example = parse(format, format.instructions(TOOLS), (ToolShape("tool_name"), ToolShape("other_tool")))
    assert {call.name for call in example.calls} == {"tool_name", "other_tool"}
    fed = format.results([FormattedResult("look", "fog", "1"), FormattedResult("wait", "nothing", "2", is_error=True)])
    assert "fog" in fed[0].text
    assert "nothing" in fed[-1].text
    assert format.results([]) == ()
    assert find_format(name.upper()) is format


@pytest.mark.behaviour("formats.truncated_is_no_call")
@pytest.mark.parametrize("name", JSON_FORMATS)
def test_no_prefix_of_a_call_is_a_call(name: str) -> None:
    format = FORMATS[name]
    text = format.calls_text([ParsedCall("look", {"at": "Bern", "deep": {"x": 1}})])
    for size in range(len(text)):
        for call in parse(format, text[:size], TOOLS).calls:
            assert call.arguments == {"at": "Bern", "deep": {"x": 1}}, text[:size]


def test_a_call_that_had_to_be_mended_ends_at_its_value_like_any_other() -> None:
    text = "<tool_call>{'name': 'wait', 'arguments': {}} then {'name': 'look'}</tool_call>"
    found = parse(FORMATS["hermes"], text, TOOLS)
    assert [(call.name, call.raw) for call in found.calls] == [("wait", "<tool_call>{'name': 'wait', 'arguments': {}}")]
    assert found.text == "then {'name': 'look'}"
    more = parse(FORMATS["hermes"], text.replace(" then", ", {'x': 1},"), TOOLS)
    assert [call.name for call in more.calls] == ["wait", "look"]
    assert [(one.raw, one.why) for one in more.broken_calls] == [
        ("{'x': 1}", f"The call was not made: it is no call. {CORRECTION}.")
    ]


STRINGS_WITHOUT_COMMA = {
    "hermes": '<tool_call>{"name": "book", "arguments": {"tags": ["a" "b"]}}</tool_call>',
    "json": '{"name": "book", "arguments": {"tags": ["a" "b"]}}',
    "inkling": '<|content_invoke_tool_json|>{"name": "book", "args": {"tags": ["a" "b"]}}<|end_message|>',
    "gemma4": '<|tool_call>call:book{tags:["a" "b"]}<tool_call|>',
    "pythonic_lfm2": '<|tool_call_start|>[book(tags=["a" "b"])]<|tool_call_end|>',
    "minimax_m2": '<minimax:tool_call><invoke name="book"><parameter name="tags">["a" "b"]</parameter></invoke>'
    "</minimax:tool_call>",
}


@pytest.mark.behaviour("formats.repaired_without_guessing")
@pytest.mark.parametrize("name", sorted(STRINGS_WITHOUT_COMMA))
def test_strings_of_a_list_without_a_comma_are_never_joined(name: str) -> None:
    tool = ToolShape("book", parameters={"type": "object", "properties": {"tags": {"type": "array"}}})
    found = parse(FORMATS[name], STRINGS_WITHOUT_COMMA[name], (tool,))
    # Between tags the text stays, and the validation of the call tells of it.
    assert [call.arguments for call in found.calls] == ([{"tags": '["a" "b"]'}] if name == "minimax_m2" else [])


@pytest.mark.behaviour("formats.repairs")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", '<tool_call>{"name": "book", "arguments": {"place": "A"}}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "book", "arguments": {"place": "A"}} \n}</tool_call>'),
        ("inkling", '<|content_invoke_tool_json|>{"name": "book", "args": {"place": "A"}}}<|end_message|>'),
        ("llama_function_tag", '<function=book>{"place": "A"}}</function>'),
    ],
)
def test_a_bracket_too_many_before_the_end_marker_is_told(name: str, text: str) -> None:
    (call,) = parse(FORMATS[name], text, ()).calls
    assert (call.arguments, call.repairs) == ({"place": "A"}, ("brackets too many at the end were left out",))
    assert broken_rule(FORMATS[name], text, (), False, random.Random(text)) is None


@pytest.mark.behaviour("formats.repaired_without_guessing")
def test_an_argument_beside_the_others_breaks_the_call_and_is_named() -> None:
    text = '<tool_call>{"name": "book", "arguments": {"place": "A"}, "guests": 4}</tool_call>'
    found = parse(FORMATS["hermes"], text, ())
    assert found.calls == ()
    assert "'guests' is no key of a call" in found.broken_calls[0].why


@pytest.mark.parametrize(
    "written",
    [
        '{"place": "A" // the place\n}',
        '{"place": "A" // the place\n  , "n": [1]}',
        '{"place": "A", // the place\n"n": [1]}',
        '{"place": "A" /* the place */}',
        '{"n": ["A" // the place\n]}',
    ],
)
def test_a_comment_is_left_out_wherever_it_stands(written: str) -> None:
    text = f'<tool_call>{{"name": "book", "arguments": {written}}}</tool_call>'
    (call,) = parse(FORMATS["hermes"], text, ()).calls
    assert call.repairs == ("a comment was left out",)
    assert broken_rule(FORMATS["hermes"], text, (), False, random.Random(text), times=20) is None


def test_two_slashes_inside_a_string_are_no_comment() -> None:
    text = '<tool_call>{"name": "book", "arguments": {"place": "say "A" // b\n, c"}}</tool_call>'
    (call,) = parse(FORMATS["hermes"], text, ()).calls
    assert call.arguments == {"place": 'say "A" // b\n, c'}
