"""When tokens were used last, in both engines; the tokens themselves are part of the policy and tested with it."""

from datetime import UTC, datetime, timedelta

import pytest

from pegboard.store.open import Store

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=UTC)


@pytest.mark.behaviour("tokens.used")
async def test_the_last_use_of_each_token_is_kept_and_makes_no_new_policy(store: Store) -> None:
    before = await store.policy.load()
    await store.token_uses.save_uses({})
    await store.token_uses.save_uses({"a": NOW, "b": NOW})
    await store.token_uses.save_uses({"a": NOW + timedelta(minutes=1)})
    assert await store.token_uses.last_uses() == {"a": NOW + timedelta(minutes=1), "b": NOW}
    assert await store.policy.load() == before
