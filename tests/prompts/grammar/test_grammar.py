"""Grammars for constrained decoding: what they admit is read by the format as calls that fit their schemas."""

import json
from random import Random

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import json_objects
from tests.prompts.grammar.reading import read
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json, JsonObject
from pegboard.prompts.formats import FORMATS, Format, parse
from pegboard.prompts.grammar.gbnf import GrammarRules, gbnf, text_without
from pegboard.prompts.grammar.json_schema import calls_schema, find_frame, structural_tags
from pegboard.prompts.tool_shape import ToolShape

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["celsius", 'odd "one"', 7, None]},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "nothing": {"type": "null"},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "code": {"type": "string", "minLength": 2, "maxLength": 4},
        "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "boolean"}}]},
        "both": {"type": ["string", "null"]},
        "place": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "tree": {"$ref": "#/$defs/tree"},
        "fixed": {"const": {"a": [True, None, "x"]}},
        "whatever": {},
    },
    "required": ["city", "tags"],
    "additionalProperties": False,
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"leaf": {"type": "string"}, "more": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "required": ["leaf"],
        }
    },
}
WEATHER = ToolShape("get_weather", "", SCHEMA)
OPTIONAL = ToolShape("all-optional", "", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}})
NOTHING = ToolShape("noop", "", {})
TOOLS = (WEATHER, OPTIONAL, NOTHING)
VALIDATORS = {tool.name: jsonschema_rs.validator_for({"type": "object", **tool.parameters}) for tool in TOOLS}
HELD = [name for name in FORMATS if gbnf(FORMATS[name], TOOLS) is not None]
TAGGED = [name for name in HELD if find_frame(FORMATS[name], TOOLS) is None]
"""Those that write a text as it is: of such a one no rule can hold the length."""


def check(format: Format, text: str) -> int:
    """How many calls it holds."""
    parsed = parse(format, text, TOOLS)
    assert parsed.broken_calls == (), text
    assert parsed.text.strip() == "", text
    assert parsed.calls, text
    for call in parsed.calls:
        assert (call.repairs, call.recovered) == ((), False), text
        free = {"code"} if format.name in TAGGED else set()
        for error in VALIDATORS[call.name].iter_errors(dict(call.arguments)):
            assert {*error.instance_path} & free, (error.message, text)
    return len(parsed.calls)


@pytest.mark.behaviour("grammar.admits_what_parses")
@pytest.mark.parametrize("name", HELD)
def test_what_the_grammar_of_a_format_admits_the_format_reads(name: str) -> None:
    format = FORMATS[name]
    text = gbnf(format, TOOLS)
    assert text is not None
    grammar, random = read(text), Random(name)
    counts = {check(format, grammar.text(random)) for _ in range(40)}
    assert max(counts) > 1
    one = gbnf(format, TOOLS, several=False)
    assert one is not None
    single = read(one)
    assert {check(format, single.text(random)) for _ in range(10)} == {1}


@pytest.mark.behaviour("grammar.admits_what_parses")
def test_grammars_hold_every_format_but_those_that_nest_arguments_in_their_own_way() -> None:
    assert {*FORMATS} - {*HELD} == {"native", "codemode", "gemma4", "functiongemma", "kimi_k3", "minimax_m3"}
    assert {"qwen3_coder", "glm45", "minimax_m2", "deepseek_v32", "seed_oss"} <= {*TAGGED}
    assert gbnf(FORMATS["hermes"], []) is None


@pytest.mark.behaviour("grammar.admits_what_parses")
@given(json_objects, st.integers())
def test_any_schema_gives_a_grammar_whose_texts_are_calls(schema: JsonObject, seed: int) -> None:
    odd: JsonObject = {"type": "object", "properties": {"x": schema, "y": {"type": "array", "items": schema}}}
    tools = [ToolShape("odd", "", odd), ToolShape("whole", "", schema)]
    text = gbnf(FORMATS["hermes"], tools)
    assert text is not None
    drawn = read(text).text(Random(seed))
    parsed = parse(FORMATS["hermes"], drawn, [ToolShape("odd"), ToolShape("whole")])
    assert parsed.broken_calls == ()
    assert {call.name for call in parsed.calls} <= {"odd", "whole"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/properties/a"}}, "required": ["a"]},
        {"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}, {"type": "string"}]}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "https://elsewhere.test/x"}, "b": {"$ref": "#/nowhere"}}, "required": ["a", "b"]},
        {"required": ["undescribed"]},
        {"properties": {"a": {"type": "array", "maxItems": 0}, "b": {"type": "string", "maxLength": 10**9}}},
        {"properties": {"a": {"not": {}}, "b": {"allOf": [{"type": "string"}]}, "c": {"type": "nonsense"}}},
        {"properties": {"": {}, 'é\n"\\': {"type": "integer"}, "a b": {}}, "required": ['é\n"\\']},
        {"properties": {f"p{number}": {"type": "string"} for number in range(60)}},
    ],
)
def test_schemas_that_hold_themselves_or_cannot_be_held_give_a_grammar_all_the_same(schema: JsonObject) -> None:
    text = gbnf(FORMATS["json"], [ToolShape("t", "", schema)])
    assert text is not None
    assert len(text) < 40_000
    grammar, random = read(text), Random(7)
    for _ in range(20):
        parsed = parse(FORMATS["json"], grammar.text(random), [ToolShape("t")])
        assert (parsed.broken_calls, {call.name for call in parsed.calls}) == ((), {"t"})


@pytest.mark.behaviour("grammar.admits_what_parses")
@given(st.lists(st.text("ab<>/[]^-", min_size=2, max_size=5), min_size=1, max_size=4), st.integers())
def test_any_text_but_such_as_holds_a_word_can_be_written_as_rules(words: list[str], seed: int) -> None:
    rules = GrammarRules()
    grammar, random = read(rules.grammar_text(text_without(rules, words))), Random(seed)
    for _ in range(30):
        drawn = grammar.text(random)
        assert not any(word in drawn for word in words), drawn


def valid(schema: str, value: Json) -> bool:
    return jsonschema_rs.validator_for(json.loads(schema)).is_valid(value)


@pytest.mark.behaviour("grammar.json_schema")
def test_the_schema_of_calls_holds_calls_and_nothing_else() -> None:
    assert not valid(calls_schema([]), "{}")
    schema = calls_schema(TOOLS)
    good: JsonObject = {"city": "Oslo", "tags": ["a"], "tree": {"leaf": "x", "more": [{"leaf": "y"}]}}
    assert valid(schema, {"name": "get_weather", "arguments": good})
    assert valid(schema, {"name": "noop", "arguments": {}})
    assert not valid(schema, {"name": "get_weather", "arguments": {**good, "tree": {"more": []}}})
    assert not valid(schema, {"name": "get_weather", "arguments": {}})
    assert not valid(schema, {"name": "other", "arguments": {}})
    assert not valid(schema, {"name": "noop"})
    several = calls_schema(TOOLS, keys=("tool_name", "parameters"), several=True)
    assert valid(several, [{"tool_name": "noop", "parameters": {}}])
    assert not valid(several, [])
    jsonschema_rs.meta.validate(json.loads(schema))


@pytest.mark.behaviour("grammar.json_schema")
def test_what_fits_the_schema_of_calls_is_read_as_a_call() -> None:
    good: JsonObject = {"name": "get_weather", "arguments": {"city": "O", "tags": ["</tool_call>"]}}
    assert valid(calls_schema(TOOLS), good)
    assert check(FORMATS["json"], json.dumps(good)) == 1


@pytest.mark.behaviour("grammar.structural_tags")
@each_case("name", HELD)
def test_what_stands_between_structural_tags_is_read_as_a_call(name: str) -> None:
    format = FORMATS[name]
    text = structural_tags(format, TOOLS)
    if text is None:
        # Without a marker no server could tell a call from an answer.
        return
    made = json.loads(text)["format"]
    (trigger,) = made["triggers"]
    assert (made["at_least_one"], made["stop_after_first"], len(made["tags"])) == (False, False, 3)
    for tag, arguments in zip(made["tags"], ({"city": "</x>", "tags": ["}"]}, {"a": 1}, {}), strict=True):
        assert tag["begin"].startswith(trigger)
        assert jsonschema_rs.validator_for(tag["content"]["json_schema"]).is_valid(arguments)
        assert check(format, tag["begin"] + json.dumps(arguments) + tag["end"]) == 1


@pytest.mark.behaviour("grammar.structural_tags")
def test_formats_with_markers_have_triggers_and_others_have_no_tags() -> None:
    triggers = {}
    for name in ("hermes", "mistral", "kimi_k2", "functionary", "cohere"):
        text = structural_tags(FORMATS[name], [WEATHER], must_call=True)
        assert text is not None
        assert json.loads(text)["format"]["at_least_one"] is True
        triggers[name] = json.loads(text)["format"]["triggers"][0]
    assert triggers == {
        "hermes": "<tool_call>",
        "mistral": "[TOOL_CALLS]get_weather[ARGS]",
        "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>",
        "functionary": "<function=get_weather>",
        "cohere": "<|START_ACTION|>[",
    }
    assert structural_tags(FORMATS["json"], TOOLS) is None
    assert structural_tags(FORMATS["hermes"], []) is None
