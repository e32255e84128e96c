"""A board whose own store is PostgreSQL, with a database of SQLite that models ask."""

from pathlib import Path

import pytest
from tests.e2e.test_databases import a_write_is_confirmed
from tests.store.engines import Postgres

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.behaviour("databases.writes_confirmed", "databases.structured_answer")
async def test_a_write_waits_in_a_store_of_postgresql_too(postgres: Postgres, tmp_path: Path) -> None:
    await a_write_is_confirmed(tmp_path, {"store": postgres.url})
