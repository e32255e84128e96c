"""Many servers start in the time of the slowest: all of them are on their way before any has arrived."""

from pathlib import Path

import anyio
import pytest
from mcp import Client
from tests.e2e.served import served
from tests.servers.peers import warm_command

SERVERS = 20


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.behaviour("supervision.parallel_start")
async def test_twenty_stdio_servers_that_wait_for_each_other_all_start(tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    names = [f"tool_{number:02}" for number in range(SERVERS)]
    servers = {}
    for number, name in enumerate(names):
        executable, *arguments = warm_command("together", str(meeting), str(SERVERS), name)
        servers[f"s{number:02}"] = {
            "command": executable,
            "args": arguments,
            "trust": "open",
            "timeouts": {"start": 120},
        }
    with anyio.fail_after(150):
        async with served(tmp_path, {"servers": servers}) as gateway, Client(gateway.endpoint) as client:
            while [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools] != names:
                pass
            # One process each: none was started a second time to get here.
            assert len(list(meeting.iterdir())) == SERVERS
