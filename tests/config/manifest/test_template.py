"""What `pegboard toolset new` writes is a toolset that works, whatever it is called."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.config.manifest.reading import manifest
from tests.config.manifest.test_schema import fits

from pegboard.config.bundle.staging_folder import stage_folder
from pegboard.config.manifest.reader import check_files
from pegboard.config.manifest.template import new_toolset
from pegboard.core.model.ids import BadId
from pegboard.tools import describe_function

IDS = ["weather", "my-tools", "json", "123", "null", "a", "x" * 64, "true_-", "1e3"]


def files(id: str) -> Mapping[str, str]:
    found = new_toolset(id)
    assert not isinstance(found, BadId)
    return found


def laid_out(id: str, folder: Path) -> Path:
    for name, text in files(id).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.behaviour("toolsets.new_template")
@pytest.mark.parametrize("id", IDS)
def test_a_new_toolset_passes_every_check(id: str, tmp_path: Path) -> None:
    source = laid_out(id, tmp_path / "source")
    with stage_folder(source, tmp_path / "staged") as staged:
        text = staged.manifest.read_text("utf-8")
        read = manifest(text)
        assert (read.id, read.warnings, check_files(read, staged.files)) == (id, (), ())
        assert fits(text)
    assert [entry.id for entry in read.tools] == ["count_words", "days_until"]


@pytest.mark.behaviour("toolsets.new_template")
def test_the_tools_of_a_new_toolset_are_described_and_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(laid_out("template-described", tmp_path))
    found = {}
    for entry in manifest(files("template-described")["toolset.yaml"]).tools:
        module, _, function = entry.entrypoint.partition(":")
        namespace = __import__(module, fromlist=[function])
        found[entry.id] = describe_function(getattr(namespace, function), name=entry.id).spec
    assert found["count_words"].description == "Count the words of a text, and find the longest."
    assert [*found["count_words"].input_schema["properties"]] == ["text", "shortest"]  # type: ignore[misc]
    assert found["count_words"].output_schema is not None
    assert found["days_until"].description.startswith("Tell how long it is until a day.")


@pytest.mark.slow
@pytest.mark.behaviour("toolsets.new_template")
def test_the_tests_of_a_new_toolset_pass(tmp_path: Path) -> None:
    folder = laid_out("my-tools", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    # The plugins that are installed here take longer to load than these tests take to run, and they need none.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout


@pytest.mark.behaviour("toolsets.new_template")
@pytest.mark.parametrize("id", ["", "../up", "My Tools", "all", "a/b"])
def test_a_toolset_cannot_be_made_with_an_id_that_is_none(id: str) -> None:
    assert isinstance(new_toolset(id), BadId)
