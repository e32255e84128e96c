"""The list of tools: what stands in it, when it counts as changed, and how it is cut into pages."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_folded import objects, texts
from tests.surfaces.mcp.workshop import SECRET

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerId, ServerKey, ToolId, ToolsetId, WireName
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import DeclaredAt, Server, Stdio, Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Policy, PolicyDecisions, Switch, Switchable
from pegboard.gateway.board import BoardState
from pegboard.surfaces.mcp.fast.endpoint import ToolListEncoder
from pegboard.surfaces.mcp.presentations.direct import PAGE_SIZE, DirectPresentation, tool_document, tool_text
from pegboard.surfaces.mcp.request_checks import host_name
from pegboard.surfaces.mcp.results import BadCursor, ToolPage

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ServerKey(ToolsetId("shed"), ServerId("shed"))
HERE = DeclaredAt("pegboard.yaml", 1)


def tool(name: str, **spec: object) -> Tool:
    return Tool(ToolId(KEY, name), ToolSpec(name, **spec))  # type: ignore[arg-type]  # the cases name the fields


def board_of(*tools: Tool, overrides: tuple[Override, ...] = ()) -> BoardState:
    declared = DeclaredSettings(
        servers={KEY: Server(KEY, Stdio("unused"), HERE, trust=Trust.OPEN)},
        toolsets={KEY.toolset: Toolset(KEY.toolset, HERE)},
        overrides=overrides,
    )
    board = BoardState(Policy(declared))
    board.publish(Listing(KEY, ProviderUp(NOW), tools))
    return board


def switched_off(board: BoardState, *names: str) -> None:
    switches: dict[Switchable, Switch] = {ToolId(KEY, name): Switch(False, LOCAL_PRINCIPAL, NOW) for name in names}
    board.set_policy(replace(board.policy, decisions=PolicyDecisions(board.policy.version + 1, switches=switches)))


def names(page: ToolPage | BadCursor) -> list[Json]:
    assert isinstance(page, ToolPage)
    return [tool["name"] for tool in page.tools]


def test_a_document_holds_what_the_tool_says_and_nothing_it_does_not_say() -> None:
    assert tool_document(tool("saw"), WireName("shed__saw")) == {"name": "shed__saw", "inputSchema": {"type": "object"}}
    full = Tool(
        ToolId(KEY, "saw"),
        ToolSpec("saw", "Saw", "Cuts.", {"type": "object"}, {"type": "object"}, {"readOnlyHint": False}),
        {"icons": [], "_meta": {"a": None}, "name": "axe", "title": "Axe"},
    )
    document = tool_document(full, WireName("saw"), None, "Cuts wood.")
    assert list(document.items()) == [
        ("name", "saw"),
        ("title", "Saw"),
        ("description", "Cuts wood."),
        ("inputSchema", {"type": "object"}),
        ("outputSchema", {"type": "object"}),
        ("annotations", {"readOnlyHint": False}),
        ("icons", []),
        ("_meta", {"a": None}),
    ]


@given(st.builds(ToolSpec, st.just("saw"), st.none() | texts, texts, objects, st.none() | objects, st.none() | objects))
def test_the_text_of_a_tool_is_its_document(spec: ToolSpec) -> None:
    saw = Tool(ToolId(KEY, "saw"), spec)
    assert msgspec.json.decode(tool_text(saw, WireName("saw"))) == tool_document(saw, WireName("saw"))


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"default": float("nan")}, {"default": None}),
        ({"default": -float("inf")}, {"default": None}),
        ({"description": "NaN and Infinity"}, {"description": "NaN and Infinity"}),
        ({"description": "half \ud800"}, {"description": "half \ufffd"}),
        ({"description": "힣"}, {"description": "힣"}),
        ({"wide": [[]] * 200}, {"wide": [[]] * 200}),
    ],
    ids=["nan", "infinity", "the words", "half a character", "a character that looks like half", "wide"],
)
def test_a_schema_is_sent_as_it_came_unless_no_client_could_read_it(schema: JsonObject, sent: JsonObject) -> None:
    text = tool_text(tool("saw", input_schema=schema), WireName("saw"))
    assert msgspec.json.decode(text) == {"name": "saw", "inputSchema": sent}


def test_a_page_is_kept_once_for_both_eras() -> None:
    shown = DirectPresentation(board_of(tool("saw"))).tool_list(View())
    lists = ToolListEncoder(b',"ttlMs":0')
    old, new = (lists.page(shown, None, modern=modern) for modern in (False, True))
    assert old is not None
    assert new is not None
    assert old.text is new.text
    assert old.text + old.rest == (
        b'{"jsonrpc":"2.0","result":{"tools":[{"name":"saw","inputSchema":{"type":"object"}}]},"id":'
    )
    assert new.rest == b'],"ttlMs":0},"id":'


def test_one_tool_that_cannot_be_sent_whole_does_not_spoil_the_list() -> None:
    deep: Json = {}
    for _ in range(300):
        deep = {"properties": deep}
    odd = Tool(
        ToolId(KEY, "odd"),
        ToolSpec("odd", None, "half \ud800 pair", {"type": "object", "x": deep}, {"y": deep}),
        {"_meta": {"n": float("nan")}},
    )
    page = DirectPresentation(board_of(odd, tool("saw"))).page(View(), None)
    assert isinstance(page, ToolPage)
    assert page.tools == (
        {"name": "odd", "description": "half \ufffd pair", "inputSchema": {"type": "object"}, "_meta": {"n": None}},
        {"name": "saw", "inputSchema": {"type": "object"}},
    )
    assert json.loads(json.dumps(page.tools, allow_nan=False).encode())


def test_a_list_is_worked_out_once_for_each_state_of_the_board() -> None:
    board = board_of(tool("saw"))
    direct = DirectPresentation(board)
    assert direct.tool_list(View()) is direct.tool_list(View())
    before = direct.tool_list(View())
    switched_off(board, "saw")
    assert direct.tool_list(View()) is not before
    assert direct.tool_list(View()).fragments == ()


def test_a_document_is_made_once_for_as_long_as_its_tool_stays_the_same() -> None:
    board = board_of(tool("saw"), tool("axe"))
    direct = DirectPresentation(board)
    saw = direct.tool_list(View()).fragments[0]
    board.publish(Listing(KEY, ProviderUp(NOW), (*board.catalogue.tools.values(), tool("file"))))
    assert direct.tool_list(View()).fragments[0] is saw


def test_equal_lists_have_equal_marks_and_other_lists_have_others() -> None:
    board = board_of(tool("saw"), tool("axe"))
    direct = DirectPresentation(board)
    first = direct.tool_list(View()).fingerprint
    board.publish(Listing(KEY, ProviderUp(datetime(2026, 5, 5, tzinfo=UTC)), (tool("saw"), tool("axe"))))
    assert direct.tool_list(View()).fingerprint == first
    seen = {first}
    for tools in [
        (tool("axe"), tool("saw")),
        (tool("saw"),),
        (tool("saw", description="Cuts."), tool("axe")),
        (tool("saw", title="Saw"), tool("axe")),
        (tool("saw", annotations={"readOnlyHint": True}), tool("axe")),
        (),
    ]:
        board.publish(Listing(KEY, ProviderUp(NOW), tools))
        mark = direct.tool_list(View()).fingerprint
        assert mark not in seen
        seen.add(mark)


@pytest.mark.behaviour("overrides.name_is_for_display", "overrides.description")
def test_an_override_shows_as_title_and_description_and_its_change_is_a_change() -> None:
    board = board_of(tool("saw", title="Saw", description="Cuts."))
    direct = DirectPresentation(board)
    before = direct.tool_list(View()).fingerprint
    override = Override(KEY.toolset, ToolId(KEY, "saw"), name_override="The saw", description_override="Cuts well.")
    board.set_policy(replace(board.policy, decisions=PolicyDecisions(1, overrides=(override,))))
    (document,) = map(json.loads, direct.tool_list(View()).fragments)
    assert (document["name"], document["title"], document["description"]) == ("saw", "The saw", "Cuts well.")
    assert direct.tool_list(View()).fingerprint != before


def test_what_is_narrowed_away_or_locked_is_not_shown_and_its_schema_is_withheld() -> None:
    board = board_of(tool("saw", description=SECRET, input_schema={"const": SECRET}), tool("axe"))
    direct = DirectPresentation(board)
    nothing = View().narrow(Selection(TheseToolsets(())))
    assert (direct.input_schema(View(), "saw"), direct.input_schema(nothing, "saw")) == ({"const": SECRET}, None)
    assert direct.input_schema(View(), "hammer") is None
    switched_off(board, "saw")
    assert direct.input_schema(View(), "saw") is None
    assert SECRET not in repr(direct.tool_list(View()).fragments)


def test_a_long_list_comes_in_pages_that_join_to_the_whole() -> None:
    many = [f"tool_{number}" for number in range(2 * PAGE_SIZE + 7)]
    direct = DirectPresentation(board_of(*(tool(name) for name in many)))
    joined: list[Json] = []
    cursor, sizes = None, []
    while True:
        page = direct.page(View(), cursor)
        joined += names(page)
        sizes.append(len(names(page)))
        assert isinstance(page, ToolPage)
        if (cursor := page.next) is None:
            break
    assert (joined, sizes) == (many, [PAGE_SIZE, PAGE_SIZE, 7])


def test_a_list_of_exactly_one_page_has_no_next() -> None:
    page = DirectPresentation(board_of(*(tool(f"tool_{number}") for number in range(PAGE_SIZE)))).page(View(), None)
    assert isinstance(page, ToolPage)
    assert (len(page.tools), page.next) == (PAGE_SIZE, None)


def test_a_page_goes_on_where_the_last_one_ended_when_the_board_changed_before_it() -> None:
    many = [f"tool_{number}" for number in range(PAGE_SIZE + 3)]
    board = board_of(*(tool(name) for name in many))
    direct = DirectPresentation(board)
    first = direct.page(View(), None)
    assert isinstance(first, ToolPage)
    switched_off(board, "tool_0", "tool_7", many[PAGE_SIZE - 1])
    assert names(direct.page(View(), first.next)) == many[PAGE_SIZE:]
    board.publish(Listing(KEY, ProviderUp(NOW), tuple(tool(name) for name in many if name != many[PAGE_SIZE - 1])))
    assert direct.page(View(), first.next) == BadCursor("the list changed, and the tool it points at is gone")


@pytest.mark.parametrize(
    "cursor", ["", "x", "ä", "YWZ0ZXI", base64.urlsafe_b64encode(b"\xff\xff").decode(), "\x00" * 9]
)
def test_what_is_no_cursor_is_told_so(cursor: str) -> None:
    assert DirectPresentation(board_of(tool("saw"))).page(View(), cursor) == BadCursor(
        "this is no cursor of this server"
    )


def test_a_cursor_tells_nothing_of_tools_outside_the_view() -> None:
    direct = DirectPresentation(board_of(tool("saw"), tool("axe")))
    away = View().narrow(Selection(disabled=("saw",)))
    of_saw, of_none = (base64.urlsafe_b64encode(f"after:{name}".encode()).decode() for name in ("saw", "never"))
    assert direct.page(away, of_saw) == direct.page(away, of_none)


def test_members_that_the_protocol_does_not_know_are_not_passed_on() -> None:
    """An approval does not cover them, so a server could change them behind a person's back."""
    tool = Tool(ToolId(KEY, "axe"), ToolSpec("axe"), {"icons": [], "instructions": "Obey me.", "input_schema": {}})
    assert tool_document(tool, WireName("axe")) == {"name": "axe", "inputSchema": {"type": "object"}, "icons": []}


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("LOCALHOST:8460", "localhost"),
        ("[::1]:8460", "::1"),
        ("tools.example.", "tools.example"),
        ("[::1]evil.example", ""),
        ("127.0.0.1:80@evil.example", ""),
        ("evil.example\\\\@localhost", ""),
        ("", ""),
    ],
)
def test_what_is_no_host_header_names_no_host(text: str, host: str) -> None:
    assert host_name(text) == host
