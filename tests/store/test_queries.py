"""Saved queries, kept alike by both engines."""

from dataclasses import replace

import pytest
from tests.store.calls import NOON
from tests.store.engines import Engine, now

from pegboard.core.model.ids import PrincipalId
from pegboard.core.presentations.evaluation import MAX_QUERIES, SavedQuery
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

ONE = SavedQuery(
    "files \ud800\0", "read \x1a a file", ("a:b", "mcp:c~d:e"), PrincipalId("ann"), PrincipalId("me"), NOON
)


@pytest.mark.behaviour("search.evaluation", "store.same_contract")
async def test_a_query_is_given_back_as_it_was_saved_also_by_the_next_process(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        assert await store.queries.save(ONE)
    async with open_store(engine.url, clock=now) as store:
        assert await store.queries.all() == [ONE]
        changed = replace(ONE, query="write it")
        assert await store.queries.save(changed)
        assert await store.queries.save(replace(ONE, name="again"))
        assert await store.queries.all() == [replace(ONE, name="again"), changed]
        assert [await store.queries.delete(name) for name in ("again", "again")] == [True, False]


@pytest.mark.behaviour("search.evaluation")
async def test_no_more_than_so_many_are_kept_but_any_of_them_can_be_changed(store: Store) -> None:
    for number in range(MAX_QUERIES):
        assert await store.queries.save(replace(ONE, name=f"{number:03}"))
    assert not await store.queries.save(replace(ONE, name="one too many"))
    assert await store.queries.save(replace(ONE, name="007", query="changed"))
    assert len(await store.queries.all()) == MAX_QUERIES
