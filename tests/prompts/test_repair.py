"""JSON as models write it: what is mended, what is told of it, and what is left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.core.json.values import Json
from pegboard.prompts.repair import RepairedJson, UnrepairableJson, read_json, read_json_at


@pytest.mark.behaviour("formats.repairs")
@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"a": 1}', {"a": 1}, ()),
        (
            "{'a': 'it''s'}",
            {"a": "it''s"},
            ("single quotes were read as double quotes", "quotes inside a string were not escaped"),
        ),
        ('{"a": True, "b": None}', {"a": True, "b": None}, ("True, False or None was read as JSON",)),
        ('{"a": 1,}', {"a": 1}, ("a comma too many was left out",)),
        ("[1,, 2]", [1, 2], ("a comma too many was left out",)),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, ("a missing comma was added",)),
        ("{a: 1}", {"a": 1}, ("a key without quotes was read as a string",)),
        ('{"a": 1 // one\n}', {"a": 1}, ("a comment was left out",)),
        ('{"a": "x // y"}', {"a": "x // y"}, ()),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}, ("a raw line break or tab in a string was kept",)),
        (r'{"a": "C:\Users\d"}', {"a": r"C:\Users\d"}, ("the backslashes of a path were kept",)),
        (
            r'{"a": "C:\Users\bob\notes.txt"}',
            {"a": r"C:\Users\bob\notes.txt"},
            ("the backslashes of a path were kept",),
        ),
        (r'{"a": "C:\temp"}', {"a": "C:\temp"}, ()),
        (r'{"a": "\d+ \"x\""}', {"a": r'\d+ "x"'}, ("a backslash that escapes nothing was kept",)),
        ('{"a": "echo "b" "c" d"}', {"a": 'echo "b" "c" d'}, ("quotes inside a string were not escaped",)),
        ('{"a": "he said "hi" there"}', {"a": 'he said "hi" there'}, ("quotes inside a string were not escaped",)),
        ("{\u201ca\u201d: \u201cb, c\u201d}", {"a": "b, c"}, ("typographic quotes were read as plain ones",)),
        ('{"a": "\u201cb\u201d"}', {"a": "\u201cb\u201d"}, ()),
        ('{"a": {1, 2}}', {"a": [1, 2]}, ("a set was read as an array",)),
        ('{"a": (1, 2)}', {"a": [1, 2]}, ("parentheses were read as an array",)),
        ('{"a": 007}', {"a": "007"}, ("a number that begins with 0 was read as text",)),
        ('{"a": -000}', {"a": "-000"}, ("a number that begins with 0 was read as text",)),
        ('{"a": +7}', {"a": 7}, ("a number was not written as JSON has it",)),
        ("{'a': " + "9" * 40 + "}", {"a": int("9" * 40)}, ("single quotes were read as double quotes",)),
        (r'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}, ()),
        (r'{"a": "\ud83d!"}', {"a": "\ufffd!"}, ("half of a surrogate pair was replaced",)),
    ],
)
def test_what_models_get_wrong_is_mended_and_told(text: str, value: Json, repairs: tuple[str, ...]) -> None:
    assert read_json(text) == RepairedJson(value, repairs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": 1',
        '{"a": "b',
        "{]",
        "hello",
        '{"a": 1} x',
        '{"a": NaN}',
        '{"a": 1e999}',
        "[" * 300 + "]" * 300,
        "{'a'",
        '{"a": b}',
        "/* never ends",
        '{"a" 1}',
        "[1 2]",
        "9" * 5000,
        "{'a': 0x" + "f" * 5000 + "}",
        "{'a': 0x" + "f" * 4000 + "}",
        '{"a": 5", "b": 3}',
        '{"a": 5 ", "b": 3}',
        '{"a": 5"b": 3}',
        r'{"a": "C:\Program Files\bob"}',
        r'{"a": "\d+\n"}',
        r'{"a": "\\d\.\d"}',
        r'{"a": "\\server\share"}',
        '{"a": "b" "c"}',
        '{"a": ["b" "c"]}',
        '{"a": ["b""c"]}',
        "{'a': ['b' \"c\", 'd']}",
        '{"a": 1, "a": 2}',
        "{'a': 1, 'a': 1}",
        r'{"a": 1, "\u0061": 2}',
        '{"b": {"a": 1, "a": 2}}',
    ],
)
def test_what_has_no_sure_reading_is_refused_in_words(text: str) -> None:
    refused = read_json(text)
    assert isinstance(refused, UnrepairableJson)
    assert refused.why


def test_a_key_given_twice_is_named() -> None:
    assert read_json('{"city": "Oslo", "city": "Bergen"}') == UnrepairableJson("'city' is given twice")
    assert read_json_at('{"city": "Oslo", "city": "Bergen"}', 0) is None


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="{}[]\"':,\\\n 1aTrue/*“”\ud83d", max_size=60))
def test_no_text_makes_reading_fail_otherwise(text: str) -> None:
    assert isinstance(read_json(text), RepairedJson | UnrepairableJson)


def test_a_value_is_found_where_it_ends_and_not_where_it_is_cut_or_unsound() -> None:
    assert read_json_at('x{"a": 1} y', 1) == ({"a": 1}, 9)
    assert read_json_at('x{"a": 1', 1) is None
    assert read_json_at(r'{"a": "\ud83d"}', 0) is None
    assert read_json_at("[" * 300 + "]" * 300, 0) is None


def test_what_is_longer_than_anybody_writes_is_not_mended() -> None:
    refused = read_json("{'a': '" + "x" * (1 << 20) + "'}")
    assert refused == UnrepairableJson("it is no JSON, and longer than the 1,048,576 characters that are repaired")
