"""The import contracts of .importlinter hold for the source, and each of them can fail.

import-linter can only forbid what it is told by name, so that the core and its neighbours use nothing but the standard
library is checked here by an allowlist.
"""

import ast
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from importlinter import configuration
from importlinter.application.use_cases import lint_imports

ROOT = Path(__file__).parents[2]
CONTRACTS = ROOT / ".importlinter"

# The command line's entry point would reset the logging of this whole process; this is the call beneath it.
configuration.configure()


def lint(config: Path, *contracts: str) -> tuple[bool, str]:
    """Whether these contracts, or all, are kept, and import-linter's own words about it."""
    said = StringIO()
    with redirect_stdout(said):
        kept = lint_imports(str(config), limit_to_contracts=contracts, cache_dir=None, no_logo=True)
    return kept, said.getvalue()


@pytest.mark.behaviour("tree.one_way_imports", "tree.core_is_pure", "tree.through_ports", "tree.siblings_apart")
def test_the_source_keeps_every_import_contract() -> None:
    kept, said = lint(CONTRACTS)
    assert kept, said


BREACHES = {
    "core/ids.py imports wall.config.file": "one-way",
    "store/rows.py imports wall.providers.mcp": "one-way",
    "search/rank.py imports wall.prompts.building": "one-way",
    "tools/function.py imports wall.config.file": "one-way",
    "stray/page.py imports json": "one-way",
    "bootstrap/application.py imports wall.library.board": "one-way",
    "bootstrap/application.py imports wall.surfaces.cli.page": "root",
    "library/board.py imports wall.providers.mcp.page": "library",
    "surfaces/mcp/page.py imports wall.gateway.gateway": "parts",
    "gateway/board.py imports wall.store.rows": "through-ports",
    "surfaces/cli/page.py imports wall.providers.mcp": "through-ports",
    "surfaces/mcp/page.py imports wall.surfaces.cli": "surfaces",
    "providers/mcp/page.py imports wall.providers.python": "providers",
    "core/ids.py imports time": "pure",
    "core/ids.py imports os.path": "pure",
    "prompts/build.py imports pathlib": "values",
}

TREE = """
    __main__.py bootstrap/application.py
    ports/providers.py core/ids.py search/rank.py prompts/build.py tools/function.py
    config/file.py store/rows.py memory.py http_parsing.py late_packages.py processes/output.py library/board.py
    providers/mcp/page.py providers/python/page.py gateway/board.py gateway/gateway.py
    surfaces/mcp/page.py surfaces/cli/page.py
"""


def plant(folder: Path, breach: str | None) -> Path:
    """A package `wall` with our tree, at most one forbidden import, and our contracts rewritten to its name."""
    files = dict.fromkeys(TREE.split(), "")
    # Contracts make exceptions of these, and an exception that nothing needs is an error.
    files["bootstrap/launcher.py"] = "import wall.surfaces.cli.page\n"
    files["surfaces/rest/app.py"] = "import wall.gateway.gateway\n"
    if breach:
        file, module = breach.split(" imports ")
        files[file] = f"import {module}\n"
    package = folder / "wall"
    for name, text in files.items():
        file_path = package / name
        file_path.parent.mkdir(parents=True, exist_ok=True)
        file_path.write_text(text)
    for inner in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (inner / "__init__.py").touch()
    config = folder / "contracts.ini"
    config.write_text(CONTRACTS.read_text(encoding="utf-8").replace("pegboard", "wall"))
    return config


def test_a_tree_without_breaches_keeps_every_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    kept, said = lint(plant(tmp_path, None))
    assert kept, said


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_breaks_its_contract(breach: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    kept, said = lint(plant(tmp_path, breach), BREACHES[breach])
    assert (kept, "BROKEN" in said) == (False, True), said


def test_every_contract_has_been_seen_to_fail() -> None:
    sections = re.findall(r"^\[importlinter:contract:(.+)\]$", CONTRACTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(sections) == set(BREACHES.values())


OUTSIDE = {"core": frozenset[str](), "search": frozenset({"numpy"}), "prompts": frozenset[str]()}
"""What each pure package may import from outside the standard library and Pegboard."""


def strangers(source: str, allowed: frozenset[str]) -> list[str]:
    """Modules imported here that are neither ours, nor of the standard library, nor allowed; with their lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules = [name.name for name in names]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        for module in modules:
            top = module.partition(".")[0]
            if top != "pegboard" and top not in sys.stdlib_module_names and top not in allowed:
                found.append(f"{node.lineno}: {module}")
    return found


@pytest.mark.behaviour("tree.core_is_pure")
@pytest.mark.parametrize("package", OUTSIDE)
def test_a_pure_package_imports_the_standard_library_only(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{stranger} is not of the standard library. Hand its result in as a value."
        for path in sorted((ROOT / "src/pegboard" / package).rglob("*.py"))
        for stranger in strangers(path.read_text(encoding="utf-8"), OUTSIDE[package])
    ]
    assert not found, "\n".join(found)


def test_a_stranger_is_found_wherever_it_is_imported() -> None:
    source = (
        "import json, msgspec\nfrom .ids import X\nfrom pegboard.core import ids\ndef f():\n  import numpy.linalg\n"
    )
    assert strangers(source, frozenset()) == ["1: msgspec", "5: numpy.linalg"]
    assert strangers(source, frozenset({"numpy", "msgspec"})) == []
