"""What a program takes along when it goes on after a decision: its time, its view, and whose calls it makes."""

from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.gateway.programs.programs import KEY, Place, ok, place, said, ticket_of, words_of
from tests.support.house import call_of

from pegboard.core.calls.call import ToolCall, ToolSuccess
from pegboard.core.calls.programs import SuspendedRun
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId
from pegboard.core.model.selection import Selection, View
from pegboard.core.policy.policy import CredentialIdentity
from pegboard.gateway.programs.clock import RunClock
from pegboard.gateway.programs.runs import MAX_WAIT
from pegboard.gateway.programs.state import SavedRun, deserialize_run, serialize_run

pytestmark = pytest.mark.anyio

TWICE = """
first = await files.delete(path="a")
second = await files.delete(path="b")
[first, second]
"""
HANGS = """
print("before")
gone = await files.delete(path="a")
await files.hold()
"""
BOTH = """
import asyncio
await asyncio.gather(files.delete(path="one"), files.delete(path="three"))
"""


async def kept(here: Place, ticket: str) -> SavedRun:
    found = await here.store.runs.find_waiting(ticket, here.house.clock())
    assert found is not None
    assert found.state is not None
    whole = deserialize_run(found.state, KEY, found.id, LOCAL_PRINCIPAL, "cli 1")
    assert whole is not None
    return whole


@pytest.mark.behaviour("programs.limits", "programs.waits_for_a_person")
async def test_the_time_that_a_program_has_goes_on_where_it_was_at_each_decision(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        first = ticket_of(await here.runs(TWICE, timeout_s=60))
        before = await kept(here, first)
        assert (before.timeout_s, 0 < before.remaining_s < 60) == (60, True)
        await here.decides(first)
        second = ticket_of(await here.waits(first))
        after = await kept(here, second)
        assert (after.timeout_s, 0 < after.remaining_s < before.remaining_s) == (60, True)
        await here.decides(second)
        assert said(await here.waits(second)) == ok(["a is gone", "b is gone"], "delete", "delete")


@pytest.mark.behaviour("programs.limits", "programs.waits_for_a_person")
async def test_a_program_that_goes_on_is_ended_after_what_was_left_of_its_time(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(HANGS, timeout_s=100))
        whole, now = await kept(here, ticket), here.house.clock()
        nearly_over = serialize_run(replace(whole, remaining_s=2.0), KEY)
        await here.store.runs.save(
            SuspendedRun(CallId("run-1"), (ticket,), nearly_over, now + MAX_WAIT, LOCAL_PRINCIPAL), now
        )
        await here.decides(ticket)
        # Less than all of its time: with that it would hang for longer than this test may take.
        with anyio.fail_after(50):
            answer = said(await here.waits(ticket))
        assert (answer["error"]["type"], answer["stdout"]) == ("TimeoutError", "before\n")
        assert here.called("delete") == [{"path": "a"}]


async def test_what_is_left_of_a_wall_is_less_by_what_ran_and_not_by_what_a_person_took() -> None:
    wall = RunClock(100.0, 10.0, 40.0)
    assert wall.remaining_s == 40.0
    with wall.start():
        await anyio.lowlevel.checkpoint()
        ran = wall.remaining_s
        assert ran < 40.0
        wall.pause()
        asked = wall.remaining_s
        await anyio.lowlevel.checkpoint()
        assert wall.remaining_s == asked
        wall.resume()
    assert wall.remaining_s < ran


@pytest.mark.behaviour("programs.narrower")
async def test_a_narrower_request_neither_goes_on_with_a_program_nor_uses_the_yes(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(TWICE))
        await here.decides(ticket)
        narrow = View().narrow(Selection(disabled=("delete",)))
        call = call_of("pegboard_ticket", {"ticket": ticket, "wait": 0}, client="cli 1", id="narrow")
        words = words_of(await here.house.gateway.caller.call(call, narrow))
        assert words.startswith(f"confirmation_unavailable: The program that waits for ticket {ticket} does not go on")
        assert "files.delete" in words
        assert here.called("delete") == []
        second = ticket_of(await here.waits(ticket))
        assert here.called("delete") == [{"path": "a"}]
        await here.decides(second)
        assert isinstance(await here.waits(second), ToolSuccess)


@pytest.mark.behaviour("programs.decided_again")
async def test_a_call_that_would_run_in_anothers_name_waits_on_though_its_program_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path) as here:
        confirmation = here.house.gateway.caller.confirmation
        theirs = CredentialIdentity("tag", "somebody else")

        def whose(_: ToolId, call: ToolCall) -> CredentialIdentity | None:
            return theirs if call.arguments.get("path") == "three" else None

        monkeypatch.setattr(confirmation, "credential_identity", whose)
        await here.runs(BOTH)
        waiting = {
            str(each.redacted_arguments["path"]): each.id for each in await here.house.gateway.tickets.pending_tickets()
        }
        for ticket in waiting.values():
            await here.decides(ticket)
        assert ticket_of(await here.waits(waiting["one"])) == waiting["three"]
        assert here.called("delete") == [{"path": "one"}]


@pytest.mark.behaviour("programs.own_tickets")
async def test_two_programs_that_wait_for_the_same_call_go_on_each_by_its_own_ticket(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        tickets: dict[str, str] = {}
        for name in ("A", "B"):
            code = f'print("I am {name}")\n"{name} " + await files.delete(path="same")'
            tickets[name] = ticket_of(await here.runs(code, id=f"run-{name}"))
        assert tickets["A"] != tickets["B"]
        await here.decides(tickets["A"])
        assert said(await here.waits(tickets["A"])) == ok("A same is gone", "delete", stdout="I am A\n")
        assert here.called("delete") == [{"path": "same"}]
        await here.decides(tickets["B"])
        assert said(await here.waits(tickets["B"])) == ok("B same is gone", "delete", stdout="I am B\n")
        assert here.called("delete") == [{"path": "same"}, {"path": "same"}]


@pytest.mark.behaviour("programs.own_tickets", "programs.denied")
async def test_what_was_denied_to_one_program_is_not_asked_about_by_the_next(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        code = 'try:\n    said = await files.delete(path="same")\nexcept PermissionError:\n    said = "no"\nsaid'
        ticket = ticket_of(await here.runs(code, id="run-1"))
        await here.decides(ticket, yes=False)
        answer = await here.answers(code, id="run-2")
        assert (answer["result"], here.called("delete")) == ("no", [])


@pytest.mark.behaviour("code.run_again")
async def test_which_program_waits_is_known_at_each_decision_and_to_its_own_caller_alone(tmp_path: Path) -> None:
    own = call_of("pegboard_ticket", {}, client="cli 1")
    async with place(tmp_path) as here:
        code = here.house.gateway.code_mode
        first = ticket_of(await here.runs(TWICE))
        await here.decides(first)
        second = ticket_of(await here.waits(first))
        for text, is_another in ((TWICE, False), (BOTH, True)):
            assert await code.is_other_program(second, text, own) is is_another
        assert not await code.is_other_program(second, BOTH, replace(own, client="cli 2"))
        assert not await code.is_other_program("none", BOTH, own)
