"""Objects kept as text read as the objects they stand for, whatever a server put into them."""

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_fingerprints import nested

from pegboard.core.json.values import MAX_LAZY_DEPTH, Json, JsonObject, LazyJson, lazy_json
from pegboard.core.model.tool import ToolSpec, canonical_json

texts = st.text(st.characters(codec=None), max_size=8)  # halves of characters too
values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=4)


@given(objects)
def test_a_folded_object_is_the_object_it_stands_for(value: JsonObject) -> None:
    kept = lazy_json(value)
    assert isinstance(kept, LazyJson)
    assert (kept == value, value == kept, dict(kept) == value, len(kept) == len(value)) == (True, True, True, True)
    assert [*kept] == [*value] == [*kept.keys()]
    assert [*kept.items()] == [*value.items()]
    assert [*kept.values()] == [*value.values()]
    assert (canonical_json(kept), repr(kept)) == (canonical_json(value), repr(value))


@given(objects)
def test_folding_twice_changes_nothing(value: JsonObject) -> None:
    kept = lazy_json(value)
    assert lazy_json(kept) is kept
    assert lazy_json(dict(kept)) == kept


@given(objects, objects)
def test_objects_that_differ_differ_folded(one: JsonObject, other: JsonObject) -> None:
    assert (lazy_json(one) == lazy_json(other)) == (one == other)


def test_what_python_holds_equal_is_kept_as_it_was_written() -> None:
    assert [repr(dict(lazy_json({"x": each}))) for each in (1, 1.0, True)] == ["{'x': 1}", "{'x': 1.0}", "{'x': True}"]
    assert lazy_json({"a": 1, "b": 2}) == lazy_json({"b": 2, "a": 1})


def test_a_mapping_of_any_kind_can_be_folded() -> None:
    assert lazy_json(MappingProxyType({"inner": {"a": 1}})) == {"inner": {"a": 1}}


def test_a_key_that_is_not_there_is_missing() -> None:
    kept = lazy_json({"a": 1})
    assert ("b" in kept, kept.get("b", "nothing")) == (False, "nothing")
    with pytest.raises(KeyError):
        kept["b"]


@pytest.mark.parametrize("kind", ["list", "object"])
def test_what_is_nested_too_deep_to_be_read_back_stays_an_object(kind: str) -> None:
    for depth in (MAX_LAZY_DEPTH, 900, 5_000):
        deep: Mapping[str, Json] = {"deep": nested(depth, kind)}
        assert lazy_json(deep) is deep
    assert isinstance(lazy_json({"flat": nested(MAX_LAZY_DEPTH - 1, kind), "wide": [[]] * 1_000}), LazyJson)


def test_a_number_longer_than_python_reads_stays_an_object() -> None:
    long: Mapping[str, Json] = {"x": 10 ** sys.get_int_max_str_digits()}
    assert lazy_json(long) is long


def test_a_tool_keeps_its_objects_as_text_of_about_their_own_length() -> None:
    schema: JsonObject = {"type": "object", "properties": {"ä": {"type": "string", "description": "Ü" * 100}}}
    spec = ToolSpec("saw", input_schema=schema, output_schema=schema, annotations={"readOnlyHint": True})
    kept = (spec.input_schema, spec.output_schema, spec.annotations)
    assert kept == (schema, schema, {"readOnlyHint": True})
    written = json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode()
    assert [each.text for each in kept if isinstance(each, LazyJson)] == [written, written, b'{"readOnlyHint":true}']
