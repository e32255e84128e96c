"""Statements that change rows, before a person is asked: only what could run is asked about, and nothing runs."""

import pytest
from tests.providers.database import mysql_shop, postgres_shop

from pegboard.core.databases.rows import QueryAnswer, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.ports.databases import DatabaseEngine
from pegboard.providers.database.common import NEEDS_WRITE
from pegboard.providers.database.mysql.engine import MysqlEngine
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RUNS = (
    "INSERT INTO customers (id, name) VALUES (99, '100%s')",
    "UPDATE customers SET city = upper(city) WHERE id = 1",
    "DELETE FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'Bonn')",
)
WRONG = (
    "INSERT INTO customers (id, nam) VALUES (99, 'x')",
    "INSERT INTO nowhere VALUES (1)",
    "INSERT INTO customers VALUES (99, 'x'",
    "DELETE FROM secret",
    "INSERT INTO orders (id, note) SELECT id, word FROM secret",
    "UPDATE customers SET city = (SELECT word FROM secret LIMIT 1)",
    "INSERT INTO kinds (id) VALUES (7)",
    "DELETE FROM customers; DELETE FROM orders",
    "TRUNCATE TABLE customers",
)
FAULTS = (
    StatementFault.NO_COLUMN,
    StatementFault.NO_TABLE,
    StatementFault.SYNTAX,
    StatementFault.NO_TABLE,
    StatementFault.NO_TABLE,
    StatementFault.NO_TABLE,
)


def closed() -> DatabaseAccess:
    pattern = parse_name_pattern("secret")
    assert isinstance(pattern, NamePattern)
    return DatabaseAccess(deny=(pattern,))


async def tried(engine: DatabaseEngine) -> list[QueryAnswer]:
    try:
        return [await engine.run(statement, (), QueryLimits(seconds=20)) for statement in (*RUNS, *WRONG)]
    finally:
        await engine.aclose()


def assert_only_what_can_run_waits(answers: list[QueryAnswer]) -> None:
    assert answers[:3] == [NEEDS_WRITE] * 3
    failed = answers[3:]
    assert [each.fault for each in failed if isinstance(each, StatementFailure)] == [*FAULTS, StatementFault.OTHER]
    assert [each.is_write for each in failed if isinstance(each, StatementRefusal)] == [False, False]
    denied = failed[len(FAULTS)]
    assert isinstance(denied, StatementFailure)
    assert denied.message == "The user of this source may not do that there. Its operator can grant it."


@pytest.mark.behaviour("databases.writes_confirmed")
async def test_postgresql_is_asked_what_a_statement_would_meet(shop: postgres_shop.Shop) -> None:
    url = await shop.login("clerk", closed(), writes=True)
    await shop.outside(f"REVOKE INSERT ON kinds FROM {url.split('//')[1].split(':')[0]}")
    before = await shop.state()
    assert_only_what_can_run_waits(await tried(PostgresEngine(url, closed(), writes=True)))
    assert await shop.state() == before


@pytest.mark.behaviour("databases.writes_confirmed")
async def test_mariadb_is_asked_what_a_statement_would_meet(mysql: mysql_shop.Shop) -> None:
    url = await mysql.login(closed(), writes=True)
    mysql.outside(f"REVOKE INSERT ON kinds FROM {mysql.name}_narrow")
    before = mysql.state()
    assert_only_what_can_run_waits(await tried(MysqlEngine(url, closed(), writes=True)))
    assert mysql.state() == before
