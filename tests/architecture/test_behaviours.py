"""The ledger of promises and the tests that hold them agree: nothing promised is untested, nothing cited is invented.

Tests are read by their syntax tree; none is run or imported here.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LEDGER = "tests/behaviours.yaml"

OPEN_ISSUES = frozenset[int]()
"""What is still to be delivered. Take a number out when its issue is done: the gaps that name it then fail."""

FIELDS = frozenset({"id", "promise", "source", "gap"})
ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_]*)+")
GAP = re.compile(r"issue (\d+): \S.*")
BEHAVIOUR_MARK = re.compile(r"\bmark\.behaviour\b")
NOT_RUN = frozenset({"skip", "skipif", "xfail"})
YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Promise:
    id: str
    gap: str | None
    place: str


@dataclass(frozen=True)
class Citation:
    id: str
    place: str


def read_ledger(text: str) -> tuple[list[Promise], list[str]]:
    """The promises in order, and what is wrong with the ledger itself."""
    root = yaml.compose(text, Loader=YAML_LOADER)
    if not isinstance(root, yaml.SequenceNode):
        return [], [f"{LEDGER}:1: expected a list of promises, each with id, promise and source."]
    promises: list[Promise] = []
    problems: list[str] = []
    first: dict[str, str] = {}
    for node, entry in zip(root.value, yaml.load(text, Loader=YAML_LOADER), strict=True):
        place = f"{LEDGER}:{node.start_mark.line + 1}"
        if complaint := complaint_about(entry):
            problems.append(f"{place}: {complaint}")
            continue
        promise = Promise(entry["id"], entry.get("gap"), place)
        if promise.id in first:
            problems.append(
                f"{place}: id {promise.id!r} is already at {first[promise.id]}. Give one of them another id."
            )
            continue
        first[promise.id] = place
        promises.append(promise)
    return promises, problems


def complaint_about(entry: object) -> str | None:
    """What one entry of the ledger lacks, as a sentence; None when it is in order."""
    if not isinstance(entry, dict) or not all(
        isinstance(part, str) and part for pair in entry.items() for part in pair
    ):
        return "expected a mapping of non-empty strings. Quote what YAML would read as something else."
    if unknown := sorted(entry.keys() - FIELDS):
        return f"unknown field {unknown[0]!r}. Known are {', '.join(sorted(FIELDS))}."
    if missing := sorted(FIELDS - {"gap"} - entry.keys()):
        return f"field {missing[0]!r} is missing."
    if not ID.fullmatch(entry["id"]):
        return f"id {entry['id']!r} is not dotted lower case words. Write it like 'selection.disabled_wins'."
    if "gap" in entry:
        named = GAP.fullmatch(entry["gap"])
        if not named:
            return f"the gap of {entry['id']!r} gives no reason. Write it as 'issue N: why it does not work yet'."
        if int(named[1]) not in OPEN_ISSUES:
            return f"the gap of {entry['id']!r} names issue {named[1]}, which is not open. Test the promise."
    return None


def read_citations(source: str, file: str) -> tuple[list[Citation], list[str]]:
    """The ids that the tests of one file cite, and what is wrong with how they do it."""
    in_text = len(BEHAVIOUR_MARK.findall(source))
    if not in_text:
        return [], []
    tree = ast.parse(source)
    citations: list[Citation] = []
    problems: list[str] = []
    on_tests: set[ast.AST] = set()
    calls: dict[ast.AST, ast.Call] = {}
    for function in functions_of_tests(tree):
        nodes = [node for decorator in function.decorator_list for node in ast.walk(decorator)]
        marks = [node for node in nodes if is_mark(node)]
        calls.update((node.func, node) for node in nodes if isinstance(node, ast.Call))
        on_tests.update(mark for mark in marks if mark_name(mark) == "behaviour")
        never_run = sorted({mark_name(mark) for mark in marks} & NOT_RUN)
        if never_run and "behaviour" in map(mark_name, marks):
            problems.append(
                f"{file}:{function.lineno}: {function.name} cites a promise but is marked {never_run[0]!r}. "
                f"List the promise as a gap in {LEDGER} until the test runs everywhere."
            )
    behaviours = on_tests
    if len(on_tests) != in_text:
        # Some are elsewhere: in a text, or on no test. To walk the tree of every file would take ten times as long.
        behaviours = {node for node in ast.walk(tree) if is_mark(node) and mark_name(node) == "behaviour"}
        calls.update((node.func, node) for node in ast.walk(tree) if isinstance(node, ast.Call))
    for mark in sorted(behaviours, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))):
        assert isinstance(mark, ast.Attribute)
        place = f"{file}:{mark.lineno}"
        call = calls.get(mark)
        ids = [argument.value for argument in call.args if isinstance(argument, ast.Constant)] if call else []
        if call is None or not ids or len(ids) != len(call.args) or call.keywords:
            problems.append(f'{place}: cite promises as string literals, like @pytest.mark.behaviour("mcp.in.stdio").')
        elif mark not in on_tests or not Path(file).name.startswith("test_"):
            problems.append(f"{place}: this mark is on no test. Put it on the test function that holds the promise.")
        else:
            citations.extend(Citation(str(id), place) for id in ids)
    return citations, problems


def functions_of_tests(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """As pytest collects them: in the module, and in its classes."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "mark"


def mark_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def uncited(promises: Iterable[Promise], citations: Iterable[Citation]) -> list[str]:
    cited = {citation.id for citation in citations}
    return [
        f"{promise.place}: no test cites {promise.id!r}. "
        f'Mark the test that holds it with @pytest.mark.behaviour("{promise.id}").'
        for promise in promises
        if promise.gap is None and promise.id not in cited
    ]


def wrongly_cited(promises: Iterable[Promise], citations: Iterable[Citation]) -> list[str]:
    known = {promise.id: promise for promise in promises}
    problems = []
    for citation in citations:
        promise = known.get(citation.id)
        if promise is None:
            problems.append(f"{citation.place}: {citation.id!r} is not in {LEDGER}. Add the promise or correct the id.")
        elif promise.gap is not None:
            problems.append(
                f"{citation.place}: {citation.id!r} is cited, but {promise.place} calls it a gap ({promise.gap}). "
                "Take the gap away there if the test holds the promise, else the mark here."
            )
    return problems


@cache
def ledger() -> tuple[list[Promise], list[str]]:
    return read_ledger((ROOT / LEDGER).read_text(encoding="utf-8"))


@cache
def suite() -> tuple[list[Citation], list[str]]:
    citations: list[Citation] = []
    problems: list[str] = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        found, wrong = read_citations(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
        citations += found
        problems += wrong
    return citations, problems


def test_the_ledger_is_well_formed() -> None:
    promises, problems = ledger()
    assert promises
    assert not problems, "\n".join(problems)


def test_tests_cite_promises_in_a_way_that_can_be_read() -> None:
    _, problems = suite()
    assert not problems, "\n".join(problems)


def test_every_promise_that_is_no_gap_is_cited_by_a_test() -> None:
    problems = uncited(ledger()[0], suite()[0])
    assert not problems, f"{len(problems)} promises have no test:\n" + "\n".join(problems)


def test_every_cited_id_is_a_promise_and_no_gap() -> None:
    problems = wrongly_cited(ledger()[0], suite()[0])
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("id: a.b, promise: P, source: S", None),
        ("id: a.b, promise: P, source: S, gap: 'issue 11: not built'", None),
        ("id: a.b, promise: P", "field 'source' is missing"),
        ("id: a.b, promise: P, source: S, note: N", "unknown field 'note'"),
        ("id: a.b, promise: 7, source: S", "expected a mapping of non-empty strings"),
        ("id: a.b, promise: '', source: S", "expected a mapping of non-empty strings"),
        ("id: lonely, promise: P, source: S", "id 'lonely' is not dotted"),
        ("id: a.b, promise: P, source: S, gap: later", "the gap of 'a.b' gives no reason"),
        ("id: a.b, promise: P, source: S, gap: 'issue 4: '", "the gap of 'a.b' gives no reason"),
        ("id: a.b, promise: P, source: S, gap: 'issue 2: done'", "names issue 2, which is not open"),
    ],
)
def test_an_entry_is_complained_about_with_its_place(
    entry: str, complaint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "OPEN_ISSUES", frozenset({11}))
    promises, problems = read_ledger("\n- {" + entry + "}\n")
    if complaint is None:
        assert (len(promises), problems) == (1, [])
    else:
        assert promises == []
        assert [problem.startswith(f"{LEDGER}:2: ") and complaint in problem for problem in problems] == [True]


def test_an_id_used_twice_names_both_places() -> None:
    promises, problems = read_ledger("- {id: a.b, promise: P, source: S}\n- {id: a.b, promise: Q, source: S}\n")
    assert promises == [Promise("a.b", None, f"{LEDGER}:1")]
    assert problems == [f"{LEDGER}:2: id 'a.b' is already at {LEDGER}:1. Give one of them another id."]


def test_ids_are_read_from_decorators_and_parameters_of_tests() -> None:
    source = """
import pytest
@pytest.mark.behaviour("a.b", "a.c")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.behaviour("a.d"))])
async def test_it(x): ...
"""
    assert read_citations(source, "tests/test_it.py") == (
        [
            Citation("a.b", "tests/test_it.py:3"),
            Citation("a.c", "tests/test_it.py:3"),
            Citation("a.d", "tests/test_it.py:4"),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("source", "file", "complaint"),
    [
        ("@pytest.mark.behaviour(NAME)\ndef test_it(): ...", "test_it.py", "as string literals"),
        ("@pytest.mark.behaviour()\ndef test_it(): ...", "test_it.py", "as string literals"),
        ("@pytest.mark.behaviour\ndef test_it(): ...", "test_it.py", "as string literals"),
        ("@pytest.mark.behaviour('a.b')\ndef support(): ...", "test_it.py", "on no test"),
        ("pytestmark = pytest.mark.behaviour('a.b')", "test_it.py", "on no test"),
        ("@pytest.mark.behaviour('a.b')\ndef test_it(): ...", "support.py", "on no test"),
    ],
)
def test_a_citation_that_holds_nothing_is_a_problem(source: str, file: str, complaint: str) -> None:
    citations, problems = read_citations(source, file)
    assert citations == []
    assert [problem.startswith(f"{file}:1: ") and complaint in problem for problem in problems] == [True]


def test_a_test_that_may_not_run_holds_no_promise() -> None:
    source = "@pytest.mark.behaviour('a.b')\n@pytest.mark.skipif(True)\ndef test_it(): ..."
    _, problems = read_citations(source, "test_it.py")
    assert problems == [
        "test_it.py:3: test_it cites a promise but is marked 'skipif'. "
        f"List the promise as a gap in {LEDGER} until the test runs everywhere."
    ]


def test_both_directions_are_compared() -> None:
    promises = [Promise("a.held", None, "L:1"), Promise("a.bare", None, "L:2"), Promise("a.gap", "issue 4: x", "L:3")]
    citations = [Citation("a.held", "T:1"), Citation("a.gap", "T:2"), Citation("a.invented", "T:3")]
    assert uncited(promises, citations) == [
        "L:2: no test cites 'a.bare'. Mark the test that holds it with @pytest.mark.behaviour(\"a.bare\")."
    ]
    assert wrongly_cited(promises, citations) == [
        "T:2: 'a.gap' is cited, but L:3 calls it a gap (issue 4: x). "
        "Take the gap away there if the test holds the promise, else the mark here.",
        f"T:3: 'a.invented' is not in {LEDGER}. Add the promise or correct the id.",
    ]
