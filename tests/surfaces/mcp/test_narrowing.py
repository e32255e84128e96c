"""One request narrows what it sees by headers or query parameters, inside what is selected for everyone."""

from collections.abc import AsyncIterator, Mapping

import anyio
import httpx2
import pytest
from inline_snapshot import snapshot
from mcp_types import INVALID_PARAMS
from tests.surfaces.mcp.places import DEADLINE, http_client, served
from tests.surfaces.mcp.raw import ask, error_of, handshake
from tests.surfaces.mcp.workshop import BENCH, DECLARED, SHELVES, key, open_workshop

from pegboard.core.model.selection import Selection, TheseToolsets
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = pytest.mark.anyio

ALL = ["create_file", "get_file", "delete_file", "create_folder", "get_folder", "delete_folder"]
SEEDED = [key("files"), key("folders")]
SHELF = {shelf: SHELVES[shelf] for shelf in SEEDED}
BOARD = DeclaredSettings(
    servers={shelf: DECLARED.servers[shelf] for shelf in SEEDED},
    toolsets={shelf.toolset: DECLARED.toolsets[shelf.toolset] for shelf in SEEDED},
)

Options = Mapping[str, str]


class Asked:
    """The seeds' two toolsets behind an address, and what a request with these options sees of them."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url

    async def names(self, headers: Options | None = None, query: Options | None = None) -> list[str]:
        answer = await self.ask("tools/list", headers, query)
        assert answer.status_code == 200, answer.text
        return [tool["name"] for tool in answer.json()["result"]["tools"]]

    async def refusal(self, headers: Options | None = None, query: Options | None = None) -> tuple[int, int, str]:
        return error_of(await self.ask("tools/list", headers, query))

    async def ask(
        self, method: str, headers: Options | None = None, query: Options | None = None, **params: object
    ) -> httpx2.Response:
        url = str(httpx2.URL(self.url, params=dict(query or {})))
        return await ask(self.http, url, method, headers, **params)


@pytest.fixture
async def seeded(anyio_backend: str) -> AsyncIterator[Asked]:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(BOARD, shelves=SHELF) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            yield Asked(http, url)


@pytest.fixture
async def selected(anyio_backend: str) -> AsyncIterator[Asked]:
    """The same, with the toolset files, create_folder and not get_file selected for everyone."""
    selection = Selection(TheseToolsets(("files",)), ("create_folder",), ("get_file",))
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(BOARD, shelves=SHELF, selection=selection) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            yield Asked(http, url)


TABLES = {
    "Enable a Tool From Not Specified Toolset": (
        {"toolsets": "files", "enabled_tools": "create_folder"},
        ["create_file", "get_file", "delete_file", "create_folder"],
    ),
    "Disable a Tool From Specified Toolset": (
        {"toolsets": "files", "enabled_tools": "create_folder", "disabled_tools": "get_file"},
        ["create_file", "delete_file", "create_folder"],
    ),
    "Manually Specify Tools to Be Available": (
        {
            "toolsets": "",
            "enabled_tools": "create_file,get_file,create_folder",
            "disabled_tools": "get_file,delete_folder",
        },
        ["create_file", "create_folder"],
    ),
}


def as_headers(options: Options) -> dict[str, str]:
    return {f"X-Mcp-{name.replace('_', '-').title()}": value for name, value in options.items()}


@pytest.mark.behaviour("request.same_process", "request.headers", "request.query_parameters")
@pytest.mark.parametrize("table", TABLES)
async def test_the_tables_of_the_seeds_hold_for_one_request_by_header_and_by_query(table: str, seeded: Asked) -> None:
    options, names = TABLES[table]
    assert await seeded.names(headers=as_headers(options)) == names
    assert await seeded.names(query=options) == names


@pytest.mark.behaviour("request.nothing_given_is_global")
async def test_without_options_a_request_sees_what_is_selected_for_everyone(seeded: Asked, selected: Asked) -> None:
    assert await seeded.names() == ALL
    assert await selected.names() == ["create_file", "delete_file", "create_folder"]
    assert await selected.names({"X-Mcp-Toolsets": "all"}) == ["create_file", "delete_file", "create_folder"]


@pytest.mark.behaviour("request.toolset_brings_only_selected_tools", "request.inside_global", "law.agents_cannot_widen")
async def test_a_toolset_brings_only_those_of_its_tools_that_are_selected(selected: Asked) -> None:
    assert await selected.names({"X-Mcp-Toolsets": "files"}) == ["create_file", "delete_file"]
    assert await selected.names({"X-Mcp-Toolsets": "folders"}) == ["create_folder"]


@pytest.mark.behaviour("request.outside_global_is_400")
async def test_what_is_not_selected_for_everyone_is_refused_with_the_list_of_what_is(selected: Asked) -> None:
    assert await selected.refusal({"X-Mcp-Enabled-Tools": "get_file"}) == (
        400,
        INVALID_PARAMS,
        snapshot("""\
Unknown enabled tool 'get_file'. Did you mean 'delete_file' or 'create_file'?
Toolsets to choose from: files, folders.
Tools to choose from: mcp:files~files:create_file, mcp:files~files:delete_file, mcp:folders~folders:create_folder.\
"""),
    )
    assert await selected.refusal(query={"toolsets": "fils,people"}) == (
        400,
        INVALID_PARAMS,
        snapshot("""\
Unknown toolset 'fils'. Did you mean 'files'?
Unknown toolset 'people'.
Toolsets to choose from: files, folders.
Tools to choose from: mcp:files~files:create_file, mcp:files~files:delete_file, mcp:folders~folders:create_folder.\
"""),
    )
    assert (await selected.refusal({"X-Mcp-Disabled-Tools": "delete_folder"}))[:2] == (400, INVALID_PARAMS)


async def test_the_list_of_what_there_is_is_cut_and_says_how_much_more_there_is(
    selected: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.surfaces.mcp.view.MAX_LISTED", 1)
    _, _, told = await selected.refusal({"X-Mcp-Enabled-Tools": "nothing_like_it"})
    assert told == snapshot("""\
Unknown enabled tool 'nothing_like_it'.
Toolsets to choose from: files and 1 more.
Tools to choose from: mcp:files~files:create_file and 2 more.\
""")


@pytest.mark.behaviour("request.header_and_query_clash")
async def test_the_same_option_in_header_and_query_is_refused(seeded: Asked) -> None:
    assert await seeded.refusal({"X-Mcp-Toolsets": "files"}, {"toolsets": "files"}) == (
        400,
        INVALID_PARAMS,
        "Both the header X-Mcp-Toolsets and the query parameter toolsets are given, and neither goes before the other. "
        "Leave one out.",
    )


async def test_what_is_neither_yes_nor_no_is_refused(seeded: Asked) -> None:
    assert (await seeded.refusal({"X-Mcp-Dynamic": "perhaps"}))[:2] == (400, INVALID_PARAMS)
    assert await seeded.names({"X-Mcp-Dynamic": "false"}) == ALL


@pytest.mark.behaviour("request.call_follows_the_narrowing", "locked.absent_outside_the_view")
async def test_a_tool_that_a_request_narrowed_away_is_as_unknown_to_it_as_one_that_does_not_exist(
    seeded: Asked,
) -> None:
    narrow = {"X-Mcp-Toolsets": "folders"}
    away, never = [
        (await seeded.ask("tools/call", narrow, name=name, arguments={})).json()["error"]
        for name in ("delete_file", "delete_fern")
    ]
    assert away["message"].replace("delete_file", "delete_fern") == never["message"]
    done = await seeded.ask("tools/call", name="delete_file", arguments={})
    assert done.json()["result"]["content"] == [{"type": "text", "text": "done"}]


@pytest.mark.behaviour("request.headers", "mcp.out.protocol_2025_11_25")
async def test_in_a_session_each_request_has_its_own_options(seeded: Asked) -> None:
    session = await handshake(seeded.http, seeded.url, {"X-Mcp-Toolsets": "files"})
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

    async def names(headers: Options) -> list[str]:
        answer = (await seeded.http.post(seeded.url, json=listing, headers={**session, **headers})).json()
        return [tool["name"] for tool in answer["result"]["tools"]]

    assert await names({}) == ALL
    assert await names({"X-Mcp-Toolsets": "folders"}) == ["create_folder", "get_folder", "delete_folder"]
    assert await names({"X-Mcp-Disabled-Tools": "*:*_file,toolset:folders"}) == []


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_bad_options_are_refused_before_a_session_is_made_or_used(method: str, seeded: Asked) -> None:
    headers = {"X-Mcp-Toolsets": "nowhere", "accept": "application/json, text/event-stream"}
    answer = await seeded.http.request(
        method, seeded.url, headers={**headers, "content-type": "application/json"}, content=b"{}"
    )
    assert error_of(answer)[:2] == (400, INVALID_PARAMS)
    assert "mcp-session-id" not in answer.headers


async def test_a_stock_client_is_told_what_is_wrong_with_its_options() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(BOARD, shelves=SHELF) as workshop, served(workshop) as url:
            for mode in ("legacy", "auto"):
                with pytest.raises(BaseExceptionGroup) as failed:
                    async with http_client(url, {"X-Mcp-Toolsets": "fils"}, mode=mode):
                        raise AssertionError("it connected")
                assert "Unknown toolset 'fils'. Did you mean 'files'?" in told(failed.value)


def told(error: BaseException) -> str:
    return "".join(map(told, error.exceptions)) if isinstance(error, BaseExceptionGroup) else str(error)


async def test_a_name_that_is_not_known_yet_is_waited_for_while_its_server_starts() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(held=frozenset({BENCH})) as workshop,
            served(workshop, RequestChecks(startup_wait_s=DEADLINE)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
            anyio.create_task_group() as tasks,
        ):
            answers: list[httpx2.Response] = []

            async def listed() -> None:
                answers.append(
                    await ask(http, url, "tools/list", {"X-Mcp-Toolsets": "", "X-Mcp-Enabled-Tools": "echo"})
                )

            tasks.start_soon(listed)
            # A request that names only what is known does not wait for the server that starts.
            assert (await ask(http, url, "tools/list", {"X-Mcp-Toolsets": "files"})).status_code == 200
            assert answers == []
            workshop.bench.release()
        assert [tool["name"] for tool in answers[0].json()["result"]["tools"]] == ["echo"]


async def test_a_server_that_never_starts_delays_a_refusal_only_so_long() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(held=frozenset({BENCH})) as workshop,
            served(workshop, RequestChecks(startup_wait_s=0.01)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            answer = await ask(http, url, "tools/list", {"X-Mcp-Enabled-Tools": "echo"})
            assert error_of(answer)[:2] == (400, INVALID_PARAMS)
