"""Every benchmark is a command of its own and answers in JSON."""

import json
import subprocess
from pathlib import Path

import pytest
from benchmarks.codemode.__main__ import as_text
from benchmarks.codemode.row import Row
from tests.support.fork_server import python

from benchmarks import pages

ROOT = Path(__file__).parents[2]
SMALL = {
    "codemode": ["--quick"],
    "gateway": ["--only", "floor", "--upstream", "http", "--tools", "3", "--seconds", "0.05", "--windows", "1"],
    "pages": ["--tools", "10", "--rounds", "1"],
    "prompt": ["--tools", "3", "--rounds", "1"],
    "retrieval": ["--data", "tests/search/sets", "--queries", "2", "--no-peer"],
    "resolve": ["--tools", "3", "--rounds", "1"],
    "scan": ["--quick"],
    "search": ["--quick"],
    "tokens": ["--quick"],
    "worker": ["--quick"],
}
"""Each benchmark with the least it can do."""
SLOW_TO_MEASURE = {"codemode", "gateway", "pages"}
"""Their tables are tested with made-up rows, below and in test_reports.py. The others are run once more for theirs."""

JUDGING = {
    "database",
    "sql_attacks",
    "docspace_replay",
    "format_roundtrip",
    "formats",
    "parser_cases",
    "snippets",
    "escapes",
    "hostile",
    "misspelled_denials",
    "startup",
}
"""Those that tell right from wrong, or speak of goals, beside which there is no floor: their own tests try them."""


def commands() -> set[str]:
    """What `python -m benchmarks.NAME` can run."""
    packages = {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}
    runnable = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text("utf-8")}
    return packages | runnable


@pytest.mark.behaviour("benchmarks.run_as_modules")
def test_every_benchmark_is_tried_here() -> None:
    assert commands() == {*SMALL, *JUDGING}


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.run_as_modules")
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_benchmark_runs_as_a_module_and_prints_json(name: str) -> None:
    command = [python(), "-m", f"benchmarks.{name}", "--json", *SMALL[name]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["benchmark"] == name
    assert "measuring" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SMALL.keys() - SLOW_TO_MEASURE))
def test_without_json_a_benchmark_prints_a_table_with_the_floor(name: str) -> None:
    command = [python(), "-m", f"benchmarks.{name}", *SMALL[name]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "of floor" in done.stdout


def test_the_tables_of_programs_and_pages_have_the_floor() -> None:
    heading, _, start = as_text([Row("a start", 2.0, 3.0, goal=5.0, calls=1)]).splitlines()
    assert "of floor" in heading
    assert start.split() == ["a", "start", "2.00", "3.00", "1.50x", "5", "ms", "3.000"]
    rows = [pages.Row(pages.FLOOR, 0, [1.0, 1.0]), pages.Row(pages.WALL, 10, [2.0, 2.0])]
    heading, _, floor, wall = pages.report(rows).splitlines()
    assert "of floor" in heading
    assert floor.split()[-1] == "1.00x"
    assert wall.split()[-1] == "2.00x"
