"""The page on formats: every format in its table, every key that calls are read by, and code that runs."""

import re

import pytest
from tests.docs.pages import page

from pegboard.prompts.formats import FORMATS
from pegboard.prompts.scanners import json_calls as envelope

PAGE = page("docs/reference/formats.md")


@pytest.mark.behaviour("formats.table")
def test_the_page_has_a_row_for_every_format_and_for_nothing_else() -> None:
    told = re.findall(r"^\| `(\w+)` \|", PAGE.prose, re.MULTILINE)
    events = {"Text", "Markup", "Started", "Done", "Broken"}
    assert [name for name in told if name not in events] == sorted(FORMATS)


def test_the_page_tells_every_key_by_which_a_call_is_read() -> None:
    rows = dict(re.findall(r"^\| (the name|the arguments|around calls) \| (.*) \|$", PAGE.prose, re.MULTILINE))
    told = {part: tuple(re.findall(r"`(\w+)`", keys)) for part, keys in rows.items()}
    assert told == {
        "the name": envelope.NAME_KEYS,
        "the arguments": envelope.ARGUMENT_KEYS,
        "around calls": envelope.WRAPPER_KEYS,
    }


def test_the_code_of_the_page_runs() -> None:
    blocks = [block.text for block in PAGE.blocks if block.language == "python"]
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})
