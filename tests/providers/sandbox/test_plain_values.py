"""What may leave a sandbox: plain JSON, and words for what is not."""

import datetime
import decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.json.values import Json
from pegboard.providers.sandbox.plain_values import MAX_DEPTH, JsonBudget, NotJsonError, to_json

ROOM: Final = 1 << 20
JSON: Final[st.SearchStrategy[Json]] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(JSON)
@pytest.mark.behaviour("code.plain_json")
def test_what_is_json_crosses_as_it_is(value: Json) -> None:
    assert to_json(value, JsonBudget(ROOM)) == value


def test_tuples_become_lists_and_keys_text_as_json_writes_them() -> None:
    value = {7: (1, (2,)), None: 0.5, True: [], 2.5: "x"}
    assert to_json(value, JsonBudget(ROOM)) == {"7": [1, [2]], "null": 0.5, "true": [], "2.5": "x"}


def test_what_brings_more_than_its_value_leaves_as_the_value_alone() -> None:
    class Number(int):
        pass

    class Text(str):
        pass

    crossed = to_json([Number(3), Text("a")], JsonBudget(ROOM))
    assert isinstance(crossed, list)
    assert [type(each) for each in crossed] == [int, str]


@pytest.mark.behaviour("code.plain_json")
@pytest.mark.parametrize(
    ("value", "why", "path"),
    [
        (datetime.date(2026, 1, 1), "is of type date, which is not JSON; use .isoformat()", ""),
        ([{"a": decimal.Decimal(1)}], "is of type Decimal, which is not JSON; use str() or float()", "[0]['a']"),
        ({"a": {1, 2}}, "is of type set, which is not JSON; use sorted() or list()", "['a']"),
        ([b"x"], "is of type bytes, which is not JSON; use .decode() or base64", "[0]"),
        (float("nan"), "is nan, which JSON does not have; use None or text", ""),
        ([float("-inf")], "is -inf, which JSON does not have; use None or text", "[0]"),
        (2**64, "is an integer of more than 64 bits; use str()", ""),
        ("\ud800", "holds half of a character (a lone surrogate)", ""),
        ({(1, 2): 3}, "has a key of type tuple; keys are text", ""),
        ({1: 1, "1": 2}, "comes twice once its key is text", "['1']"),
        (len, "is of type builtin_function_or_method, which is not JSON; send plain values:", ""),
    ],
)
def test_what_is_not_plain_is_refused_with_its_place_and_what_to_do(value: object, why: str, path: str) -> None:
    with pytest.raises(NotJsonError) as refused:
        to_json(value, JsonBudget(ROOM))
    assert refused.value.why.startswith(why)
    assert refused.value.path == path


def test_nesting_has_an_end() -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return value

    assert to_json(nested(MAX_DEPTH), JsonBudget(ROOM)) == nested(MAX_DEPTH)
    with pytest.raises(NotJsonError, match="nested more than 64 levels"):
        to_json(nested(50_000), JsonBudget(ROOM))


@pytest.mark.parametrize("value", ["x" * 101, [1] * 101, {str(key): None for key in range(30)}, ["é" * 60]])
def test_what_is_too_large_is_refused_before_it_is_copied(value: object) -> None:
    with pytest.raises(NotJsonError, match="is too large: 100 bytes of JSON may leave the sandbox"):
        to_json(value, JsonBudget(100))
