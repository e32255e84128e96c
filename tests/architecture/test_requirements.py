"""What is installed is held to hashes, what builds the package included."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "requirements").glob("*.txt"))


@pytest.mark.behaviour("install.pinned")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_requirement_has_one_version_and_its_hashes_and_no_host(file: Path) -> None:
    text = file.read_text("utf-8")
    entries = [each for each in text.replace("\\\n", " ").splitlines() if each.strip() and not each.startswith("#")]
    odd = [each for each in entries if not re.match(r"[\w.-]+(\[[\w,]+\])?==\S+.*--hash=sha256:[0-9a-f]{64}", each)]
    assert odd == []
    assert "://" not in text


@pytest.mark.behaviour("install.pinned")
def test_make_installs_nothing_without_hashes_and_builds_nothing_in_isolation() -> None:
    installing = [line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "$(PIP) " in line]
    loose = [line.strip() for line in installing if "--require-hashes" not in line]
    assert loose == ["@$(PIP) --no-deps --no-build-isolation -e ."]
    build = (ROOT / "requirements/build.txt").read_text("utf-8")
    names = {"pip", "hatchling", "editables", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
    assert {*re.findall(r"^([\w-]+)==", build, re.MULTILINE)} == names
