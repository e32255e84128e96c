"""A package that is built from a checkout: with the pages, or on purpose without."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.e2e.served import ROOT

PAGES = Path("src/pegboard/surfaces/web/pages")
PIP_WHEEL = ("pip", "wheel", "--disable-pip-version-check", "--quiet", "--no-deps", "-w", "out", ".")
# `make setup` installs what builds the package. Elsewhere pip fetches it for each build.
ISOLATION = () if find_spec("hatchling") is None else ("--no-build-isolation",)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What decides whether a package is built, and no pages."""
    folder = tmp_path / "checkout"
    for name in ("pyproject.toml", "README.md", "web/packing.py", "src/pegboard/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / PAGES.parent).mkdir(parents=True)
    return folder


def pack(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *PIP_WHEEL, *ISOLATION],
        cwd=checkout,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
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
    assert wanted.returncode == 0, wanted.stderr
    assert packed(checkout) == []


@pytest.mark.behaviour("ui.packed")
def test_the_pages_of_a_checkout_are_in_its_wheel(checkout: Path) -> None:
    (checkout / PAGES).mkdir()
    (checkout / PAGES / "index.html").write_text("<p>a page</p>")
    made = pack(checkout)
    assert made.returncode == 0, made.stderr
    assert packed(checkout) == ["pegboard/surfaces/web/pages/index.html"]
