"""A tool in one line, whatever its schema holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import json_values, texts

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.core.presentations.entries import (
    MAX_SENTENCE_CHARS,
    MAX_SIGNATURE_CHARS,
    first_sentence,
    format_signature,
)


def line(
    properties: JsonObject,
    required: list[Json] | None = None,
    output: JsonObject | None = None,
    defs: JsonObject | None = None,
) -> str:
    schema: JsonObject = {"type": "object", "properties": properties, "required": required or [], "$defs": defs or {}}
    return format_signature(ToolSpec("any", input_schema=schema, output_schema=output))


def typed(schema: Json, defs: JsonObject | None = None) -> str:
    """The type of one required parameter."""
    return line({"x": schema}, ["x"], defs=defs).removeprefix("(x: ").removesuffix(")")


@pytest.mark.behaviour("search.compact")
def test_what_must_be_given_comes_first_and_what_may_be_left_out_is_marked() -> None:
    given: JsonObject = {
        "limit": {"type": "integer", "default": 10},
        "query": {"type": "string", "description": "What to look for."},
        "deep": {"type": "boolean", "default": False},
        "until": {"type": "string"},
    }
    assert line(given, ["query"]) == "(query: string, limit?: integer = 10, deep?: boolean = false, until?: string)"
    assert line({}) == "()"


def test_what_it_gives_back_is_told_if_it_says_so() -> None:
    output: JsonObject = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
    assert line({}, output=output) == "() -> {total: integer}"
    assert line({}, output={"type": "object"}) == "() -> object"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string"}, "string"),
        ({"type": "number", "minimum": 3}, "number"),
        ({"type": "null"}, "null"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"enum": ["open", "closed", 3, None]}, '"open"|"closed"|3|null'),
        ({"enum": [*map(str, range(12))]}, "|".join(f'"{n}"' for n in range(10)) + "|… 2 more"),
        ({"const": "file"}, '"file"'),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a"|"b")[]'),
        ({"type": "array"}, "array"),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}, "[number, string]"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer|null"),
        ({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, "integer|integer[]"),
        ({"anyOf": [{"type": "integer"}, {}]}, "any"),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{*: integer}"),
        ({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["b"]}, "{b: any, a?: string}"),
        ({"type": "array", "items": {"properties": {"n": {"type": "integer"}}}}, "{n?: integer}[]"),
        ({"allOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}, "{a: string}"),
        ({"properties": dict.fromkeys("abcdefgh", True)}, "{a?: any, b?: any, c?: any, d?: any, e?: any, f?: any, …}"),
        (True, "any"),
        (False, "never"),
        ({}, "any"),
        ({"type": "hologram"}, "any"),
    ],
)  # fmt: skip
def test_types_are_short(schema: Json, told: str) -> None:
    assert typed(schema) == told


def test_what_a_schema_refers_to_is_told_and_a_circle_ends() -> None:
    step: JsonObject = {"type": "object", "properties": {"then": {"type": "array", "items": {"$ref": "#/$defs/Step"}}}}
    definitions: JsonObject = {"Step": step, "Colour": {"enum": ["red", "blue"]}, "Self": {"$ref": "#/$defs/Self"}}
    assert typed({"$ref": "#/$defs/Colour"}, defs=definitions) == '"red"|"blue"'
    assert typed({"$ref": "#/$defs/Step"}, defs=definitions) == "{then?: object[]}"
    assert typed({"$ref": "#/$defs/Self"}, defs=definitions) == "any"
    assert typed({"$ref": "#/$defs/Nowhere"}, defs=definitions) == "any"
    assert typed({"$ref": "https://example.test/schema"}) == "any"


def test_only_short_defaults_are_told() -> None:
    given: JsonObject = {
        "a": {"type": "string", "default": "x" * 100},
        "b": {"type": "array", "default": [1, 2]},
        "c": {"default": "two\nlines"},
        "d": {"type": "integer", "default": 10**60},
    }
    assert line(given) == f'(a?: string = "{"x" * 40}…", b?: array, c?: any = "two lines", d?: integer = number)'


def test_a_line_with_many_parameters_says_how_many_it_leaves_out() -> None:
    many: JsonObject = {f"parameter_{n}": {"type": "string"} for n in range(200)}
    told = line(many, ["parameter_199"])
    assert told.startswith("(parameter_199: string, parameter_0?: string, ")
    shown = told.count("parameter_")
    assert told.endswith(f", … {200 - shown} more)")
    assert len(told) < MAX_SIGNATURE_CHARS + 40


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": ["a"], "required": "a"},
        {"properties": {"a": 3, "b": None, "c": "string"}, "required": [None, 3, "a"]},
        {"properties": {"a": {"enum": {}, "type": [[]], "anyOf": "x", "items": 3, "allOf": 3, "$ref": 3}}},
        {"properties": {"two\nlines": {"type": "string"}, "": {}, "x" * 500: {}, '"': {}}},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$ref": "#"},
        {"properties": {"a": {"anyOf": [{"$ref": "#"}] * 1000}}},
    ],
)
def test_a_schema_that_is_none_does_not_break_the_line(schema: Any) -> None:
    told = format_signature(ToolSpec("odd", input_schema=schema, output_schema=schema))
    assert "\n" not in told
    assert len(told) < 3 * MAX_SIGNATURE_CHARS


def test_a_schema_of_any_depth_or_breadth_is_told_at_once() -> None:
    deep: Any = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"a": deep}}
    assert format_signature(ToolSpec("deep", input_schema=deep)) == "(a?: {a?: {a?: object}})"
    doubling: JsonObject = {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 9} for n in range(60)}
    assert typed({"$ref": "#/$defs/D0"}, defs=doubling) == "any"


@pytest.mark.behaviour("search.compact")
@given(
    st.dictionaries(
        st.sampled_from(["type", "properties", "required", "items", "anyOf", "enum", "$ref"]) | texts, json_values
    )
)
def test_no_schema_breaks_it(schema: JsonObject) -> None:
    told = line({"x": schema}, output=schema)
    assert told.startswith("(x?: ")
    assert not {*"\n\r\x00"} & {*told}
    assert len(told) < 3 * MAX_SIGNATURE_CHARS
    json.dumps(told)


@pytest.mark.behaviour("search.compact")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Find books. Then read them.", "Find books."),
        ("Find books", "Find books"),
        ("  Find\n  books by title.\n\nArgs:\n  query: what", "Find books by title."),
        ("Find books (e.g. novels) by title. And more.", "Find books (e.g. novels) by title."),
        ("Reads version 1.2 of the file. Fast.", "Reads version 1.2 of the file."),
        ("Really? Yes.", "Really?"),
        ('Says "stop." Then stops.', 'Says "stop."'),
        ("查找图书。然后阅读。", "查找图书。"),
        ("Summary\n\nMore.", "Summary"),
        ("", ""),
        ("x" * 1000, "x" * (MAX_SENTENCE_CHARS - 1) + "…"),
        ("a\x00b\u2028c", "a b c"),
    ],
)
def test_the_first_sentence_of_a_description_is_one_line(text: str, told: str) -> None:
    assert first_sentence(text) == told


@given(texts)
def test_no_description_breaks_its_first_sentence(text: str) -> None:
    told = first_sentence(text)
    assert len(told) <= MAX_SENTENCE_CHARS
    assert not {*"\n\r"} & {*told}
