"""Real servers with a shop in them: PostgreSQL and MariaDB, each started once."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.providers.database import mysql_shop, postgres_shop
from tests.servers import mariadb


@pytest.fixture(scope="session")
def shop(postgres_server: str) -> postgres_shop.Shop:
    return anyio.run(postgres_shop.make_shop, postgres_server, f"shop{secrets.token_hex(4)}")


@pytest.fixture(scope="session")
def mariadb_socket() -> Iterator[Path]:
    try:
        with mariadb.server() as socket:
            yield socket
    except mariadb.NoMariadb as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def mysql(mariadb_socket: Path) -> mysql_shop.Shop:
    return mysql_shop.make_shop(mariadb_socket, f"shop{secrets.token_hex(4)}")


@pytest.fixture(autouse=True)
def no_connection_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test with MariaDB, the server has no connection."""
    yield
    if "mysql" in request.fixturenames:
        shop: mysql_shop.Shop = request.getfixturevalue("mysql")
        assert shop.others() == set()
