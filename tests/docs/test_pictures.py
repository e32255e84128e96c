"""Pictures in the documentation are those that one command makes, and each is shown somewhere."""

import re

import pytest
from tests.docs.pages import pages
from tests.web.pictures import FOLDER, PICTURES

_SHOWN = re.compile(r"!\[[^\]]+\]\([^)]*?pictures/([\w-]+)\.png\)")
_MOST = 250_000
"""Bytes of one: whoever clones takes them along."""


@pytest.mark.behaviour("docs.pictures")
def test_every_picture_that_a_page_shows_is_there_and_no_other() -> None:
    shown = {name for page in pages() for name in _SHOWN.findall(page.text)}
    kept = {path.stem for path in FOLDER.iterdir()}
    assert (shown, kept) == (set(PICTURES), set(PICTURES))


@pytest.mark.behaviour("docs.pictures")
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_and_of_the_pages_width(name: str) -> None:
    content = (FOLDER / f"{name}.png").read_bytes()
    width = int.from_bytes(content[16:20], "big")
    assert (content[:8], width, len(content) <= _MOST) == (b"\x89PNG\r\n\x1a\n", 1280, True)
