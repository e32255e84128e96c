"""When a token was used last: remembered at once, written down once in a while."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from pegboard.gateway.access.tokens import UsageTracker
from pegboard.ports.audit import StoreUnavailable

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Kept:
    def __init__(self) -> None:
        self.writes: list[Mapping[str, datetime]] = []
        self.away = False

    async def save_uses(self, uses: Mapping[str, datetime]) -> None:
        if self.away:
            raise StoreUnavailable("The store is away.")
        self.writes.append(dict(uses))

    async def last_uses(self) -> Mapping[str, datetime]:
        return {id: at for write in self.writes for id, at in write.items()}


@pytest.mark.behaviour("tokens.used")
async def test_a_busy_token_is_written_once_with_the_last_time() -> None:
    store, moments = Kept(), iter(NOW + timedelta(seconds=second) for second in range(1000))
    uses = UsageTracker(store, lambda: next(moments))
    for _ in range(500):
        uses.record_use("a")
    uses.record_use("b")
    assert await uses.last_uses() == {"a": NOW + timedelta(seconds=499), "b": NOW + timedelta(seconds=500)}
    assert store.writes == []
    await uses.write()
    await uses.write()
    assert store.writes == [{"a": NOW + timedelta(seconds=499), "b": NOW + timedelta(seconds=500)}]


@pytest.mark.behaviour("tokens.used")
async def test_what_a_store_that_is_away_did_not_take_is_written_later_and_at_the_end() -> None:
    store = Kept()
    uses = UsageTracker(store, lambda: NOW)
    store.away = True
    uses.record_use("a")
    await uses.write()
    assert await uses.last_uses() == {"a": NOW}
    store.away = False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uses.run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert store.writes == [{"a": NOW}]
