"""The example that bundles an MCP server: what its overrides make of the server's tools, on a real board."""

import os
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.e2e.served import Served, served
from tests.examples.boards import DEADLINE, EXAMPLES, does, guest, imported, statuses, there_and_back, words_of
from tests.support.fork_server import python

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(2 * DEADLINE)]

EXAMPLE = EXAMPLES / "kitchen"


async def test_the_server_of_the_example_keeps_time_for_clients_of_both_eras() -> None:
    program = StdioServerParameters(
        command=python(), args=["timer_server.py"], cwd=str(EXAMPLE), env={"TIMERS_AT_MOST": "2"}
    )
    with anyio.fail_after(DEADLINE), os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") as errlog:
        for mode in ("legacy", "auto"):
            async with Client(stdio_client(program, errlog), mode=mode) as client:

                async def told(tool: str, /, client: Client = client, **arguments: object) -> tuple[bool, str]:
                    result = await client.call_tool(tool, arguments)
                    return bool(result.is_error), words_of(result)

                assert await told("list_timers") == (False, "No timer is set.")
                assert await told("start_timer", name="eggs", seconds=240) == (False, "eggs rings in 240 s.")
                assert await told("start_timer", name="Brötchen", seconds=900) == (False, "Brötchen rings in 900 s.")
                assert await told("start_timer", name="tea", seconds=1) == (
                    True,
                    "2 timers are set, and there can be no more. Stop one first.",
                )
                await told("advance_clock", seconds=400)
                rings, left = (await told("list_timers"))[1].splitlines()
                assert (rings, left.partition(":")[0]) == ("eggs: rings", "Brötchen")
                assert await told("stop_timer", name="egg") == (
                    True,
                    "There is no timer 'egg'. Set are: eggs, Brötchen.",
                )
                assert await told("stop_timer", name="eggs") == (False, "eggs is stopped.")
                assert await told("stop_all_timers") == (False, "1 stopped.")
                assert (await told("start_timer", name="eggs"))[0]


@pytest.mark.behaviour(
    "toolsets.manifest_servers", "toolsets.manifest_overrides", "toolsets.export_round_trip", "cli.toolset_import"
)
async def test_the_example_with_a_server_is_imported_called_and_given_away(tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        async with served(tmp_path, {}) as gateway:
            await imported(gateway, EXAMPLE)
            found = await statuses(gateway, "kitchen")
            hidden = found.pop("mcp:kitchen~timers:advance_clock")
            assert hidden == "disabled_by_user"
            names = ("start_timer", "list_timers", "stop_timer", "stop_all_timers")
            assert found == {f"mcp:kitchen~timers:{name}": "open" for name in names}
            await called(gateway)
            await refused(gateway)
            await there_and_back(gateway, "kitchen", EXAMPLE, tmp_path)
            assert (await statuses(gateway, "kitchen"))["mcp:kitchen~timers:advance_clock"] == hidden


async def called(gateway: Served) -> None:
    async with guest(gateway) as one:
        tools = {tool.name: tool for tool in (await one.client.list_tools()).tools}
        # The gateway's own comes with the first tool that must be confirmed.
        assert {*tools} - {"pegboard_ticket"} == {"start_timer", "list_timers", "stop_timer", "stop_all_timers"}
        start = tools["start_timer"]
        assert start.title == "Set a kitchen timer"
        assert (start.description or "").startswith("Set a timer for something on the stove")
        assert start.input_schema["properties"]["seconds"]["description"] == "How long, in seconds: 4 minutes are 240."
        assert await one.text("start_timer", name="eggs", seconds=240) == "eggs rings in 240 s."
        assert await one.text("stop_timer", name="eggs") == "eggs is stopped."
        assert one.asked == []
        await one.text("start_timer", name="tea", seconds=180)
        assert await one.text("stop_all_timers") == "1 stopped."
        assert len(one.asked) == 1
        assert (await one.call("advance_clock", seconds=1)).is_error


async def refused(gateway: Served) -> None:
    """A person who says no, and one who wants the hidden tool after all."""
    async with guest(gateway, answer="no") as one:
        await one.text("start_timer", name="rice", seconds=600)
        assert (await one.call("stop_all_timers")).is_error
        assert (await one.text("list_timers")).startswith("rice: ")
        await does(gateway, "tools", "enable", "mcp:kitchen~timers:advance_clock")
        await one.text("advance_clock", seconds=600)
        assert await one.text("list_timers") == "rice: rings"
