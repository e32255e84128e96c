"""Callers with credentials of their own at one gateway: each is answered as itself, and slips are told at the door."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.docspace.boards import PATIENCE, housed, listening, rooms, said_of, text_of
from tests.docspace.stand_in import ADA_KEY, BOB_KEY, PASSWORD, PAT, USERNAME, StandIn, stand_in
from tests.surfaces.mcp.places import MODES, http_client
from tests.surfaces.mcp.raw import ask, modern, modern_headers

from pegboard.config.docspace_toolsets import TOOLSETS
from pegboard.core.model.ids import ToolsetId
from pegboard.ports.audit import AuditQuery, AuditRow

pytestmark = pytest.mark.anyio
ADAS = ["Ada's forms", "Ada's team", "Ada's public room"]
BOBS = ["Bob's forms", "Bob's team", "Bob's public room"]
ROOMS = {"filters": {"fields": ["folders.title"]}}
TURNS = 15


@asynccontextmanager
async def shared(
    folder: Path, said: Mapping[str, object] | None = None, **more: object
) -> AsyncIterator[tuple[str, StandIn]]:
    """A gateway whose operator has Ada's key and lets callers bring their own, unless it is said otherwise."""
    async with stand_in() as docspace:
        own = said_of(docspace, request_credentials=True) if said is None else said
        async with housed(folder, own, **more) as house, listening(house) as url:
            yield url, docspace


def key(docspace: StandIn, value: str) -> dict[str, str]:
    return {"X-Mcp-Base-Url": docspace.url, "X-Mcp-Api-Key": value}


async def told(url: str, headers: Mapping[str, str]) -> tuple[int, str]:
    """How a list of the tools is answered to this request."""
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        answer = await ask(http, url, "tools/list", headers)
    error = answer.json().get("error")
    return answer.status_code, "" if error is None else error["message"]


@pytest.mark.behaviour("docspace.callers_apart", "docspace.request_credentials")
async def test_callers_with_different_keys_are_each_answered_as_themselves_under_load_in_both_eras(
    tmp_path: Path,
) -> None:
    heard: dict[str, set[str]] = {"ada": set(), "bob": set(), "operator": set()}

    async def work(url: str, headers: Mapping[str, str], name: str, mode: str) -> None:
        async with http_client(url, headers, mode=mode) as client:
            for turn in range(TURNS):
                if turn % 3 == 2:
                    answer = await client.call_tool("download_file_as_text", {"fileId": 101})
                    heard[name].add(text_of(answer))
                else:
                    heard[name].update(await rooms(client))

    async with shared(tmp_path) as (url, docspace), anyio.create_task_group() as tasks:
        own = {"ada": key(docspace, ADA_KEY), "bob": key(docspace, BOB_KEY), "operator": {}}
        for name, headers in own.items():
            for mode in MODES:
                tasks.start_soon(work, url, headers, name, mode)
                tasks.start_soon(work, f"{url}/direct", headers, name, mode)
    assert heard == {
        "ada": {*ADAS, "Ada wrote this.\n"},
        "bob": {*BOBS, "Bob wrote this.\n"},
        "operator": {*ADAS, "Ada wrote this.\n"},
    }
    assert {seen.header("cookie") for seen in docspace.seen} == {None}


@pytest.mark.behaviour("docspace.callers_apart")
async def test_a_session_is_no_credential_each_request_counts_by_what_it_brings(tmp_path: Path) -> None:
    """Where today's server goes on with whatever a session was opened with."""
    async with (
        shared(tmp_path) as (url, docspace),
        httpx2.AsyncClient(headers=key(docspace, ADA_KEY), timeout=PATIENCE) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        before = await rooms(client)
        http.headers.update(key(docspace, BOB_KEY))
        after = await rooms(client)
    assert (before, after) == (ADAS, BOBS)


@pytest.mark.behaviour("docspace.request_credentials")
@pytest.mark.parametrize("mode", MODES)
async def test_every_kind_of_credential_may_be_brought_and_the_place_in_the_query(mode: str, tmp_path: Path) -> None:
    async with shared(tmp_path) as (url, docspace):
        at = {"X-Mcp-Base-Url": docspace.url}
        ways = [
            (url, {**at, "X-Mcp-Auth-Token": PAT}),
            (url, {**at, "Authorization": f"Bearer {BOB_KEY}"}),
            (f"{url}?base_url={docspace.url}", {"X-Mcp-Api-Key": BOB_KEY}),
        ]
        found = []
        for where, headers in ways:
            async with http_client(where, headers, mode=mode) as client:
                found.append(text_of(await client.call_tool("get_rooms_folder", ROOMS)))
    assert [[room["title"] for room in json.loads(each)["response"]["folders"]] for each in found] == [
        *(ADAS, BOBS, BOBS),
    ]


@pytest.mark.behaviour("docspace.request_credentials")
async def test_a_user_name_and_password_may_be_brought_with_any_letters(tmp_path: Path) -> None:
    message = modern("tools/call", name="get_rooms_folder", arguments=ROOMS)
    async with shared(tmp_path) as (url, docspace), httpx2.AsyncClient(timeout=PATIENCE) as http:
        named = {"x-mcp-base-url": docspace.url, "x-mcp-username": USERNAME, "x-mcp-password": PASSWORD}
        given = [(name.encode(), value.encode()) for name, value in (modern_headers(message) | named).items()]
        answer = await http.post(url, json=message, headers=given)
    assert answer.json()["result"]["structuredContent"]["response"]["folders"][0] == {"title": ADAS[0]}


@pytest.mark.behaviour("docspace.request_credentials")
async def test_a_request_that_is_not_clear_is_refused_with_400_in_the_recorded_words(tmp_path: Path) -> None:
    async with shared(tmp_path) as (url, docspace):
        at, own = {"X-Mcp-Base-Url": docspace.url}, {"X-Mcp-Api-Key": "k"}
        assert await told(url, at) == (400, "Base URL without credentials")
        assert await told(url, {"Authorization": "Bearer z"}) == (400, "Authorization header with credentials")
        assert await told(url, own) == (
            400,
            "Parsing credential\n\tBase URL is required with API key, PAT, or (username and password)",
        )
        assert await told(f"{url}?base_url={docspace.url}", {**at, **own}) == (
            400,
            "Parsing credential\n\tBoth query and header specify base URL",
        )
        assert await told(url, {**at, **own, "X-Mcp-Auth-Token": "t"}) == (
            400,
            "Parsing credential\n\tExpected only one of API key, PAT, or (username and password) to be set",
        )
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            twice = [*key(docspace, ADA_KEY).items(), ("X-Mcp-Api-Key", BOB_KEY)]
            answer = await http.post(url, headers=twice, json={})
        assert answer.status_code == 400
        assert docspace.seen == []


@pytest.mark.behaviour("docspace.request_credentials")
async def test_without_leave_a_request_that_brings_credentials_is_refused_and_not_served_as_the_operator(
    tmp_path: Path,
) -> None:
    async with stand_in() as docspace, stand_in() as elsewhere, housed(tmp_path, said_of(docspace)) as house:
        async with listening(house) as url:
            by_headers = await told(url, key(elsewhere, BOB_KEY))
            by_query = await told(f"{url}?base_url={elsewhere.url}", {})
            async with http_client(url) as client:
                assert await rooms(client) == ADAS
        assert elsewhere.seen == []
    assert [(status, why.partition(".")[0]) for status, why in (by_headers, by_query)] == [
        (400, "This gateway takes no DocSpace credentials from callers"),
        (400, "This gateway takes no DocSpace address from callers"),
    ]


@pytest.mark.behaviour("docspace.recorded_place")
async def test_the_activity_tells_for_which_docspace_a_caller_brought_credentials(tmp_path: Path) -> None:
    async with stand_in() as docspace:
        said = said_of(docspace, request_credentials=True)
        async with housed(tmp_path, said) as house, listening(house) as url:
            start = await house.gateway.audit.latest_number()
            for headers in ({}, key(docspace, BOB_KEY)):
                async with http_client(url, headers) as client:
                    await rooms(client)
            rows: list[AuditRow] = []
            while len(rows) < 2:
                found = await house.gateway.audit.page_after(AuditQuery(kind="call"), start, wait=5)
                rows, start = [*rows, *found.rows], found.after
    plain, brought = (row.client for row in rows)
    place = docspace.url.rstrip("/")
    assert (place in plain, brought) == (False, f"{plain}, with credentials of its own for {place}")


@pytest.mark.behaviour("docspace.request_credentials")
async def test_the_token_for_the_gateway_goes_to_no_docspace(tmp_path: Path) -> None:
    token = "a-token-of-the-gateways-own"
    (tmp_path / "token").write_text(token)
    principals = {"ada": {"token": "${file:token}"}}
    bearer = {"Authorization": f"Bearer {token}"}
    async with shared(tmp_path, principals=principals) as (url, docspace):
        assert await told(url, {**bearer, "X-Mcp-Base-Url": docspace.url}) == (400, "Base URL without credentials")
        async with http_client(url, {**bearer, **key(docspace, BOB_KEY)}) as client:
            assert await rooms(client) == BOBS
        async with http_client(url, bearer) as client:
            assert await rooms(client) == ADAS
        assert not any(token in str(seen.headers) for seen in docspace.seen)


@pytest.mark.behaviour("docspace.request_credentials")
async def test_where_the_operator_has_no_credentials_a_call_without_any_says_what_to_send(tmp_path: Path) -> None:
    async with (
        stand_in() as docspace,
        housed(tmp_path, {"request_credentials": True, "request_base_urls": [docspace.url]}) as house,
        listening(house) as url,
    ):
        async with http_client(url) as client:
            assert len((await client.list_tools()).tools) == 23
            answer = await client.call_tool("get_rooms_folder", ROOMS)
            assert answer.is_error
            assert text_of(answer).startswith("Unauthorized. Send your own DocSpace credentials: X-Mcp-Base-Url with ")
        async with http_client(url, key(docspace, BOB_KEY)) as client:
            assert await rooms(client) == BOBS


@pytest.mark.behaviour("docspace.request_credentials")
async def test_what_a_request_narrows_is_within_what_the_operator_chose(tmp_path: Path) -> None:
    async with stand_in() as docspace:
        said = said_of(docspace, toolsets=["files", "people"], disabled_tools=["delete_file"])
        async with housed(tmp_path, said) as house, listening(house) as url:
            async with http_client(url, {"X-Mcp-Toolsets": "files"}) as client:
                files = [tool.name for tool in (await client.list_tools()).tools]
            async with http_client(f"{url}?enabled_tools=upload_file&toolsets=") as client:
                only = [tool.name for tool in (await client.list_tools()).tools]
            refused = await told(url, {"X-Mcp-Toolsets": "rooms"})
            widened = await told(url, {"X-Mcp-Enabled-Tools": "delete_file"})
    assert files == [name for name in TOOLSETS[ToolsetId("files")] if name != "delete_file"]
    assert only == ["upload_file"]
    assert [(status, why.splitlines()[0]) for status, why in (refused, widened)] == [
        (400, "Unknown toolset 'rooms'."),
        (400, "Unknown enabled tool 'delete_file'. Did you mean 'update_file'?"),
    ]
