"""From what a server lists to tools and flaws."""

from typing import cast

import pytest
from tests.providers.mcp.running import KEY

from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import ListingProblem
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.providers.mcp.connection import McpConnection
from pegboard.providers.mcp.discovery import ToolListResult, list_tools, parse_tools

OBJECT: dict[str, Json] = {"type": "object"}


def tool(name: str) -> Tool:
    return Tool(ToolId(KEY, name), ToolSpec(name))


def test_every_member_of_a_tool_is_kept_as_it_came() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "$defs": {"peg": {"type": "string", "x-odd": [1, 2.5, None]}},
        "properties": {"a": {"$ref": "#/$defs/peg"}},
    }
    item: dict[str, Json] = {
        "name": "hang",
        "title": "Hang it",
        "description": "Hang a tool.",
        "inputSchema": schema,
        "outputSchema": {"type": "object", "additionalProperties": False},
        "annotations": {"readOnlyHint": True, "title": "Other", "unknownHint": 3},
        "icons": [{"src": "data:,"}],
        "_meta": {"com.example/a": {"b": None}},
        "execution": {"taskSupport": "optional"},
    }
    spec = ToolSpec(
        "hang",
        "Hang it",
        "Hang a tool.",
        schema,
        {"type": "object", "additionalProperties": False},
        {"readOnlyHint": True, "title": "Other", "unknownHint": 3},
    )
    extra = {key: item[key] for key in ("icons", "_meta", "execution")}
    assert parse_tools([item], KEY) == ToolListResult((Tool(ToolId(KEY, "hang"), spec, extra),))


@pytest.mark.anyio
async def test_a_page_that_was_read_holds_its_tools_no_longer() -> None:
    """The SDK holds on to an answer until the next one comes, which may take days."""
    page: dict[str, Json] = {"tools": [{"name": "hang", "inputSchema": OBJECT}], "ttlMs": 1}

    class Answering:
        is_modern = False

        async def list_page(self, cursor: str | None) -> dict[str, Json]:
            return page

    connection = Answering()
    assert await list_tools(cast(McpConnection, connection), KEY) == ToolListResult((tool("hang"),))
    assert page == {"ttlMs": 1}


@pytest.mark.parametrize(
    ("item", "flaw"),
    [
        ("text", ListingProblem("tool 1 of the list", "is not an object")),
        (None, ListingProblem("tool 1 of the list", "is not an object")),
        ({"inputSchema": OBJECT}, ListingProblem("tool 1 of the list", "has no name")),
        ({"name": "", "inputSchema": OBJECT}, ListingProblem("tool 1 of the list", "has an empty name")),
        ({"name": 7, "inputSchema": OBJECT}, ListingProblem("tool 1 of the list", "has a name that is not text")),
        (
            {"name": "n" * 129, "inputSchema": OBJECT},
            ListingProblem("n" * 60 + "…", "has a name of 129 characters; at most 128 are possible"),
        ),
        (
            {"name": "new\nline", "inputSchema": OBJECT},
            ListingProblem("new\\nline", "has a control or invisible character in its name"),
        ),
        (
            {"name": "re\u202eda", "inputSchema": OBJECT},
            ListingProblem("re\\u202eda", "has a control or invisible character in its name"),
        ),
        (
            {"name": "half \ud83d", "inputSchema": OBJECT},
            ListingProblem("half \\ud83d", "has a control or invisible character in its name"),
        ),
        ({"name": "a"}, ListingProblem("a", "has no input schema")),
        ({"name": "a", "inputSchema": True}, ListingProblem("a", "has an input schema that is not an object")),
        ({"name": "a", "inputSchema": {}}, ListingProblem("a", "has an input schema that is not of type object")),
        (
            {"name": "a", "inputSchema": {"type": "array"}},
            ListingProblem("a", "has an input schema that is not of type object"),
        ),
        (
            {"name": "a", "inputSchema": OBJECT, "description": 3},
            ListingProblem("a", "has a description that is not text"),
        ),
        ({"name": "a", "inputSchema": OBJECT, "title": []}, ListingProblem("a", "has a title that is not text")),
        (
            {"name": "a", "inputSchema": OBJECT, "outputSchema": True},
            ListingProblem("a", "has an output schema that is not an object"),
        ),
        (
            {"name": "a", "inputSchema": OBJECT, "annotations": 1},
            ListingProblem("a", "has annotations that are no object"),
        ),
    ],
)
def test_a_tool_that_cannot_hang_is_a_flaw_and_the_others_stay(item: Json, flaw: ListingProblem) -> None:
    good: dict[str, Json] = {"name": "good", "inputSchema": OBJECT}
    assert parse_tools([item, good], KEY) == ToolListResult((tool("good"),), (flaw,))


def test_of_two_tools_with_one_name_the_first_stays() -> None:
    items: list[Json] = [
        {"name": "twin", "inputSchema": OBJECT},
        {"name": "twin", "description": "second", "inputSchema": OBJECT},
    ]
    assert parse_tools(items, KEY) == ToolListResult(
        (tool("twin"),), (ListingProblem("twin", "is listed more than once: the first one stays"),)
    )


@pytest.mark.parametrize("name", ["a" * 128, "files.read", "with space", "größe", "emoji 🔨", "mcp:odd~name"])
def test_an_unusual_name_is_a_name(name: str) -> None:
    assert parse_tools([{"name": name, "inputSchema": OBJECT}], KEY) == ToolListResult((tool(name),))


def test_a_wish_for_an_argument_in_a_header_is_read_in_the_new_era_only() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    item: dict[str, Json] = {"name": "a", "inputSchema": schema}
    assert parse_tools([item], KEY, modern=True).header_maps == {"a": {("region",): "Region"}}
    assert parse_tools([item], KEY, modern=False).header_maps == {}


def test_a_wish_for_a_header_that_the_protocol_forbids_is_a_flaw_in_the_new_era() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "Not a token"}}}
    item: dict[str, Json] = {"name": "a", "inputSchema": schema}
    found = parse_tools([item], KEY, modern=True)
    assert [flaw.name for flaw in found.problems] == ["a"]
    assert found.problems[0].why.startswith("wants arguments in HTTP headers in a way the protocol forbids: ")
    assert [tool.id.name for tool in parse_tools([item], KEY, modern=False).tools] == ["a"]
