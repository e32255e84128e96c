"""How many ways lead through a schema: an upper bound that grows as a check would."""

import pytest

from pegboard.core.json.values import Json, JsonObject
from pegboard.gateway.schema_cost import MAX_COUNT, SchemaCost

INTEGER: JsonObject = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "depth", "ways"),
    [
        ({}, 1, 1),
        ({"properties": {"a": INTEGER, "b": True}}, 1, 1),
        ({"properties": {"a": INTEGER, "b": True}}, 2, 3),
        ({"properties": {"a": INTEGER, "b": True}}, 9, 3),
        ({"anyOf": [INTEGER, INTEGER]}, 1, 3),
        ({"not": INTEGER, "if": INTEGER, "then": INTEGER, "else": INTEGER}, 1, 5),
        ({"dependentSchemas": {"x": INTEGER}, "dependencies": {"y": ["z"]}}, 1, 3),
        ({"items": [INTEGER, INTEGER], "prefixItems": [INTEGER], "contains": INTEGER}, 2, 5),
        ({"$ref": "#/$defs/a", "$defs": {"a": INTEGER}}, 1, 2),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [INTEGER, {"$ref": "#/$defs/b"}]}, "b": INTEGER}}, 1, 5),
        ({"$ref": "#x", "$defs": {"a": {"$anchor": "x", "allOf": [INTEGER]}}}, 1, 3),
        ({"$ref": "https://example.org/a#/b", "$defs": {"x": {"$id": "https://example.org/a", "b": INTEGER}}}, 1, 2),
        ({"$ref": "#/allOf/0", "allOf": [INTEGER]}, 1, 3),
        ({"$ref": "#/a~1b/c%20d", "a/b": {"c d": {"anyOf": [True, True]}}}, 1, 4),
        # What cannot be found is taken for the whole, and the whole within itself asks nothing more.
        ({"$ref": "#/missing", "anyOf": [INTEGER]}, 1, 3),
        ({"$ref": 7}, 1, 2),
        ({"properties": {"next": {"$ref": "#"}}}, 5, 9),
    ],
)
def test_ways_are_counted_in_the_same_place_and_one_deeper(schema: JsonObject, depth: int, ways: int) -> None:
    assert SchemaCost(schema).paths(depth) == ways


def test_ways_that_double_at_each_reference_are_counted_without_walking_them() -> None:
    defs: JsonObject = {f"n{n}": {"allOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 2} for n in range(1000)}
    assert SchemaCost({"$ref": "#/$defs/n0", "$defs": {**defs, "n1000": INTEGER}}).paths(1) == MAX_COUNT


def test_ways_that_double_at_each_level_grow_with_the_depth() -> None:
    schema: JsonObject = {"allOf": [{"properties": {"c": {"$ref": "#"}}}, {"properties": {"c": {"$ref": "#"}}}]}
    counted = [SchemaCost(schema).paths(depth) for depth in (1, 2, 3, 4, 200)]
    assert counted == [3, 11, 27, 59, MAX_COUNT]


def test_a_chain_too_long_to_follow_counts_as_many() -> None:
    defs: dict[str, Json] = {f"n{n}": {"$ref": f"#/$defs/n{n + 1}"} for n in range(100_000)}
    ways = SchemaCost({"$ref": "#/$defs/n0", "$defs": {**defs, "n100000": INTEGER}})
    assert (ways.paths(1), ways.paths(1)) == (MAX_COUNT, MAX_COUNT)


def test_size_and_patterns_are_counted_everywhere() -> None:
    schema: JsonObject = {
        "properties": {"pattern": {"pattern": "a"}, "b": {"items": [{"patternProperties": {"^x": {}, "^y": {}}}]}},
    }
    ways = SchemaCost(schema)
    assert (ways.size, ways.patterns) == (8, 3)
