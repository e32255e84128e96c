"""How the database is, on both engines."""

import pytest
from tests.store.calls import NOON, record
from tests.store.engines import Engine, now

from pegboard.store.call_records import ContentRetention
from pegboard.store.open import open_store
from pegboard.store.schema import REVISION

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("settings.storage", "store.same_contract")
async def test_a_store_says_how_it_is(engine: Engine) -> None:
    async with open_store(
        engine.url, clock=now, keep_days=7, keep_rows=None, keeping=ContentRetention(arguments=True)
    ) as store:
        empty = await store.storage()
        assert (empty.calls, empty.oldest, empty.revision) == (0, None, REVISION)
        store.audit.record(record(id="1", at=NOON))
        await store.audit.latest_number()
        filled = await store.storage()
    assert (filled.calls, filled.oldest) == (1, NOON)
    assert (filled.keep_days, filled.keep_rows, filled.arguments, filled.results) == (7, None, True, False)
    assert filled.engine in ("SQLite", "PostgreSQL")
    assert filled.version[0].isdigit()
    assert filled.size > 0
