"""Every way a client reaches the gateway with every way the gateway reaches a server: what must pass does in each."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from benchmarks.gateway.wire import answer_in
from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.e2e.served import Served, as_stdio, served
from tests.servers import peers
from tests.surfaces.mcp.raw import handshake, modern, modern_headers

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(400)]

PATIENCE = 90
UPSTREAMS = ("stdio", "http_2025", "http_2026", "sse")
CLIENTS = ("stdio auto", "http legacy", "http 2026-07-28")
FIVE_MEGABYTES = "Grüße 🔨" * 416_667
TWENTY_MEGABYTES = 20_000_000
TOOLS_OF_EACH = 15

Ask = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for the whole module, so that gateways and clients stay open from test to test."""
    return "asyncio"


@pytest.fixture(scope="module")
async def gateway(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """In front of one server for each transport and era, each with the same tools."""
    async with AsyncExitStack() as stack:
        addresses = {
            "http_2025": await stack.enter_async_context(peers.http("everyday", "--handshake-only")),
            "http_2026": await stack.enter_async_context(peers.http("everyday")),
            "sse": await stack.enter_async_context(peers.http("everyday", "--handshake-only", transport="sse")),
        }
        executable, *arguments = peers.warm_command("everyday")
        servers: dict[str, dict[str, object]] = {"stdio": {"command": executable, "args": arguments, "trust": "open"}}
        for name, address in addresses.items():
            kind = "sse" if name == "sse" else "http"
            servers[name] = {"url": address, "transport": kind, "trust": "open"}
        running = await stack.enter_async_context(served(tmp_path_factory.mktemp("gateway"), {"servers": servers}))
        with anyio.fail_after(PATIENCE):
            await running.until("/servers", holds=all_up)
        yield running


@pytest.fixture(scope="module", params=CLIENTS)
async def client(
    request: pytest.FixtureRequest, gateway: Served, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    transport, _, mode = request.param.partition(" ")
    reached = gateway.endpoint if transport == "http" else as_stdio(gateway.config, tmp_path_factory.mktemp("stdio"))
    async with Client(reached, mode=mode) as connected:
        await until_listed(connected)
        yield connected


def all_up(body: Any) -> bool:
    return [one["health"]["state"] for one in body["servers"]] == ["up"] * len(UPSTREAMS)


async def until_listed(client: Client) -> None:
    """A gateway over stdio begins with the client: its servers come one by one."""
    wanted = {f"{upstream}__echo" for upstream in UPSTREAMS}
    with anyio.fail_after(PATIENCE):
        while not wanted <= {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}:
            pass


async def with_each(act: Callable[[str], Awaitable[object]], upstreams: Sequence[str] = UPSTREAMS) -> dict[str, object]:
    """What came of it with each server, one after the other."""
    ended: dict[str, object] = {}
    for upstream in upstreams:
        with anyio.fail_after(PATIENCE):
            ended[upstream] = await act(upstream)
    return ended


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def cancellations(client: Client, upstream: str, at_least: int = 0) -> int:
    told = (await client.call_tool(f"{upstream}__cancellations", {"at_least": at_least})).structured_content
    assert told is not None
    return int(told["result"])


@pytest.mark.behaviour("pairings.progress")
async def test_progress_reaches_the_client_in_every_pairing(client: Client) -> None:
    async def slept(upstream: str) -> object:
        told: list[tuple[float, float | None, str | None]] = []
        last = anyio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))
            if progress == 1:
                last.set()

        arguments = {"seconds": 0.1, "steps": 2}
        answer = await client.call_tool(f"{upstream}__sleepy", arguments, progress_callback=hear)
        await last.wait()
        return text_of(answer), sorted(told)

    steps = [(0, 1, "asleep"), (0.5, 1, None), (1, 1, None)]
    assert await with_each(slept) == dict.fromkeys(UPSTREAMS, ("slept 0.1 s", steps))


@pytest.mark.behaviour("mcp.in.cancellation", "pairings.cancellation")
async def test_a_call_that_the_client_gives_up_is_given_up_by_the_server_in_every_pairing(client: Client) -> None:
    async def given_up(upstream: str) -> object:
        before = await cancellations(client, upstream)
        asleep = anyio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            asleep.set()

        async def sleep() -> None:
            await client.call_tool(f"{upstream}__sleepy", {"seconds": 600}, progress_callback=hear)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleep)
            await asleep.wait()
            tasks.cancel_scope.cancel()
        return await cancellations(client, upstream, before + 1) - before

    assert await with_each(given_up) == dict.fromkeys(UPSTREAMS, 1)


@pytest.mark.behaviour("pairings.large")
@pytest.mark.parametrize(
    ("way", "upstreams"),
    [
        # Between both sides lies one value in memory: each way of a side is a path of its own, each pair is not.
        ("http 2026-07-28", UPSTREAMS),
        ("http legacy", ("http_2025",)),
        ("stdio auto", ("stdio",)),
        *(pytest.param(way, UPSTREAMS, marks=pytest.mark.soak) for way in ("http legacy", "stdio auto")),
    ],
)
async def test_an_argument_of_5_mb_and_a_result_of_20_mb_pass_whole_in_every_pairing(
    gateway: Served, way: str, upstreams: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def carried(upstream: str) -> object:
        echoed = text_in(await ask("tools/call", name=f"{upstream}__echo", arguments={"text": FIVE_MEGABYTES}))
        large = text_in(await ask("tools/call", name=f"{upstream}__big", arguments={"bytes": TWENTY_MEGABYTES}))
        return echoed == FIVE_MEGABYTES, len(large), large.count("x")

    assert len(FIVE_MEGABYTES.encode()) >= 5_000_000
    async with AsyncExitStack() as stack:
        if way.startswith("stdio"):
            ask = await stack.enter_async_context(by_lines(gateway, tmp_path_factory.mktemp("lines")))
        else:
            ask = await stack.enter_async_context(by_posts(gateway, way))
        whole = (True, TWENTY_MEGABYTES, TWENTY_MEGABYTES)
        assert await with_each(carried, upstreams) == dict.fromkeys(upstreams, whole)


def text_in(answer: Any) -> str:
    (block,) = answer["result"]["content"]
    return str(block["text"])


@asynccontextmanager
async def by_posts(gateway: Served, way: str) -> AsyncIterator[Ask]:
    """Requests written by hand, because reading so much costs a stock client seconds of its own."""
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        session = await handshake(http, gateway.endpoint) if way == "http legacy" else None

        async def ask(method: str, **params: Any) -> Any:
            message = modern(method, **params)
            if session is not None:
                del message["params"]["_meta"]
            headers = session or modern_headers(message)
            answer = await http.post(gateway.endpoint, json=message, headers=headers)
            return answer_in(answer.content, answer.headers["content-type"])

        yield ask


@asynccontextmanager
async def by_lines(gateway: Served, data_dir: Path) -> AsyncIterator[Ask]:
    """The same over stdio, to a gateway of its own."""
    started = as_stdio(gateway.config, data_dir)
    async with await anyio.open_process([started.command, *started.args], env=started.env, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        async def ask(method: str, **params: Any) -> Any:
            await stdin.send(json.dumps(modern(method, **params)).encode() + b"\n")
            pieces = [await stdout.receive(2**20)]
            while not pieces[-1].endswith(b"\n"):
                pieces.append(await stdout.receive(2**20))
            return json.loads(b"".join(pieces))

        with anyio.fail_after(PATIENCE):
            while len((await ask("tools/list"))["result"]["tools"]) < len(UPSTREAMS) * TOOLS_OF_EACH:
                pass
        yield ask
        await stdin.aclose()


@pytest.mark.behaviour("mcp.in.cancellation", "pairings.cancellation")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_hangs_up_gives_up_its_call_at_every_server(gateway: Served, mode: str) -> None:
    async def hung_up(upstream: str) -> object:
        async with Client(gateway.endpoint, mode="auto") as other, httpx2.AsyncClient(timeout=PATIENCE) as http:
            before = await cancellations(other, upstream)
            call = modern("tools/call", name=f"{upstream}__sleepy", arguments={"seconds": 600})
            headers = modern_headers(call)
            if mode == "legacy":
                call["params"].pop("_meta")
                headers = await handshake(http, gateway.endpoint)
            call["params"].setdefault("_meta", {})["progressToken"] = "watched"
            async with http.stream("POST", gateway.endpoint, json=call, headers=headers) as answer:
                async for line in answer.aiter_lines():
                    if "notifications/progress" in line:
                        break
            return await cancellations(other, upstream, before + 1) - before

    assert await with_each(hung_up) == dict.fromkeys(UPSTREAMS, 1)


@pytest.mark.behaviour("mcp.in.cancellation", "pairings.cancellation")
async def test_a_client_over_stdio_that_leaves_gives_up_its_calls_at_every_server_that_stays(
    gateway: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    remote = [upstream for upstream in UPSTREAMS if upstream != "stdio"]
    asleep = {upstream: anyio.Event() for upstream in remote}

    async def sleep(client: Client, upstream: str) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            asleep[upstream].set()

        await client.call_tool(f"{upstream}__sleepy", {"seconds": 600}, progress_callback=hear)

    with anyio.fail_after(PATIENCE):
        async with Client(gateway.endpoint) as other:
            before = {upstream: await cancellations(other, upstream) for upstream in remote}
            async with Client(as_stdio(gateway.config, tmp_path_factory.mktemp("leaving"))) as leaving:
                await until_listed(leaving)
                async with anyio.create_task_group() as tasks:
                    for upstream in remote:
                        tasks.start_soon(sleep, leaving, upstream)
                    for event in asleep.values():
                        await event.wait()
                    tasks.cancel_scope.cancel()
            for upstream in remote:
                assert await cancellations(other, upstream, before[upstream] + 1) == before[upstream] + 1
