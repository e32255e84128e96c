"""The depth of a JSON text, against a count by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.json import values as nesting
from pegboard.core.json.values import Json, count_values, has_more_values_than, is_deeper_than

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='[]{}"\\,é\n') | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[]{}"\\x'), inner, max_size=4),
    max_leaves=40,
)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(VALUES, st.integers(0, 8), st.integers(1, 40))
def test_the_depth_is_exact_however_the_text_is_cut(value: Json, levels: int, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_PIECE_BYTES", piece)
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
            assert is_deeper_than(levels, text.encode("utf-8", "surrogatepass")) == (depth_of(value) > levels)


@pytest.mark.parametrize("count", [199, 200, 201, 100_000])
def test_many_brackets_on_one_another_are_counted(count: int) -> None:
    assert is_deeper_than(200, b"[" * count + b"]" * count) == (count > 200)
    assert is_deeper_than(200, b"[" + b'{"a":[]},' * 90_000 + b"[" * (count - 1) + b"]" * (count - 1) + b"]") == (
        count > 200
    )


def test_a_text_that_ends_within_a_string_ends_the_count() -> None:
    assert is_deeper_than(2, b'[[["')
    assert not is_deeper_than(2, b'[["[[[')


def test_brackets_within_texts_do_not_count() -> None:
    for depth in (199, 200, 201):
        nested = b'{"a":[' * (depth // 2) + b"[" * (depth % 2) + b"]" * (depth % 2) + b"]}" * (depth // 2)
        assert is_deeper_than(200, nested) == (depth > 200)
        assert is_deeper_than(200, b'["]","\\"]",' + nested + b"]") == (depth + 1 > 200)
    assert not is_deeper_than(200, json.dumps(["[" * 500 + '"' + "{" * 500] * 300).encode())
    assert not is_deeper_than(200, json.dumps([[{"a": []}]] * 50_000).encode())


def _values(value: object) -> int:
    """As they are counted: an empty list or object for two."""
    if isinstance(value, dict):
        return 1 + (sum(map(_values, value.values())) if value else 1)
    if isinstance(value, list):
        return 1 + (sum(map(_values, value)) if value else 1)
    return 1


@pytest.mark.behaviour("speed.values_are_bounded")
@given(VALUES, st.integers(0, 60), st.sampled_from([1, 3, 64]))
def test_values_are_counted_as_by_hand(value: Json, most: int, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_PIECE_BYTES", piece)
        for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
            assert has_more_values_than(most, text.encode()) is (_values(value) > most)


@pytest.mark.behaviour("speed.values_are_bounded")
def test_a_long_text_is_one_value_whatever_stands_in_it() -> None:
    assert not has_more_values_than(10, json.dumps({"csv": '1,2,[3],{"4"},\\' * 100_000}).encode())
    assert has_more_values_than(100_000, b"[" + b"[1]," * 50_000 + b"1]")
    assert not has_more_values_than(100_002, b"[" + b"[1]," * 50_000 + b"1]")


def test_a_string_full_of_quotes_takes_no_longer_than_another() -> None:
    """Tried from each quote anew, these would take minutes."""
    text = json.dumps(['"[{,' * 30_000] * 50).encode()
    assert not is_deeper_than(1, text)
    assert not has_more_values_than(51, text)
    assert has_more_values_than(50, text)


def test_values_are_counted_no_further_than_asked() -> None:
    values: list[Json] = [None, "a,b", [], {}, [1, [2]], {"a": {"b": [3]}}]
    assert [count_values(value, 100) for value in values] == [1, 1, 1, 1, 4, 4]
    assert count_values([[{}] * 50] * 50, 100) > 100
