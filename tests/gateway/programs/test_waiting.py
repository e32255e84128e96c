"""A program that waits for a person: kept where it stopped, gone on with once, by its own caller, wherever that is."""

from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.gateway.programs.programs import ASKS, DELETE, ok, place, said, ticket_of, words_of
from tests.support.asking import AskedClient
from tests.support.doubles import held_forever
from tests.support.house import PATIENCE, call_of

from pegboard.core.calls.call import AdmittedCall, ConfirmationRefusal, LockedToolRefusal, Outcome, ToolSuccess
from pegboard.core.calls.programs import SuspendedRun
from pegboard.core.calls.tickets import Ticket, TicketState
from pegboard.core.commands.commands import SetOverride, SetSwitch
from pegboard.core.decision.status import LockStatus, status_of
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.settings import PYTHON_ID, CodeSettings
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Denial
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.programs.clock import ClockPausingPeer, RunActivity, RunClock
from pegboard.gateway.programs.runs import MAX_WAIT
from pegboard.ports.providers import Progress

pytestmark = pytest.mark.anyio

YES: dict[str, Json] = {"action": "accept", "content": {"answer": "yes"}}
NO: dict[str, Json] = {"action": "accept", "content": {"answer": "no"}}
CLEANS = """
before = await files.read(path="a")
print("deleting")
gone = await files.delete(path="a")
after = await files.add(a=1, b=2)
[before, gone, after["sum"]]
"""
CLEANED = ok(["what is in a", "a is gone", 3], "read", "delete", "add", stdout="deleting\n")
BOTH = """
import asyncio

async def cleaned(path):
    gone = await files.delete(path=path)
    print(path)
    return [gone, (await files.add(a=len(path), b=1))["sum"]]

await asyncio.gather(cleaned("one"), cleaned("three"))
"""
CAREFUL = """
try:
    told = await files.delete(path="a")
except PermissionError as error:
    told = f"no: {error}"
summed = await files.add(a=1, b=2)
[told, summed["sum"]]
"""


@pytest.mark.behaviour("programs.waits_for_a_person")
async def test_a_program_stops_at_a_call_that_waits_and_goes_on_after_a_yes(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        stopped = await here.runs(CLEANS)
        ticket = ticket_of(stopped)
        assert isinstance(stopped, ConfirmationRefusal)
        assert stopped.tool == DELETE
        assert stopped.text.startswith(
            f"The program waits. A person must confirm this call of it first: files.delete (ticket {ticket} until "
            "03:09:05 UTC).\n"
            f"Ask the user to look at it and decide: pegboard tickets show {ticket}, then "
            f"pegboard tickets allow {ticket} or pegboard tickets deny {ticket}\n"
            f'Then call pegboard_ticket with {{"ticket": "{ticket}"}}, which waits for the decision, goes on with the '
            "program where it stopped and answers with its result.\n"
            "Do not run the program again. The call that it made before would be made again. "
        )
        assert (here.called("read"), here.called("delete")) == ([{"path": "a"}], [])
        assert words_of(await here.waits(ticket)).startswith(
            f"confirmation_required: The program waits for ticket {ticket} until 03:09:05 UTC, and nobody has decided"
        )
        await here.decides(ticket)
        assert said(await here.waits(ticket)) == CLEANED
        assert (here.called("read"), here.called("delete")) == ([{"path": "a"}], [{"path": "a"}])


@pytest.mark.behaviour("programs.waits_for_a_person", "programs.accounted_for")
async def test_every_part_of_a_program_that_waited_is_in_the_audit(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CLEANS))
        await here.decides(ticket)
        await here.waits(ticket)
        assert here.records() == [
            ("read", "run-1", "ToolSuccess"),
            ("delete", "run-1", "confirmation_required"),
            ("python_execution", None, "confirmation_required"),
            ("delete", "run-1", "ToolSuccess"),
            ("add", "run-1", "ToolSuccess"),
            ("python_execution", "run-1", "ToolSuccess"),
            ("pegboard_ticket", None, "ToolSuccess"),
        ]
        decided = await here.house.gateway.tickets.find(ticket)
        assert decided is not None
        assert (decided.state, decided.outcome) == (TicketState.DONE, "it returned")


@pytest.mark.behaviour("programs.denied")
async def test_a_no_is_a_permission_error_inside_and_the_program_goes_on(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CAREFUL))
        await here.decides(ticket, yes=False)
        answer = said(await here.waits(ticket))
        told, summed = answer["result"]
        assert told.startswith(f"no: confirmation_denied: A person denied this call of 'delete' (ticket {ticket})")
        assert "They say: 'not this one'. Until 03:09:05 UTC " in told
        assert summed == 3
        assert [call["ok"] for call in answer["tool_calls"]] == [False, True]
        assert here.called("delete") == []


@pytest.mark.behaviour("programs.denied")
async def test_a_ticket_that_nobody_decided_about_in_time_is_one_too(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CAREFUL))
        here.house.clock.passes(301)
        told, summed = said(await here.waits(ticket))["result"]
        assert told.startswith("no: confirmation_unanswered: Nobody decided about ticket")
        assert (summed, here.called("delete")) == (3, [])


@pytest.mark.behaviour("programs.waits_over_restarts")
async def test_a_program_goes_on_in_another_process_than_it_stopped_in(tmp_path: Path) -> None:
    async with place(tmp_path) as first:
        ticket = ticket_of(await first.runs(CLEANS))
        await first.decides(ticket)
        decided = first.house.store
    async with place(tmp_path, board=decided) as second:
        assert said(await second.waits(ticket)) == CLEANED
        assert (second.called("read"), second.called("delete")) == ([], [{"path": "a"}])


@pytest.mark.behaviour("programs.several_wait")
async def test_of_several_that_wait_each_goes_on_as_soon_as_it_is_decided(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        stopped = await here.runs(BOTH)
        assert isinstance(stopped, ConfirmationRefusal)
        assert "A person must confirm these calls of it first: files.delete (ticket" in stopped.text
        one, three = [ticket.id for ticket in sorted(await here.house.gateway.tickets.pending_tickets(), key=_path)]
        await here.decides(three)
        again = await here.waits(three)
        assert ticket_of(again) == one
        assert (here.called("delete"), here.called("add")) == ([{"path": "three"}], [{"a": 5, "b": 1}])
        await here.decides(one, yes=True)
        answer = said(await here.waits(one))
        assert answer["result"] == [["one is gone", 4], ["three is gone", 6]]
        assert answer["stdout"] == "three\none\n"
        assert here.called("delete") == [{"path": "three"}, {"path": "one"}]


@pytest.mark.behaviour("programs.several_wait")
async def test_all_that_is_decided_by_then_is_gone_on_with_at_once(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        stopped = ticket_of(await here.runs(BOTH))
        for ticket in await here.house.gateway.tickets.pending_tickets():
            await here.decides(ticket.id)
        assert said(await here.waits(stopped))["result"] == [["one is gone", 4], ["three is gone", 6]]
        assert len(here.called("delete")) == 2


@pytest.mark.behaviour("programs.several_wait", "confirmation.one_decision_one_call")
async def test_the_same_call_twice_in_a_program_takes_two_decisions(tmp_path: Path) -> None:
    code = 'import asyncio\nawait asyncio.gather(files.delete(path="a"), files.delete(path="a"))'
    async with place(tmp_path) as here:
        first = ticket_of(await here.runs(code))
        await here.decides(first)
        second = ticket_of(await here.waits(first))
        assert second != first
        assert len(here.called("delete")) == 1
        await here.decides(second)
        assert said(await here.waits(second))["result"] == ["a is gone", "a is gone"]
        assert len(here.called("delete")) == 2


@pytest.mark.behaviour("programs.goes_on_once")
async def test_of_many_who_ask_at_once_one_gets_the_answer_and_nothing_runs_twice(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CLEANS))
        await here.decides(ticket)
        ended: list[CallOutcome] = []

        async def ask() -> None:
            ended.append(await here.waits(ticket))

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(ask)
        (answered,) = [each for each in ended if isinstance(each, ToolSuccess)]
        assert said(answered) == CLEANED
        others = [words_of(each) for each in ended if each is not answered]
        assert len(others) == 3
        assert all(each.startswith("confirmation_used: ") for each in others), others
        assert (here.called("delete"), here.called("add")) == ([{"path": "a"}], [{"a": 1, "b": 2}])
        assert words_of(await here.waits(ticket)).startswith("confirmation_used: ")


@pytest.mark.behaviour("programs.sealed")
@pytest.mark.parametrize("flipped", [0, 40, -1])
async def test_a_state_that_somebody_changed_is_refused(tmp_path: Path, flipped: int) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CLEANS))
        await here.decides(ticket)
        found = await here.store.runs.find_waiting(ticket, here.house.clock())
        assert found is not None
        assert found.state is not None
        changed = bytearray(found.state)
        changed[flipped] ^= 1
        now = here.house.clock()
        await here.store.runs.save(
            SuspendedRun(found.id, (ticket,), bytes(changed), now + MAX_WAIT, LOCAL_PRINCIPAL), now
        )
        assert words_of(await here.waits(ticket)).startswith("confirmation_unavailable: What was kept of the program")
        assert here.called("delete") == []


@pytest.mark.behaviour("programs.sealed")
async def test_a_state_that_another_key_signed_is_refused(tmp_path: Path) -> None:
    async with place(tmp_path) as first:
        ticket = ticket_of(await first.runs(CLEANS))
        await first.decides(ticket)
        board = first.house.store
    async with place(tmp_path, board=board, key=b"another key") as second:
        assert words_of(await second.waits(ticket)).startswith("confirmation_unavailable: What was kept")
        assert second.called("delete") == []


@pytest.mark.behaviour("programs.sealed")
async def test_a_program_of_another_caller_goes_on_for_nobody_else(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CLEANS))
        other = ticket_of(await here.runs(CLEANS, by=PrincipalId("eve"), id="run-2"))
        await here.decides(ticket)
        await here.decides(other)
        for by, client in ((PrincipalId("eve"), "cli 1"), (LOCAL_PRINCIPAL, "another client")):
            assert words_of(await here.waits(ticket, by=by, client=client)).startswith("You have no ticket")
        # Even where the database says that hers is this one.
        now = here.house.clock()
        found = await here.store.runs.find_waiting(ticket, now)
        assert found is not None
        assert found.state is not None
        await here.store.runs.save(
            SuspendedRun(CallId("run-2"), (other,), found.state, now + MAX_WAIT, LOCAL_PRINCIPAL), now
        )
        assert words_of(await here.waits(other, by=PrincipalId("eve"))).startswith("confirmation_unavailable: ")
        assert here.called("delete") == []


@pytest.mark.behaviour("programs.decided_again")
async def test_a_tool_that_was_closed_while_its_call_waited_does_not_run_after_the_yes(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CAREFUL))
        await here.decides(ticket)
        await here.house.does(SetSwitch(DELETE, enabled=False))
        told, _ = said(await here.waits(ticket))["result"]
        assert told.startswith("no: disabled_by_user: ")
        assert here.called("delete") == []


@pytest.mark.behaviour("programs.decided_again")
async def test_a_program_does_not_go_on_after_programs_were_turned_off(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CAREFUL))
        await here.decides(ticket, yes=False)
        declared = here.house.gateway.board.policy.declared
        denied = replace(
            declared,
            denials=(*declared.denials, Denial(Pattern("builtin", "python_execution"), DeclaredAt("pegboard.yaml", 1))),
        )
        await here.house.gateway.operator.apply_settings(denied)
        refused = await here.waits(ticket)
        assert isinstance(refused, LockedToolRefusal)
        assert status_of(refused.reason) is LockStatus.DISABLED_BY_CONFIG
        assert (here.called("delete"), here.called("add")) == ([], [])
        await here.house.gateway.operator.apply_settings(declared)
        assert said(await here.waits(ticket))["result"][1] == 3


@pytest.mark.behaviour("programs.asked_in_place")
async def test_a_client_that_can_be_asked_is_asked_in_the_middle_of_the_program(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        client = AskedClient(YES)
        assert said(await here.runs(CLEANS, peer=client)) == CLEANED
        assert [method for method, _ in client.asked] == ["elicitation/create"]
        told, _ = said(await here.runs(CAREFUL, peer=AskedClient(NO)))["result"]
        assert told.startswith("no: confirmation_denied: The user said no to this call of 'delete'")
        assert await here.house.gateway.tickets.latest_tickets() == []


@pytest.mark.behaviour("programs.asked_in_place")
async def test_the_time_of_a_program_stands_still_while_a_person_thinks() -> None:
    wall, client = RunClock(0.1), AskedClient()
    course = RunActivity(wall)
    patient = ClockPausingPeer(client, course, 1)
    with anyio.fail_after(PATIENCE):
        with wall.start():
            async with course.track_call(1):
                course.set_idle(True)
                for _ in range(2):
                    with anyio.move_on_after(0.3):
                        await patient.request("elicitation/create", {})
                    await anyio.lowlevel.checkpoint()
            assert len(client.asked) == 2
            await anyio.sleep_forever()
        assert wall.is_over


@pytest.mark.behaviour("programs.waits_for_a_person")
async def test_where_nothing_can_be_kept_the_call_raises_what_any_caller_is_told(tmp_path: Path) -> None:
    async with place(tmp_path, keeps=False) as here:
        told, summed = said(await here.runs(CAREFUL))["result"]
        assert told.startswith("no: confirmation_required: A person must confirm this call of 'delete' first")
        assert summed == 3


@pytest.mark.behaviour("programs.waits_for_a_person")
async def test_a_program_that_must_be_confirmed_itself_waits_first_for_that(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(is_listed=True)) as here:
        asks = SetOverride(Override(PYTHON_ID.toolset, PYTHON_ID, requires_confirmation=True))
        await here.house.does(ASKS, asks)
        call = call_of("python_execution", {"code": CLEANS}, id="run-1", client="cli 1")
        first = ticket_of(await here.house.gateway.caller.call(call, View()))
        assert here.called("read") == []
        await here.decides(first)
        second = ticket_of(await here.waits(first))
        await here.decides(second)
        assert said(await here.waits(second)) == CLEANED


@pytest.mark.behaviour("programs.cancelled")
async def test_who_gives_up_while_the_confirmed_call_runs_ends_it_and_the_program(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ticket = ticket_of(await here.runs(CLEANS))
        await here.decides(ticket)
        reached = anyio.Event()

        async def holds(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
            reached.set()
            return await held_forever(admitted, progress)

        here.files.answers["delete"] = holds
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(here.waits, ticket)
            await reached.wait()
            tasks.cancel_scope.cancel()
        assert here.files.given_up == 1
        assert here.records()[-3:] == [
            ("delete", "run-1", "CallCancellation"),
            ("python_execution", "run-1", "CallCancellation"),
            ("pegboard_ticket", None, "CallCancellation"),
        ]
        assert await here.store.runs.find_waiting(ticket, here.house.clock()) is None
        assert words_of(await here.waits(ticket)).startswith("confirmation_used: ")


def _path(ticket: Ticket) -> int:
    return len(str(ticket.redacted_arguments["path"]))
