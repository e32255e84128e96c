"""A program that cannot wait, or is over before somebody decided: told so, and nobody is asked about its calls."""

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.programs.programs import Place, place, said, ticket_of

from pegboard.core.calls.tickets import ConsentScope, TicketState
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.model.rejection import CommandRejection

pytestmark = pytest.mark.anyio

HOLDS = 'print("before")\nx = "a" * {}\nawait files.delete(path="a")\nlen(x)'
KEPT_TOO_MUCH = (
    "A person must confirm files.delete first, and the program cannot wait for that: what is kept of it meanwhile "
    "takes {:,} bytes, and of one program at most 16,777,216 are kept. Hold less in variables by the time of that "
    "call. It was ended there, and what it did before is done. Call that tool by itself, outside of a program."
)
NOT_WRITTEN = (
    "A person must confirm files.delete first, and the program cannot wait for that: to write down what it holds takes "
    "more than the 128 MB of memory that it has. It was ended there, and what it did before is done. Hold less in "
    "variables by the time of that call, or call that tool by itself, outside of a program."
)


async def given_up(here: Place) -> dict[str, Any]:
    """The call as it is told. Its ticket waits for nobody, and cannot be decided."""
    desk = here.house.gateway.tickets
    assert await desk.pending_tickets() == []
    (ticket,) = await desk.latest_tickets()
    assert ticket.state_at(here.house.clock()) is TicketState.EXPIRED
    assert await desk.display(ticket) is None
    assert await desk.allow(ticket.id, ConsentScope.ONCE, LOCAL_PRINCIPAL) == CommandRejection(
        f"Ticket {ticket.id} was withdrawn: the program that asked has ended. Nothing is left to decide."
    )
    why = f"it was given up and has not run: the program ended before anybody decided about ticket {ticket.id}"
    return {"name": "files.delete", "ok": False, "error": why}


@pytest.mark.behaviour("programs.kept_for_a_time", "programs.given_up")
async def test_a_program_that_holds_more_than_is_kept_is_ended_and_its_ticket_withdrawn(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        answer = said(await here.runs(HOLDS.format(17_000_000)))
        told = answer["error"].pop("message")
        size = int("".join(letter for letter in told.split(" bytes")[0] if letter.isdigit()))
        assert 17_000_000 < size < 17_100_000
        assert told == KEPT_TOO_MUCH.format(size)
        assert answer == {
            "result": None,
            "stdout": "before\n",
            "truncated": False,
            "tool_calls": [await given_up(here)],
            "error": {"type": "RuntimeError", "line": None},
        }


@pytest.mark.behaviour("programs.kept_for_a_time", "programs.given_up")
async def test_a_program_that_holds_too_much_to_be_written_down_is_told_that_and_not_another_limit(
    tmp_path: Path,
) -> None:
    async with place(tmp_path) as here:
        answer = said(await here.runs(HOLDS.format(40_000_000)))
        assert answer == {
            "result": None,
            "stdout": "before\n",
            "truncated": False,
            "tool_calls": [await given_up(here)],
            "error": {"type": "RuntimeError", "message": NOT_WRITTEN, "line": 3},
        }


@pytest.mark.behaviour("programs.given_up")
async def test_a_program_that_fails_while_a_call_of_it_waits_leaves_no_ticket_to_decide(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        code = 'import asyncio\nawait asyncio.gather(files.delete(path="a"), files.fail())'
        answer = said(await here.runs(code))
        assert answer["error"]["message"] == "the disk is full"
        assert answer["tool_calls"] == [
            await given_up(here),
            {"name": "files.fail", "ok": False, "error": "the disk is full"},
        ]


@pytest.mark.behaviour("programs.given_up")
async def test_of_a_program_that_cannot_wait_a_second_time_nothing_is_kept(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        code = 'await files.delete(path="a")\nx = "a" * 17_000_000\nawait files.delete(path="b")\nlen(x)'
        first = ticket_of(await here.runs(code))
        await here.decides(first)
        answer = said(await here.waits(first))
        assert answer["error"]["message"].startswith("A person must confirm files.delete first, and the program cannot")
        assert [call["ok"] for call in answer["tool_calls"]] == [True, False]
        assert await here.house.gateway.tickets.pending_tickets() == []
        assert await here.store.runs.find_waiting(first, here.house.clock()) is None
