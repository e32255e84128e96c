"""What a check may cost is known before it is begun: long lists and patterns are told roughly or left alone."""

import pytest
from tests.gateway.schemas import Compilations, of, problems

from pegboard.core.calls.call import Arguments
from pegboard.core.json.values import Json
from pegboard.core.model.tool import JsonSchema
from pegboard.gateway.schema_cost import MAX_COUNT, TextSizes, expanded_size, search_steps, texts_in

LONG = "ab" * 1_000_000
ROUGH = ("a: the value does not fit its schema",)
NAMES: Json = [f"r{n}" for n in range(1000)]
WIDE = r"[ab]*a[ab]{300}\W"
CHECKED_NOT = "mcp:dev~github:search: its input schema cannot be checked here: "


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({"items": {"required": NAMES}}, [{}] * 600),
        ({"items": {"dependentRequired": {"x": NAMES}}}, [{"x": 1}] * 600),
        ({"items": {"enum": [f"v{n}" for n in range(20_000)]}}, ["w"] * 2000),
        ({"items": {"const": "x" * 100_000}}, ["w"] * 3000),
    ],
)
def test_a_value_that_misses_a_long_list_many_times_is_told_roughly(asked: Json, sent: Json) -> None:
    """In full, it would be an error for each entry and item, or one that repeats the list for each item."""
    assert problems(of(asked), {"a": sent}) == ROUGH


@pytest.mark.parametrize(
    "schema",
    [
        {"required": [f"r{n}" for n in range(300_000)]},
        {"properties": {f"p{n}": {"pattern": rf"^\p{{L}}{{1,{60 + n}}}$"} for n in range(100)}},
        {"properties": {f"p{n}": {"pattern": rf"(?!x)^\p{{L}}{{1,{60 + n}}}$"} for n in range(100)}},
    ],
)
def test_lists_and_patterns_too_long_to_compile_are_never_compiled(
    schema: JsonSchema, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compilations = Compilations(monkeypatch)
    assert problems(schema, {}) == ()
    assert compilations.count == 0
    assert caplog.messages == [f"{CHECKED_NOT}'its lists are too long, or its patterns too large a regex'"]


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (of({"pattern": WIDE}), {"a": LONG}),
        (of({"pattern": f"(?!x){WIDE}"}), {"a": LONG}),
        (of({"pattern": f"(?!x){WIDE}"}), {"a": LONG[:20_000]}),
        (of({"allOf": [{"pattern": f"{WIDE}{n}"} for n in range(100)]}), {"a": LONG[:20_000]}),
        (of({"items": {"pattern": "(?=(a+)+$)(?!x)(a|a)*b"}}), {"a": ["a" * 60] * 20_000}),
        ({"propertyNames": {"pattern": WIDE}}, {LONG: 1}),
        ({"patternProperties": {WIDE: True}}, {LONG: 1}),
    ],
)
def test_a_search_that_would_take_long_is_not_begun(
    schema: JsonSchema, arguments: Arguments, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of these texts misses its pattern, so a search would have refused it."""
    assert problems(schema, arguments) == ()
    assert caplog.messages == ["mcp:dev~github:search: its patterns take too long to search these arguments for here"]


def test_a_long_text_beside_a_pattern_is_no_reason_to_leave_the_pattern_out() -> None:
    schema: JsonSchema = {"properties": {"path": {"pattern": r"^(?!/)[\w./-]{1,64}$"}, "content": {"type": "string"}}}
    assert problems(schema, {"path": "docs/a.md", "content": LONG}) == ()
    assert problems(schema, {"path": "/etc", "content": LONG}) == ("path: the value does not fit its schema",)


def test_ordinary_lists_and_patterns_are_told_in_full() -> None:
    schema: JsonSchema = {
        "properties": {"state": {"enum": [f"s{n}" for n in range(200)]}, "name": {"pattern": r"^\p{L}{1,60}$"}},
        "required": [f"r{n}" for n in range(5)],
    }
    told = problems(schema, {"state": "x", "name": "7"})
    assert sorted(problem.split(":")[0] for problem in told) == [
        *(f'"r{n}" is a required property' for n in range(5)),
        "name",
        "state",
    ]


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("", 0),
        ("abc", 3),
        ("[a-z]{3}", 3),
        (r"[]a\]]{2,5}x", 6),
        ("a{3,}", 3),
        ("(ab{10}){4}c", 45),
        ("((a{1,1000}){1,1000}){1,1000}", MAX_COUNT),
        (r"\d{4}-\d{2}", 7),
        ("a){2}", 3),
        ("((", 0),
    ],
)
def test_a_pattern_is_counted_with_its_repetitions_written_out(pattern: str, parts: int) -> None:
    assert expanded_size(pattern) == parts


def test_a_class_of_letters_counts_by_its_size_where_it_is_compiled() -> None:
    assert (expanded_size(r"\p{L}{2}"), expanded_size(r"[\p{L}\p{N}]{2}", compiled=True)) == (2, 2002)


def test_names_and_texts_are_what_a_pattern_may_see() -> None:
    assert texts_in({"ab": ["cde", 1, {"f": None}], "g": "häh"}) == TextSizes(5, 10, 3)
    assert texts_in(7) == TextSizes(0, 0, 0)
    assert search_steps(3, TextSizes(5, 10, 3), back_and_forth=False) == 30
    assert search_steps(3, TextSizes(5, 10, 3), back_and_forth=True) == 15_009
