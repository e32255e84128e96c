"""The gateway benchmark measures what it says: its upstream speaks MCP, its client counts right, its rows tell why."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from benchmarks.gateway import wire
from benchmarks.gateway.client import AnswerError, Client, Connection, Listed, Operation, connect_anew, put_load
from benchmarks.gateway.contenders import CONTENDERS, FLOOR, Contender
from benchmarks.gateway.field import Transport, field
from benchmarks.gateway.measure import Cell, Failed, Measured, Plan, measure
from benchmarks.gateway.peers.environment import Unavailable, installed
from benchmarks.gateway.placement import Placement
from benchmarks.gateway.report import Report, as_json, as_text
from benchmarks.gateway.target import ROOT, Target
from benchmarks.gateway.upstream.echo import Answer, EchoServer, Message, tools_of
from benchmarks.gateway.upstream.http import Exchange
from benchmarks.gateway.wire import Endpoint, Era
from mcp import Client as SdkClient
from mcp import MCPError, StdioServerParameters
from mcp_types import TextContent
from tests.support.fork_server import python

pytestmark = pytest.mark.anyio
DEADLINE = 240
TOOLS = 7
UNPINNED = Placement(load=None, gateway=None)
SDK_MODES = pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
ERAS = pytest.mark.parametrize("era", list(Era))


class CountingServer(EchoServer):
    """Counts the calls it answers; every `wrong_every`th answer is not the caller's own text."""

    def __init__(self, wrong_every: int = 0) -> None:
        super().__init__(TOOLS)
        self.answered = 0
        self._wrong_every = wrong_every

    def answer(self, message: Message) -> Answer:
        answer = super().answer(message)
        if message.method != "tools/call":
            return answer
        self.answered += 1
        is_wrong = self._wrong_every and self.answered % self._wrong_every == 0
        return Answer(answer.body.replace(b"client", b"nobody")) if is_wrong else answer


@asynccontextmanager
async def served(server: EchoServer, sessions: set[bytes] | None = None) -> AsyncIterator[Endpoint]:
    opened = set[bytes]() if sessions is None else sessions
    with anyio.fail_after(DEADLINE):
        listener = await asyncio.get_running_loop().create_server(lambda: Exchange(server, opened), "127.0.0.1", 0)
        async with listener:
            yield Endpoint("127.0.0.1", listener.sockets[0].getsockname()[1], "/mcp")


@asynccontextmanager
async def prepared(endpoint: Endpoint, era: Era, operation: Operation, count: int) -> AsyncIterator[list[Client]]:
    clients = [Client(endpoint, era, number) for number in range(1, count + 1)]
    for client in clients:
        await client.open()
        client.prepare(operation, await client.listed(), f"lookup_{TOOLS - 1:05d}")
    yield clients
    for client in clients:
        await client.close()


async def sent(endpoint: Endpoint, request: bytes) -> tuple[int, bytes]:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, endpoint.host, endpoint.port)
    response = await connection.send(request)
    connection.close()
    return response.status, response.body


async def check_with_sdk(client: SdkClient, version: str) -> None:
    assert client.protocol_version == version
    listed = await client.list_tools()
    assert [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools] == tools_of(TOOLS)
    echoed = await client.call_tool("echo", {"text": 'ünïcode "quoted"\n'})
    assert (echoed.content, echoed.is_error) == ([TextContent(type="text", text='ünïcode "quoted"\n')], False)
    with pytest.raises(MCPError, match="no tool 'unheard_of'"):
        await client.call_tool("unheard_of", {"a": 1})
    with pytest.raises(MCPError, match="arguments of 'echo'"):
        await client.call_tool("echo", {"text": 3})


@SDK_MODES
async def test_the_upstream_answers_the_sdk_client_over_http(mode: str, version: str) -> None:
    async with (
        served(EchoServer(TOOLS)) as endpoint,
        SdkClient(f"http://{endpoint.authority}/mcp", mode=mode) as client,
    ):
        await check_with_sdk(client, version)


@pytest.mark.slow
@SDK_MODES
async def test_the_upstream_answers_the_sdk_client_over_stdio(mode: str, version: str) -> None:
    command = ["-m", "benchmarks.gateway.upstream.stdio", "--tools", str(TOOLS)]
    with anyio.fail_after(DEADLINE):
        async with SdkClient(StdioServerParameters(command=python(), args=command, cwd=ROOT), mode=mode) as client:
            await check_with_sdk(client, version)


async def test_the_upstream_serves_the_session_era_only_within_a_session() -> None:
    sessions = set[bytes]()
    async with served(EchoServer(TOOLS), sessions) as endpoint:

        def listing(session: str | None) -> bytes:
            return wire.post(endpoint, Era.SESSION, "tools/list", {}, number=1, session=session)

        assert (await sent(endpoint, listing(None)))[0] == 400
        assert (await sent(endpoint, listing("0" * 32)))[0] == 404
        client = Client(endpoint, Era.SESSION, 1)
        await client.open()
        (session,) = sessions
        assert (await sent(endpoint, listing(session.decode())))[0] == 200
        await client.close()
        assert sessions == set()
        assert (await sent(endpoint, listing(session.decode())))[0] == 404


async def test_the_upstream_refuses_a_stateless_request_whose_headers_disagree_with_its_body() -> None:
    async with served(EchoServer(TOOLS)) as endpoint:
        call = wire.post(endpoint, Era.STATELESS, "tools/call", {"name": "echo", "arguments": {"text": "a"}}, number=1)
        assert (await sent(endpoint, call))[0] == 200
        for header in (b"mcp-name: echo", b"mcp-method: tools/call"):
            status, body = await sent(endpoint, call.replace(header, header.replace(b"o", b"0")))
            assert (status, msgspec.json.decode(body)["error"]["code"]) == (400, -32020)
        status, body = await sent(endpoint, call.replace(b'"jsonrpc"', b'!jsonrpc"'))
        assert (status, msgspec.json.decode(body)["error"]["code"]) == (400, -32700)


@ERAS
@pytest.mark.parametrize("operation", list(Operation))
async def test_the_load_client_counts_every_call_it_makes_and_no_other(era: Era, operation: Operation) -> None:
    server = CountingServer()
    async with served(server) as endpoint, prepared(endpoint, era, operation, 3) as clients:
        load = await put_load(clients, 0.05)
        assert load.calls > 0
        assert (load.errors, load.problem) == (0, "")
        assert server.answered == (load.calls if operation is Operation.CALL else 0)
        assert 0 < load.p50 <= load.p99 <= load.seconds


async def test_an_answer_meant_for_another_client_is_an_error_and_not_a_call() -> None:
    server = CountingServer(wrong_every=3)
    async with served(server) as endpoint, prepared(endpoint, Era.STATELESS, Operation.CALL, 2) as clients:
        load = await put_load(clients, 0.05)
        assert (load.calls, load.errors) == (server.answered - server.answered // 3, server.answered // 3)
        assert "nobody" in load.problem


async def test_a_session_outlives_its_connection() -> None:
    async with served(EchoServer(TOOLS)) as endpoint, prepared(endpoint, Era.SESSION, Operation.CALL, 2) as clients:
        await connect_anew(clients)
        load = await put_load(clients, 0.05)
        assert (load.errors, load.problem) == (0, "")


async def test_a_load_without_one_good_answer_is_no_measurement() -> None:
    server = CountingServer(wrong_every=1)
    async with served(server) as endpoint, prepared(endpoint, Era.STATELESS, Operation.CALL, 1) as clients:
        with pytest.raises(AnswerError, match="no call succeeded: status 200"):
            await put_load(clients, 0.01)


async def test_a_list_in_pages_counts_as_one_list() -> None:
    endpoint = Endpoint("127.0.0.1", 1, "/mcp")
    client = Client(endpoint, Era.STATELESS, 1)
    client.prepare(Operation.LIST, Listed(("a", "b"), (None, "next")), "b")
    bodies = [msgspec.json.decode(step.request.split(b"\r\n\r\n")[1]) for step in client.steps]
    assert [body["params"].get("cursor") for body in bodies] == [None, "next"]
    assert [step.expected for step in client.steps] == [b'"tools"', b"b"]


def contenders(*keys: str) -> list[Contender]:
    return [contender for contender in CONTENDERS if contender.key in keys]


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_floor_and_sdk_gateway_are_measured_in_turn_in_every_cell(transport: Transport, tmp_path: Path) -> None:
    plan = Plan(seconds=0.1, windows=2, concurrency=3)
    every = [(operation, era) for operation in Operation for era in Era]
    # Clients speak HTTP to both; which upstream is behind the gateway makes no difference to them.
    chosen = every if transport == "http" else [*zip(Operation, Era, strict=True)]
    cells = [Cell(operation, era, transport, TOOLS) for operation, era in chosen]
    with anyio.fail_after(DEADLINE):
        async with field(transport, TOOLS, contenders(FLOOR, "sdk"), UNPINNED, tmp_path) as running:
            results = [await measure(cell, running, plan) for cell in cells]
    for result in results:
        floor, sdk = result.rows
        assert isinstance(floor, Measured), floor
        assert isinstance(sdk, Measured), sdk
        assert (floor.errors, sdk.errors, len(floor.windows)) == (0, 0, 2)
        assert floor.resident_bytes > 0
        assert floor.first_list_seconds > 0
        assert (result.ceiling_calls_per_second is None) == (transport == "stdio")
    # A short window can be over before the kernel counts a tick, so only the sum is sure to be more than nothing.
    for place in (0, 1):
        rows = [row for result in results if isinstance(row := result.rows[place], Measured)]
        assert sum(window.cpu_seconds for row in rows for window in row.windows) > 0
    report = Report(results, [], None, plan, "here")
    side_by_side = len(Operation) if transport == "http" else 0
    assert as_text(report).count("\nfloor: bare ASGI") == len(cells) + side_by_side
    assert [len(cell["rows"]) for cell in as_json(report)["cells"]] == [2] * len(cells)


def ends_at_once(target: Target, folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", "raise SystemExit('no such luck')")


def is_not_installed(target: Target, folder: Path) -> Unavailable:
    return Unavailable("it could not be installed")


@pytest.mark.slow
async def test_a_gateway_that_cannot_run_says_why_and_the_rest_goes_on(tmp_path: Path) -> None:
    broken = [Contender("broken", "Broken", ends_at_once), Contender("missing", "Missing", is_not_installed)]
    plan = Plan(seconds=0.05, windows=1, concurrency=1)
    with anyio.fail_after(DEADLINE):
        async with field("http", TOOLS, [*broken, *contenders(FLOOR)], UNPINNED, tmp_path) as running:
            result = await measure(Cell(Operation.CALL, Era.STATELESS, "http", TOOLS), running, plan)
    *failures, floor = result.rows
    assert failures == [
        Failed("broken", "Broken", "it ended with status 1: no such luck"),
        Failed("missing", "Missing", "it could not be installed"),
    ]
    assert isinstance(floor, Measured)
    assert "Missing" in as_text(Report([result], [], None, plan, "here"))


@pytest.mark.slow
def test_a_peer_that_cannot_be_installed_is_unavailable_and_leaves_no_half_made_folder(tmp_path: Path) -> None:
    outcome = installed((str(tmp_path / "no-such-wheel-1.0-py3-none-any.whl"),), tmp_path / "environment")
    assert isinstance(outcome, Unavailable)
    assert "could not be installed" in outcome.reason
    assert not (tmp_path / "environment").exists()
