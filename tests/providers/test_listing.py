"""From what a server lists to tools and flaws."""

from typing import cast

import pytest
from tests.providers.running import KEY

from pegboard.core.catalogue import Flaw
from pegboard.core.ids import ToolId
from pegboard.core.tool import Json, Tool, ToolSpec
from pegboard.providers.mcp.connection import Connection
from pegboard.providers.mcp.listing import Listed, listed, read

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
    assert read([item], KEY) == Listed((Tool(ToolId(KEY, "hang"), spec, extra),))


@pytest.mark.anyio
async def test_a_page_that_was_read_holds_its_tools_no_longer() -> None:
    """The SDK holds on to an answer until the next one comes, which may take days."""
    page: dict[str, Json] = {"tools": [{"name": "hang", "inputSchema": OBJECT}], "ttlMs": 1}

    class Answering:
        modern = False

        async def list_page(self, cursor: str | None) -> dict[str, Json]:
            return page

    connection = Answering()
    assert await listed(cast(Connection, connection), KEY) == Listed((tool("hang"),))
    assert page == {"ttlMs": 1}


@pytest.mark.parametrize(
    ("item", "flaw"),
    [
        ("text", Flaw("tool 1 of the list", "is not an object")),
        (None, Flaw("tool 1 of the list", "is not an object")),
        ({"inputSchema": OBJECT}, Flaw("tool 1 of the list", "has no name")),
        ({"name": "", "inputSchema": OBJECT}, Flaw("tool 1 of the list", "has an empty name")),
        ({"name": 7, "inputSchema": OBJECT}, Flaw("tool 1 of the list", "has a name that is not text")),
        (
            {"name": "n" * 129, "inputSchema": OBJECT},
            Flaw("n" * 60 + "…", "has a name of 129 characters; at most 128 are possible"),
        ),
        (
            {"name": "new\nline", "inputSchema": OBJECT},
            Flaw("new\\nline", "has a control or invisible character in its name"),
        ),
        (
            {"name": "re\u202eda", "inputSchema": OBJECT},
            Flaw("re\\u202eda", "has a control or invisible character in its name"),
        ),
        (
            {"name": "half \ud83d", "inputSchema": OBJECT},
            Flaw("half \\ud83d", "has a control or invisible character in its name"),
        ),
        ({"name": "a"}, Flaw("a", "has no input schema")),
        ({"name": "a", "inputSchema": True}, Flaw("a", "has an input schema that is not an object")),
        ({"name": "a", "inputSchema": {}}, Flaw("a", "has an input schema that is not of type object")),
        ({"name": "a", "inputSchema": {"type": "array"}}, Flaw("a", "has an input schema that is not of type object")),
        ({"name": "a", "inputSchema": OBJECT, "description": 3}, Flaw("a", "has a description that is not text")),
        ({"name": "a", "inputSchema": OBJECT, "title": []}, Flaw("a", "has a title that is not text")),
        (
            {"name": "a", "inputSchema": OBJECT, "outputSchema": True},
            Flaw("a", "has an output schema that is not an object"),
        ),
        ({"name": "a", "inputSchema": OBJECT, "annotations": 1}, Flaw("a", "has annotations that are no object")),
    ],
)
def test_a_tool_that_cannot_hang_is_a_flaw_and_the_others_stay(item: Json, flaw: Flaw) -> None:
    good: dict[str, Json] = {"name": "good", "inputSchema": OBJECT}
    assert read([item, good], KEY) == Listed((tool("good"),), (flaw,))


def test_of_two_tools_with_one_name_the_first_stays() -> None:
    items: list[Json] = [
        {"name": "twin", "inputSchema": OBJECT},
        {"name": "twin", "description": "second", "inputSchema": OBJECT},
    ]
    assert read(items, KEY) == Listed((tool("twin"),), (Flaw("twin", "is listed more than once: the first one stays"),))


@pytest.mark.parametrize("name", ["a" * 128, "files.read", "with space", "größe", "emoji 🔨", "mcp:odd~name"])
def test_an_unusual_name_is_a_name(name: str) -> None:
    assert read([{"name": name, "inputSchema": OBJECT}], KEY) == Listed((tool(name),))


def test_a_wish_for_an_argument_in_a_header_is_read_in_the_new_era_only() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    item: dict[str, Json] = {"name": "a", "inputSchema": schema}
    assert read([item], KEY, modern=True).header_maps == {"a": {("region",): "Region"}}
    assert read([item], KEY, modern=False).header_maps == {}


def test_a_wish_for_a_header_that_the_protocol_forbids_is_a_flaw_in_the_new_era() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "Not a token"}}}
    item: dict[str, Json] = {"name": "a", "inputSchema": schema}
    found = read([item], KEY, modern=True)
    assert [flaw.name for flaw in found.flaws] == ["a"]
    assert found.flaws[0].why.startswith("wants arguments in HTTP headers in a way the protocol forbids: ")
    assert [tool.id.name for tool in read([item], KEY, modern=False).tools] == ["a"]
