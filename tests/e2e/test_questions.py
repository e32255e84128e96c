"""Questions through a gateway that a client started itself, over stdio on both of its sides."""

from pathlib import Path

import anyio
import pytest
import yaml
from mcp import Client
from tests.e2e.served import as_stdio
from tests.servers import peers
from tests.surfaces.mcp.inquiry import Person, said
from tests.surfaces.mcp.places import LEGACY, MODERN, MODES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize("era", MODES)
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_started_the_gateway_is_asked_and_told(tmp_path: Path, mode: str, era: str) -> None:
    command, *args = peers.warm_command("curious", *(() if era == MODERN else ("--handshake-only",)))
    board = {"servers": {"curious": {"command": command, "args": args, "trust": "open"}}}
    config = tmp_path / "pegboard.yaml"
    config.write_text(yaml.safe_dump(board), "utf-8")
    person = Person()
    options = person.options | ({"log_level": "error"} if mode == MODERN else {})
    with anyio.fail_after(60):
        async with Client(as_stdio(config, tmp_path), mode=mode, **options) as client:
            await client.list_tools()  # the first list waits for the servers
            accepted = {"action": "accept", "content": {"colour": "teal"}}
            assert said(await client.call_tool("ask_twice")) == [accepted, accepted]
            assert said(await client.call_tool("roots")) == [{"roots": [{"uri": "file:///desk/ada", "name": "Ada"}]}]
            await client.call_tool("log")
    assert person.asked == ["Which colour?", "And which size?", "roots"]
    everything = [("debug", "debug 0"), ("info", "info 0"), ("error", "error 0")]
    # Without a level, a client of the older era hears what the server says of its own accord: a newer server nothing.
    assert (
        person.heard
        == {
            (LEGACY, LEGACY): everything,
            (LEGACY, MODERN): [],
            (MODERN, LEGACY): everything[2:],
            (MODERN, MODERN): everything[2:],
        }[mode, era]
    )
