"""A gateway killed outright in the middle of a ticket: nothing that was decided is lost, and nothing runs twice."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.served import Served, served
from tests.servers import peers
from tests.store.engines import Engine
from tests.surfaces.mcp.raw import ask

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DEADLINE = 120


@dataclass
class Place:
    """A gateway that is started again on the same store each time, and the list of what really ran."""

    folder: Path
    store: str
    more: Mapping[str, object] = field(default_factory=dict)
    """What else its file says."""

    @property
    def ran(self) -> list[str]:
        file = self.folder / "tally"
        return file.read_text("utf-8").split() if file.exists() else []

    @asynccontextmanager
    async def gateway(self) -> AsyncIterator["Caller"]:
        command, *args = peers.warm_command("tally", str(self.folder / "tally"))
        board = {
            "servers": {"tally": {"command": command, "args": args, "trust": "open"}},
            "overrides": {"tally": {"*:mark": {"requires_confirmation": True}}},
            "store": self.store,
            **self.more,
        }
        async with served(self.folder, board) as gateway, httpx2.AsyncClient(timeout=DEADLINE) as http:
            await gateway.until("/servers", holds=_is_up)
            yield Caller(gateway, http)


def _is_up(body: dict[str, Any]) -> bool:
    """Whether its one server is; a busy machine may take longer to say so than a command waits."""
    return [server["health"]["state"] for server in body.get("servers", ())] == ["up"]


@dataclass
class Caller:
    gateway: Served
    http: httpx2.AsyncClient

    async def call(self, name: str = "mark", **arguments: Any) -> tuple[bool, str]:
        asked = await ask(self.http, self.gateway.endpoint, "tools/call", name=name, arguments=arguments)
        result = asked.json()["result"]
        return result.get("isError", False), result["content"][0]["text"]

    async def ticket(self, **arguments: Any) -> str:
        """Of a call that must be confirmed."""
        failed, told = await self.call(**arguments)
        assert (failed, told.startswith("confirmation_required: ")) == (True, True), told
        return told.partition("pegboard tickets allow ")[2].split()[0]

    async def state(self, ticket: str) -> str:
        _, body = await self.gateway.pegboard("tickets", "show", ticket)
        return str(body["state"])

    async def allow(self, ticket: str) -> None:
        code, body = await self.gateway.pegboard("tickets", "allow", ticket)
        assert code == 0, body

    async def kill(self) -> None:
        await self.gateway.kill()


@pytest.fixture
async def place(engine: Engine, tmp_path: Path) -> AsyncIterator[Place]:
    with anyio.fail_after(DEADLINE):
        yield Place(tmp_path, engine.url)


@pytest.mark.behaviour("confirmation.survives_a_kill", "confirmation.tickets_kept")
@pytest.mark.parametrize("how", ["repeated", "waited for"])
@pytest.mark.parametrize("decided", ["before the kill", "after the kill"])
async def test_a_ticket_outlives_its_gateway_and_its_call_runs_once(place: Place, decided: str, how: str) -> None:
    async with place.gateway() as caller:
        ticket = await caller.ticket(text="once")
        if decided == "before the kill":
            await caller.allow(ticket)
        await caller.kill()
    async with place.gateway() as caller:
        if decided == "after the kill":
            assert await caller.state(ticket) == "waiting"
            assert await caller.ticket(text="once") == ticket, "the same call still waits for the same ticket"
            await caller.allow(ticket)
        assert (await caller.state(ticket), place.ran) == ("allowed", [])
        again: dict[str, Any] = {"name": "pegboard_ticket", "ticket": ticket} if how != "repeated" else {"text": "once"}
        assert await caller.call(**again) == (False, "marked once")
        assert (await caller.state(ticket), place.ran) == ("done", ["once"])
        assert await caller.ticket(text="once") != ticket
        assert place.ran == ["once"]


@pytest.mark.behaviour("confirmation.survives_a_kill")
async def test_a_denial_outlives_its_gateway(place: Place) -> None:
    async with place.gateway() as caller:
        ticket = await caller.ticket(text="never")
        code, _ = await caller.gateway.pegboard("tickets", "deny", ticket)
        assert code == 0
        await caller.kill()
    async with place.gateway() as caller:
        failed, told = await caller.call(text="never")
        assert (failed, told.startswith("confirmation_denied: "), place.ran) == (True, True, [])


@pytest.mark.behaviour("confirmation.survives_a_kill", "confirmation.one_decision_one_call")
async def test_a_call_that_ran_when_its_gateway_was_killed_is_not_run_again_on_the_same_yes(place: Place) -> None:
    async with place.gateway() as caller:
        ticket = await caller.ticket(text="once", hold=True)
        await caller.allow(ticket)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_given_up, caller)
            while (await caller.state(ticket), place.ran) != ("running", ["once"]):
                pass
            await caller.kill()
    async with place.gateway() as caller:
        assert await caller.state(ticket) == "running"
        failed, told = await caller.call("pegboard_ticket", ticket=ticket, wait=0)
        assert (failed, told.startswith(f"confirmation_used: Ticket {ticket} was used at ")) == (True, True)
        code, body = await caller.gateway.pegboard("tickets", "allow", ticket)
        assert (code, "was decided before" in json.dumps(body)) == (5, True)
        assert await caller.ticket(text="once", hold=True) != ticket, "the same call is asked about anew"
        assert place.ran == ["once"]


async def _given_up(caller: Caller) -> None:
    with pytest.raises(httpx2.TransportError):
        await caller.call(text="once", hold=True)
