"""How much room programs take that wait: for little longer than their tickets, made small, and not without end."""

import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.store.engines import Engine
from tests.store.test_tickets import want

from pegboard.core.calls.programs import StoredRun, SuspendedRun
from pegboard.core.calls.tickets import ConsentScope, TicketDecision, TicketState
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId
from pegboard.ports.stores import RunsUnavailable
from pegboard.store.encryption import encrypt
from pegboard.store.open import Store, open_store
from pegboard.store.runs import KEPT_AFTER_DEADLINE, MAX_STATE_BYTES, SqlRunStore
from pegboard.store.secrets import key_of

pytestmark = pytest.mark.anyio

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
UNTIL = AT + timedelta(minutes=5)
DAY = AT + timedelta(days=1)
MOMENT = timedelta(microseconds=1)
ROOM = 3_000
STATE = bytes(range(256)) * 4


def run(name: str, *tickets: str, state: bytes = b"a state", principal: PrincipalId = LOCAL_PRINCIPAL) -> SuspendedRun:
    return SuspendedRun(CallId(name), tickets, state, DAY, principal)


async def asked(store: Store, *tickets: str) -> None:
    for ticket in tickets:
        await store.tickets.claim(want(ticket, digest=ticket), AT, UNTIL)


async def is_there(store: Store, ticket: str, at: datetime) -> bool:
    return await store.runs.find_waiting(ticket, at) is not None


@pytest.mark.behaviour("programs.kept_for_a_time", "store.same_contract")
async def test_a_program_goes_little_later_than_its_last_ticket_lapses(engine: Engine, tmp_path: Path) -> None:
    gone = UNTIL + KEPT_AFTER_DEADLINE + MOMENT
    async with open_store(engine.url, clock=lambda: gone, key=key_of({}, tmp_path)) as store:
        await asked(store, "t1", "t2")
        await store.runs.save(run("run-1", "t1", "t2"), AT)
        assert await is_there(store, "t1", UNTIL + KEPT_AFTER_DEADLINE)
        assert not await is_there(store, "t1", gone)
        assert await engine.run("SELECT id FROM runs") == [("run-1",)]
        await store.audit.prune(thorough=False)
        assert await engine.run("SELECT id FROM runs") == []
        assert await engine.run("SELECT ticket FROM run_tickets") == []


@pytest.mark.behaviour("programs.kept_for_a_time", "store.same_contract")
@pytest.mark.parametrize("state", [TicketState.ALLOWED, TicketState.DENIED])
async def test_a_program_stays_for_as_long_as_a_decision_about_it_stands(
    engine: Engine, tmp_path: Path, state: TicketState
) -> None:
    stands = UNTIL + timedelta(minutes=4)
    scope = ConsentScope.ONCE if state is TicketState.ALLOWED else None
    async with open_store(engine.url, clock=lambda: AT, key=key_of({}, tmp_path)) as store:
        await asked(store, "t1", "t2", "t3")
        await store.runs.save(run("run-1", "t1", "t2"), AT)
        await store.runs.save(run("run-2", "t3"), AT)
        assert await store.tickets.decide("t1", TicketDecision(state, LOCAL_PRINCIPAL, UNTIL, stands, scope))
        assert await is_there(store, "t1", stands + KEPT_AFTER_DEADLINE)
        assert not await is_there(store, "t1", stands + KEPT_AFTER_DEADLINE + MOMENT)
        assert not await is_there(store, "t3", UNTIL + KEPT_AFTER_DEADLINE + MOMENT)


@pytest.mark.behaviour("programs.room", "store.same_contract")
async def test_programs_of_one_caller_and_of_all_take_only_so_much_room(engine: Engine, tmp_path: Path) -> None:
    key = key_of({}, tmp_path)
    async with open_store(engine.url, clock=lambda: AT, key=key) as store:
        runs = SqlRunStore(store.runs._database, key, most=2 * ROOM, most_of_one=ROOM)
        ann, bob, eve = (PrincipalId(name) for name in ("ann", "bob", "eve"))
        size = await _size(engine, runs, run("first", "t0", state=STATE, principal=ann))
        fit = ROOM // size
        for n in range(1, fit):
            await runs.save(run(f"ann-{n}", f"a{n}", state=STATE, principal=ann), AT)
        with pytest.raises(RunsUnavailable) as full:
            await runs.save(run("one-more", "a", state=STATE, principal=ann), AT)
        assert str(full.value) == (
            "other programs of yours wait already, and together with them it would take more than the 3,000 bytes that "
            "are kept for one caller. Ask the user to decide about those first (pegboard tickets list), and go on with "
            "them"
        )
        for n in range(fit):
            await runs.save(run(f"bob-{n}", f"b{n}", state=STATE, principal=bob), AT)
        taken = 2 * fit * size
        for n in range((2 * ROOM - taken) // size):
            await runs.save(run(f"eve-{n}", f"e{n}", state=STATE, principal=eve), AT)
        with pytest.raises(RunsUnavailable, match="more than the 6,000 bytes that are kept in all"):
            await runs.save(run("too-many", "e", state=STATE, principal=eve), AT)
        # Kept again it takes the place of what was kept of it, and one that goes on takes none.
        await runs.save(run("first", "t0", state=STATE, principal=ann), AT)
        found = await runs.find_waiting("t0", AT)
        assert found is not None
        assert await runs.claim(found, AT)
        await runs.save(run("one-more", "a", state=STATE, principal=ann), AT)
        assert await runs.find_waiting("e", AT) is None


async def _size(engine: Engine, runs: SqlRunStore, first: SuspendedRun) -> int:
    await runs.save(first, AT)
    ((size, length),) = await engine.run("SELECT size, length(sealed) FROM runs")
    assert size == length
    assert ROOM // 4 > size > ROOM // 10
    return int(size)


@pytest.mark.behaviour("programs.room", "store.same_contract")
async def test_a_program_is_made_smaller_before_it_is_kept_and_comes_back_whole(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=lambda: AT, key=key_of({}, tmp_path)) as store:
        largest = run("run-1", "t1", state=b"a" * MAX_STATE_BYTES)
        await store.runs.save(largest, AT)
        ((length,),) = await engine.run("SELECT length(sealed) FROM runs")
        assert length < MAX_STATE_BYTES // 50
        found = await store.runs.find_waiting("t1", AT)
        assert found is not None
        assert found == StoredRun(largest.id, found.mark, largest.state)
        with pytest.raises(RunsUnavailable) as told:
            await store.runs.save(replace(largest, state=largest.state + b"a"), AT)
        assert str(told.value) == (
            "what is kept of it meanwhile takes 16,777,217 bytes, and of one program at most 16,777,216 are kept. Hold "
            "less in variables by the time of that call"
        )


@pytest.mark.behaviour("programs.room", "programs.sealed")
@pytest.mark.parametrize(
    ("inside", "state"),
    [
        (b"zlib\n" + zlib.compress(bytes(MAX_STATE_BYTES + 1)), None),
        (b"zlib\n" + zlib.compress(b"a state")[:-1], None),
        (b"zlib\nno such thing", None),
        (b"as an earlier version kept it", b"as an earlier version kept it"),
    ],
    ids=["more", "cut", "no zlib", "earlier"],
)
async def test_what_becomes_more_than_was_ever_kept_is_not_gone_on_with(
    tmp_path: Path, inside: bytes, state: bytes | None
) -> None:
    key = key_of({}, tmp_path)
    async with open_store(f"sqlite:///{tmp_path / 'runs.db'}", clock=lambda: AT, key=key) as store:
        await store.runs.save(run("run-1", "t1"), AT)
        kept = await store.runs.find_waiting("t1", AT)
        assert kept is not None
        text = encrypt(inside, f"run run-1 {kept.mark}", key(False))
        async with store.runs._database.write_transaction() as connection:
            await connection.exec_driver_sql(f"UPDATE runs SET sealed = '{text}'")
        found = await store.runs.find_waiting("t1", AT)
        assert found is not None
        assert found.state == state
