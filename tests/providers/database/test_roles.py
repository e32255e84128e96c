"""The roles that the page tells to create, created as it is written there."""

import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio.to_thread
import asyncpg
import pymysql
import pytest
from tests.providers.database import mysql_shop
from tests.surfaces.cli.terminal import Done, board, program

from pegboard.core.databases.rows import QueryRows
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.providers.database.mysql.engine import MysqlEngine
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "database-roles.md"
PASSWORD = "choose-a-long-one"


def written(title: str) -> list[str]:
    """The blocks of statements below a title."""
    (section,) = re.findall(
        rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [str(text) for text in re.findall(r"```sql\n(.*?)```", section, re.DOTALL)]


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
    engine = PostgresEngine(mine, FULL_ACCESS, writes=True)
    try:
        checked = await engine.check()
        listed = [table.name.table for table in (await engine.schema()).tables]
        answers = [
            await engine.run(text, (), QueryLimits(seconds=20))
            for text in (
                "SELECT count(*) FROM orders",
                "SELECT * FROM made_later",
                "SELECT * FROM order_totals LIMIT 1",
            )
        ]
        answers.append(await engine.run("INSERT INTO baskets VALUES (1)", (), QueryLimits(seconds=20), write=True))
    finally:
        await engine.aclose()
    with pytest.raises(asyncpg.PostgresError, match="read-only transaction"):
        await _run(mine, "DELETE FROM orders")
    with pytest.raises(asyncpg.PostgresError, match="permission denied"):
        await _run(mine, "BEGIN READ WRITE; DELETE FROM orders")
    assert (checked.role, checked.findings) == ("pegboard_reader", ())
    assert listed == ["baskets", "made_later", "order_totals", "orders"]
    assert [told for told in answers if not isinstance(told, QueryRows)] == []


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
    engine = MysqlEngine(mine, FULL_ACCESS, writes=True)
    checked = await engine.check()
    answers = [
        await engine.run(text, (), QueryLimits(seconds=20))
        for text in ("SELECT count(*) FROM orders", "SELECT * FROM order_totals LIMIT 1", "SHOW TABLES")
    ]
    answers.append(await engine.run("INSERT INTO baskets VALUES (1)", (), QueryLimits(seconds=20), write=True))
    connection = pymysql.connect(
        unix_socket=str(mysql.socket), user="pegboard_reader", password=PASSWORD, database=mysql.name
    )
    with connection.cursor() as cursor, pytest.raises(pymysql.MySQLError, match="DELETE command denied"):
        cursor.execute("DELETE FROM orders")
    connection.close()
    mysql.outside("DROP TABLE baskets", "DROP USER 'pegboard_reader'@'%'")
    assert (checked.role, checked.findings) == ("pegboard_reader@%", ())
    assert all(isinstance(told, QueryRows) for told in answers)


@pytest.mark.behaviour("databases.role_script", "databases.excess_privileges_refused")
async def test_a_login_is_created_checked_refused_and_repaired_by_commands(owned: str, tmp_path: Path) -> None:
    await _run(
        owned,
        "CREATE TABLE staff (id int, pay int); CREATE TABLE customers (id int, name text, email text);"
        "INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org')",
    )
    url = as_role(owned, "pegboard_reader", "${READER_PASSWORD}")
    config = board(
        tmp_path / "pegboard.yaml", {}, databases={"shop": {"url": url, "deny": ["staff", "customers.email"]}}
    )

    async def pegboard(*words: str) -> Done:
        command = ("db", *words, "--config", str(config))
        run = partial(program, tmp_path, *command, READER_PASSWORD="known-to-nobody", PEGBOARD_DB_ADMIN_URL=owned)
        return await anyio.to_thread.run_sync(run)

    missing = await pegboard("check", "shop")
    printed = await pegboard("role", "shop")
    applied = await pegboard("role", "shop", "--apply")
    checked = await pegboard("check", "shop")
    answered = await pegboard("query", "shop", "SELECT id, name FROM customers")
    denied = await pegboard("query", "shop", "SELECT email FROM customers")
    await _run(owned, "GRANT SELECT ON staff TO pegboard_reader")
    refused = await pegboard("check", "shop")
    unanswered = await pegboard("query", "shop", "SELECT id, name FROM customers")
    repaired = await pegboard("role", "shop", "--apply")
    again = await pegboard("check", "shop")
    await _run(owned, "DROP TABLE customers, staff")
    assert (missing.code, printed.code, applied.code, checked.code) == (1, 0, 0, 0), (printed.err, applied.err)
    assert "CREATE ROLE " in printed.out
    assert ";;" not in printed.out + refused.out
    assert "known-to-nobody" not in printed.out + applied.out + applied.err

    assert "Ada" in answered.out
    assert denied.code != 0
    assert "ada@example.org" not in denied.out + denied.err
    assert refused.code == 1
    assert "public.staff" in refused.out
    assert "REVOKE " in refused.out
    assert (unanswered.code, "staff" in unanswered.err, "pegboard db role shop" in unanswered.err) == (6, False, True)
    assert (repaired.code, again.code) == (0, 0), (repaired.err, again.out)
