"""The four toolsets as sources of tools: what they list, when they are up, and whom they ask as."""

import re
from typing import Any
from urllib.parse import parse_qsl

import anyio
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.docspace.stand_in import ADA_KEY, BOB_KEY, PAT, listening, stand_in
from tests.providers.docspace.calling import Script, ada, clock, enveloped, hung_up

from pegboard.core.calls.caller_credentials import ApiAccess, ApiKey
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import ProviderDown, ProviderOff, ProviderStart, ProviderUp
from pegboard.core.model.ids import ToolsetId, ToolsetKey
from pegboard.core.model.web_api import ApiMisconfiguration, CallerCredentialRules
from pegboard.providers.docspace import docspace_tools
from pegboard.providers.docspace.api import query_string
from pegboard.providers.docspace.models import DocSpaceTool
from pegboard.providers.docspace.provider import TOOLSETS, DocSpaceContext
from pegboard.providers.docspace.validation import ValueSender, response_issues, validate_arguments

TOOLS = {tool.name: tool for tools in TOOLSETS.values() for tool in tools}
READING = {
    *("get_file_info", "download_file_as_text", "get_folder_content", "get_folder_info", "get_my_folder"),
    *("get_room_info", "get_room_security_info", "get_rooms_folder", "get_room_types", "get_room_access_levels"),
    "get_all_people",
}

CHECK = "correct the settings of DocSpace; this says how: pegboard docspace check"


def test_twenty_three_tools_hang_in_four_toolsets_in_their_order() -> None:
    assert {name: [tool.name for tool in tools] for name, tools in TOOLSETS.items()} == {
        "files": [
            *("delete_file", "get_file_info", "update_file", "copy_batch_items", "move_batch_items"),
            *("download_file_as_text", "upload_file"),
        ],
        "folders": [
            *("create_folder", "delete_folder", "get_folder_content", "get_folder_info", "rename_folder"),
            "get_my_folder",
        ],
        "rooms": [
            *("create_room", "get_room_info", "update_room", "archive_room", "set_room_security"),
            *("get_room_security_info", "get_rooms_folder", "get_room_types", "get_room_access_levels"),
        ],
        "people": ["get_all_people"],
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_tool_claims_what_it_does_and_has_schemas_that_are_valid(tool: DocSpaceTool) -> None:
    spec = tool.spec
    reads = tool.name in READING

    assert spec.annotations == {"readOnlyHint": reads, "destructiveHint": not reads}
    for schema in (spec.input_schema, spec.output_schema):
        if schema is not None:
            jsonschema_rs.meta.validate(dict(schema))
    assert "description" not in spec.input_schema
    assert len(spec.description.splitlines()) == 1


answers: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "title", "tags", "createdBy", "files", "current", "members", "roomType", "x"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.behaviour("docspace.answers")
@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS.values() if tool.response_type is not None], ids=lambda tool: tool.name
)
@given(answer=answers)
def test_the_output_schema_allows_exactly_the_answers_that_are_passed_on(tool: DocSpaceTool, answer: Any) -> None:
    assert tool.response_type is not None
    envelope = {"response": answer, "status": 0, "statusCode": 200, "links": [], "count": None, "news": 1}
    schema: Any = tool.spec.output_schema

    assert jsonschema_rs.is_valid(dict(schema), envelope) is (not response_issues(tool.response_type, answer))


filters: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.booleans() | st.integers() | st.text() | st.lists(st.text(max_size=5), max_size=3),
    max_size=5,
)


@given(filters)
def test_a_query_reads_back_as_what_was_asked_in_its_order(asked: dict[str, Any]) -> None:
    def told(value: Any) -> str:
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)

    pairs = [
        (name, told(one)) for name, value in asked.items() for one in (value if isinstance(value, list) else [value])
    ]
    written = query_string(asked)

    assert parse_qsl(written, keep_blank_values=True) == pairs
    assert re.fullmatch(r"[A-Za-z0-9*\-._+%&=]*", written)


def test_defaults_and_members_come_in_the_order_of_the_schema() -> None:
    given: dict[str, Json] = {"filters": {"fields": ["folders.id"], "sortOrder": 1, "type": [6, 1.0], "tags": '["t"]'}}
    read = validate_arguments(TOOLS["get_rooms_folder"].arguments, given)

    assert isinstance(read["filters"], dict)
    assert query_string(read["filters"]) == ("type=6&type=1&tags=%5B%22t%22%5D&count=30&sortOrder=1&fields=folders.id")


@pytest.mark.anyio
async def test_a_toolset_is_up_while_it_runs_and_down_with_the_reason_where_it_is_not_set_up() -> None:
    set_up: list[ApiAccess | ApiMisconfiguration | None] = [ApiMisconfiguration("No username\nNo API base URL")]
    hall = DocSpaceContext(lambda: set_up[-1], clock)
    provider = docspace_tools(ToolsetKey(ToolsetId("people")), "people", hall, clock)
    assert provider.listing().health == ProviderStart(1, clock())
    names = [str(tool.id) for tool in provider.listing().tools]
    rung = anyio.Event()

    def ring() -> None:
        nonlocal rung
        rung.set()
        rung = anyio.Event()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            heard = rung
            tasks.start_soon(provider.run, ring)
            await heard.wait()
            assert provider.listing().health == ProviderDown(
                clock(), "DocSpace is misconfigured: No username; No API base URL", fix=CHECK
            )
            set_up.append(ada("http://127.0.0.1:9/"))
            heard = rung
            provider.restart()
            await heard.wait()
            assert provider.listing().health == ProviderUp(clock())
            set_up.append(None)
            heard = rung
            provider.restart()
            await heard.wait()
            assert provider.listing().health == ProviderDown(
                clock(), "DocSpace is misconfigured: No authentication method", fix=CHECK
            )
            tasks.cancel_scope.cancel()
    assert provider.listing().health == ProviderOff()
    assert names == [str(tool.id) for tool in provider.listing().tools] == ["people:get_all_people"]


@pytest.mark.anyio
async def test_what_a_caller_brings_takes_the_place_of_the_operators_where_it_may() -> None:
    async with stand_in() as docspace:
        where = {b"x-mcp-base-url": docspace.url.encode()}
        bob = {**where, b"x-mcp-api-key": BOB_KEY.encode()}
        async with hung_up(
            ada(docspace.url), lends=CallerCredentialRules(authorization=False), named=(docspace.url,)
        ) as wall:
            titles = [
                await _title(wall, headers) for headers in ({}, bob, {**where, b"x-mcp-auth-token": PAT.encode()})
            ]
            wrong = await wall.call("get_room_types", {}, where)
        async with hung_up(ada(docspace.url)) as wall:
            titles.append(await _title(wall, bob))
        async with hung_up(None, lends=CallerCredentialRules(authorization=False)) as wall:
            nobody = await wall.call("get_room_types", {}, {})

    assert titles == ["ada.txt", "bob.txt", "ada.txt", "ada.txt"]
    assert wrong["content"][0]["text"] == "Base URL without credentials"
    assert nobody["content"][0]["text"].startswith("Unauthorized. Send your own DocSpace credentials: ")
    assert (wrong["isError"], nobody["isError"]) == (True, True)


@pytest.mark.anyio
async def test_callers_at_once_never_see_each_others_answers() -> None:
    seen: dict[str, set[str]] = {ADA_KEY: set(), BOB_KEY: set()}
    async with (
        stand_in() as docspace,
        hung_up(None, lends=CallerCredentialRules(authorization=False), named=(docspace.url,)) as wall,
    ):

        async def ask(key: str) -> None:
            headers = {b"x-mcp-base-url": docspace.url.encode(), b"x-mcp-api-key": key.encode()}
            for _ in range(10):
                seen[key].add(await _title(wall, headers))

        async with anyio.create_task_group() as tasks:
            for key in (ADA_KEY, BOB_KEY) * 8:
                tasks.start_soon(ask, key)

    assert seen == {ADA_KEY: {"ada.txt"}, BOB_KEY: {"bob.txt"}}


async def _title(wall: Any, headers: dict[bytes, bytes]) -> str:
    result = await wall.call("get_file_info", {"fileId": 101, "filters": {"fields": ["title"]}}, headers)
    return str(result["structuredContent"]["response"]["title"])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("room_type", "levels"),
    [(1, [7, 9, 11]), (2, [2, 9, 10, 11]), (5, [2, 5, 6, 9, 10, 11]), (6, [9, 11]), (8, [2, 7, 9, 10, 11])],
)
async def test_the_levels_of_an_invitation_depend_on_the_room(room_type: int, levels: list[int]) -> None:
    script = Script([enveloped({"roomType": room_type})])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        schema = jsonschema_rs.validator_for(await wall.text("get_room_access_levels", {"roomId": 1}))

    assert [level for level in range(20) if schema.is_valid(level)] == levels


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("response", "told"),
    [
        ({}, "Room type is not defined."),
        ({"roomType": None}, "Room type is not defined."),
        (
            {"roomType": 3},
            "Getting room info.\n\tParsing response.\n\t\t\troomType: invalid_value Invalid option: "
            "expected one of 1|2|5|6|8",
        ),
    ],
)
async def test_a_room_of_a_type_that_nobody_knows_has_no_levels(response: Any, told: str) -> None:
    async with listening(Script([enveloped(response)])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("get_room_access_levels", {"roomId": 1}) == told


@pytest.mark.anyio
async def test_the_language_of_an_invitation_is_sent() -> None:
    script = Script([enveloped({"members": []})])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        await wall.call(
            "set_room_security",
            {
                "roomId": 1,
                "invitations": [{"email": "a@b.c", "access": 11.0}],
                "culture": "de-DE",
                "notify": False,
                "filters": {"fields": ["warning"]},
            },
        )

    [(method, line, _, body)] = script.asked
    assert (method, line, body) == (
        "PUT",
        "/api/2.0/files/rooms/1/share?fields=warning",
        b'{"invitations":[{"email":"a@b.c","access":11}],"notify":false,"culture":"de-DE"}',
    )


@pytest.mark.anyio
async def test_arguments_of_a_thousand_levels_are_told_and_not_fallen_over() -> None:
    deep: Json = []
    for _ in range(1200):
        deep = [deep]
    async with hung_up(ApiAccess("http://127.0.0.1:9/", ApiKey("k"))) as wall:
        result = await wall.call("copy_batch_items", {"fileIds": [deep]})

    assert result == {
        "content": [{"type": "text", "text": "The arguments, or the answer, are nested too deeply."}],
        "isError": True,
    }


def test_what_is_listed_says_what_a_caller_may_choose_from() -> None:
    schema: Any = TOOLS["create_room"].arguments.schema(ValueSender.CALLER)

    assert schema["properties"]["roomType"] == {
        "type": "number",
        "enum": [1, 2, 5, 6, 8],
        "description": "What kind of room. "
        "(1: form filling, 2: collaboration, 5: custom, 6: public, 8: virtual data room)",
        "default": 6,
    }
    assert schema["required"] == ["title", "filters"]


def test_an_authorization_header_alone_does_not_replace_the_operators_credentials() -> None:
    operator, key = ada("http://127.0.0.1:1"), b"a-key-of-the-caller"
    hall = DocSpaceContext(lambda: operator, clock, lends=CallerCredentialRules())
    place = {b"x-mcp-base-url": b"http://127.0.0.1:1"}
    assert hall.call_access(operator, {b"authorization": key}) is operator
    assert hall.call_access(operator, {}) is operator
    own = hall.call_access(operator, {**place, b"x-mcp-api-key": key})
    assert isinstance(own, ApiAccess)
    assert own.credential == ApiKey(key.decode())
