"""A tool that must be confirmed, through a gateway that the client started itself and talks to over stdio."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from tests.e2e.served import as_stdio, environment, warm_pegboard
from tests.servers import peers
from tests.surfaces.mcp.places import MODES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DEADLINE = 90
TEXT = {"text": "once"}


class Place:
    """One client with its gateway, and the list of what really ran."""

    def __init__(self, client: Client, folder: Path, asked: list[str]) -> None:
        self.client = client
        self.asked = asked
        self._folder = folder

    @property
    def ran(self) -> list[str]:
        file = self._folder / "tally"
        return file.read_text("utf-8").split() if file.exists() else []

    async def call(self, name: str, **arguments: Any) -> tuple[bool, str]:
        result = await self.client.call_tool(name, arguments)
        assert isinstance(result, CallToolResult)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return bool(result.is_error), content.text

    async def pegboard(self, *words: str) -> None:
        """A person at another terminal."""
        command = [
            *warm_pegboard(),
            *words,
            "--data-dir",
            str(self._folder),
            "--config",
            str(self._folder / "pegboard.yaml"),
        ]
        done = await anyio.run_process(command, env=environment(self._folder), check=False)
        assert done.returncode == 0, done.stderr.decode()


@asynccontextmanager
async def started(folder: Path, mode: str, answer: ElicitResult | None, **settings: object) -> AsyncIterator[Place]:
    command, *args = peers.warm_command("tally", str(folder / "tally"))
    board = {
        "servers": {"tally": {"command": command, "args": args, "trust": "open"}},
        "overrides": {"tally": {"*:mark": {"requires_confirmation": True}}},
        **settings,
    }
    config = folder / "pegboard.yaml"
    config.write_text(yaml.safe_dump(board), "utf-8")
    asked: list[str] = []

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert answer is not None
        asked.append(params.message)
        return answer

    options: dict[str, Any] = {} if answer is None else {"elicitation_callback": elicit}
    with anyio.fail_after(DEADLINE):
        async with Client(as_stdio(config, folder), mode=mode, **options) as client:
            await client.list_tools()  # the first list waits for the servers
            yield Place(client, folder, asked)


@pytest.mark.behaviour("confirmation.every_client", "confirmation.asked_before_execution")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        (ElicitResult(action="accept", content={"answer": "yes"}), True),
        (ElicitResult(action="accept", content={"answer": "no"}), False),
        (ElicitResult(action="decline"), False),
        (ElicitResult(action="cancel"), False),
    ],
    ids=["yes", "no", "decline", "cancel"],
)
async def test_a_client_that_can_be_asked_is_asked_over_its_pipe(
    tmp_path: Path, mode: str, answer: ElicitResult, ran: bool
) -> None:
    async with started(tmp_path, mode, answer) as place:
        failed, told = await place.call("mark", **TEXT)
        (message,) = place.asked
        assert message.startswith("May the tool 'mark' of 'tally~tally' run now?")
        assert message.endswith('Its arguments, to the letter: {"text": "once"}')
        assert (failed, place.ran) == (not ran, ["once"] if ran else [])
        assert told.startswith("marked once" if ran else "confirmation_denied: ")


@pytest.mark.behaviour("law.clients_do_not_confirm")
@pytest.mark.parametrize("mode", MODES)
async def test_over_its_pipe_a_client_confirms_nothing_on_a_board_with_tokens(tmp_path: Path, mode: str) -> None:
    yes = ElicitResult(action="accept", content={"answer": "yes"})
    callers = {"agent": {"token_sha256": "a" * 64}}
    async with started(tmp_path, mode, yes, principals=callers) as place:
        failed, told = await place.call("mark", **TEXT)
        assert (failed, place.asked, place.ran) == (True, [], [])
        assert told.startswith("confirmation_required: ")
        assert "its principal 'local' is not marked interactive" in told


def ticket_in(told: str) -> str:
    assert told.startswith("confirmation_required: ")
    return told.partition("pegboard tickets allow ")[2].split()[0]


@pytest.mark.behaviour("confirmation.every_client", "confirmation.wait")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", ["allow", "deny"])
async def test_a_client_that_cannot_be_asked_waits_with_its_ticket_for_the_decision(
    tmp_path: Path, mode: str, verb: str
) -> None:
    async with started(tmp_path, mode, None) as place:
        assert [tool.name for tool in (await place.client.list_tools()).tools] == ["mark", "pegboard_ticket"]
        failed, told = await place.call("mark", **TEXT)
        assert (failed, place.ran) == (True, [])
        ticket = ticket_in(told)
        answers: list[tuple[bool, str]] = []

        async def wait() -> None:
            answers.append(await place.call("pegboard_ticket", ticket=ticket, wait=60))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await place.pegboard("tickets", verb, ticket)
        ((failed, told),) = answers
        if verb == "allow":
            assert (failed, told, place.ran) == (False, "marked once", ["once"])
            again = await place.call("pegboard_ticket", ticket=ticket, wait=0)
            assert (again[0], "One decision is for one call" in again[1]) == (True, True)
            assert ticket_in((await place.call("mark", **TEXT))[1]) != ticket
            assert place.ran == ["once"]
        else:
            assert (failed, "A person denied this call" in told, place.ran) == (True, True, [])
