"""JSON with comments and trailing commas becomes the same tree, with its lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.config.schema.document import MAX_DEPTH, ListNode, MapEntry, MapNode, ScalarKind, ScalarNode, to_json
from pegboard.config.schema.parse import parse_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(values, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_every_json_document_reads_as_the_standard_library_reads_it(
    value: object, ascii_only: bool, indent: int | str | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    parsed = parse_json(text, "f")
    assert parsed.problems == ()
    assert parsed.root is not None
    assert to_json(parsed.root) == json.loads(text)


def test_comments_and_trailing_commas_are_allowed_and_lines_are_counted() -> None:
    text = '// one\n{ /* two\n three */ "a": [1, // "]"\n 2,], \n "http://x": true, /**/\n}\n'
    parsed = parse_json(text, "f")
    assert parsed.problems == ()
    assert parsed.root == MapNode(
        (
            MapEntry(
                "a", 3, ListNode((ScalarNode(ScalarKind.INTEGER, "1", 3), ScalarNode(ScalarKind.INTEGER, "2", 4)), 3)
            ),
            MapEntry("http://x", 5, ScalarNode(ScalarKind.BOOLEAN, "true", 5)),
        ),
        2,
    )


@pytest.mark.parametrize("text", ["", "  \n", "// nothing\n", "/* nothing */"])
def test_an_empty_document_has_no_root_and_no_problem(text: str) -> None:
    parsed = parse_json(text, "f")
    assert (parsed.root, parsed.problems) == (None, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n "a": 2}', "f:2: a: written twice: here and on line 1. Keep one of them."),
        ('{"a": 1\n "b": 2}', "f:2: a: '\"' stands where ',' or '}' should be."),
        ("{'a': 1}", "f:1: \"'\" stands where a key in double quotes, or '}', should be."),
        ('{"a" 1}', "f:1: a: '1' stands where ':' should be."),
        ('{"a":\n', "f:2: a: the file ends where a value should be. Texts and keys stand in double quotes."),
        ('{"a": b}', "f:1: a: 'b' stands where a value should be. Texts and keys stand in double quotes."),
        ('{"a": [,]}', "f:1: a[0]: ',' stands where a value should be. Texts and keys stand in double quotes."),
        (
            '["x\ny"]',
            "f:1: [0]: a text is not closed on its line. Close it with a double quote; write \\n for a break.",
        ),
        ('["C:\\path"]', "f:1: [0]: a backslash begins no known escape. Write \\\\ for a backslash."),
        ("[01]", "f:1: [0]: '1' stands where ',' or ']' should be."),
        ("{} {}", "f:1: there is more after the end of the document. Remove it."),
        ("{} /* open", "f:1: there is more after the end of the document. Remove it."),
        (f"[{'9' * 70}]", "f:1: [0]: a number of more than 64 digits. Put it in quotes if it is a text."),
        ("[" * 100_000, f"f:1: {'[0]' * MAX_DEPTH}: more than {MAX_DEPTH} levels deep. Flatten it."),
    ],
)
def test_what_is_not_json_is_told_at_its_line(text: str, problem: str) -> None:
    assert [str(one) for one in parse_json(text, "f").problems] == [problem]


def test_a_long_document_is_read_in_linear_time() -> None:
    text = json.dumps({"history": ["x" * 1000] * 5000, "comment": "/*" * 1000})
    parsed = parse_json(text, "f")
    assert parsed.root is not None
    assert to_json(parsed.root) == json.loads(text)
