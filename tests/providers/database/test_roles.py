"""The roles that the page tells to create, created as it is written there."""

import re
from pathlib import Path

import asyncpg
import pymysql
import pytest
from tests.providers.database import mysql_shop, postgres_shop

from pegboard.core.database import EVERYTHING, Limits, Rows
from pegboard.providers.builtin.database.mysql import mysql_engine
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "database-roles.md"
PASSWORD = "choose-a-long-one"


def written(title: str) -> str:
    """The statements below a title."""
    (text,) = re.findall(rf"## {title}\n.*?```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(text)


@pytest.mark.behaviour("databases.roles_as_written")
def test_the_guide_has_the_same_statements() -> None:
    guide = PAGE.with_name("databases.md").read_text(encoding="utf-8")
    for title in ("PostgreSQL", "MySQL and MariaDB"):
        assert f"```sql\n{written(title)}```" in guide


@pytest.mark.behaviour("databases.roles_as_written")
async def test_the_role_of_the_page_reads_in_postgresql_and_nothing_is_wrong_with_it(shop: postgres_shop.Shop) -> None:
    await _run(shop.admin, written("PostgreSQL"))
    await _run(shop.admin, "CREATE TABLE made_later (id int); CREATE TABLE baskets (id int)")
    await _run(shop.admin, written("Where rows may be changed"))
    mine = re.sub(r"//[^@]*@", f"//pegboard_reader:{PASSWORD}@", shop.admin)
    engine = postgresql_engine(mine, EVERYTHING, writes=True)
    try:
        checked = await engine.check()
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
    await _run(shop.admin, "DROP TABLE made_later, baskets; DROP OWNED BY pegboard_reader; DROP ROLE pegboard_reader")
    assert (checked.role, checked.findings) == ("pegboard_reader", ())
    assert all(isinstance(told, Rows) for told in answers)


async def _run(url: str, statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


@pytest.mark.behaviour("databases.roles_as_written")
async def test_the_user_of_the_page_reads_in_mariadb_and_nothing_is_wrong_with_it(mysql: mysql_shop.Shop) -> None:
    lines = [
        line for line in written("MySQL and MariaDB").replace("shop.*", f"{mysql.name}.*").split(";\n") if line.strip()
    ]
    rows = written("Where rows may be changed").strip(";\n")
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
