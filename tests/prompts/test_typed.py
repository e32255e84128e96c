"""Raw text between tags: its schema says what it is."""

import pytest
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import BareWord, parameter_schema, read_typed, resolve_bare_words

INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
TEXT: Json = {"type": "string"}
NULLABLE: Json = {"type": ["string", "null"]}
FLAG: Json = {"type": "boolean"}
OBJECT: Json = {"type": "object"}
LIST: Json = {"type": "array"}


@pytest.mark.behaviour("formats.typed_by_schema")
@each_case(
    ("raw", "schema", "value"),
    [
        ("3", INTEGER, 3),
        (" 3\n", INTEGER, 3),
        ("3.0", INTEGER, 3),
        ("3.5", INTEGER, "3.5"),
        ("three", INTEGER, "three"),
        ("-2.5", NUMBER, -2.5),
        ("1234567890123456789", NUMBER, 1234567890123456789),
        ("1234567890123456789", INTEGER, 1234567890123456789),
        ("1234567890123456789", {"type": ["string", "integer"]}, 1234567890123456789),
        ("9" * 40, {"type": ["string", "number"]}, int("9" * 40)),
        ("9" * 4300, NUMBER, int("9" * 4300)),
        ("9" * 4301, NUMBER, "9" * 4301),
        ("9" * 4301, {"type": ["string", "number"]}, "9" * 4301),
        ("9" * 4301, None, "9" * 4301),
        ("1e400", NUMBER, "1e400"),
        ("nan", NUMBER, "nan"),
        ("True", FLAG, True),
        ("false", FLAG, False),
        ("1", FLAG, True),
        ("0", FLAG, False),
        ("yes", FLAG, "yes"),
        ('"false"', FLAG, False),
        ('"3"', INTEGER, 3),
        ('"three"', INTEGER, '"three"'),
        ("3", TEXT, "3"),
        (" x ", TEXT, " x "),
        ('"x"', TEXT, '"x"'),
        ("null", TEXT, "null"),
        ("null", NULLABLE, None),
        ("none", NULLABLE, "none"),
        ("null", INTEGER, None),
        ("None", OBJECT, None),
        ('{"a": 1}', OBJECT, {"a": 1}),
        ("[1]", OBJECT, "[1]"),
        ("{'a': True}", OBJECT, {"a": True}),
        ('[{\\"a\\": \\"b\\"}]', LIST, [{"a": "b"}]),
        ("not a list", LIST, "not a list"),
        ("[" * 5000 + "]" * 5000, LIST, "[" * 5000 + "]" * 5000),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("5", {"type": ["string", "integer"]}, 5),
        ("05", {"type": ["string", "integer"]}, "05"),
        ("1e5", {"type": ["string", "number"]}, "1e5"),
        ("2.5", {"type": ["string", "number"]}, 2.5),
        ("true", {"type": ["string", "boolean"]}, True),
        ("True", {"type": ["string", "boolean"]}, "True"),
        ("1", {"type": ["string", "boolean"]}, "1"),
        ("5", {"type": ["string", "integer"], "enum": ["5", 6]}, "5"),
        ("7", {"enum": [7, 8]}, 7),
        ("7", {"type": "int"}, 7),
        ('{"a": 1,}', OBJECT, {"a": 1}),
        ('{a: "b"}', OBJECT, {"a": "b"}),
        ('```json\n{"a": 1}\n```', OBJECT, {"a": 1}),
        ('"{\\"a\\": 1}"', OBJECT, {"a": 1}),
        ('{"a": {"b": 1}', OBJECT, {"a": {"b": 1}}),
        ('{"a": 1}}', OBJECT, {"a": 1}),
        ('{"a": "b', OBJECT, '{"a": "b'),
        ('{"a": 1} and more', OBJECT, '{"a": 1} and more'),
        ("{'a': 1", {"type": ["string", "object"]}, "{'a': 1"),
        ('{"a": 1}', {"anyOf": [{"type": "string"}, {"type": "object"}]}, {"a": 1}),
        ("[1", {"type": ["string", "array"]}, "[1"),
        ("red", {"enum": ["red", "7"]}, "red"),
        ("7", {"enum": ["red", "7"]}, "7"),
        ("7", None, 7),
        ("[1, 2]", None, [1, 2]),
        ("null", None, None),
        ('"x"', None, '"x"'),
        ('{"a": 1, "a": 2}', None, '{"a": 1, "a": 2}'),
        ('{"a": 1, "a": 2}', OBJECT, '{"a": 1, "a": 2}'),
        ("plain", None, "plain"),
        ("", None, ""),
        ("", INTEGER, ""),
    ],
)
def test_a_value_is_what_its_schema_says(raw: str, schema: Json, value: Json) -> None:
    found, _ = read_typed(raw, schema)
    assert (found, type(found)) == (value, type(value))


def test_what_no_schema_speaks_of_stays_text_where_a_format_never_writes_json() -> None:
    assert read_typed("7", None, guess=False) == ("7", ())


def test_where_the_format_marks_strings_what_is_unmarked_is_something_else_if_the_schema_has_it() -> None:
    either: Json = {"type": ["string", "integer"]}
    assert [read_typed(raw, either, no_text=True)[0] for raw in ("5", "five")] == [5, "five"]
    assert read_typed("5", TEXT, no_text=True)[0] == "5"
    assert resolve_bare_words({"a": BareWord("5")}, {"properties": {"a": either}}, {}, no_text=True) == {"a": 5}
    assert read_typed("05", either, no_text=True)[0] == 5
    assert read_typed("05", either)[0] == "05"


def test_reading_that_had_to_bend_something_says_so() -> None:
    assert read_typed("{'a': 1}", OBJECT) == ({"a": 1}, ("it was read as a Python literal, not as JSON",))
    assert read_typed('{"a": [1', OBJECT) == ({"a": [1]}, ("what was missing at the end was added: ]}",))
    assert read_typed('{"a": 1}]', OBJECT) == ({"a": 1}, ("brackets too many at the end were left out",))
    assert read_typed('"7"', INTEGER) == (7, ("the quotes around it were left out",))
    assert read_typed("1", FLAG) == (True, ("1 or 0 was read as a boolean",))


def test_a_schema_is_found_through_its_references_and_one_that_goes_in_circles_says_nothing() -> None:
    tool = ToolShape(
        "t",
        parameters={
            "properties": {
                "a": {"$ref": "#/$defs/one"},
                "b": {"anyOf": [{"$ref": "#/$defs/one"}, {"type": "null"}]},
                "c": {"$ref": "#/$defs/round"},
                "d": {"type": "integer", "nullable": True},
            },
            "$defs": {"one": {"type": "integer"}, "round": {"$ref": "#/$defs/round"}},
        },
    )
    assert [read_typed("7", parameter_schema(tool, key))[0] for key in ("a", "b", "c", "d")] == [7, 7, 7, 7]
    assert [read_typed("null", parameter_schema(tool, key))[0] for key in ("b", "d")] == [None, None]
    assert parameter_schema(tool, "c") is None
    assert parameter_schema(None, "a") is None


def test_bare_words_in_a_tree_are_read_by_the_schema_of_their_place() -> None:
    schema: dict[str, Json] = {
        "properties": {
            "zip": TEXT,
            "tags": {"type": "array", "items": TEXT},
            "n": INTEGER,
            "in": {"$ref": "#/$defs/x"},
        },
        "$defs": {"x": {"properties": {"y": TEXT}}},
    }
    tree: Json = {
        "zip": BareWord("3011"),
        "tags": [BareWord("1"), "b"],
        "n": BareWord("2"),
        "in": {"y": BareWord("true")},
        "z": BareWord("true"),
    }
    assert resolve_bare_words(tree, schema, schema) == {
        "zip": "3011",
        "tags": ["1", "b"],
        "n": 2,
        "in": {"y": "true"},
        "z": True,
    }
