"""Every path of the endpoint: the chosen presentation, the fixed ones, and one toolset at a time."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import anyio
import httpx2
import pytest
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, TextContent
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served
from tests.surfaces.mcp.raw import ask, error_of, handshake
from tests.surfaces.mcp.test_meta import NAMES as META
from tests.surfaces.mcp.test_principals import ALICE, GUARDED, bearer
from tests.surfaces.mcp.test_search import NAMES as SEARCH
from tests.surfaces.mcp.test_search import body
from tests.surfaces.mcp.workshop import DECLARED, OPEN_TOOLS, Workshop, open_workshop

from pegboard.core.model.settings import PresentationMode, PresentationSettings
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.surfaces.mcp.endpoint import McpPaths

pytestmark = pytest.mark.anyio

FILES = ["create_file", "get_file", "delete_file"]


def choosing(presentation: PresentationMode, threshold: int = 100) -> DeclaredSettings:
    return replace(DECLARED, presentation=PresentationSettings(presentation, threshold))


async def listed(http: httpx2.AsyncClient, url: str, headers: Mapping[str, str] | None = None) -> list[str]:
    answer = await ask(http, url, "tools/list", headers)
    assert answer.status_code == 200, answer.text
    return [tool["name"] for tool in answer.json()["result"]["tools"]]


@pytest.mark.behaviour("present.paths", "present.chosen_by_the_operator")
@pytest.mark.parametrize(
    ("presentation", "shown"),
    [
        (PresentationMode.DIRECT, OPEN_TOOLS),
        (PresentationMode.META, META),
        (PresentationMode.SEARCH, SEARCH),
        (PresentationMode.AUTO, OPEN_TOOLS),
    ],
)
async def test_the_operator_chooses_what_is_at_mcp_and_the_other_paths_are_fixed(
    presentation: PresentationMode, shown: list[str]
) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(choosing(presentation)) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            assert await listed(http, url) == shown
            assert await listed(http, f"{url}/") == shown
            assert await listed(http, url, {"X-Mcp-Dynamic": "true"}) == META
            assert await listed(http, f"{url}?dynamic=yes") == META
            assert await listed(http, url, {"X-Mcp-Dynamic": "false"}) == OPEN_TOOLS
            assert await listed(http, f"{url}/direct") == OPEN_TOOLS
            assert await listed(http, f"{url}/meta") == META
            assert await listed(http, f"{url}/search") == SEARCH
            assert await listed(http, f"{url}/t/files") == FILES


@pytest.mark.behaviour("request.dynamic")
async def test_what_contradicts_the_path_is_refused() -> None:
    async with (
        open_workshop() as workshop,
        served(workshop, app=McpPaths(workshop.gateway)) as url,
        httpx2.AsyncClient() as http,
    ):
        for path, said in (("/search", "true"), ("/direct", "true"), ("/meta", "false")):
            status, code, message = error_of(await ask(http, f"{url}{path}", "tools/list", {"X-Mcp-Dynamic": said}))
            assert (status, code) == (400, INVALID_PARAMS)
            assert message.startswith(f"/mcp{path} has one presentation of the tools only, and the request asks for ")
        assert await listed(http, f"{url}/meta?dynamic=true") == META
        assert await listed(http, f"{url}/search", {"X-Mcp-Dynamic": "false"}) == SEARCH
        # What cannot be understood is told by whoever reads all of the request.
        status, _, message = error_of(await ask(http, f"{url}?dynamic=1", "tools/list", {"X-Mcp-Dynamic": "1"}))
        assert (status, message.split(" are given")[0]) == (
            400,
            "Both the header X-Mcp-Dynamic and the query parameter dynamic",
        )
        foreign = await http.get(f"{url}/search?dynamic=1", headers={"host": "evil.example"})
        assert foreign.status_code == 421


@pytest.mark.behaviour("request.dynamic")
async def test_a_client_that_asks_for_meta_tools_in_its_handshake_alone_keeps_them() -> None:
    async with (
        open_workshop() as workshop,
        served(workshop, app=McpPaths(workshop.gateway)) as url,
        httpx2.AsyncClient(timeout=DEADLINE) as http,
    ):
        session = await handshake(http, f"{url}?dynamic=1")
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        answer = await http.post(url, json=listing, headers=session)
        assert [tool["name"] for tool in answer.json()["result"]["tools"]] == META
        assert (await http.delete(url, headers=session)).status_code == 200
        assert (await http.post(url, json=listing, headers=session)).status_code == 404


@pytest.mark.behaviour("request.dynamic")
@pytest.mark.parametrize(("opened", "later"), [("false", "true"), ("true", "false")])
async def test_a_session_that_is_asked_for_another_presentation_than_it_was_opened_with_is_told(
    opened: str, later: str
) -> None:
    async with (
        open_workshop() as workshop,
        served(workshop, app=McpPaths(workshop.gateway)) as url,
        httpx2.AsyncClient(timeout=DEADLINE) as http,
    ):
        session = await handshake(http, f"{url}?dynamic={opened}")
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        other = error_of(await http.post(url, json=listing, headers={**session, "X-Mcp-Dynamic": later}))
        assert (other[0], other[2]) == (
            404,
            "This session was opened with another presentation of the tools than X-Mcp-Dynamic (dynamic) asks for now. "
            "Leave that out, or send initialize again.",
        )
        same = await http.post(url, json=listing, headers={**session, "X-Mcp-Dynamic": opened})
        assert same.status_code == 200


@pytest.mark.behaviour("present.toolset_path")
@pytest.mark.parametrize("mode", MODES)
async def test_one_toolset_has_an_address_of_its_own(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop, app=McpPaths(workshop.gateway)) as url:
            async with http_client(f"{url}/t/bench", mode=mode) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert names == [name for name in OPEN_TOOLS if not name.endswith(("_file", "_folder"))]
                called = await client.call_tool("echo", {"text": "hi"})
                assert called.content == [TextContent(type="text", text="hi")]
            async with http_client(f"{url}/t/FILES?disabled_tools=get_file", mode=mode) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["create_file", "delete_file"]
            async with http_client(f"{url}/t/files?dynamic=1", mode=mode) as client:
                sets = body(await client.call_tool("list_toolsets", {}))["toolsets"]
                assert [each["name"] for each in sets] == ["files"]


@pytest.mark.behaviour("present.toolset_path", "locked.absent_outside_the_view")
async def test_an_unknown_toolset_is_404_with_what_is_near() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(GUARDED) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            known = bearer(ALICE)
            near = error_of(await ask(http, f"{url}/t/fils", "tools/list", known))
            # One that she is not granted is as unknown as one that does not exist.
            hidden = error_of(await ask(http, f"{url}/t/folders", "tools/list", known))
            never = error_of(await ask(http, f"{url}/t/folderss", "tools/list", known))
            everything = error_of(await ask(http, f"{url}/t/all", "tools/list", known))
            slashed = await ask(http, f"{url}/t/files/more", "tools/list", known)
            encoded = await ask(http, f"{url}/t/files%2Fmore", "tools/list", known)
            stranger = await ask(http, f"{url}/t/fils", "tools/list")
            hers = await listed(http, f"{url}/t/files", known)
            narrowed = error_of(await ask(http, f"{url}/t/files?toolsets=fils", "tools/list", known))
    choose = "Toolsets to choose from: files. Connect to /mcp/t/NAME with one of them, or to /mcp for all tools."
    assert near == (404, INVALID_REQUEST, f"Unknown toolset 'fils'. Did you mean 'files'? {choose}")
    assert hidden == (404, INVALID_REQUEST, f"Unknown toolset 'folders'. Did you mean 'files'? {choose}")
    assert (*never[:2], never[2].replace("folderss", "folders")) == hidden
    assert everything[:2] == (404, INVALID_REQUEST)
    assert (slashed.status_code, encoded.status_code, stranger.status_code) == (404, 404, 401)
    assert hers == FILES
    assert (narrowed[0], narrowed[2].splitlines()[0]) == (400, "Unknown toolset 'fils'. Did you mean 'files'?")


@pytest.mark.behaviour("present.auto")
@pytest.mark.parametrize("mode", MODES)
async def test_above_the_threshold_auto_shows_search_and_takes_calls_either_way(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(choosing(PresentationMode.AUTO, len(OPEN_TOOLS))) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(url, mode=mode) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == OPEN_TOOLS
            await client.call_tool("grow", {})
            await _changed(workshop, lambda names: "late" in names)
            assert [tool.name for tool in (await client.list_tools()).tools] == SEARCH
            # What it was shown before is still what it was.
            again = await client.call_tool("echo", {"text": "hi"})
            assert again.content == [TextContent(type="text", text="hi")]
            found = body(await client.call_tool("retrieve_tools", {"query": "late", "limit": 1}))
            assert [tool["name"] for tool in found["tools"]] == ["late"]
            async with http_client(f"{url}?toolsets=files", mode=mode) as narrow:
                assert [tool.name for tool in (await narrow.list_tools()).tools] == FILES
            workshop.bench.shrink()
            await _changed(workshop, lambda names: "late" not in names)
            assert [tool.name for tool in (await client.list_tools()).tools] == OPEN_TOOLS
            by_search = await client.call_tool("call_tool", {"name": "echo", "arguments": {"text": "ho"}})
            assert by_search.content == [TextContent(type="text", text="ho")]
    presented = [(record.call.name, record.call.presentation) for record in workshop.audit.records]
    assert presented == [("grow", ""), ("echo", ""), ("retrieve_tools", "search"), ("echo", "search")]


async def _changed(workshop: Workshop, until: Callable[[set[str]], bool]) -> None:
    board = workshop.gateway.board
    with board.changes.subscribe() as bell:
        while not until({id.name for id in board.catalogue.tools}):
            await bell.wait()


@pytest.mark.behaviour("names.of_other_programs")
async def test_a_path_of_mcpproxy_is_told_with_ours() -> None:
    async with (
        open_workshop() as workshop,
        served(workshop, app=McpPaths(workshop.gateway)) as url,
        httpx2.AsyncClient(timeout=DEADLINE) as http,
    ):
        answer = error_of(await http.post(f"{url}/call", json={}))
    assert answer[0] == 404
    assert answer[2].startswith("Nothing is at '/mcp/call'. Did you mean '/mcp/search'? MCP clients connect to /mcp, ")
