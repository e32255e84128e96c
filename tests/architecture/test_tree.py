"""The shape of the repository: module sizes and names, docstrings, make targets, and no trace of one machine."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples")
MAX_LINES = 800
EMPTY_WORDS = frozenset({"manager", "helper", "util", "handler", "service"})
"""Words that name no part of the domain, so anything fits under them; their plurals are as empty."""

# Written so that this file does not name what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w.~*)}\]-])/(?:" + "|".join(("work", "root", "home")) + r")/")
INDEX_HOSTS = [".".join(parts) for parts in (("pypi", "org/simple"), ("registry", "npmjs", "org"))]
INDEX_HOSTS += [".".join(("files", "pythonhosted", "org"))]
INDEX_HOST = re.compile("|".join(map(re.escape, INDEX_HOSTS)))


def modules(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found, f"no modules under {folders}"
    return found


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def empty_words(path: Path) -> list[str]:
    """The parts of a module's dotted name that say nothing."""
    parts = [word for part in path.with_suffix("").parts for word in part.lower().split("_")]
    return [word for word in parts if word.removesuffix("s") in EMPTY_WORDS]


def traces(text: str) -> list[tuple[int, str]]:
    """Places on one machine and hosts of package indexes named in a text, by line."""
    return [
        (number, found.group())
        for number, line in enumerate(text.splitlines(), start=1)
        for pattern in (MACHINE_PATH, INDEX_HOST)
        for found in pattern.finditer(line)
    ]


@pytest.mark.behaviour("tree.small_modules")
def test_no_module_is_longer_than_the_limit() -> None:
    long = [
        f"{place(path)}: {count} lines, at most {MAX_LINES}. Split it by the nouns it holds."
        for path in modules(*FOLDERS)
        if (count := lines(path)) > MAX_LINES
    ]
    assert not long, "\n".join(long)


@pytest.mark.behaviour("tree.plain_names")
def test_every_module_is_named_by_a_noun_of_the_domain() -> None:
    empty = [
        f"{place(path)}: {word!r} says nothing. Name the module after what it holds."
        for path in modules(*FOLDERS)
        for word in empty_words(path.relative_to(ROOT))
    ]
    assert not empty, "\n".join(empty)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("src/pegboard/utils/diff.py", ["utils"]),
        ("src/pegboard/core/tool_helpers.py", ["helpers"]),
        ("src/pegboard/call_handler.py", ["handler"]),
        ("src/pegboard/core/decision/status.py", []),
        ("src/pegboard/core/utility.py", []),
    ],
)
def test_empty_words_are_found_in_any_part_of_a_name(path: str, words: list[str]) -> None:
    assert empty_words(Path(path)) == words


@pytest.mark.behaviour("tree.docstrings")
def test_every_module_of_the_source_says_what_lives_there() -> None:
    silent = [
        f"{place(path)}: no docstring. Say in one sentence what lives here and what may not."
        for path in modules("src")
        if not (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").strip()
    ]
    assert not silent, "\n".join(silent)


def test_every_folder_of_the_source_is_a_package() -> None:
    # The import contracts see packages only: a folder without __init__.py would escape them.
    bare = sorted(
        {place(path.parent) for path in modules("src/pegboard") if not (path.parent / "__init__.py").exists()}
    )
    assert bare == []


@pytest.mark.behaviour("tree.works_anywhere")
def test_no_tracked_file_names_one_machine_or_a_package_index() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    tracked = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert tracked
    found = [
        f"{place(path)}:{line}: {trace!r} exists on one machine or names an index. Make it relative, or leave it out."
        for path in tracked
        if path.is_file()
        for line, trace in traces(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", ["work", "root", "home"])
def test_an_absolute_path_is_a_trace_and_a_relative_or_remote_one_is_not(folder: str) -> None:
    assert traces(f"first\ncd /{folder}/x") == [(2, f"/{folder}/")]
    assert traces(f"'/{folder}/x' and file:///{folder}/x") == [(1, f"/{folder}/"), (1, f"/{folder}/")]
    assert traces(f"docs/{folder}/x ./{folder}/x https://example.org/{folder}/x $HOME/{folder}") == []


def test_the_host_of_a_package_index_is_a_trace() -> None:
    assert [traces(f"--index-url https://{host}/x") for host in INDEX_HOSTS] == [[(1, host)] for host in INDEX_HOSTS]
    assert traces("https://pypi.org/project/pegboard") == []


@pytest.mark.behaviour("run.make_targets")
def test_make_offers_each_target_with_a_comment_and_ci_runs_check_and_test() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commented = set(re.findall(r"^# .+\n([a-z]+):", makefile, re.MULTILINE))
    assert {"run", "test", "fast", "soak", "check", "bench"} <= commented
    assert re.search(r"^clean:", makefile, re.MULTILINE)
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert [line for line in ci if line.startswith("make ")] == [
        "make check",
        'make test ARGS="--hypothesis-profile=ci"',
    ]


PRODUCT = re.compile("docspace|onlyoffice", re.IGNORECASE)
NEUTRAL = ("core", "gateway", "ports", "prompts", "search", "store", "surfaces/mcp")
"""Packages that know no product whose tools a provider of ours brings: they speak of web APIs, by what those say."""


def products(text: str) -> list[tuple[int, str]]:
    """Names of such a product in a text, by line."""
    return [
        (number, found.group())
        for number, line in enumerate(text.splitlines(), start=1)
        for found in PRODUCT.finditer(line)
    ]


@pytest.mark.behaviour("tree.no_product_in_the_core")
def test_no_product_is_named_where_everything_is_decided() -> None:
    named = [
        f"{place(path)}:{number}: {name}. Let its provider or its settings say it."
        for path in modules(*(f"src/pegboard/{package}" for package in NEUTRAL))
        for number, name in products(path.read_text("utf-8"))
    ]
    assert not named, "\n".join(named)


def test_a_product_is_found_in_whatever_letters() -> None:
    assert products("x\nDocSpace of OnlyOffice") == [(2, "DocSpace"), (2, "OnlyOffice")]
