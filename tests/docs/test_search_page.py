"""The reference of the search presentation tells its tools, their arguments and the fields of their answers."""

import json
import re
from typing import Any

import pytest
from tests.core.boards import ME, NOW, board, key
from tests.core.found import plain
from tests.docs.pages import page

from pegboard.core.commands.commands import SetSwitch, apply_command
from pegboard.core.decision.resolve import resolve
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.retrieval import ToolSearchQuery, search_tools
from pegboard.core.presentations.search import TOOLS, list_upstream_servers

PAGE = page("docs/reference/search.md")
SEARCH, SERVERS = (json.loads(block.text) for block in PAGE.blocks if block.language == "json")
LIBRARY, DESK = key("library~library"), key("desk~desk")


def section(name: str) -> str:
    return re.split(r"^## ", PAGE.text, flags=re.MULTILINE)[[*TOOLS].index(name) + 1]


@pytest.mark.parametrize("name", TOOLS)
def test_every_argument_is_told_with_its_default(name: str) -> None:
    schema: Any = TOOLS[name].spec.input_schema
    assert section(name).startswith(name)
    told = {row[0]: row[1].strip("`") for row in re.findall(r"^\| `(\w+)` \| (\S+) \|", section(name), re.MULTILINE)}
    assert told == {
        argument: "required" if argument in schema.get("required", []) else json.dumps(described["default"])
        for argument, described in schema["properties"].items()
    }


def library() -> tuple[Any, Any]:
    """The board that the page shows, and its two answers."""
    limit: JsonObject = {"type": "integer", "default": 10}
    given: JsonObject = {"limit": limit, "query": {"type": "string"}}
    schema: JsonObject = {"type": "object", "properties": given, "required": ["query"]}
    words = "Find books by a word of their title. What is lent is found as well."
    hung = [
        Tool(
            ToolId(LIBRARY, "search_books"), ToolSpec("search_books", None, words, schema, None, {"readOnlyHint": True})
        ),
        Tool(ToolId(LIBRARY, "lend_book"), ToolSpec("lend_book", description="Lend a book.")),
        Tool(ToolId(LIBRARY, "count_pages"), ToolSpec("count_pages")),
        Tool(ToolId(LIBRARY, "cite"), ToolSpec("cite")),
        Tool(ToolId(DESK, "read_note"), ToolSpec("read_note")),
    ]
    made = board(hung)
    policy = apply_command(made.policy, SetSwitch(ToolId(LIBRARY, "lend_book"), False), ME, NOW)
    assert isinstance(policy, Policy)
    resolution = resolve(made.catalogue, policy, View(ME))
    found = search_tools(
        ToolSearchQuery("book", include_disabled=True),
        resolution,
        policy,
        lambda _, ids: plain(id for id in ids if "book" in id.name),
    )
    return found, list_upstream_servers(made.catalogue, policy, resolution)


@pytest.mark.behaviour("locked.entry_fields", "counts.in_upstream_servers")
def test_the_answers_that_the_page_shows_are_those_of_such_a_board() -> None:
    found, servers = library()
    assert found == SEARCH
    assert servers == SERVERS


def test_the_page_tells_every_member_of_an_answer() -> None:
    told = set(re.findall(r"^- `(\w+)`", PAGE.prose, re.MULTILINE))
    assert told == {"tools", "ranker", "disabled", "remediation", "notice", "filter_diagnostics", "explanation"}
