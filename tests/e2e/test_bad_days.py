"""What goes wrong on a real day, against a whole gateway in its own process: each ends well."""

import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
import psutil
import pytest
from mcp import Client
from tests.e2e.served import Served, environment, served, warm_pegboard
from tests.servers.peers import command, warm_command
from tests.surfaces.mcp.raw import ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


def server(program: str, *arguments: str, fresh: bool = False, **more: object) -> dict[str, object]:
    executable, *rest = command(program, *arguments) if fresh else warm_command(program, *arguments)
    return {"command": executable, "args": rest, "trust": "open", **more}


CROWD = {
    **{name: server("everyday") for name in ("good", "second", "killed", "other")},
    "brief": server("hung", "--after-initialize", timeouts={"call": 0.5}),
    "patient": server("hung", "--after-initialize", timeouts={"call": 600}),
    "crashing": server("crash_on_start"),
    "hung": server("hung"),
    "flood": server("flood", "--pause", "0.05"),
    "liar": server("liar"),
    "slow": server("slow_list", "600"),
    "endless": server("endless_pages"),
    "missing": {"command": "no-such-program-anywhere"},
}
"""Good servers among every kind of bad one."""
USABLE = ("good", "second", "killed", "other", "brief", "patient", "flood")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for the whole module, so that the crowded gateway stays open from test to test."""
    return "asyncio"


@pytest.fixture(scope="module")
async def crowded(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with served(tmp_path_factory.mktemp("crowded"), {"servers": CROWD}) as gateway:
        with anyio.fail_after(120):
            await gateway.until("/servers", holds=is_up(*USABLE))
        yield gateway


def states(body: Any) -> dict[str, str]:
    return {one["serverId"]: one["health"]["state"] for one in body["servers"]}


def is_up(*names: str) -> Any:
    return lambda body: all(states(body).get(name) == "up" for name in names)


async def pid_of(client: Client, name: str = "whoami") -> int:
    told = (await client.call_tool(name, {})).structured_content
    assert told is not None
    return int(told["pid"])


@pytest.mark.behaviour("supervision.killed_mid_call", "supervision.recovers")
async def test_a_server_killed_mid_call_loses_that_call_alone_and_comes_back(crowded: Served) -> None:
    ended: dict[str, Any] = {}

    async def call(client: Client, name: str, arguments: dict[str, int], heard: anyio.Event) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.set()

        ended[name] = await client.call_tool(name, arguments, progress_callback=hear)

    with anyio.fail_after(120):
        async with Client(crowded.endpoint) as client:
            pid = await pid_of(client, "killed__whoami")
            asleep = anyio.Event()
            async with anyio.create_task_group() as tasks:
                # Ends when a call of the other server was given up, so it is under way all the time.
                tasks.start_soon(call, client, "other__cancellations", {"at_least": 1}, anyio.Event())
                async with anyio.create_task_group() as killed:
                    killed.start_soon(call, client, "killed__sleepy", {"seconds": 600}, asleep)
                    await asleep.wait()
                    psutil.Process(pid).send_signal(signal.SIGKILL)
                assert ended.keys() == {"killed__sleepy"}
                await give_up(client, "other__sleepy")
            assert ended["killed__sleepy"].is_error
            assert "may have run" in ended["killed__sleepy"].content[0].text
            assert ended["other__cancellations"].structured_content == {"result": 1}
            await crowded.until("/servers", holds=is_up("killed", "other"))
            assert await pid_of(client, "killed__whoami") != pid


async def give_up(client: Client, sleepy: str) -> None:
    """Call it, and cancel the call once it runs."""
    asleep = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        asleep.set()

    async def sleep() -> None:
        await client.call_tool(sleepy, {"seconds": 600}, progress_callback=hear)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep)
        await asleep.wait()
        tasks.cancel_scope.cancel()


@pytest.mark.behaviour("supervision.changes_during_a_call")
async def test_a_server_that_changes_its_tools_during_a_call_ends_it_well_and_the_next_is_judged_by_the_new_list(
    tmp_path: Path,
) -> None:
    ended: list[Any] = []
    with anyio.fail_after(120):
        async with served(tmp_path, {"servers": {"day": server("everyday", trust="baseline")}}) as gateway:
            await gateway.until("/servers", holds=is_up("day"))
            async with Client(gateway.endpoint) as client, Client(gateway.endpoint) as other:

                async def wait() -> None:
                    ended.append(await client.call_tool("cancellations", {"at_least": 1}))

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(wait)
                    assert (await other.call_tool("echo", {"text": "as it was"})).is_error is not True
                    await other.call_tool("rename_description", {"description": "Now reads your mail."})
                    await gateway.until("/why?tool=echo", holds=lambda why: why.get("status") == "pending_approval")
                    refused: Any = await other.call_tool("echo", {"text": "as it is"})
                    grown: Any = await other.call_tool("grow", {})
                    await gateway.until(
                        f"/why?tool={grown.content[0].text}", holds=lambda why: why.get("status") == "pending_approval"
                    )
                    new: Any = await other.call_tool(grown.content[0].text, {})
                    assert ended == []
                    await give_up(other, "sleepy")
    assert ended[0].structured_content == {"result": 1}
    for one in (refused, new):
        assert one.is_error
        assert one.content[0].text.startswith("pending_approval: ")
        assert "mail" not in one.content[0].text


@pytest.mark.behaviour("supervision.deadlines", "supervision.slow_server_is_alone")
async def test_a_hung_call_ends_at_its_deadline_and_holds_up_no_other(crowded: Served) -> None:
    with anyio.fail_after(120):
        async with Client(crowded.endpoint) as client, anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(client.call_tool, "patient__wait", {})
            answers: list[Any] = [await client.call_tool("good__echo", {"text": str(number)}) for number in range(20)]
            assert [answer.content[0].text for answer in answers] == [str(number) for number in range(20)]
            late: Any = await client.call_tool("brief__wait", {})
            assert late.is_error
            assert "did not answer within 0.5 s" in late.content[0].text
            assert "may have run" in late.content[0].text
            assert is_up("brief", "patient", "good")(await crowded.ask("/servers"))
            tasks.cancel_scope.cancel()


@pytest.mark.behaviour("supervision.broken_server_is_alone")
async def test_a_server_that_floods_is_called_and_drowns_no_other(tmp_path: Path) -> None:
    """By itself, because it costs a whole core as long as it runs."""
    servers = {"flood": server("flood"), "good": server("crash_on_call")}
    with anyio.fail_after(120):
        async with served(tmp_path, {"servers": servers}, fresh=True) as gateway:
            await gateway.until("/servers", holds=is_up(*servers))
            async with Client(gateway.endpoint) as client:
                for number in range(10):
                    for name in ("flood__echo", "good__echo"):
                        answer: Any = await client.call_tool(name, {"text": f"{name} {number}"})
                        assert answer.content[0].text == f"{name} {number}"
            assert psutil.Process(gateway.process.pid).memory_info().rss < 400_000_000


@pytest.mark.behaviour("config.broken_edit_keeps_the_board", "config.broken_edit_is_told", "config.reloaded_on_change")
async def test_a_broken_edit_keeps_the_board_and_is_told_until_it_is_mended(tmp_path: Path) -> None:
    with anyio.fail_after(120):
        async with served(tmp_path, {"servers": {"day": server("everyday")}}) as gateway:
            await gateway.until("/servers", holds=is_up("day"))
            async with Client(gateway.endpoint) as client:
                pid = await pid_of(client)
                good = gateway.config.read_text("utf-8")
                gateway.config.write_text(good + "servrs: {}\n", "utf-8")
                told = await gateway.until("/servers", holds=lambda body: bool(body["notices"]))
                line = len(good.splitlines()) + 1
                assert f"{gateway.config}:{line}" in told["notices"][0]["message"]
                assert "servers" in told["notices"][0]["message"]
                code, found = await gateway.pegboard("doctor")
                assert code == 1
                assert any(f":{line}" in finding["message"] for finding in found["findings"])
                assert (await client.call_tool("echo", {"text": "still here"})).is_error is not True
                gateway.config.write_text(good + "deny: ['*:echo']\n", "utf-8")
                await gateway.until("/servers", holds=lambda body: not body["notices"])
                why = await gateway.ask("/why?tool=echo")
                assert why["status"] == "disabled_by_config"
                assert (await client.call_tool("echo", {"text": "not any more"})).is_error is True
                assert await pid_of(client) == pid, "a server that did not change keeps its connection"


@pytest.mark.behaviour("supervision.two_hundred_parallel_calls")
async def test_two_hundred_parallel_calls_over_two_servers_each_get_their_own_answer(crowded: Served) -> None:
    answers: dict[int, str] = {}
    with anyio.fail_after(120):
        async with httpx2.AsyncClient(timeout=120, trust_env=False) as http:

            async def call(number: int) -> None:
                name = f"{'good' if number % 2 else 'second'}__echo"
                answer = await ask(
                    http, crowded.endpoint, "tools/call", name=name, arguments={"text": f"call {number}"}
                )
                answers[number] = answer.json()["result"]["content"][0]["text"]

            async with anyio.create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(call, number)
    assert answers == {number: f"call {number}" for number in range(200)}


@pytest.mark.behaviour("supervision.slow_reader")
async def test_a_client_that_never_reads_holds_up_nobody_else(crowded: Served) -> None:
    with anyio.fail_after(120), Deaf(crowded, 20):
        async with Client(crowded.endpoint) as client:
            for number in range(20):
                assert (await client.call_tool("good__echo", {"text": str(number)})).is_error is not True


class Deaf:
    """Connections that ask for five megabytes each and read nothing of it."""

    def __init__(self, gateway: Served, count: int) -> None:
        self._place = urlsplit(gateway.endpoint)
        self._count = count
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> None:
        body = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"second__big","arguments":{"bytes":5000000},'
            b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
            b'"io.modelcontextprotocol/clientInfo":{"name":"deaf","version":"1"},'
            b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
        )
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {self._place.netloc}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: second__big\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        for _ in range(self._count):
            one = socket.create_connection((self._place.hostname or "", self._place.port or 0))
            one.sendall(head + body)
            self._sockets.append(one)

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            one.close()


@pytest.mark.behaviour("supervision.broken_server_is_alone", "supervision.slow_server_is_alone")
async def test_broken_hung_slow_and_lying_servers_neither_delay_nor_hide_a_good_one(crowded: Served) -> None:
    with anyio.fail_after(120):
        async with Client(crowded.endpoint) as client:
            assert "good__add" in [tool.name for tool in (await client.list_tools()).tools]
            added = await client.call_tool("good__add", {"a": 2, "b": 3})
            assert added.structured_content == {"total": 5}
        told = states(await crowded.ask("/servers"))
        assert {told[name] for name in ("crashing", "missing")} <= {"down", "starting"}
        assert {told[name] for name in ("hung", "slow")} == {"starting"}


FRESH = server("many", "1", fresh=True)
"""Starts fast in a process of its own."""


@pytest.mark.behaviour("supervision.nothing_left_behind")
async def test_a_stopped_gateway_leaves_no_process_behind(tmp_path: Path) -> None:
    board = {"servers": {"mild": FRESH, "stubborn": server("stubborn", fresh=True, timeouts={"stop": 0.5})}}
    with anyio.fail_after(120):
        async with served(tmp_path, board) as gateway:
            await gateway.until("/servers", holds=is_up("mild", "stubborn"))
            children = gateway.children()
            assert len(children) >= 2
            assert await gateway.stop() == 0
        assert [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []
        assert not (gateway.data_dir / "gateway.json").exists()


@pytest.mark.behaviour("supervision.killed_gateway_leaves_nothing")
async def test_a_killed_gateway_leaves_no_process_behind(tmp_path: Path) -> None:
    """Not even one that ignores the end of its input and every request to end."""
    with anyio.fail_after(120):
        async with served(
            tmp_path, {"servers": {"mild": FRESH, "stubborn": server("stubborn", fresh=True)}}
        ) as gateway:
            await gateway.until("/servers", holds=is_up("mild", "stubborn"))
            children = gateway.children()
            assert len(children) >= 2
            await gateway.kill()
            await anyio.to_thread.run_sync(psutil.wait_procs, children, 60)
        assert [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.behaviour("cli.servers_add", "store.kill_loses_no_policy")
async def test_what_people_decided_outlives_a_killed_gateway(tmp_path: Path) -> None:
    with anyio.fail_after(120):
        async with served(tmp_path, {"servers": {"day": FRESH}}) as gateway:
            await gateway.until("/servers", holds=is_up("day"))
            executable, *rest = command("many", "2")
            code, _ = await gateway.pegboard("servers", "add", "extra", "--trust", "open", "--", executable, *rest)
            assert code == 0
            await gateway.until("/servers", holds=is_up("day", "extra"))
            await gateway.kill()
            _, body = await gateway.pegboard("servers", "list")
            assert states(body) == {"extra": "off"}
            assert body["gatewayRunning"] is False
        words = ["servers", "list", "--json", "--config", str(gateway.config), "--data-dir", str(gateway.data_dir)]
        done = await anyio.run_process([*warm_pegboard(), *words], env=environment(tmp_path))
        assert b"day~day" in done.stdout
