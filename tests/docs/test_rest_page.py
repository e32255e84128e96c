"""The reference of the API tells every operation that the OpenAPI document has, in its words, and no other."""

import re
from pathlib import Path
from typing import Any

import pytest

from pegboard.surfaces.rest.app import document

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rest.md"


def rows() -> list[str]:
    paths: dict[str, Any] = document()["paths"]
    return sorted(
        f"| `{method.upper()} {path.removeprefix('/api/v1')}` | {_first(operation['description'])} |"
        for path, methods in paths.items()
        for method, operation in methods.items()
    )


def _first(text: str) -> str:
    """Its first sentence."""
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0].replace("|", "\\|")


@pytest.mark.behaviour("rest.document")
def test_the_page_has_a_row_for_every_operation_and_for_nothing_else() -> None:
    told = sorted(line for line in PAGE.read_text().splitlines() if re.match(r"\| `(GET|POST|PUT|DELETE) ", line))
    assert told == rows()
