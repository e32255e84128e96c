"""Values of a JSON text are counted without reading it as one, in time that grows with its length alone."""

import json

import pytest

from pegboard.providers.sandbox.jail.inside.channel import MAX_VALUES, UNCOUNTED_BYTES, has_too_many_values


@pytest.mark.behaviour("code.attacks")
@pytest.mark.parametrize(
    ("text", "is_too_much"),
    [
        (b"[" + b"[]," * MAX_VALUES + b"1]", True),
        (b"[" + b"{}," * (MAX_VALUES // 2) + b"1]", True),
        (b"[" + b"1," * (MAX_VALUES - 2) + b"1]", False),
        (json.dumps(",[{" * MAX_VALUES).encode(), False),
        (json.dumps('"\\,' * MAX_VALUES).encode(), False),
        (json.dumps({"a": "\\", "b": ["x,"] * 10, "c": "é[" * MAX_VALUES}).encode(), False),
        (b'"' + rb"\"" * MAX_VALUES, False),
        (b'"a' * UNCOUNTED_BYTES, False),
        (b"[" * UNCOUNTED_BYTES, False),
        (b"", False),
    ],
)
def test_commas_and_brackets_count_where_they_are_not_text(text: bytes, is_too_much: bool) -> None:
    assert has_too_many_values(text) is is_too_much
