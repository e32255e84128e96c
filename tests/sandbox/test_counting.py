"""Values of a JSON text are counted without reading it as one, in time that grows with its length alone."""

import json

import pytest

from pegboard.providers.builtin.sandbox.full.inside.counting import MOST_VALUES, SMALL, holds_too_much


@pytest.mark.behaviour("code.attacks")
@pytest.mark.parametrize(
    ("text", "is_too_much"),
    [
        (b"[" + b"[]," * MOST_VALUES + b"1]", True),
        (b"[" + b"{}," * (MOST_VALUES // 2) + b"1]", True),
        (b"[" + b"1," * (MOST_VALUES - 2) + b"1]", False),
        (json.dumps(",[{" * MOST_VALUES).encode(), False),
        (json.dumps('"\\,' * MOST_VALUES).encode(), False),
        (json.dumps({"a": "\\", "b": ["x,"] * 10, "c": "é[" * MOST_VALUES}).encode(), False),
        (b'"' + rb"\"" * MOST_VALUES, False),
        (b'"a' * SMALL, False),
        (b"[" * SMALL, False),
        (b"", False),
    ],
)
def test_commas_and_brackets_count_where_they_are_not_text(text: bytes, is_too_much: bool) -> None:
    assert holds_too_much(text) is is_too_much
