"""Visits of browsers, kept alike by both engines."""

from datetime import timedelta

import pytest
from tests.store.calls import NOON
from tests.store.engines import Engine, now

from pegboard.ports.stores import StoredSession
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

FIRST = StoredSession("1" * 64, "a" * 64, NOON - timedelta(days=3), NOON)
SECOND = StoredSession("2" * 64, "b" * 64, NOON - timedelta(days=9), NOON - timedelta(hours=1))
LONG_AGO = NOON - timedelta(days=30)


@pytest.mark.behaviour("store.visits", "store.same_contract")
async def test_visits_are_there_for_the_next_process_of_the_same_gateway_the_latest_last(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.sessions.save("here", [FIRST, SECOND], (), LONG_AGO)
        await store.sessions.save("there", [FIRST], (), LONG_AGO)
    async with open_store(engine.url, clock=now) as store:
        assert await store.sessions.load("here") == [SECOND, FIRST]
        assert await store.sessions.load("there") == [FIRST]
        assert await store.sessions.load("elsewhere") == []


@pytest.mark.behaviour("store.visits", "store.same_contract")
async def test_a_visit_is_written_once_more_and_one_that_ended_is_gone(store: Store) -> None:
    await store.sessions.save("here", [FIRST, SECOND], (), LONG_AGO)
    await store.sessions.save("there", [SECOND], (), LONG_AGO)
    again = StoredSession(FIRST.secret, FIRST.token, FIRST.began_at, NOON + timedelta(hours=2))
    await store.sessions.save("here", [again], {SECOND.secret, "unknown"}, LONG_AGO)
    assert await store.sessions.load("here") == [again]
    assert await store.sessions.load("there") == [SECOND]
    await store.sessions.end_all()
    assert (await store.sessions.load("here"), await store.sessions.load("there")) == ([], [])


@pytest.mark.behaviour("store.visits", "store.same_contract")
async def test_what_nobody_saw_for_long_goes_whichever_gateway_it_was_of(store: Store) -> None:
    await store.sessions.save("gone gateway", [SECOND], (), LONG_AGO)
    await store.sessions.save("here", [FIRST], (), NOON)
    assert (await store.sessions.load("gone gateway"), await store.sessions.load("here")) == ([], [FIRST])
