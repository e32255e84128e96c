"""Git checkouts: what Git ignores stays behind, and the commit is known; without Git a folder is taken as it is."""

import os
import subprocess
from pathlib import Path

import pytest

from pegboard.config.bundle.source import Checkout, IgnoredFiles, find_checkout, find_ignored
from pegboard.config.bundle.staging_folder import MANIFESTS, inspect_in_place, stage_folder


def git(folder: Path, *words: str) -> str:
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def written(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = written(tmp_path / "mine", "toolset.yaml", "tools/a.py")
    (folder / ".gitignore").write_text("*.log\nbuild/\n!kept.log\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def staged(folder: Path, beside: Path) -> set[str]:
    with stage_folder(folder, beside) as found:
        assert found.files == inspect_in_place(folder).files
        return {*found.files}


@pytest.mark.behaviour("toolsets.checkouts")
def test_what_git_ignores_is_not_imported_and_what_is_new_is(checkout: Path, tmp_path: Path) -> None:
    written(checkout, "a.log", "build/deep/b.bin", "kept.log", "tools/neu ü.py")
    files = {".gitignore", "toolset.yaml", "tools/a.py", "kept.log", "tools/neu ü.py"}
    assert staged(checkout, tmp_path / "beside") == files
    assert find_ignored(checkout, MANIFESTS) == IgnoredFiles(frozenset({"a.log", "build/"}))


@pytest.mark.behaviour("toolsets.checkouts")
def test_a_file_that_is_tracked_is_imported_although_a_rule_names_it(checkout: Path, tmp_path: Path) -> None:
    written(checkout, "build/tracked.bin", "build/other.bin")
    git(checkout, "add", "-f", "build/tracked.bin")
    (checkout / "tools/a.py").unlink()
    assert staged(checkout, tmp_path / "beside") == {".gitignore", "toolset.yaml", "build/tracked.bin"}


@pytest.mark.behaviour("toolsets.checkouts")
def test_a_toolset_in_a_folder_of_a_checkout_is_asked_about_by_itself(checkout: Path, tmp_path: Path) -> None:
    inner = written(checkout / "more", "toolset.yaml", "x.log", "a.py")
    assert staged(inner, tmp_path / "beside") == {"toolset.yaml", "a.py"}
    assert find_checkout(inner, MANIFESTS) is None
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "second")
    written(checkout, "tools/a.py", "elsewhere.py")
    assert find_checkout(inner, MANIFESTS) == Checkout(git(checkout, "rev-parse", "HEAD"), is_dirty=False)


@pytest.mark.behaviour("toolsets.checkouts")
def test_a_folder_that_only_lies_in_an_ignored_place_is_taken_as_it_is(checkout: Path, tmp_path: Path) -> None:
    inner = written(checkout / "build" / "mine", "toolset.yaml", "x.log")
    assert staged(inner, tmp_path / "beside") == {"toolset.yaml", "x.log"}
    (checkout / ".gitignore").write_text("toolset.yaml\n*.log\n")
    git(checkout, "rm", "-q", "--cached", "toolset.yaml")
    assert find_ignored(checkout, MANIFESTS) == IgnoredFiles()
    assert find_checkout(checkout, MANIFESTS) is None


@pytest.mark.behaviour("toolsets.checkouts")
def test_the_commit_is_told_and_whether_anything_differs_from_it(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert find_checkout(checkout, MANIFESTS) == Checkout(commit, is_dirty=False)
    written(checkout, "ignored.log")
    assert find_checkout(checkout, MANIFESTS) == Checkout(commit, is_dirty=False)
    written(checkout, "new.py")
    assert find_checkout(checkout, MANIFESTS) == Checkout(commit, is_dirty=True)
    (checkout / "new.py").unlink()
    (checkout / "tools/a.py").write_text("other")
    assert find_checkout(checkout, MANIFESTS) == Checkout(commit, is_dirty=True)
    written(checkout, "tools/a.py")
    assert find_checkout(checkout, MANIFESTS) == Checkout(commit, is_dirty=False)
    (checkout / "tools/a.py").unlink()
    assert find_checkout(checkout, MANIFESTS) == Checkout(commit, is_dirty=True)


@pytest.mark.behaviour("toolsets.checkouts")
def test_a_checkout_without_a_commit_has_none(tmp_path: Path) -> None:
    folder = written(tmp_path / "mine", "toolset.yaml")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    assert find_checkout(folder, MANIFESTS) is None
    assert find_checkout(written(tmp_path / "plain", "toolset.yaml"), MANIFESTS) is None


@pytest.mark.behaviour("toolsets.checkouts")
def test_settings_of_the_checkout_run_no_program(checkout: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    git(checkout, "config", "core.fsmonitor", f"touch {mark}; false")
    git(checkout, "config", "filter.evil.clean", f"touch {mark}; cat")
    (checkout / ".git/info/attributes").write_text("* filter=evil\n")
    (checkout / "tools/a.py").write_text("changed")
    written(checkout, "a.log")
    assert find_ignored(checkout, MANIFESTS).names == {"a.log"}
    assert find_checkout(checkout, MANIFESTS) is not None
    assert not mark.exists()


@pytest.mark.behaviour("toolsets.checkouts")
def test_without_git_a_checkout_is_taken_as_it_is_and_that_is_told(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(checkout, "a.log")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert staged(checkout, tmp_path / "beside") == {".gitignore", "toolset.yaml", "tools/a.py", "a.log"}
    assert find_ignored(checkout, MANIFESTS) == IgnoredFiles(failure="there is no git on the PATH")
    assert find_checkout(checkout, MANIFESTS) is None


@pytest.mark.behaviour("toolsets.checkouts")
def test_a_broken_checkout_is_taken_as_it_is_and_that_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "mine", "toolset.yaml", ".git")
    assert staged(folder, tmp_path / "beside") == {"toolset.yaml"}
    assert find_ignored(folder, MANIFESTS).failure.startswith("fatal: ")
    assert find_checkout(folder, MANIFESTS) is None
