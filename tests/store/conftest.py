"""Both engines for every test of the store: a SQLite file, and a real PostgreSQL server with a database a test."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.store.engines import Engine, Postgres, Sqlite, now

from pegboard.store.open import Store, open_store


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    """An empty database, and the means to look at it and disturb it from outside."""
    if request.param == "sqlite":
        yield Sqlite(tmp_path / "pegboard.db")
        return
    async with Postgres.fresh(request.getfixturevalue("postgres_server"), f"t{secrets.token_hex(6)}") as database:
        yield database


@pytest.fixture
async def postgres(postgres_server: str) -> AsyncIterator[Postgres]:
    async with Postgres.fresh(postgres_server, f"t{secrets.token_hex(6)}") as database:
        yield database


@pytest.fixture
async def store(engine: Engine) -> AsyncIterator[Store]:
    async with open_store(engine.url, clock=now) as opened:
        yield opened
