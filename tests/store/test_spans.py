"""However many records there are, a question about few of them is answered in parts; none is met twice or missed."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.store.calls import NOON, record
from tests.store.engines import Engine, now
from tests.store.test_activity import decision

from pegboard.core.model.ids import PrincipalId
from pegboard.ports.audit import AuditQuery, OlderPage
from pegboard.store.audit import AuditLimits
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

ANN = PrincipalId("ann")
SPAN = 5
LIMITS = AuditLimits(max_rows_walked=SPAN)


def filled(store: Store, count: int, *, ann: set[int]) -> None:
    for number in range(count):
        asked = NOON + timedelta(seconds=number)
        store.audit.record(record(id=str(number), at=asked, principal=ANN if number in ann else PrincipalId("ben")))


def ids(told: OlderPage) -> tuple[list[str], int | None]:
    return [row.call_id for row in told.rows], told.before


@pytest.mark.behaviour("audit.answers_in_parts", "store.same_contract")
async def test_a_question_that_little_fits_is_answered_part_by_part_to_the_end(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=LIMITS) as store:
        filled(store, 23, ann={0, 1, 21})
        query = AuditQuery(principal="ann", limit=10)
        parts = [await store.audit.page_before(query)]
        while (before := parts[-1].before) is not None:
            parts.append(await store.audit.page_before(replace(query, before=before)))
        assert list(map(ids, parts)) == [(["21"], 19), ([], 14), ([], 9), ([], 4), (["1", "0"], None)]
        assert [row.call_id for row in await store.audit.rows(query)] == ["21", "1", "0"]
        assert [row.call_id for row in await store.audit.rows(replace(query, limit=2))] == ["21", "1"]
        assert await store.audit.page_before(replace(query, before=1)) == OlderPage((), None)


@pytest.mark.behaviour("audit.answers_in_parts")
async def test_what_an_index_leads_to_is_found_at_once_however_far_back(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=LIMITS) as store:
        store.audit.record_decision(decision(said="long ago"))
        filled(store, 23, ann=set())
        for query in (AuditQuery(kind="decision"), AuditQuery(kind="switch"), AuditQuery(outcome="done")):
            told = await store.audit.page_before(query)
            assert ([row.message for row in told.rows], told.before) == (["long ago"], None)


@pytest.mark.behaviour("audit.answers_in_parts")
async def test_numbers_that_are_gone_are_not_walked_over(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=LIMITS) as store:
        filled(store, 23, ann={0, 22})
        await store.audit.flush()
        await engine.run("DELETE FROM calls WHERE number <= 20")
        assert ids(await store.audit.page_before(AuditQuery(principal="ann"))) == (["22"], None)
        onward = await store.audit.page_after(AuditQuery(principal="ann"), 0)
        assert ([row.call_id for row in onward.rows], onward.after) == (["22"], 23)
        await engine.run("DELETE FROM calls")
        assert await store.audit.page_before(AuditQuery()) == OlderPage((), None)


@pytest.mark.behaviour("audit.answers_in_parts", "audit.follow_without_a_gap")
async def test_whoever_waits_does_not_wait_for_news_while_there_is_more_to_look_through(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=replace(LIMITS, poll_interval_s=600)) as store:
        filled(store, 23, ann={21})
        await store.audit.flush()
        told = await store.audit.page_after(AuditQuery(principal="ann"), 0, wait=300)
        assert ([row.call_id for row in told.rows], told.after) == (["21"], 23)


@pytest.mark.behaviour("search.recorded")
async def test_a_record_tells_by_which_presentation_its_caller_is_shown_tools(store: Store) -> None:
    store.audit.record(record(id="shown", presentation="search"))
    store.audit.record(record(id="plain"))
    rows = await store.audit.rows(AuditQuery())
    assert [(row.call_id, row.presentation) for row in rows] == [("plain", None), ("shown", "search")]


@pytest.mark.behaviour("audit.every_call")
async def test_a_record_tells_how_much_of_its_time_passed_at_the_gate(store: Store) -> None:
    store.audit.record(record(id="measured")._replace(gate_us=120))
    store.audit.record(record(id="not measured"))
    rows = await store.audit.rows(AuditQuery())
    assert [(row.call_id, row.gate_us) for row in rows] == [("not measured", None), ("measured", 120)]
