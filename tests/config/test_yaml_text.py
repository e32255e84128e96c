"""YAML becomes a tree that knows its lines; what cannot be read is told in words."""

import pytest
import yaml
from tests.support.collect_failures import each_case

from pegboard.config.schema import parse as yaml_text
from pegboard.config.schema.document import MAX_DEPTH, to_json
from pegboard.config.schema.parse import parse_yaml


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The compiled parser and the one in Python word their errors differently."""
    if not hasattr(yaml, request.param):
        pytest.skip("PyYAML was built without the compiled parser")
    monkeypatch.setattr(yaml_text, "_LOADER", getattr(yaml, request.param))
    return str(request.param)


def told(text: str) -> list[str]:
    return [str(problem) for problem in parse_yaml(text, "f").problems]


def test_values_are_read_by_the_core_schema(loader: str) -> None:
    text = "a: [1, 0x1F, 1.5, true, null, ~, no, '7', 2026-11-15, !!str 8, !!float 3, ! 9]\nb: {c: |\n  x\n  y\n}"
    parsed = parse_yaml(text.split("\nb:")[0] + "\nb:\n  c: |\n    x\n    y\n", "f")
    assert parsed.problems == ()
    assert parsed.root is not None
    assert to_json(parsed.root) == {
        "a": [1, 31, 1.5, True, None, None, "no", "7", "2026-11-15", "8", 3.0, "9"],
        "b": {"c": "x\ny\n"},
    }


def test_a_key_that_is_written_twice_is_told_with_both_lines(loader: str) -> None:
    text = "servers:\n  a: 1\n  b: 2\n  'a': 3\n"
    assert told(text) == ["f:4: servers.a: written twice: here and on line 2. Keep one of them."]


@each_case("tag", ["!!python/object/apply:os.system", "!mine", "!!binary", "!!set", "!!timestamp"])
def test_a_tag_that_would_build_something_is_refused(loader: str, tag: str) -> None:
    assert told(f"a: 1\nb: {tag} x\n") == [
        f"f:2: b: the tag {tag!r} is not read here. Remove it, or put the text in quotes."
    ]


def test_tags_of_the_core_are_held_to_their_word(loader: str) -> None:
    number, boolean, unread = told("a: !!int x\nb: !!bool yes\nc: !!map {}\nd: !!seq []\ne: !!int [1]\n")
    assert number == "f:1: a: this is not a whole number, as its tag says. Remove the tag."
    assert boolean == "f:2: b: this is not true or false, as its tag says. Remove the tag."
    assert unread.startswith("f:5: e: the tag '!!int' is not read here. ")


def test_an_alias_stands_for_what_its_anchor_holds(loader: str) -> None:
    parsed = parse_yaml("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n*s : 1\n".replace("*s : 1\n", ""), "f")
    assert parsed.root is not None
    assert to_json(parsed.root) == {"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}, {"k": [1]}]}


def test_a_few_lines_cannot_stand_for_a_billion_values(loader: str) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (problem,) = told("\n".join(lines))
    assert problem.endswith("more than 250000 values, counting each alias as what it stands for. Use fewer.")


def test_aliases_cannot_nest_deeper_than_what_is_written_out(loader: str) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200)]
    (problem,) = told("\n".join(lines))
    assert f"more than {MAX_DEPTH} levels deep, by the alias" in problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: *b\n", "f:1: a: there is no anchor &b above this line for the alias *b. Put a pattern in quotes."),
        ("a: &b [1, *b]\n", "f:1: a[1]: the alias *b stands inside what it stands for. Remove it."),
        (
            "a: {<<: 1}\n",
            "f:1: a.<<: only a map, or a list of maps, can be merged. Write <<: *name of an anchor on a map.",
        ),
        ("? [a]\n: 1\n", "f:1: a key must be a word. Write key: value."),
        ("~: 1\n", "f:1: a key must be a word. Write key: value."),
        ("a: 1\n---\nb: 2\n", "f:2: a second document begins here. Keep one document in a file."),
        ("a:\n\tb: 1\n", "f:2: a tab indents this line, and YAML allows only spaces. Replace it with spaces."),
        (
            "a: [x, ${B}]\n",
            "f:1: within [ ] and { } a text that holds ${ must stand in quotes. Put it in quotes.",
        ),
    ],
)
def test_what_cannot_be_meant_is_told(loader: str, text: str, problem: str) -> None:
    assert [line.replace("a.'<<'", "a.<<") for line in told(text)] == [problem]


@pytest.mark.parametrize(
    ("text", "line", "advice"),
    [
        ("a: b: c\n", 1, "Indent it as the line above, or put a text that holds ': ' in quotes."),
        ("a: 'x\nb: 1\n", 3, "A quote or bracket that was opened is never closed. It may be the one on line 1."),
        (
            "a: [x\nb: 1\n",
            2,
            "A bracket that was opened is not closed, or a comma is missing. It may be the one on line 1.",
        ),
        ("a: @x\n", 1, "A text cannot begin with this character. Put it in quotes."),
        ("a:\n - *:x\n", 2, 'A text that begins with * or & must stand in quotes: "*:read_*".'),
        ("a: - x\n", 1, "Begin the list on a line of its own."),
        ('a: "C:\\path"\n', 1, "Within double quotes a backslash begins an escape. Use single quotes."),
    ],
)
def test_a_mistake_of_form_is_told_at_its_line_with_advice(loader: str, text: str, line: int, advice: str) -> None:
    (problem,) = parse_yaml(text, "f").problems
    assert problem.line == line
    assert problem.message.startswith("this is not YAML: ")
    assert problem.message.endswith(f". {advice}")


def test_depth_is_bounded_before_it_is_entered(loader: str) -> None:
    assert told("a: " + "[" * 100_000) == [
        f"f:1: a{'[0]' * (MAX_DEPTH - 1)}: more than {MAX_DEPTH} levels deep. Nothing here needs to be; flatten it."
    ]
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert told(deepest) == []


def test_a_problem_before_the_place_where_reading_ends_is_told_too() -> None:
    problems = parse_yaml("a: 1\na: 2\nb: [\n", "f").problems
    assert [problem.line for problem in problems] == [2, 4]
