"""Examples and the like in the schema that callers see: they tell neither of what is pinned or hidden nor its value."""

import pytest
from tests.core.pinning import overridden, pinned, saying, seen

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import canonical_json
from pegboard.core.overrides.model import ArgumentOverride
from pegboard.core.overrides.schema import hidden_argument_pruner

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "tenant": {"type": "string", "examples": ["acme-corp"]},
        "query": {
            "type": "string",
            "description": "Words",
            "examples": ["books", "tenant:x", "for acme-corp only", "tenants"],
            "default": "acme-corp",
        },
        "region": {"enum": ["eu", "acme-corp-eu"]},
        "default": {"type": "object", "properties": {"examples": {"type": "string"}}},
        "sort": {"enum": ["tenant", "date"]},
    },
    "examples": [{"tenant": "t", "query": "books"}, {"query": "acme-corp"}],
    "default": {"tenant": "t"},
}


@pytest.mark.behaviour("overrides.pin_never_told")
def test_examples_defaults_and_choices_speak_neither_of_a_pinned_argument_nor_of_its_value() -> None:
    assert seen(overridden(SCHEMA, saying(tenant=pinned("acme-corp")))) == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words", "examples": ["books", "tenants"]},
            "region": {"enum": ["eu"]},
            "default": {"type": "object", "properties": {"examples": {"type": "string"}}},
            "sort": {"enum": ["tenant", "date"]},
        },
        "examples": [{"query": "books"}],
        "default": {},
    }


@pytest.mark.behaviour("overrides.pin_never_told")
def test_nor_of_a_hidden_one() -> None:
    shown = seen(overridden(SCHEMA, saying(tenant=ArgumentOverride(hide=True))))
    assert shown["examples"] == [{"query": "books"}, {"query": "acme-corp"}]


def test_a_choice_that_is_the_only_one_stays() -> None:
    schema: JsonObject = {"properties": {"a": {"enum": ["acme-corp"]}}}
    assert hidden_argument_pruner({"b"}, ["acme-corp"]).prune(schema) == schema


def test_without_anything_to_leave_out_a_schema_is_as_it_was() -> None:
    deep: Json = {"examples": ["x"], "default": None}
    for _ in range(3_000):
        deep = {"items": deep, "anyOf": [True]}
    schema: JsonObject = {"properties": {"a": deep, "b": True}, "examples": "odd", "enum": 7, "items": [{}, True]}
    assert canonical_json(hidden_argument_pruner({"zz"}, []).prune(schema)) == canonical_json(schema)
