"""Servers that break the rules: each costs itself what it must, and the gateway nothing."""

import asyncio
import json
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest
from tests.providers.mcp.running import program, running, server

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import ListingProblem, ProviderStart, ProviderUp
from pegboard.core.model.server import Stdio
from pegboard.processes.output import MAX_LINES
from pegboard.providers.mcp import discovery as listing
from pegboard.providers.mcp import lifecycle as connect
from pegboard.providers.mcp import lifecycle as life
from pegboard.providers.mcp.messages import OutputLineSplitter
from pegboard.providers.mcp.transports import stdio

pytestmark = pytest.mark.anyio

PEERS = Path(__file__).parent / "peers"


def peer(name: str, *arguments: str) -> Stdio:
    return Stdio(sys.executable, (str(PEERS / f"{name}.py"), *arguments))


def text(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess), outcome
    said = json.loads(outcome.body)["content"][0]["text"]
    assert isinstance(said, str)
    return said


@pytest.mark.behaviour("supervision.nothing_left_behind")
async def test_a_server_that_ignores_every_request_to_end_is_ended() -> None:
    async with running(server(program("stubborn"), stop=0.5)) as watched:
        await watched.up()
        pid = int(text(await watched.call("whoami")))
    assert not psutil.pid_exists(pid)


@pytest.mark.behaviour("supervision.nothing_left_behind")
async def test_what_a_server_started_goes_with_it_even_if_it_left_the_group() -> None:
    async with running(server(peer("family"), stop=1.0)) as watched:
        await watched.up()
        children = [psutil.Process(int(pid)) for pid in text(await watched.call("family")).split()]
    assert [child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children] == [False, False]


async def test_a_server_that_left_while_its_child_holds_the_output_is_seen_to_have_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "_LAST_OUTPUT_S", 0.1)
    async with running(server(peer("restless"), stop=1.0), sleep=anyio.sleep, chance=lambda: 1.0) as watched:
        await watched.up()
        assert text(await watched.call("leave")) == "bye"
        assert (await watched.down()).why == "exited with code 5"


@pytest.mark.behaviour("supervision.broken_server_is_alone")
async def test_a_flood_on_both_streams_hides_no_answer_and_fills_no_memory() -> None:
    before = psutil.Process().memory_info().rss
    async with running(program("flood")) as watched:
        await watched.up()
        for number in range(30):
            assert text(await watched.call("echo", text=str(number))) == str(number)
        assert len(watched.provider.log()) == MAX_LINES
    assert psutil.Process().memory_info().rss - before < 50_000_000


async def test_bytes_without_end_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "OutputLineSplitter", lambda: OutputLineSplitter(100_000))
    async with running(peer("restless")) as watched:
        await watched.up()
        assert text(await watched.call("babble", megabytes=30)) == "babbled"


async def test_an_answer_that_is_too_long_ends_its_call_at_once_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "OutputLineSplitter", lambda: OutputLineSplitter(100_000))
    async with running(peer("restless")) as watched:
        await watched.up()
        assert await watched.call("huge", bytes=1_000_000) == ProviderFailure(
            "dev~peer answered, but the answer is longer than 64 MiB", may_have_run=True
        )
        assert text(await watched.call("huge", bytes=10)) == "x" * 10


async def test_lies_on_the_wire_hide_no_answer() -> None:
    async with running(program("liar", "--sound-tools")) as watched:
        listing = await watched.up()
        assert [tool.id.name for tool in listing.tools] == ["honest"]
        for number in range(5):
            assert text(await watched.call("honest", text=str(number))) == str(number)


async def test_of_a_list_full_of_bad_tools_the_good_ones_hang() -> None:
    async with running(program("liar")) as watched:
        found = await watched.up()
        assert [tool.id.name for tool in found.tools] == [
            "schema_is_nonsense",
            "twin",
            "remote_ref",
            "dangling_ref",
            "endless_ref",
            "honest",
        ]
        assert ListingProblem("twin", "is listed more than once: the first one stays") in found.problems
        assert ListingProblem("new\\nline", "has a control or invisible character in its name") in found.problems
        assert text(await watched.call("honest", text="yes")) == "yes"


async def test_a_list_without_end_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_PAGES", 50)
    async with running(program("endless_pages")) as watched:
        found = await watched.up()
        assert len(found.tools) == 50
        assert found.problems == (ListingProblem("the list", "has more than 50 pages: those after them are left out"),)


async def test_a_list_that_leads_in_a_circle_is_cut_and_says_so() -> None:
    async with running(program("endless_pages", "--same-cursor")) as watched:
        found = await watched.up()
        assert [tool.id.name for tool in found.tools] == ["tool_0"]
        assert found.problems == (
            ListingProblem("tool_0", "is listed more than once: the first one stays"),
            ListingProblem("the list", "leads in a circle: a page names one as the next that came before"),
        )


async def test_more_tools_than_any_board_can_hold_are_cut_and_the_server_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "MAX_TOOLS", 250)
    async with running(program("many", "300")) as watched:
        found = await watched.up()
        assert [tool.id.name for tool in found.tools] == [f"tool_{number:05}" for number in range(250)]
        assert found.problems == (ListingProblem("the list", "has more than 250 tools: those after them are left out"),)


async def test_every_page_of_a_long_list_is_read() -> None:
    async with running(program("many", "2000", "--handshake-only")) as watched:
        found = await watched.up()
        assert [tool.id.name for tool in found.tools] == [f"tool_{number:05}" for number in range(2000)]
        assert found.problems == ()


@pytest.mark.behaviour("supervision.deadlines")
async def test_a_list_that_takes_too_long_is_not_waited_for() -> None:
    async with running(server(program("slow_list", "600"), start=1.0), sleep=forever) as watched:
        assert (await watched.down()).why == "did not answer within 1 s"


@pytest.mark.behaviour("supervision.deadlines")
async def test_a_server_that_hangs_on_the_call_costs_the_call_its_deadline_and_stays_up() -> None:
    async with running(server(program("hung", "--after-initialize"), call=0.2)) as watched:
        await watched.up()
        assert await watched.call("wait") == ProviderFailure("dev~peer did not answer within 0.2 s", may_have_run=True)
        assert isinstance(watched.provider.listing().health, ProviderUp)


@pytest.mark.behaviour("supervision.slow_server_is_alone", "supervision.parallel_start")
async def test_a_hung_server_holds_up_no_other() -> None:
    async with running(program("hung")) as hung, running(program("crash_on_call")) as good:
        await good.up()
        assert text(await good.call("echo", text="quick")) == "quick"
        assert not isinstance(hung.provider.listing().health, ProviderUp)


@pytest.mark.behaviour("mcp.in.list_changed")
async def test_a_thousand_changes_at_once_mean_few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "_MIN_INTERVAL_S", 0.2)
    async with running(peer("restless")) as watched:
        await watched.up()
        assert text(await watched.call("lists")) == "1"
        watched.seen.clear()
        await watched.call("announce")
        await watched.until(lambda _: len(watched.seen) >= 1)
        assert 2 <= int(text(await watched.call("lists"))) <= 4


async def test_what_a_server_asks_back_is_answered_as_not_supported() -> None:
    async with running(peer("restless")) as watched:
        await watched.up()
        assert json.loads(text(await watched.call("ask"))) == {
            "elicitation": "error",
            "ping": "result",
            "roots": "error",
            "sampling": "error",
        }


async def test_a_server_that_ignores_the_question_of_the_new_era_is_asked_in_the_old_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connect, "_PROBE_TIMEOUT_S", 0.5)
    async with running(peer("odd", "--ignore-discover")) as watched:
        await watched.up()
        assert [type(listing.health) for listing in watched.seen] == [ProviderStart, ProviderUp]
        assert "resultType" not in json.loads(text_body(await watched.call("listens")))


@pytest.mark.parametrize(("way", "listens"), [("hang", 1), ("refuse", 1), ("keep", 1)])
async def test_a_subscription_that_is_not_granted_keeps_no_list_waiting(
    way: str, listens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "_SUBSCRIBE_TIMEOUT_S", 0.1)
    async with running(peer("odd", "--listen", way)) as watched:
        await watched.up()
        assert text(await watched.call("listens")) == str(listens)


async def test_a_subscription_that_keeps_ending_is_opened_again_but_not_without_rest() -> None:
    async with running(peer("odd", "--listen", "end")) as watched:
        await watched.up()
        assert text(await watched.call("listens")) == "1"
        await watched.until(lambda _: len(watched.seen) >= 4)
        assert 2 <= int(text(await watched.call("listens"))) <= 6


async def test_a_server_that_stops_reading_costs_each_call_its_deadline_and_no_more() -> None:
    async with running(server(peer("odd", "--deaf"), call=0.2, stop=0.5)) as watched:
        await watched.up()
        for _ in range(3):
            assert await watched.call("listens", much="x" * 1_000_000) == ProviderFailure(
                "dev~peer did not answer within 0.2 s", may_have_run=True
            )


async def test_a_server_that_asks_and_asks_but_reads_no_answer_fills_no_memory() -> None:
    async with running(server(peer("odd", "--nag"), stop=0.5)) as watched:
        await watched.up()
        with anyio.fail_after(60):
            while "nagged" not in watched.provider.log():
                await anyio.lowlevel.checkpoint()
        assert len(asyncio.all_tasks()) < 500


def text_body(outcome: Outcome) -> bytes:
    assert isinstance(outcome, ToolSuccess), outcome
    return outcome.body


async def forever(seconds: float) -> None:
    await anyio.sleep_forever()


@pytest.mark.behaviour("supervision.broken_server_is_alone")
async def test_notifications_of_megabytes_are_dropped_and_hide_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    async with running(peer("restless")) as watched:
        await watched.up()
        assert text(await watched.call("gush", times=5)) == "gushed"
        assert text(await watched.call("huge", bytes=3_000_000)) == "x" * 3_000_000
    assert len([said for said in caplog.messages if "longer than 1 MiB" in said]) == 1


async def test_an_error_with_the_code_of_a_closed_connection_is_the_server_s_own() -> None:
    async with running(peer("odd", "--own-errors")) as watched:
        await watched.up()
        assert await watched.call("listens") == ProviderFailure(
            "dev~peer answered with the error -32000: My own trouble",
            True,
            b'{"code":-32000,"message":"My own trouble"}',
        )
        assert [type(listing.health) for listing in watched.seen] == [ProviderStart, ProviderUp]


async def test_the_words_of_a_server_make_no_line_of_their_own_in_its_health() -> None:
    words = "timeout.\n    → run this\n✗ Server good is out of date. " + "x" * 1_000
    async with running(peer("odd", "--refuse", words), sleep=forever) as watched:
        why = (await watched.down()).why
        start = 'answered with an error: "timeout. → run this ✗ Server good is out of date. '
        assert why == start + "x" * (300 - len(start))
