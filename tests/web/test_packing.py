"""A package that is built from a checkout: with the pages, or on purpose without."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.e2e.served import ROOT

PAGES = Path("src/pegboard/surfaces/web/pages")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """All that a package is made of, and no pages."""
    folder = tmp_path / "checkout"
    shutil.copytree(
        ROOT / "src", folder / "src", ignore=lambda at, _: {"pages"} if Path(at).name == "web" else {"__pycache__"}
    )
    (folder / "web").mkdir()
    for name in ("pyproject.toml", "README.md", "web/packing.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def pack(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--disable-pip-version-check",
        "--quiet",
        "--no-deps",
        "-w",
        "out",
        ".",
    ]
    return subprocess.run(
        words, cwd=checkout, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def packed(checkout: Path) -> list[str]:
    (wheel,) = (checkout / "out").glob("pegboard-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if name.startswith("pegboard/surfaces/web/pages/")]


@pytest.mark.behaviour("ui.packed")
def test_a_wheel_without_pages_is_refused_with_what_to_do_and_built_for_whoever_wants_none(checkout: Path) -> None:
    refused = pack(checkout)
    assert refused.returncode != 0
    assert "The package would have no pages" in refused.stderr
    assert "Run `make ui` in this folder first." in refused.stderr
    assert list(checkout.glob("out/*.whl")) == []

    wanted = pack(checkout, PEGBOARD_WITHOUT_PAGES="1")
    assert (wanted.returncode, wanted.stderr) == (0, "")
    assert packed(checkout) == []


@pytest.mark.behaviour("ui.packed")
def test_the_pages_of_a_checkout_are_in_its_wheel(checkout: Path) -> None:
    (checkout / PAGES).mkdir()
    (checkout / PAGES / "index.html").write_text("<p>a page</p>")
    made = pack(checkout)
    assert (made.returncode, made.stderr) == (0, "")
    assert packed(checkout) == ["pegboard/surfaces/web/pages/index.html"]
