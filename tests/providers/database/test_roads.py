"""Roads to what is closed behind a server, each gone twice, and the state of the database afterwards."""

import anyio
import pytest
from tests.providers.database import mysql_shop, postgres_shop
from tests.providers.database.test_mysql_attacks import closed
from tests.support.roads import gone

from pegboard.providers.database.mysql.engine import MysqlEngine
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SECRETS = ("xyzzy", "plugh", "4242", "123-45", "987-65", "555-55", "open sesame")


@pytest.mark.behaviour("databases.withheld", "databases.closed_columns")
async def test_no_road_leads_to_what_is_closed_in_postgresql(shop: postgres_shop.Shop) -> None:
    before = await shop.state()
    engine = PostgresEngine(shop.narrow, postgres_shop.SHUT)
    try:
        with anyio.fail_after(300):
            assert await gone(engine, "postgresql", "tables", "secret", "zebras", SECRETS) == []
            assert await gone(engine, "postgresql", "columns", "ssn", "sns", SECRETS) == []
    finally:
        await engine.aclose()
    assert await shop.state() == before


@pytest.mark.behaviour("databases.withheld", "databases.closed_columns")
async def test_no_road_leads_to_what_is_closed_in_mariadb(mysql: mysql_shop.Shop) -> None:
    before = mysql.state()
    engine = MysqlEngine(await mysql.login(closed(mysql)), closed(mysql))
    try:
        with anyio.fail_after(300):
            assert await gone(engine, "mysql", "tables", "secret", "zebras", SECRETS, mysql.name) == []
            assert await gone(engine, "mysql", "columns", "ssn", "sns", SECRETS, mysql.name) == []
    finally:
        await engine.aclose()
    assert mysql.state() == before
