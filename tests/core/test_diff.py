"""The difference of two specs: every change at its place, in one sentence, and none exactly when nothing changed."""

from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.core.boards import GITHUB, json_objects, spec, texts
from tests.core.spec_changes import CHANGES, Changed
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import ToolSpec
from pegboard.core.review.diff import (
    AnnotationChange,
    MissingMember,
    ParameterAddition,
    ParameterRemoval,
    RequiredChange,
    SchemaChange,
    SpecChange,
    TextChange,
    describe_change,
    diff_specs,
)

MISSING = MissingMember()
LONG = "Reads a file of the project and returns its text, with the line numbers in front of each line."


def schema(properties: JsonObject, *required: str, **more: Json) -> JsonObject:
    names: list[Json] = [*required]
    return {"type": "object", "properties": properties, **({"required": names} if names else {}), **more}


def changes(before: JsonObject, after: JsonObject) -> list[tuple[SpecChange, str]]:
    found = diff_specs(ToolSpec("t", input_schema=before), ToolSpec("t", input_schema=after))
    return [(change, describe_change(change)) for change in found]


PATH: JsonObject = {"type": "string", "description": "Where."}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ToolSpec("a"), ToolSpec("b"), (TextChange(("name",), "a", "b"), "The name changed from 'a' to 'b'.")),
        (
            ToolSpec("t"),
            ToolSpec("t", title="Read"),
            (TextChange(("title",), None, "Read"), "The title was added: 'Read'."),
        ),
        (
            ToolSpec("t", title="Read"),
            ToolSpec("t"),
            (TextChange(("title",), "Read", None), "The title was removed."),
        ),
        (
            ToolSpec("t", description=LONG),
            ToolSpec("t", description=LONG.replace("front of each line", "front\u202eof it")),
            (
                TextChange(("description",), LONG, LONG.replace("front of each line", "front\u202eof it")),
                "The description changed after 80 characters: ' of each line.' became '\\u202eof it.'.",
            ),
        ),
        (
            ToolSpec("t", annotations={"readOnlyHint": True}),
            ToolSpec("t", annotations={"readOnlyHint": False}),
            (
                AnnotationChange(("annotations", "readOnlyHint"), True, False),
                "Annotation 'readOnlyHint' changed from true to false.",
            ),
        ),
        (
            ToolSpec("t"),
            ToolSpec("t", annotations={}),
            (AnnotationChange(("annotations",), MISSING, {}), "The set of annotations was added: {}."),
        ),
        (
            ToolSpec("t"),
            ToolSpec("t", output_schema={"type": "object"}),
            (
                SchemaChange(("outputSchema",), "The output schema", "", MISSING, {"type": "object"}),
                'The output schema was added: {"type":"object"}.',
            ),
        ),
        (
            ToolSpec("t", output_schema=schema({"a": PATH})),
            ToolSpec("t", output_schema=schema({})),
            (
                ParameterRemoval(("outputSchema", "properties", "a"), "Output field 'a'", PATH),
                "Output field 'a' was removed.",
            ),
        ),
    ],
    ids=["name", "title added", "title removed", "description", "annotation", "annotations", "output", "output field"],
)
def test_a_change_outside_the_input_is_told_at_its_place(
    before: ToolSpec, after: ToolSpec, expected: tuple[SpecChange, str]
) -> None:
    assert [(change, describe_change(change)) for change in diff_specs(before, after)] == [expected]


def test_a_parameter_that_came_or_went_is_told_with_whether_it_is_required() -> None:
    before = schema({"old": PATH, "kept": PATH}, "old", "kept")
    after = schema({"kept": PATH, "new": PATH, "needed": PATH}, "kept", "needed")
    at = ("inputSchema", "properties")
    assert changes(before, after) == [
        (
            ParameterAddition((*at, "needed"), "Parameter 'needed'", PATH, True),
            "Parameter 'needed' was added and is required.",
        ),
        (ParameterAddition((*at, "new"), "Parameter 'new'", PATH, False), "Parameter 'new' was added."),
        (ParameterRemoval((*at, "old"), "Parameter 'old'", PATH), "Parameter 'old' was removed."),
    ]


def test_a_requirement_that_flips_is_told_of_the_parameter() -> None:
    both: JsonObject = {"a": PATH, "b": PATH}
    at = ("inputSchema", "properties")
    assert changes(schema(both, "a"), schema(both, "b")) == [
        (RequiredChange((*at, "a"), "Parameter 'a'", False), "Parameter 'a' is no longer required."),
        (RequiredChange((*at, "b"), "Parameter 'b'", True), "Parameter 'b' is now required."),
    ]


def nested(inner: JsonObject) -> JsonObject:
    return schema(
        {
            "options": {
                "type": "array",
                "items": {"anyOf": [{"type": "null"}, schema({"mode": inner}, "mode")]},
            }
        }
    )


def test_a_change_deep_inside_names_the_parameter_and_the_keyword() -> None:
    at = ("inputSchema", "properties", "options", "items", "anyOf", 1, "properties", "mode")
    subject = "Parameter 'options[](anyOf 2).mode'"
    assert changes(nested({"type": "string"}), nested({"type": "integer", "minimum": 3})) == [
        (SchemaChange((*at, "minimum"), subject, "minimum", MISSING, 3), f"{subject}: minimum was added: 3."),
        (
            SchemaChange((*at, "type"), subject, "type", "string", "integer"),
            f"{subject}: type changed from 'string' to 'integer'.",
        ),
    ]


def test_a_definition_is_told_by_its_name() -> None:
    before: JsonObject = {"$defs": {"Mode": {"enum": ["r"]}, "Gone": {}}, "properties": {"m": {"$ref": "#/$defs/Mode"}}}
    after: JsonObject = {"$defs": {"Mode": {"enum": ["r", "w"]}}, "properties": {"m": {"$ref": "#/$defs/Mode"}}}
    at = ("inputSchema", "$defs")
    assert changes(before, after) == [
        (SchemaChange((*at, "Gone"), "Definition 'Gone'", "", {}, MISSING), "Definition 'Gone' was removed."),
        (
            SchemaChange((*at, "Mode", "enum"), "Definition 'Mode'", "enum", ["r"], ["r", "w"]),
            """Definition 'Mode': enum changed from ["r"] to ["r","w"].""",
        ),
    ]


def test_an_option_of_the_whole_schema_is_told_by_its_place() -> None:
    assert [said for _, said in changes({"anyOf": [{}]}, {"anyOf": [{}, {"type": "null"}]})] == [
        """The input schema (anyOf 2) was added: {"type":"null"}."""
    ]


def test_a_keyword_inside_a_keyword_is_told_by_both() -> None:
    before, after = (
        schema({"a": {"additionalProperties": {"type": "string"}}}),
        schema({"a": {"additionalProperties": {}}}),
    )
    assert [said for _, said in changes(before, after)] == ["Parameter 'a': additionalProperties.type was removed."]
    assert [said for _, said in changes(schema({}), schema({}, additionalProperties=False))] == [
        "The input schema: additionalProperties was added: false."
    ]


def test_parameters_that_are_called_like_keywords_are_parameters() -> None:
    before = schema({"required": {"type": "string"}, "properties": {"type": "string"}, "default": {"type": "string"}})
    after = schema({"required": {"type": "null"}, "properties": {"type": "null"}, "default": {"type": "null"}})
    assert [said for _, said in changes(before, after)] == [
        f"Parameter '{name}': type changed from 'string' to 'null'." for name in ("default", "properties", "required")
    ]


def test_a_default_is_a_value_even_when_it_looks_like_a_schema() -> None:
    before, after = (schema({"a": {"default": {"properties": {"x": n}}}}) for n in (1, 2))
    assert [said for _, said in changes(before, after)] == [
        """Parameter 'a': default changed from {"properties":{"x":1}} to {"properties":{"x":2}}."""
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"required": ["a", "b"]}, {"required": ["b", "a"]}, """required changed from ["a","b"] to ["b","a"]."""),
        ({"required": ["a"]}, {"required": ["a", "a"]}, """required changed from ["a"] to ["a","a"]."""),
        ({"required": True}, {"required": ["a"]}, """required changed from true to ["a"]."""),
        ({"required": []}, {}, "required was removed."),
        ({"properties": {}}, {"properties": []}, "properties changed from {} to []."),
        ({"properties": None}, {}, "properties was removed."),
        ({"x": 1}, {"x": True}, "x changed from 1 to true."),
        ({"x": 1}, {"x": 1.0}, "x changed from 1 to 1.0."),
        ({"x": 0.0}, {"x": -0.0}, "x changed from 0.0 to -0.0."),
        ({"x\u200by": 1}, {}, None),
    ],
)
def test_what_no_careful_server_sends_is_told_all_the_same(
    before: JsonObject, after: JsonObject, said: str | None
) -> None:
    told = [said for _, said in changes(before, after)]
    assert told == ([f"The input schema: {said}"] if said else ["The input schema: 'x\\u200by' was removed."])


@each_case("change", CHANGES, name=lambda change: change.name)
@each_case("variant", range(8))
def test_every_way_in_which_a_tool_can_change_is_told(change: Changed, variant: int) -> None:
    before = spec(ToolId(GITHUB, "read"), variant)
    assert diff_specs(before, change.do(before)) != ()


# Schemas that share most of what they say, so that the walk goes deep before it finds a difference.
keywords = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "$defs",
        "default",
        "enum",
        "description",
        "x",
        "patternProperties",
    ]
)
COMMON: list[Json] = [None, True, 1, 1.0, 0.0, -0.0, "a", "b", [], {}, ["a"], ["a", "b"], ["b", "a"]]
schemas: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from(COMMON) | texts,
    lambda inner: st.dictionaries(keywords, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
schema_objects = st.dictionaries(keywords, schemas, max_size=3)


@given(schema_objects, schema_objects, st.booleans())
@example({"required": ["a"]}, {"required": ["a"], "properties": {"a": {}}}, False)
@example({"required": ["a"], "properties": {}}, {"required": [], "properties": {"a": {}}}, False)
@example({"x": float("nan")}, {"x": float("nan")}, False)
def test_there_is_a_difference_exactly_when_the_fingerprints_differ(
    one: JsonObject, other: JsonObject, out: bool
) -> None:
    before, after = ToolSpec("t", input_schema=one), ToolSpec("t", input_schema=other)
    if out:
        before, after = replace(before, output_schema=one), replace(after, input_schema=one, output_schema=other)
    assert diff_specs(before, before) == ()
    assert (diff_specs(before, after) == ()) is (before.fingerprint == after.fingerprint)


@given(
    st.builds(ToolSpec, texts, st.none() | texts, texts, annotations=st.none() | json_objects),
    st.builds(ToolSpec, texts, st.none() | texts, texts, annotations=st.none() | json_objects),
)
def test_the_same_holds_for_what_is_not_a_schema(before: ToolSpec, after: ToolSpec) -> None:
    assert (diff_specs(before, after) == ()) is (before.fingerprint == after.fingerprint)


@given(schema_objects, schema_objects)
def test_every_change_is_told_in_one_printable_line_at_a_path_that_leads_there(
    one: JsonObject, other: JsonObject
) -> None:
    found = diff_specs(ToolSpec("t", input_schema=one), ToolSpec("t", input_schema=other))
    assume(found)
    for change in found:
        said = describe_change(change)
        assert said.isprintable()
        assert said.endswith(".")
        assert len(said) < 400
        if isinstance(change, SchemaChange | ParameterAddition):
            value: object = {"inputSchema": other}
            for key in change.path:
                if not isinstance(value, dict | list) or (isinstance(value, dict) and key not in value):
                    assert isinstance(change, SchemaChange)
                    assert change.after == MISSING
                    break
                if isinstance(value, list) and isinstance(key, int) and key >= len(value):
                    assert isinstance(change, SchemaChange)
                    assert change.after == MISSING
                    break
                value = value[key]  # type: ignore[index]  # a key of a dict or a place in a list


def deep(depth: int, bottom: Json) -> JsonObject:
    value: JsonObject = {"default": bottom}
    for _ in range(depth):
        value = {"properties": {"a": value}}
    return value


def test_a_schema_deeper_than_the_interpreter_recurses_is_compared_too() -> None:
    (change,) = diff_specs(ToolSpec("t", input_schema=deep(5000, 1)), ToolSpec("t", input_schema=deep(5000, 2)))
    assert isinstance(change, SchemaChange)
    assert (len(change.path), change.before, change.after) == (2 * 5000 + 2, 1, 2)
    assert len(describe_change(change)) < 200


def test_changes_come_in_the_order_in_which_a_spec_reads() -> None:
    before = ToolSpec("t", "T", "D", schema({"a": {}}), schema({"a": {}}), {"x": 1})
    after = ToolSpec("u", "U", "E", schema({"b": {}}), schema({"b": {}}), {"x": 2})
    assert [change.path[0] for change in diff_specs(before, after)] == [
        *("name", "title", "description", "inputSchema", "inputSchema", "outputSchema", "outputSchema", "annotations"),
    ]
