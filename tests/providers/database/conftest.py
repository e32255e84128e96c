"""Real servers with a shop in them: PostgreSQL and MariaDB, each started once."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.providers.database import mysql_shop, postgres_shop
from tests.servers import mariadb

from pegboard.providers.builtin.database.mysql.connection import Address, ConnectionPool


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
def only_what_pools_keep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test with MariaDB, the server has the connections that pools keep, and no other; and none when they
    are closed."""
    if "mysql" not in request.fixturenames:
        yield
        return
    shop: mysql_shop.Shop = request.getfixturevalue("mysql")
    made = ConnectionPool.__init__

    def noted(pool: ConnectionPool, address: Address) -> None:
        made(pool, address)
        mysql_shop.POOLS.append(pool)

    monkeypatch.setattr(ConnectionPool, "__init__", noted)
    yield
    try:
        assert shop.others() == set()
    finally:
        for pool in mysql_shop.POOLS:
            pool.close()
        mysql_shop.POOLS.clear()
    assert shop.others() == set()
