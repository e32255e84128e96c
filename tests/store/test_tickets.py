"""Tickets at rest: each step happens once, whoever races for it, and what waits outlives the process."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.store.engines import Engine, now

from pegboard.core.calls.tickets import (
    WITHDRAWN_NOTE,
    ArgumentsTooLarge,
    ConsentScope,
    NewTicket,
    Ticket,
    TicketDecision,
    TicketState,
    TicketUse,
    TooManyTickets,
)
from pegboard.core.model.ids import CallId, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId, WireName
from pegboard.core.model.tool import Fingerprint
from pegboard.ports.stores import TicketsUnavailable
from pegboard.store.open import open_store
from pegboard.store.secrets import KEY_VARIABLE, key_of
from pegboard.store.tickets import MAX_ARGUMENT_BYTES, SqlTicketStore

pytestmark = pytest.mark.anyio

ANN, BOB = PrincipalId("ann"), PrincipalId("bob")
TOOL = ToolId(ServerKey(ToolsetId("dev"), ServerId("github")), "delete\x00 \ud800 工具")
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
UNTIL = AT + timedelta(minutes=5)
LATER = UNTIL + timedelta(seconds=1)


def want(id: str = "t1", *, digest: str = "d", principal: PrincipalId = ANN, call: str = "c") -> NewTicket:
    return NewTicket(
        id,
        CallId(f"{call}-{id}"),
        principal,
        "client \x00 1.0",
        TOOL,
        WireName("delete"),
        Fingerprint("f" * 64),
        digest,
        {"path": "a/ü", "token": "[hidden]"},
        {"path": "a/ü", "token": "very-secret", "odd": "\ud800", "n": 1.0},
        {"path": "a/ü", "token": "very-secret"},
    )


def ticket(wanted: NewTicket) -> Ticket:
    return Ticket(
        wanted.id,
        wanted.principal,
        wanted.client,
        wanted.tool,
        wanted.name,
        wanted.fingerprint,
        wanted.digest,
        wanted.redacted_arguments,
        AT,
        UNTIL,
    )


def yes(scope: ConsentScope = ConsentScope.ONCE) -> TicketDecision:
    return TicketDecision(TicketState.ALLOWED, BOB, AT, UNTIL, scope, "why \x00 not")


NO = TicketDecision(TicketState.DENIED, BOB, AT, UNTIL, None, "no")


@pytest.mark.behaviour("confirmation.tickets_kept", "store.same_contract")
async def test_a_ticket_is_the_same_after_the_process_that_made_it(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        assert await store.tickets.claim(want(), AT, UNTIL) == ticket(want())
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        assert await store.tickets.find("t1") == ticket(want())
        assert await store.tickets.find("t2") is None
        assert await store.tickets.decide("t1", yes())
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        decided = replace(
            ticket(want()),
            state=TicketState.ALLOWED,
            by=BOB,
            decided_at=AT,
            scope=ConsentScope.ONCE,
            note="why \x00 not",
        )
        assert await store.tickets.find("t1") == decided
        again = want("t2")
        assert await store.tickets.claim(again, AT, UNTIL) == TicketUse(decided, again.arguments)
        begun = replace(decided, state=TicketState.RUNNING, started_at=AT, call=again.call)
        assert await store.tickets.find("t1") == begun
        await store.tickets.end("t1", "it returned", CallId("another call"))
        assert await store.tickets.find("t1") == begun
        await store.tickets.end("t1", "it returned", again.call)
        assert await store.tickets.find("t1") == replace(begun, state=TicketState.DONE, outcome="it returned")


@pytest.mark.behaviour("confirmation.one_decision_one_call")
async def test_of_many_that_come_back_for_one_yes_one_gets_it(engine: Engine, tmp_path: Path) -> None:
    """Two replicas of one database, and ten retries at each at the same time."""
    key = key_of({}, tmp_path)
    async with open_store(engine.url, clock=now, key=key) as one, open_store(engine.url, clock=now, key=key) as two:
        await one.tickets.claim(want(), AT, UNTIL)
        granted = await one.tickets.find("t1")
        assert granted is not None
        assert await two.tickets.decide("t1", yes())
        ended: list[object] = []

        async def retry(tickets: SqlTicketStore, id: str) -> None:
            ended.append(await tickets.claim(want(id), AT, UNTIL))

        async def wait_for(tickets: SqlTicketStore, id: str) -> None:
            ended.append(await tickets.begin(granted, CallId(id), AT))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    for name, store in (("one", one), ("two", two)):
                        tasks.start_soon(retry, store.tickets, f"{name}-{number}")
                        tasks.start_soon(wait_for, store.tickets, f"{name}-{number}")
        assert sum(isinstance(end, TicketUse) for end in ended) == 1
        waiting = await one.tickets.list_tickets(waiting_at=AT)
        assert len(waiting) == 1, "all the others were given one and the same new ticket"
        assert all(end == waiting[0] for end in ended if isinstance(end, Ticket))


@pytest.mark.behaviour("confirmation.one_decision_one_call")
async def test_of_two_people_who_decide_at_once_one_is_told_that_it_was_decided(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as one, open_store(engine.url, clock=now) as two:
        await one.tickets.claim(want(), AT, UNTIL)
        done: list[bool] = []

        async def decide(tickets: SqlTicketStore, decision: TicketDecision) -> None:
            done.append(await tickets.decide("t1", decision))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for decision in (yes(), NO):
                    for store in (one, two):
                        tasks.start_soon(decide, store.tickets, decision)
        assert sorted(done) == [False, False, False, True]


@pytest.mark.behaviour("confirmation.deadline")
async def test_after_its_deadline_a_ticket_is_neither_decided_nor_used(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.tickets.claim(want(), AT, UNTIL)
        assert not await store.tickets.decide("t1", replace(yes(), at=LATER))
        assert await store.tickets.decide("t1", replace(yes(), at=UNTIL))
        found = await store.tickets.find("t1")
        assert found is not None
        assert await store.tickets.begin(found, CallId("c"), LATER) is None
        fresh = await store.tickets.claim(want("t2"), LATER, LATER + timedelta(minutes=5))
        assert isinstance(fresh, Ticket)
        assert fresh.id == "t2"
        assert await store.tickets.list_tickets(waiting_at=AT) == [fresh]
        assert [each.id for each in await store.tickets.list_tickets()] == ["t2", "t1"]


async def test_a_denial_stands_until_its_deadline_and_is_then_asked_about_anew(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.tickets.claim(want(), AT, UNTIL)
        assert await store.tickets.decide("t1", NO)
        denied = await store.tickets.claim(want("t2"), UNTIL, UNTIL)
        assert isinstance(denied, Ticket)
        assert (denied.id, denied.state) == ("t1", TicketState.DENIED)
        fresh = await store.tickets.claim(want("t3"), LATER, LATER)
        assert isinstance(fresh, Ticket)
        assert (fresh.id, fresh.state) == ("t3", TicketState.WAITING)


@pytest.mark.behaviour("confirmation.bounded")
async def test_only_so_many_calls_wait_at_once(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        tickets = SqlTicketStore(store.tickets._database, key_of({}, Path("/nowhere")), most=3, most_of_one=2)
        for number in range(2):
            assert isinstance(await tickets.claim(want(f"a{number}", digest=f"a{number}"), AT, UNTIL), Ticket)
        assert await tickets.claim(want("a2", digest="a2"), AT, UNTIL) == TooManyTickets(2, is_per_principal=True)
        assert isinstance(await tickets.claim(want("b0", digest="b0", principal=BOB), AT, UNTIL), Ticket)
        assert await tickets.claim(want("b1", digest="b1", principal=BOB), AT, UNTIL) == TooManyTickets(
            3, is_per_principal=False
        )
        same = await tickets.claim(want("a3", digest="a0"), AT, UNTIL)
        assert isinstance(same, Ticket)
        assert same.id == "a0", "the same call again needs no further ticket"
        assert isinstance(await tickets.claim(want("b1", digest="b1", principal=BOB), LATER, LATER), Ticket)


@pytest.mark.behaviour("confirmation.arguments_encrypted")
async def test_arguments_are_kept_encrypted_and_only_as_long_as_they_may_be_used(
    engine: Engine, tmp_path: Path
) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.tickets.claim(want(), AT, UNTIL)
        ((sealed, shown),) = await engine.run("SELECT sealed, shown FROM tickets")
        assert b"very-secret" not in base64.b64decode(sealed)
        assert "very-secret" not in shown
        assert await store.tickets.decide("t1", yes())
        granted = await store.tickets.find("t1")
        assert granted is not None
        assert await store.tickets.begin(granted, CallId("c"), AT) == TicketUse(granted, want().arguments)
        await store.tickets.claim(want("t2"), AT, UNTIL)
        await store.tickets.decide("t2", NO)
        assert await engine.run("SELECT sealed FROM tickets") == [(None,), (None,)]


@pytest.mark.behaviour("confirmation.arguments_encrypted")
async def test_with_another_key_or_none_a_yes_is_left_for_the_call_itself(engine: Engine, tmp_path: Path) -> None:
    keys = [{KEY_VARIABLE: base64.b64encode(bytes([byte]) * 32).decode()} for byte in (1, 2)]
    async with open_store(engine.url, clock=now, key=key_of(keys[0], tmp_path)) as store:
        await store.tickets.claim(want(), AT, UNTIL)
        assert await store.tickets.decide("t1", yes())
        granted = await store.tickets.find("t1")
        assert granted is not None
    async with open_store(engine.url, clock=now, key=key_of(keys[1], tmp_path)) as store:
        assert await store.tickets.begin(granted, CallId("c"), AT) is None
        assert await store.tickets.find("t1") == granted
        again = want("t2")
        assert await store.tickets.claim(again, AT, UNTIL) == TicketUse(granted, again.arguments)
    async with open_store(engine.url, clock=now) as store:
        unkept = await store.tickets.claim(want("t3"), AT, UNTIL)
        assert isinstance(unkept, Ticket)
        assert unkept.redacted_arguments == want().displayed_arguments, "there is nothing else to decide by"
        assert await engine.run("SELECT sealed FROM tickets WHERE id = 't3'") == [(None,)]


@pytest.mark.behaviour("confirmation.too_long")
async def test_there_is_no_ticket_for_arguments_that_nobody_could_read_whole(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path / 'p.db'}", clock=now, key=key_of({}, tmp_path)) as store:
        just = "x" * (MAX_ARGUMENT_BYTES - len('{"text": ""}'))
        large = replace(want(), arguments={"text": f"{just}x"})
        assert await store.tickets.claim(large, AT, UNTIL) == ArgumentsTooLarge(MAX_ARGUMENT_BYTES)
        assert await store.tickets.list_tickets() == []
        assert isinstance(await store.tickets.claim(replace(want(), arguments={"text": just}), AT, UNTIL), Ticket)


async def test_tickets_of_long_ago_are_removed(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.tickets.claim(want(), AT, UNTIL)
        await store.tickets.claim(want("t2", digest="e"), AT + timedelta(days=31), AT + timedelta(days=32))
        assert [each.id for each in await store.tickets.list_tickets()] == ["t2"]


async def test_a_store_that_is_away_is_told_in_words(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path / 'p.db'}", clock=now, patience=0.1) as store:
        await store.tickets.claim(want(), AT, UNTIL)
        async with store.tickets._database.write_transaction():
            with pytest.raises(TicketsUnavailable):
                await store.tickets.claim(want("t2"), AT, UNTIL)


@pytest.mark.behaviour("programs.own_tickets")
async def test_what_waits_or_is_allowed_is_for_one_program_and_a_denial_for_all(engine: Engine, tmp_path: Path) -> None:
    one, two = CallId("run \x00 1"), CallId("run 2")
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        first = await store.tickets.claim(replace(want("t1"), run=one), AT, UNTIL)
        assert first == replace(ticket(want("t1")), run=one)
        second = await store.tickets.claim(replace(want("t2"), run=two), AT, UNTIL)
        assert second == replace(ticket(want("t2")), run=two)
        assert await store.tickets.claim(want("t3"), AT, UNTIL) == ticket(want("t3"))
        assert await store.tickets.claim(replace(want("t4"), run=one), AT, UNTIL) == first
        assert await store.tickets.decide("t1", yes())
        assert await store.tickets.claim(replace(want("t5"), run=two), AT, UNTIL) == second
        assert isinstance(await store.tickets.claim(replace(want("t6"), run=one), AT, UNTIL), TicketUse)
        assert await store.tickets.decide("t3", replace(yes(), state=TicketState.DENIED, scope=None))
        denied = await store.tickets.claim(replace(want("t7"), run=CallId("run 3")), AT, UNTIL)
        assert isinstance(denied, Ticket)
        assert (denied.id, denied.state) == ("t3", TicketState.DENIED)


@pytest.mark.behaviour("programs.given_up", "store.same_contract")
async def test_a_ticket_that_is_withdrawn_waits_for_nobody_and_its_yes_is_used_by_nobody(
    engine: Engine, tmp_path: Path
) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        for id in ("t1", "t2", "t3", "t4"):
            await store.tickets.claim(want(id, digest=id), AT, UNTIL)
        assert await store.tickets.decide("t2", yes())
        assert await store.tickets.decide("t3", replace(yes(), state=TicketState.DENIED, scope=None))
        await store.tickets.withdraw(["t1", "t2", "t3", "none"], AT)
        found = [await store.tickets.find(id) for id in ("t1", "t2", "t3", "t4")]
        assert [(each.state_at(AT), each.outcome) for each in found if each is not None] == [
            (TicketState.EXPIRED, WITHDRAWN_NOTE),
            (TicketState.EXPIRED, WITHDRAWN_NOTE),
            (TicketState.DENIED, ""),
            (TicketState.WAITING, ""),
        ]
        assert [each.id for each in await store.tickets.list_tickets(waiting_at=AT)] == ["t4"]
        assert not await store.tickets.decide("t1", yes())
        granted = found[1]
        assert granted is not None
        assert await store.tickets.begin(granted, CallId("c"), AT) is None
        assert await engine.run("SELECT id FROM tickets WHERE sealed IS NOT NULL") == [("t4",)]
        # Who asks anew gets a new one, and nobody's no stands in the way.
        assert await store.tickets.claim(want("t5", digest="t1"), AT, UNTIL) == ticket(want("t5", digest="t1"))
