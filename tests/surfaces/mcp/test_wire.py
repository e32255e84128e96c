"""JSON on its way in is read strictly, on its way out mended where a careless server would spoil it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.json.values import MAX_READABLE_DEPTH, Json
from pegboard.surfaces.mcp.wire import (
    UnreadableJson,
    is_deeper_than,
    parse_result,
    parse_strict_json,
    sanitize_object,
    sanitize_text,
)


def nested(levels: int) -> Json:
    value: Json = 1
    for level in range(levels):
        value = [value] if level % 2 else {"x": value}
    return value


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"NaN",
        b"-Infinity",
        b"[1e999]",
        b"9" * 400 + b".0",
        b'"\\ud83d"',
        b"\xed\xa0\x80",
        b"\xff",
        b"[" * 300,
    ],
)
def test_what_another_reader_could_not_hold_is_not_read(text: bytes) -> None:
    assert isinstance(parse_strict_json(text), UnreadableJson)


@pytest.mark.parametrize(
    "text", [b"null", b'{"a":[1,2.5,"\\ud83d\\ude00"]}', b"1e308", b'"e1000"', b'["' + b"9" * 400 + b'"]']
)
def test_what_json_can_say_is_read(text: bytes) -> None:
    assert parse_strict_json(text) == json.loads(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_sound_answer_is_passed_on_as_it_is(value: Json) -> None:
    answer = {"structuredContent": value}
    assert parse_result(json.dumps(answer).encode()) == answer
    assert parse_result(json.dumps(answer, ensure_ascii=False).encode()) == answer
    assert sanitize_object(answer) is answer


def test_an_answer_that_cannot_be_sent_is_mended_and_the_rest_of_it_kept() -> None:
    body = b'{"content":[{"text":"half \\ud83d pair"}],"numbers":[NaN,-Infinity,1e999,1],"\\udc00":true}'
    assert parse_result(body) == {
        "content": [{"text": "half \ufffd pair"}],
        "numbers": [None, None, None, 1],
        "\ufffd": True,
    }
    assert sanitize_text("whole 😀 pair, written in halves \ud83d\ude00") == "whole 😀 pair, written in halves 😀"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b"[]", "it is not a JSON object"),
        (b'"text"', "it is not a JSON object"),
        (json.dumps({"x": nested(MAX_READABLE_DEPTH)}).encode(), "it is nested more than 150 levels deep"),
    ],
)
def test_an_answer_that_nobody_could_read_is_told_apart(body: bytes, why: str) -> None:
    assert parse_result(body) == UnreadableJson(why)
    assert isinstance(parse_result(b'{"a":' + b"[" * 100_000), UnreadableJson)


@pytest.mark.parametrize("levels", [0, 1, 2, 5, MAX_READABLE_DEPTH])
def test_depth_is_counted_in_containers(levels: int) -> None:
    assert not is_deeper_than(nested(levels), levels)
    assert is_deeper_than(nested(levels + 1), levels)
