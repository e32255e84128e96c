"""Numbers and JSON as a server in JavaScript writes and reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.json.values import Json
from pegboard.providers.docspace import javascript


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (101, "101"),
        (2.0, "2"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (-3, "-3"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (2**53 + 1, "9007199254740993"),
    ],
)
def test_numbers_are_written_as_in_javascript(value: float, written: str) -> None:
    assert javascript.format_number(value) == written


def test_whole_numbers_have_no_fraction_in_json_and_numbered_members_come_first() -> None:
    assert javascript.to_compact_json({"b": 2.0, "10": [1.0], "2": None, "a": "é\ud800"}) == (
        '{"2":null,"10":[1],"b":2,"a":"é\\ud800"}'
    )
    assert javascript.to_compact_json({"a": [float("inf"), float("nan")]}) == '{"a":[null,null]}'
    assert (
        javascript.to_indented_json({"a": [], "b": {}, "c": [1]})
        == '{\n  "a": [],\n  "b": {},\n  "c": [\n    1\n  ]\n}'
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Unexpected end of JSON input"),
        ("  ", "Unexpected end of JSON input"),
        ("<html>", "Unexpected token '<', \"<html>\" is not valid JSON"),
        ("<!DOCTYPE html><html></html>", "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON"),
        ('{"a":1} x', "Unexpected non-whitespace character after JSON at position 8"),
        ("{", "Expected property name or '}' in JSON at position 1"),
        ("{a", "Expected property name or '}' in JSON at position 1"),
        ('{"a":1,}', "Expected double-quoted property name in JSON at position 7"),
        ('{"a"', "Expected ':' after property name in JSON at position 4"),
        ('{"a":1', "Expected ',' or '}' after property value in JSON at position 6"),
        ('{"a":', "Unexpected end of JSON input"),
        ("[1 2]", "Expected ',' or ']' after array element in JSON at position 3"),
        ("[1,]", "Unexpected token ']', \"[1,]\" is not valid JSON"),
        ('"abc', "Unterminated string in JSON at position 4"),
        ('"a\nb"', "Bad control character in string literal in JSON at position 2"),
        ("NaN", "Unexpected token 'N', \"NaN\" is not valid JSON"),
        ("-", "No number after minus sign in JSON at position 1"),
        ("tru", "Unexpected end of JSON input"),
        ("trux", "Unexpected token 'x', \"trux\" is not valid JSON"),
        ("OK, but this is a text", "Unexpected token 'O', \"OK, but th\"... is not valid JSON"),
        (
            '{"a": [1, 2, 3], "b": oops, "c": 1}',
            'Unexpected token \'o\', ..." 3], "b": oops, "c":"... is not valid JSON',
        ),
        ('{"a": [1, 2, 3], "b": oops', 'Unexpected token \'o\', ..." 3], "b": oops" is not valid JSON'),
    ],
)
def test_what_is_not_json_is_told_in_the_words_of_javascript(text: str, told: str) -> None:
    with pytest.raises(javascript.InvalidJsonError) as problem:
        javascript.parse_json(text)
    assert str(problem.value) == told


values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(values)
def test_what_is_written_reads_back_as_the_same(value: Json) -> None:
    assert javascript.parse_json(javascript.to_compact_json(value)) == value
    assert javascript.parse_json(javascript.to_indented_json(value)) == value
    javascript.encode_utf8(javascript.to_compact_json(value))
