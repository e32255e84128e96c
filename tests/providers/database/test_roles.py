"""The roles that the page tells to create, created as it is written there."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pymysql
import pytest
from tests.providers.database import mysql_shop

from pegboard.core.database import EVERYTHING, Limits, Rows
from pegboard.providers.builtin.database.mysql import mysql_engine
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "database-roles.md"
PASSWORD = "choose-a-long-one"


def written(title: str) -> list[str]:
    """The blocks of statements below a title."""
    (section,) = re.findall(
        rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [str(text) for text in re.findall(r"```sql\n(.*?)```", section, re.DOTALL)]


@pytest.mark.behaviour("databases.roles_as_written")
def test_the_guide_has_the_same_statements() -> None:
    guide = PAGE.with_name("databases.md").read_text(encoding="utf-8")
    blocks = [*written("PostgreSQL"), *written("MySQL and MariaDB")]
    assert [f"```sql\n{block}```" in guide for block in blocks] == [True, True, True]


def as_role(url: str, name: str, password: str = "pw") -> str:
    return re.sub(r"//[^@]*@", f"//{name}:{password}@", url)


@pytest.fixture
async def owned(postgres_server: str) -> AsyncIterator[str]:
    """A database of an ordinary role, with its tables; by the URL of a superuser, who owns nothing in it."""
    await _run(postgres_server, "CREATE ROLE shop_owner LOGIN PASSWORD 'pw'")
    await _run(postgres_server, "CREATE ROLE role_maker LOGIN CREATEROLE PASSWORD 'pw'")
    await _run(postgres_server, "CREATE DATABASE owned_shop OWNER shop_owner")
    admin = postgres_server.replace("/postgres?", "/owned_shop?")
    lines = "CREATE TABLE orders (id int); CREATE VIEW order_totals AS SELECT count(*) FROM orders"
    await _run(as_role(admin, "shop_owner"), lines)
    yield admin
    await _run(postgres_server, "DROP DATABASE owned_shop WITH (FORCE)")
    await _run(postgres_server, "DROP ROLE pegboard_reader, shop_owner, role_maker")


@pytest.mark.behaviour("databases.roles_as_written")
@pytest.mark.parametrize(("maker", "granter"), [("role_maker", "shop_owner"), ("", "shop_owner"), ("", "")])
async def test_the_role_of_the_page_reads_in_postgresql_and_nothing_is_wrong_with_it(
    owned: str, maker: str, granter: str
) -> None:
    owner = as_role(owned, "shop_owner")
    make, grant = written("PostgreSQL")
    await _run(as_role(owned, maker) if maker else owned, make)
    await _run(as_role(owned, granter) if granter else owned, grant)
    await _run(owner, "CREATE TABLE made_later (id int); CREATE TABLE baskets (id int)")
    (change,) = written("Where rows may be changed")
    await _run(owner, change)
    mine = as_role(owned, "pegboard_reader", PASSWORD)
    engine = postgresql_engine(mine, EVERYTHING, writes=True)
    try:
        checked = await engine.check()
        listed = [table.name.table for table in (await engine.schema()).tables]
        answers = [
            await engine.run(text, (), Limits(seconds=20))
            for text in (
                "SELECT count(*) FROM orders",
                "SELECT * FROM made_later",
                "SELECT * FROM order_totals LIMIT 1",
            )
        ]
        answers.append(await engine.run("INSERT INTO baskets VALUES (1)", (), Limits(seconds=20), write=True))
    finally:
        await engine.aclose()
    with pytest.raises(asyncpg.PostgresError, match="read-only transaction"):
        await _run(mine, "DELETE FROM orders")
    with pytest.raises(asyncpg.PostgresError, match="permission denied"):
        await _run(mine, "BEGIN READ WRITE; DELETE FROM orders")
    assert (checked.role, checked.findings) == ("pegboard_reader", ())
    assert listed == ["baskets", "made_later", "order_totals", "orders"]
    assert [told for told in answers if not isinstance(told, Rows)] == []


async def _run(url: str, statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


@pytest.mark.behaviour("databases.roles_as_written")
async def test_the_user_of_the_page_reads_in_mariadb_and_nothing_is_wrong_with_it(mysql: mysql_shop.Shop) -> None:
    (users,), (change,) = written("MySQL and MariaDB"), written("Where rows may be changed")
    lines = [line for line in users.replace("shop.*", f"{mysql.name}.*").split(";\n") if line.strip()]
    rows = change.strip(";\n")
    rows = rows.replace("baskets", f"{mysql.name}.baskets").replace("pegboard_reader", "'pegboard_reader'@'%'")
    mysql.outside("CREATE TABLE baskets (id int PRIMARY KEY)", *lines, rows)
    mine = mysql.reader.replace(f"{mysql.name}_reader:reads@", f"pegboard_reader:{PASSWORD}@")
    engine = mysql_engine(mine, EVERYTHING, writes=True)
    checked = await engine.check()
    answers = [
        await engine.run(text, (), Limits(seconds=20))
        for text in ("SELECT count(*) FROM orders", "SELECT * FROM order_totals LIMIT 1", "SHOW TABLES")
    ]
    answers.append(await engine.run("INSERT INTO baskets VALUES (1)", (), Limits(seconds=20), write=True))
    connection = pymysql.connect(
        unix_socket=str(mysql.socket), user="pegboard_reader", password=PASSWORD, database=mysql.name
    )
    with connection.cursor() as cursor, pytest.raises(pymysql.MySQLError, match="DELETE command denied"):
        cursor.execute("DELETE FROM orders")
    connection.close()
    mysql.outside("DROP TABLE baskets", "DROP USER 'pegboard_reader'@'%'")
    assert (checked.role, checked.findings) == ("pegboard_reader@%", ())
    assert all(isinstance(told, Rows) for told in answers)
