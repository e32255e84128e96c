"""The page on renderers tells the catalogue: every renderer, every key, and what stands there if nobody says."""

import json
import re
from typing import Any

import pytest
from tests.docs.pages import page

from pegboard.core.json.values import Json
from pegboard.core.renderers.catalogue import RENDERER_NAMES, RENDERERS, Renderer
from pegboard.core.renderers.render import REFERENCE_ROOTS

PAGE = page("docs/reference/renderers.md")


def chapters() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", PAGE.text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def usual(value: Json) -> str:
    return "" if value is None else f"`{value if isinstance(value, str) else json.dumps(value)}`"


@pytest.mark.behaviour("overrides.renderer_catalogue")
def test_the_page_tells_every_renderer_in_order_and_no_other() -> None:
    assert (*chapters(),) == RENDERER_NAMES


@pytest.mark.parametrize("each", RENDERERS, ids=RENDERER_NAMES)
def test_the_page_tells_every_key_of_a_renderer(each: Renderer) -> None:
    chapter = chapters()[each.name]
    rows = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in chapter.splitlines() if line[:1] == "|"]
    assert rows[2:] == [(f"`{key.name}`", key.type.value, key.description, usual(key.default)) for key in each.keys]
    assert chapter.strip().startswith(each.description)
    assert all(f"`{alias}`" in chapter for alias in each.aliases)
    assert ("Shown by itself" in chapter) is each.standalone


def test_the_page_tells_every_root() -> None:
    assert re.findall(r"^\| `\$(\w+)` \|", PAGE.text, re.MULTILINE) == [*REFERENCE_ROOTS]


@pytest.mark.behaviour("overrides.rendered")
def test_the_example_of_the_page_does_what_it_says() -> None:
    (block,) = [each for each in PAGE.blocks if "render_call(" in each.text]
    names: dict[str, Any] = {"arguments": {}, "result": {"structuredContent": {"books": [1]}}}
    exec(block.text, names)
    shown = names["shown"]
    assert (shown.renderer, shown.config["rows"]) == ("table", [1])
