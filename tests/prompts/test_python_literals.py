"""Python literals: read as Python reads them, tolerant where a model slips, and never run."""

import ast
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.core.json.values import MAX_TEXT_DEPTH, Json
from pegboard.prompts.python_literals import (
    LiteralError,
    format_call,
    format_literal,
    parse_keywords,
    parse_literal,
    unescape,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=50)
@given(VALUES)
def test_a_value_that_is_written_reads_back(value: Json) -> None:
    assert parse_literal(format_literal(value)) == value


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "7",
                "é",
                "€",
                " ",
                "{",
                "\\n",
                "\\t",
                "\\\\",
                "\\'",
                '\\"',
                "\\x41",
                "\\u00e9",
                "\\7",
                "\\33",
                "\\d",
                "\\é",
                "\\\n",
                "\\U0001f600",
                "\\N{BULLET}",
                "\\a",
                "\\b",
            ]
        )
    ).map("".join)
)
def test_a_body_between_quotes_means_what_python_says(body: str) -> None:
    for quote in "\"'":
        with warnings.catch_warnings():
            # An escape that Python does not know keeps its backslash, and Python warns of it.
            warnings.simplefilter("ignore")
            try:
                meant = ast.literal_eval(f"{quote}{body}{quote}")
            except (ValueError, SyntaxError):
                continue
        assert unescape(body, quote) == unescape(body, "") == meant


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("007", "007"),
        ("9" * 40, int("9" * 40)),
        ("{007: 1}", {"007": 1}),
        ("-1_000", -1000),
        ("0x1F", 31),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("null", None),
        ("(1, 2)", [1, 2]),
        ("(1)", 1),
        ("(1,)", [1]),
        ("()", []),
        ("{'a', 'b'}", ["a", "b"]),
        ("{1: 'x', None: 2}", {"1": "x", "None": 2}),
        ("{key: 'x', }", {"key": "x"}),
        ("[1, 2, ]", [1, 2]),
        (r"r'\d+\n'", r"\d+\n"),
        (r"'\d'", r"\d"),
        ("'a\nb'", "a\nb"),
        ("'''it's \"so\"'''", 'it\'s "so"'),
        ('"""a""""', 'a"'),
        ("'it's here'", "it's here"),
        ("“quoted”", "quoted"),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\ud83d'", "\ufffd"),
        (r"'\033[0m\N{BULLET}'", "\033[0m•"),
    ],
)
def test_what_models_write_is_read(text: str, value: Json) -> None:
    assert parse_literal(text) == value


@pytest.mark.behaviour("formats.python_never_runs")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "__import__('os')",
        "1 + 1",
        "[1",
        "'open",
        "{'a': }",
        "f'{x}'",
        "b'x'",
        "nan",
        "1e999",
        "-",
        "1 2",
        "[" * (MAX_TEXT_DEPTH + 2) + "]" * (MAX_TEXT_DEPTH + 2),
        "[" * 100_000,
        "9" * 10_000,
        "0x" + "f" * 10_000,
        "0b" + "1" * 20_000,
        "{'a': 1, 'a': 2}",
    ],
)
def test_what_is_no_literal_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(LiteralError):
        parse_literal(text)


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=5))
def test_a_call_reads_back_whatever_its_arguments_are_named(arguments: dict[str, Json]) -> None:
    text = format_call("f", arguments)
    assert parse_keywords(text.removeprefix("f(").removesuffix(")")) == (arguments, [], ())


def test_reserved_words_and_dashes_may_name_an_argument() -> None:
    assert parse_keywords("from='a', class=1, max-size = 2")[0] == {"from": "a", "class": 1, "max-size": 2}


def test_a_number_that_begins_with_zero_stays_the_text_it_is() -> None:
    assert parse_keywords("zip=00123, n=0, x='y'") == (
        {"zip": "00123", "n": 0, "x": "y"},
        [],
        ("a number that begins with 0 was read as text",),
    )
    assert parse_keywords("day=05, zip=00123", has_type=lambda key: key == "zip") == (
        {"day": 5, "zip": "00123"},
        [],
        ("the 0 before a number was left out", "a number that begins with 0 was read as text"),
    )


def test_an_argument_that_is_given_twice_is_refused() -> None:
    for text in ("a=1, a=2", "a=1, **{'a': 2}"):
        with pytest.raises(LiteralError, match="twice"):
            parse_keywords(text)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("""text='it's here', other='x'""", {"text": "it's here", "other": "x"}),
        ("""text="say "hello" to all", other="x\"""", {"text": 'say "hello" to all', "other": "x"}),
        ("""size="6" wide", n=2""", {"size": '6" wide', "n": 2}),
    ],
)
def test_quotes_in_a_string_are_kept_where_its_end_is_clear(text: str, arguments: dict[str, Json]) -> None:
    assert parse_keywords(text) == (arguments, [], ("quotes inside a string were not escaped",))


@pytest.mark.behaviour("formats.repaired_without_guessing")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("""text='x='a', y='b''""", "end is unclear"),
        ("""text='SET a='x', b='y' WHERE c=1'""", "end is unclear"),
        ("""text='x=f'a', y='b''""", "end is unclear"),
        ("""text='it''s'""", "end is unclear"),
        ("""text="x = \"\"\"""", "end is unclear"),
        ("""text="a" other="b\"""", "comma is missing"),
        ("""tags=["a" "b"]""", "comma is missing"),
        ("""tags=("a" "b", "c")""", "comma is missing"),
        ("""tags={"k": "a" "b"}""", "comma is missing"),
    ],
)
def test_a_string_whose_end_is_unclear_is_refused(text: str, why: str) -> None:
    with pytest.raises(LiteralError, match=why):
        parse_keywords(text)


def test_an_unpaired_quote_is_refused_where_nothing_must_follow_the_call() -> None:
    with pytest.raises(LiteralError, match="end is unclear"):
        parse_keywords("""size="6" wide", n=2""", is_enclosed=False)


def test_strings_that_python_joins_are_joined_and_told() -> None:
    for text in ('text="a" "b"', 'text=("a"\n"b")'):
        assert parse_keywords(text) == ({"text": "ab"}, [], ("strings without a comma between them were joined",))


def test_the_backslashes_of_a_path_are_kept_and_told() -> None:
    for path in (r"C:\Users\bob\notes.txt", r"D:\data\new"):
        for quote in "\"'":
            assert parse_keywords(f"path={quote}{path}{quote}") == (
                {"path": path},
                [],
                ("the backslashes of a path were kept",),
            )
    assert parse_keywords(r"path='C:\temp'") == ({"path": "C:\temp"}, [], ())
    assert parse_keywords(r"code='re.match(\d)\n'") == ({"code": "re.match(\\d)\n"}, [], ())


def test_escapes_beside_backslashes_that_escape_nothing_are_refused() -> None:
    for body in (r"\bword\d", r"dir C:\Users\x\n"):
        with pytest.raises(LiteralError, match="escape something and others do not"):
            parse_keywords(f"text='{body}'")
    with pytest.raises(LiteralError, match="escape something and others do not"):
        parse_literal(r'{"text": "\d\n"}')


def test_a_raw_line_break_in_a_string_is_kept_and_told() -> None:
    for text in ("text='a\nb'", "text='a\nb', n=[1]", "n=[1], text='a\nb'"):
        assert parse_keywords(text)[2] == ("a raw line break or tab in a string was kept",)
    assert parse_keywords('text="""a\nb""", other=\'a\\\nb\'')[2] == ()
