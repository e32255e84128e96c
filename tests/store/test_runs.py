"""Suspended programs at rest: encrypted, found by any of their tickets, and gone on with once, whoever races for it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.store.engines import Engine, now

from pegboard.core.calls.programs import StoredRun, SuspendedRun
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId
from pegboard.ports.stores import RunsUnavailable
from pegboard.store.open import open_store
from pegboard.store.runs import MAX_STATE_BYTES, SqlRunStore
from pegboard.store.secrets import KEY_VARIABLE, key_of

pytestmark = pytest.mark.anyio

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
UNTIL = AT + timedelta(days=1)
RUN = SuspendedRun(CallId("run-1"), ("t1", "t2"), b"\x00 a state that holds very-secret", UNTIL, LOCAL_PRINCIPAL)
OTHER_KEY = {KEY_VARIABLE: "b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVyb3Q="}


async def found(runs: SqlRunStore, ticket: str = "t1", at: datetime = AT) -> StoredRun:
    waiting = await runs.find_waiting(ticket, at)
    assert waiting is not None
    return waiting


@pytest.mark.behaviour("programs.waits_over_restarts", "store.same_contract")
async def test_a_kept_program_is_found_by_each_of_its_tickets_after_the_process_that_kept_it(
    engine: Engine, tmp_path: Path
) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        one, two = await found(store.runs, "t1"), await found(store.runs, "t2")
        assert one == two == StoredRun(RUN.id, one.mark, RUN.state)
        assert await store.runs.find_waiting("t3", AT) is None


@pytest.mark.behaviour("programs.goes_on_once", "store.same_contract")
async def test_of_many_that_would_go_on_with_it_one_does_and_its_state_is_gone(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
        waiting = await found(store.runs)
        claims: list[bool] = []

        async def claim() -> None:
            claims.append(await store.runs.claim(waiting, AT))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(claim)
        assert sorted(claims) == [False, False, False, False, True]
        assert await found(store.runs) == replace(
            waiting, state=None, why="somebody goes on with it already", claimed_at=AT
        )


@pytest.mark.behaviour("programs.goes_on_once", "store.same_contract")
async def test_a_state_from_before_cannot_be_claimed_once_it_was_kept_again(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
        stale = await found(store.runs)
        assert await store.runs.claim(stale, AT)
        await store.runs.save(replace(RUN, tickets=("t2",), state=b"later"), AT)
        assert await store.runs.find_waiting("t1", AT) is None
        assert not await store.runs.claim(stale, AT)
        latest = await found(store.runs, "t2")
        assert latest.state == b"later"
        assert await store.runs.claim(latest, AT)


@pytest.mark.behaviour("programs.sealed", "store.same_contract")
async def test_nothing_of_a_program_can_be_read_in_the_database_or_with_another_key(
    engine: Engine, tmp_path: Path
) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
    ((sealed,),) = await engine.run("SELECT sealed FROM runs")
    assert "very-secret" not in sealed
    async with open_store(engine.url, clock=now, key=key_of(OTHER_KEY, tmp_path)) as store:
        waiting = await found(store.runs)
        assert waiting == StoredRun(
            RUN.id,
            waiting.mark,
            None,
            "what was kept of it is damaged, or was kept with another key than this gateway's",
        )


@pytest.mark.behaviour("programs.sealed", "store.same_contract")
async def test_the_state_of_one_program_cannot_stand_for_another(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
        await store.runs.save(SuspendedRun(CallId("run-2"), ("t9",), b"another", UNTIL, LOCAL_PRINCIPAL), AT)
        await engine.run("UPDATE runs SET sealed = (SELECT sealed FROM runs WHERE id = 'run-1') WHERE id = 'run-2'")
        assert (await found(store.runs, "t9")).state is None


@pytest.mark.behaviour("store.same_contract")
async def test_a_ticket_that_two_programs_wait_for_is_the_later_ones(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
        await store.runs.save(SuspendedRun(CallId("run-2"), ("t2", "t2"), b"another", UNTIL, LOCAL_PRINCIPAL), AT)
        assert ((await found(store.runs, "t1")).id, (await found(store.runs, "t2")).id) == ("run-1", "run-2")


@pytest.mark.behaviour("programs.kept_for_a_time", "store.same_contract")
async def test_a_program_that_nobody_went_on_with_is_gone_when_its_time_is_over(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.runs.save(RUN, AT)
        late = UNTIL + timedelta(seconds=1)
        assert await store.runs.find_waiting("t1", late) is None
        await store.runs.save(SuspendedRun(CallId("run-2"), ("t9",), b"another", late, LOCAL_PRINCIPAL), late)
        assert await engine.run("SELECT id FROM runs") == [("run-2",)]
        assert await engine.run("SELECT ticket FROM run_tickets") == [("t9",)]
        await store.runs.end(CallId("run-2"))
        assert await engine.run("SELECT id FROM runs") == []
        assert await engine.run("SELECT ticket FROM run_tickets") == []


@pytest.mark.behaviour("programs.kept_for_a_time")
async def test_a_state_that_is_too_large_and_a_gateway_without_a_key_are_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    async with open_store(url, clock=now, key=key_of({}, tmp_path)) as store:
        with pytest.raises(RunsUnavailable, match=f"of one program at most {MAX_STATE_BYTES:,} are kept"):
            await store.runs.save(replace(RUN, state=bytes(MAX_STATE_BYTES + 1)), AT)
    async with open_store(url, clock=now) as store:
        with pytest.raises(RunsUnavailable, match="without a key"):
            await store.runs.save(RUN, AT)
