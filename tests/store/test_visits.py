"""Visits of browsers, kept alike by both engines."""

from datetime import timedelta

import pytest
from tests.store.calls import NOON
from tests.store.engines import Engine, now

from pegboard.ports.visits import KeptVisit
from pegboard.store import Store, open_store

pytestmark = pytest.mark.anyio

FIRST = KeptVisit("1" * 64, "a" * 64, NOON - timedelta(days=3), NOON)
SECOND = KeptVisit("2" * 64, "b" * 64, NOON - timedelta(days=9), NOON - timedelta(hours=1))
LONG_AGO = NOON - timedelta(days=30)


@pytest.mark.behaviour("store.visits", "store.same_contract")
async def test_visits_are_there_for_the_next_process_of_the_same_gateway_the_latest_last(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.visits.keep("here", [FIRST, SECOND], (), LONG_AGO)
        await store.visits.keep("there", [FIRST], (), LONG_AGO)
    async with open_store(engine.url, clock=now) as store:
        assert await store.visits.of("here") == [SECOND, FIRST]
        assert await store.visits.of("there") == [FIRST]
        assert await store.visits.of("elsewhere") == []


@pytest.mark.behaviour("store.visits", "store.same_contract")
async def test_a_visit_is_written_once_more_and_one_that_ended_is_gone(store: Store) -> None:
    await store.visits.keep("here", [FIRST, SECOND], (), LONG_AGO)
    await store.visits.keep("there", [SECOND], (), LONG_AGO)
    again = KeptVisit(FIRST.secret, FIRST.token, FIRST.began, NOON + timedelta(hours=2))
    await store.visits.keep("here", [again], {SECOND.secret, "unknown"}, LONG_AGO)
    assert await store.visits.of("here") == [again]
    assert await store.visits.of("there") == [SECOND]
    await store.visits.end_all()
    assert (await store.visits.of("here"), await store.visits.of("there")) == ([], [])


@pytest.mark.behaviour("store.visits", "store.same_contract")
async def test_what_nobody_saw_for_long_goes_whichever_gateway_it_was_of(store: Store) -> None:
    await store.visits.keep("gone gateway", [SECOND], (), LONG_AGO)
    await store.visits.keep("here", [FIRST], (), NOON)
    assert (await store.visits.of("gone gateway"), await store.visits.of("here")) == ([], [FIRST])
