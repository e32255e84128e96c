"""What tests/conftest.py does to a run, seen on runs of their own in a temporary folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

CASES = """
import pytest
from hypothesis import settings

def test_passes():
    print("examples", settings().max_examples, "deadline", settings().deadline, "fixed", settings().derandomize)

@pytest.mark.skip(reason="no engine here")
def test_marked(): ...

def test_in_the_body():
    pytest.skip("no network here")

@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    assert False
"""

SKIPPED_MODULE = "import pytest\npytest.skip('not on this system', allow_module_level=True)\n"


def run(folder: Path, ci: str | None) -> str:
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {CONFTEST.parents[1]}\n")
    (folder / "test_cases.py").write_text(CASES)
    (folder / "test_module.py").write_text(SKIPPED_MODULE)
    environment = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    # Loading the plugins takes longer than these few tests do, and they need none.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-rA", "--continue-on-collection-errors", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env=environment if ci is None else environment | {"CI": ci},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    return done.stdout + done.stderr


def totals(output: str) -> dict[str, int]:
    summary = output.strip().splitlines()[-1]
    return {outcome.rstrip("s"): int(count) for count, outcome in re.findall(r"(\d+) ([a-z]+)", summary)}


def test_under_ci_a_skipped_test_or_module_fails_the_run(tmp_path: Path) -> None:
    output = run(tmp_path, ci="true")
    # A mark skips before the body and a module before its tests: pytest calls a failure there an error.
    assert totals(output) == {"passed": 1, "failed": 1, "xfailed": 1, "error": 2}
    assert "examples 50 deadline None fixed True" in output
    for why in ("no engine here", "no network here", "not on this system"):
        assert re.search(rf"was skipped under CI=true \(.*{why}\)", output)


@pytest.mark.parametrize("ci", [None, "false"])
def test_outside_ci_a_skipped_test_stays_skipped(tmp_path: Path, ci: str | None) -> None:
    output = run(tmp_path, ci)
    assert totals(output) == {"passed": 1, "skipped": 3, "xfailed": 1}
    assert "examples 25 deadline None fixed False" in output


def test_async_tests_run_on_asyncio(anyio_backend: str) -> None:
    assert anyio_backend == "asyncio"
