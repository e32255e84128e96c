"""Arguments read by the schema of their tool, where there is one reading alone."""

import pytest

from pegboard.core.json.values import Json
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import coerce_arguments, schema_types


def read(value: Json, schema: Json) -> tuple[Json, bool]:
    tool = ToolShape("t", "", {"type": "object", "properties": {"a": schema}})
    arguments, repairs = coerce_arguments({"a": value}, tool)
    return arguments["a"], bool(repairs)


@pytest.mark.behaviour("formats.coercion")
@pytest.mark.parametrize(
    ("value", "schema", "meant"),
    [
        ("3", {"type": "integer"}, 3),
        (" -4 ", {"type": "integer"}, -4),
        ("3.5", {"type": "number"}, 3.5),
        ("7", {"type": "number"}, 7),
        ("True", {"type": "boolean"}, True),
        ("null", {"type": ["integer", "null"]}, None),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"b": 1}', {"anyOf": [{"type": "object"}, {"type": "null"}]}, {"b": 1}),
        (3.0, {"type": "integer"}, 3),
        ("9" * 30, {"type": "integer"}, int("9" * 30)),
        ("1234567890123456789", {"type": "number"}, 1234567890123456789),
        ("-" + "9" * 4299, {"type": "integer"}, -int("9" * 4299)),
    ],
)
def test_what_can_mean_one_thing_only_is_read_as_the_schema_has_it(value: Json, schema: Json, meant: Json) -> None:
    assert read(value, schema) == (meant, True)
    assert type(read(value, schema)[0]) is type(meant)


@pytest.mark.behaviour("formats.coercion")
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("3", {"type": "string"}),
        ("3", {"type": ["string", "integer"]}),
        ("3", {}),
        ("3.5", {"type": "integer"}),
        ("three", {"type": "integer"}),
        ("1e999", {"type": "number"}),
        ("yes", {"type": "boolean"}),
        ("null", {"type": "integer"}),
        ("[1, 2", {"type": "array"}),
        ("{}", {"type": "array"}),
        (1, {"type": "boolean"}),
        (1, {"type": "string"}),
        (True, {"type": "integer"}),
        (3.5, {"type": "integer"}),
        (1e300, {"type": "integer"}),
        ("[" * 5000, {"type": "array"}),
        ("9" * 4301, {"type": "integer"}),
        ("9" * 4301, {"type": "number"}),
        ('{"b": 1, "b": 2}', {"type": "object"}),
    ],
)
def test_what_could_mean_two_things_or_none_stays_as_it_was_written(value: Json, schema: Json) -> None:
    assert read(value, schema) == (value, False)


def test_types_are_found_through_alternatives_enums_and_properties() -> None:
    assert schema_types({"anyOf": [{"type": "integer"}, {"enum": ["a", "b"]}]}) == {"integer", "string"}
    assert schema_types({"properties": {}}) == {"object"}
    assert schema_types({"enum": [1, 2]}) == {"integer"}
    assert schema_types({"enum": ["a", 2.5, None]}) == {"string", "number", "null"}
    assert schema_types({"const": True}) == {"boolean"}
    assert schema_types({"items": {"type": "string"}}) == {"array"}
    assert schema_types({"type": ["int", "Dict"]}) == {"integer", "object"}


def test_a_schema_that_never_ends_is_not_followed_for_ever() -> None:
    endless: Json = {"type": "integer"}
    for _ in range(100_000):
        endless = {"anyOf": [endless]}
    assert schema_types(endless) == frozenset()


INNER: Json = {
    "type": "object",
    "properties": {
        "o": {"type": "object", "properties": {"n": {"$ref": "#/$defs/whole"}, "s": {"type": "string"}}},
        "arr": {"type": "array", "items": {"type": "integer"}},
        "either": {"anyOf": [{"properties": {"n": {"type": "integer"}}}, {"properties": {"n": {"type": "string"}}}]},
    },
    "$defs": {"whole": {"type": "integer"}},
}


@pytest.mark.behaviour("formats.coercion")
def test_what_objects_and_arrays_hold_is_read_by_the_schema_too() -> None:
    assert isinstance(INNER, dict)
    given: dict[str, Json] = {"o": {"n": "5", "s": "5"}, "arr": ["1", "x", 2], "either": {"n": "5"}}
    assert coerce_arguments(given, ToolShape("t", parameters=INNER)) == (
        {"o": {"n": 5, "s": "5"}, "arr": [1, "x", 2], "either": {"n": "5"}},
        ("argument 'o.n': \"5\" was read as an integer", "argument 'arr[]': \"1\" was read as an integer"),
    )


def test_arguments_between_tags_are_read_by_the_inner_schema_and_stay_as_they_are_otherwise() -> None:
    assert isinstance(INNER, dict)
    given: dict[str, Json] = {"arr": ["1"], "o": "5"}
    assert coerce_arguments(given, ToolShape("t", parameters=INNER), only_inner=True)[0] == {"arr": [1], "o": "5"}


def test_a_schema_that_refers_to_itself_ends_with_the_value() -> None:
    node: Json = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}
    tool = ToolShape("t", parameters={"properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert coerce_arguments({"list": {"next": {"next": {"n": "7"}}}}, tool)[0] == {"list": {"next": {"next": {"n": 7}}}}
