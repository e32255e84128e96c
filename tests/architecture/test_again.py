"""What failed is run once more, if it is little: what is broken fails again."""

import json
from pathlib import Path

import pytest
from tests.again import MOST, again


def told(folder: Path, *tests: str) -> Path:
    file = folder / "lastfailed"
    file.write_text(json.dumps(dict.fromkeys(tests, True)))
    return file


def test_many_failures_are_not_looked_at_twice(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failed = [f"tests/x.py::test_{number}" for number in range(MOST + 1)]
    assert again([], told(tmp_path, *failed)) == 1
    assert capfd.readouterr().out == f"{MOST + 1} tests failed. Up to {MOST} would be run once more.\n"


@pytest.mark.parametrize("there", [False, True])
def test_a_run_that_failed_without_a_failed_test_stays_failed(tmp_path: Path, there: bool) -> None:
    assert again([], told(tmp_path) if there else tmp_path / "nothing") == 1


def test_what_is_broken_fails_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:inline_snapshot")
    broken = tmp_path / "test_broken.py"
    broken.write_text("def test_it() -> None:\n    assert False\n")
    cache = tmp_path / ".pytest_cache" / "v" / "cache"
    cache.mkdir(parents=True)
    assert again([str(broken)], told(cache, "test_broken.py::test_it")) == 1
    assert "1 failed, and is run once more, alone:\ntest_broken.py::test_it\n" in capfd.readouterr().out
    broken.write_text("def test_it() -> None:\n    assert True\n")
    assert again([str(broken)], told(cache, "test_broken.py::test_it")) == 0
