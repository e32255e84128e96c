"""One walk over the arguments: how large they are, and what in them is no JSON."""

from typing import Any

import pytest
from tests.gateway.schemas import lists_within

from pegboard.core.json.values import MAX_JSON_DEPTH
from pegboard.gateway.schema_cost import ArgumentsNotJson, JsonSize, measure_json, path_text


@pytest.mark.parametrize(
    ("arguments", "measure"),
    [
        ({}, JsonSize(1, 1, 0)),
        ({"a": 1}, JsonSize(2, 2, 0)),
        ({"a": "text", "b": None, "c": [True, 1.5, {"d": "é"}]}, JsonSize(8, 4, 5)),
        ({"a": 10**4000, "b": -(10**4000), "c": 1e308, "💥": "👩‍👩‍👧"}, JsonSize(5, 2, 5)),
    ],
)
def test_arguments_are_measured_by_what_they_hold(arguments: dict[str, Any], measure: JsonSize) -> None:
    assert measure_json(arguments) == measure


@pytest.mark.behaviour("admission.problems_name_the_argument")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"a": float("nan")}, "a: the value is not a finite number"),
        ({"a": [0, {"b": float("-inf")}]}, "a[1].b: the value is not a finite number"),
        ({"a": 10**4300}, "a: the value is too long a number"),
        ({"a": -(10**4300)}, "a: the value is too long a number"),
        ({"a": "\ud83d"}, "a: the value holds half of a character"),
        ({"a": {"\ud83d": 1}}, "a: the value has a name that is no text"),
        ({"a": {1: 1}}, "a: the value has a name that is no text"),
        ({1: 1}, "the arguments: the value has a name that is no text"),
        ({"a b": b"1"}, "['a b']: the value is of type bytes, which JSON does not know"),
        ({"a": (1, 2)}, "a: the value is of type tuple, which JSON does not know"),
    ],
)
def test_what_is_no_json_is_refused_by_its_name(arguments: dict[Any, Any], problem: str) -> None:
    assert measure_json(arguments) == ArgumentsNotJson(problem)


@pytest.mark.parametrize("levels", [MAX_JSON_DEPTH, 5000, 100_000])
def test_arguments_nested_too_deeply_are_refused_without_falling_over(levels: int) -> None:
    deep = lists_within(levels, 1)
    problem = ArgumentsNotJson("the arguments are nested more than 200 levels deep")
    assert measure_json({"a": deep}) == problem
    while isinstance(deep, list):  # taken apart by hand: freeing it level by level would not be ours to test
        deep = deep.pop()


def test_arguments_nested_as_deep_as_allowed_are_measured() -> None:
    assert measure_json({"a": lists_within(MAX_JSON_DEPTH - 2, 1)}) == JsonSize(MAX_JSON_DEPTH, MAX_JSON_DEPTH, 0)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["filter", "any", 2, "name"], "filter.any[2].name"),
        (["ключ", "a.b", "", "x\ny"], "ключ['a.b']['']['x\\ny']"),
        ([0], "[0]"),
        (["x" * 500], "x" * 120 + "…"),
    ],
)
def test_a_path_is_written_so_that_each_part_can_be_told(path: list[str | int], text: str) -> None:
    assert path_text(path) == text
