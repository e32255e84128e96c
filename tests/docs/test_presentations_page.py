"""The reference of presentations tells every one of them, and the meta tools with their arguments."""

import json
import re
from typing import Any

from tests.core.boards import ME, NOW, board, key
from tests.docs.pages import page

from pegboard.core.commands.commands import SetSwitch, apply_command
from pegboard.core.decision.resolve import resolve
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations import meta

PAGE = page("docs/reference/presentations.md")
LIBRARY = key("library~library")


def test_every_presentation_is_told() -> None:
    told = re.findall(r"^\| `(\w+)` \|", PAGE.text.split("## meta")[0], re.MULTILINE)
    assert told == [presented.value for presented in PresentationMode]


def test_every_meta_tool_is_told_with_its_arguments() -> None:
    told: dict[str, dict[str, str]] = {}
    for tool, argument, default in re.findall(
        r"^\| (?:`(\w+)`)? ?\| (?:`(\w+)`)? ?\| (\S*) ?\|", PAGE.text.split("## meta")[1], re.MULTILINE
    ):
        name = tool or [*told][-1]
        told.setdefault(name, {}).update({argument: default.strip("`")} if argument else {})
    schemas: dict[str, Any] = {name: tool.spec.input_schema for name, tool in meta.TOOLS.items()}
    assert told == {
        name: {
            argument: "required" if argument in schema.get("required", []) else json.dumps(described["default"])
            for argument, described in schema["properties"].items()
        }
        for name, schema in schemas.items()
    }


def test_the_answers_that_the_page_shows_are_those_of_such_a_board() -> None:
    words = "Find books by a word of their title. Titles are enough."
    made = board(
        [
            Tool(ToolId(LIBRARY, "search_books"), ToolSpec("search_books", description=words)),
            Tool(ToolId(LIBRARY, "lend_book"), ToolSpec("lend_book")),
        ]
    )
    described = Toolset(ToolsetId("library"), DeclaredAt("pegboard.yaml", 1), description="Books and notes.")
    made = made.declaring(toolsets={described.id: described})
    policy = apply_command(made.policy, SetSwitch(ToolId(LIBRARY, "lend_book"), False), ME, NOW)
    assert isinstance(policy, Policy)
    resolution = resolve(made.catalogue, policy, View(ME))
    assert [json.loads(block.text) for block in PAGE.blocks if block.language == "json"] == [
        meta.list_toolsets(resolution, policy),
        meta.list_tools("library", 0, resolution, policy),
        meta.get_output_schema("search_books", resolution),
    ]
