"""Fingerprints: any change to what is seen changes them, and nothing else does; no spec is too odd to have one."""

import hashlib
import json
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.boards import GITHUB, json_objects, json_values, spec, texts
from tests.core.spec_changes import CHANGES, Changed
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import Tool, ToolHints, ToolSpec, _canonical_pieces, _dumps, canonical_json


@st.composite
def any_specs(draw: st.DrawFn) -> ToolSpec:
    """One object drawn serves in several places: drawing is what takes the time."""
    some, more = draw(json_objects), draw(st.none() | json_objects)
    return ToolSpec(draw(texts), draw(st.none() | texts), draw(texts), some, more, draw(st.sampled_from([None, some])))


any_spec = any_specs()


@pytest.mark.behaviour("approvals.fingerprint")
def test_a_fingerprint_is_the_sha256_of_the_canonical_json_of_all_that_is_seen() -> None:
    seen = ToolSpec("read", "Read", "Reads a file.", {"type": "object"}, {"b": 1, "a": "é"}, {"readOnlyHint": True})
    text = (
        '{"annotations":{"readOnlyHint":true},"description":"Reads a file.","inputSchema":{"type":"object"},'
        '"name":"read","outputSchema":{"a":"é","b":1},"title":"Read"}'
    )
    assert seen.fingerprint == hashlib.sha256(text.encode()).hexdigest()


@each_case("change", CHANGES, name=lambda change: change.name)
@each_case("variant", range(8))
def test_any_change_to_what_is_seen_changes_it(change: Changed, variant: int) -> None:
    before = spec(ToolId(GITHUB, "read"), variant)
    assert change.do(before).fingerprint != before.fingerprint


def shuffled(value: Json) -> Json:
    match value:
        case dict():
            return {key: shuffled(value[key]) for key in reversed(value)}
        case list():
            return [shuffled(element) for element in value]
        case _:
            return value


@given(any_spec)
def test_the_order_of_keys_changes_nothing(before: ToolSpec) -> None:
    def reordered(schema: object) -> JsonObject | None:
        return None if schema is None else dict(reversed([(k, shuffled(v)) for k, v in dict(schema).items()]))  # type: ignore[call-overload]  # a mapping or None

    after = ToolSpec(
        before.name,
        before.title,
        before.description,
        reordered(before.input_schema) or {},
        reordered(before.output_schema),
        reordered(before.annotations),
    )
    assert after.fingerprint == before.fingerprint


def test_the_order_of_a_list_is_seen() -> None:
    assert (
        ToolSpec("t", input_schema={"enum": [1, 2]}).fingerprint
        != ToolSpec("t", input_schema={"enum": [2, 1]}).fingerprint
    )


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (None, "null"), ([], {}), ("", None)])
def test_values_that_python_confuses_are_told_apart(one: Json, other: Json) -> None:
    assert ToolSpec("t", input_schema={"x": one}).fingerprint != ToolSpec("t", input_schema={"x": other}).fingerprint


@given(any_spec, any_spec)
@example(ToolSpec("\ud83d\ude00"), ToolSpec("😀"))
@example(ToolSpec("\ud800"), ToolSpec("\udfff"))
def test_equal_fingerprints_mean_equal_text(one: ToolSpec, other: ToolSpec) -> None:
    def text(spec: ToolSpec) -> str:
        parts = (spec.name, spec.title, spec.description, spec.input_schema, spec.output_schema, spec.annotations)
        return json.dumps(parts, sort_keys=True, default=dict)

    # Plain JSON escapes a lone surrogate and half of a pair alike, so only what it tells apart is compared.
    if text(one) != text(other):
        assert one.fingerprint != other.fingerprint


def test_lone_surrogates_crash_nothing() -> None:
    assert canonical_json({"\udc00": "\ud800"}) == b'{"\xed\xb0\x80":"\xed\xa0\x80"}'


def nested(depth: int, kind: str) -> Json:
    value: Json = "bottom"
    for level in range(depth):
        value = [value, level] if kind == "list" else {"k": value, "a": level}
    return value


@pytest.mark.parametrize("kind", ["list", "object"])
def test_a_schema_deeper_than_the_interpreter_recurses_has_a_fingerprint_too(kind: str) -> None:
    deep = nested(5_000, kind)
    assert ToolSpec("t", input_schema={"deep": deep}).fingerprint != ToolSpec("t", input_schema={"deep": 1}).fingerprint
    for shallow in (1, 2, 90):
        expected = json.dumps(nested(shallow, kind), sort_keys=True, separators=(",", ":")).encode()
        assert canonical_json(nested(shallow, kind)) == expected


@given(json_values)
def test_the_text_of_a_value_is_the_same_by_either_road(value: Json) -> None:
    """Deep values take a road of their own, tried here on shallow ones."""
    assert "".join(_canonical_pieces(value)) == _dumps(value)


def test_a_mapping_that_is_no_dictionary_counts_as_an_object() -> None:
    frozen = MappingProxyType({"type": MappingProxyType({"x": 1})})
    assert ToolSpec("t", input_schema=frozen).fingerprint == ToolSpec("t", input_schema={"type": {"x": 1}}).fingerprint  # type: ignore[arg-type]  # a mapping in a mapping


def test_what_is_no_json_value_is_a_mistake_in_our_own_code_and_raises() -> None:
    with pytest.raises(TypeError, match="set is no JSON value"):
        canonical_json({"x": {1, 2}})


def test_what_is_not_shown_to_a_model_is_not_in_it() -> None:
    plain = Tool(ToolId(GITHUB, "read"), ToolSpec("read"))
    assert Tool(plain.id, plain.spec, extra={"_meta": {"icon": "x"}}).spec.fingerprint == plain.spec.fingerprint


@pytest.mark.parametrize(
    ("annotations", "hints"),
    [
        (None, ToolHints(read_only=False, destructive=True, idempotent=False, open_world=True)),
        ({"readOnlyHint": True, "destructiveHint": False}, ToolHints(read_only=True, destructive=False)),
        ({"idempotentHint": True, "openWorldHint": False}, ToolHints(idempotent=True, open_world=False)),
        ({"readOnlyHint": "yes", "destructiveHint": None, "openWorldHint": 0}, ToolHints()),
    ],
)
def test_hints_are_the_annotations_with_the_protocols_defaults(
    annotations: JsonObject | None, hints: ToolHints
) -> None:
    assert ToolSpec("t", annotations=annotations).hints == hints
