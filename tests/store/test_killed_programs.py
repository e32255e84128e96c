"""A gateway killed outright while a program waits, or goes on: what was decided is not lost, and nothing runs twice."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.store.engines import Engine
from tests.store.test_killed_tickets import DEADLINE, Caller, Place

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TWICE = """
print("begun")
one = await tally.mark(text="one")
two = await tally.mark(text="two")
[one, two]
"""
LISTED = {"code": {"listed": True}}
HELD = 'await tally.mark(text="held", hold=True)'


@pytest.fixture
async def place(engine: Engine, tmp_path: Path) -> AsyncIterator[Place]:
    with anyio.fail_after(DEADLINE):
        yield Place(tmp_path, engine.url, LISTED)


async def runs(caller: Caller, code: str) -> str:
    """The ticket that the program waits for."""
    return await caller.ticket(name="python_execution", code=code)


async def goes_on(caller: Caller, ticket: str) -> tuple[bool, Any]:
    failed, told = await caller.call("pegboard_ticket", ticket=ticket)
    return failed, told if told.startswith("confirmation_") else json.loads(told)


@pytest.mark.behaviour("programs.waits_over_restarts", "programs.goes_on_once")
async def test_a_program_outlives_its_gateway_at_each_of_its_stops(place: Place) -> None:
    async with place.gateway() as caller:
        first = await runs(caller, TWICE)
        await caller.kill()
    async with place.gateway() as caller:
        await caller.allow(first)
        failed, told = await goes_on(caller, first)
        assert (failed, told.startswith("confirmation_required: The program waits."), place.ran) == (
            True,
            True,
            ["one"],
        )
        second = told.partition("pegboard tickets allow ")[2].split()[0]
        await caller.allow(second)
        await caller.kill()
    async with place.gateway() as caller:
        failed, answer = await goes_on(caller, second)
        assert (failed, answer["result"], answer["stdout"]) == (False, ["marked one", "marked two"], "begun\n")
        assert [(call["name"], call["ok"]) for call in answer["tool_calls"]] == [("tally.mark", True)] * 2
        assert place.ran == ["one", "two"]
        failed, told = await goes_on(caller, second)
        assert (failed, told.startswith("confirmation_used: ")) == (True, True)
        assert place.ran == ["one", "two"]


@pytest.mark.behaviour("programs.goes_on_once")
async def test_a_program_that_went_on_when_its_gateway_was_killed_does_not_go_on_again(tmp_path: Path) -> None:
    place = Place(tmp_path, f"sqlite:///{tmp_path / 'pegboard.db'}", LISTED)
    async with place.gateway() as caller:
        ticket = await runs(caller, HELD)
        await caller.allow(ticket)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_given_up, caller, ticket)
            while (await caller.state(ticket), place.ran) != ("running", ["held"]):
                pass
            await caller.kill()
    async with place.gateway() as caller:
        failed, told = await caller.call("pegboard_ticket", ticket=ticket, wait=0)
        assert (failed, told.startswith("confirmation_used: ")) == (True, True)
        assert "check what it did before you run it again" in told
        assert place.ran == ["held"]


async def _given_up(caller: Caller, ticket: str) -> None:
    with pytest.raises(httpx2.TransportError):
        await caller.call("pegboard_ticket", ticket=ticket)
