"""The map of the source names every package once, and only modules that are there."""

import re
from pathlib import Path

from tests.docs.pages import Page

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/pegboard"
PAGE = Page(ROOT / "docs/architecture.md", ROOT)


def test_every_package_has_one_row() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|", PAGE.text, re.MULTILINE)
    folders = (path.parent.relative_to(SOURCE).parts for path in SOURCE.rglob("__init__.py"))
    assert sorted(rows) == sorted(".".join(parts) for parts in folders if parts)


def test_every_module_that_is_named_is_there() -> None:
    named = [span for span in PAGE.spans if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", span)]
    assert len(named) > 60
    missing = [span for span in named if not found(span)]
    assert missing == []


def found(span: str) -> bool:
    """A module, a package, or a name in a module."""
    path = SOURCE / span.replace(".", "/")
    if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
        return True
    module, _, name = span.rpartition(".")
    owner = (SOURCE / module.replace(".", "/")).with_suffix(".py")
    return (
        owner.is_file() and re.search(rf"^(async )?(def|class) {name}\b", owner.read_text(), re.MULTILINE) is not None
    )
