"""Connections to MySQL and MariaDB that are used again know of nothing that was before, or are not used again."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pymysql
import pytest
from tests.providers.database.mysql_shop import Shop

from pegboard.core.database import EVERYTHING, Answer, Failed, Fault, Limits, Rows
from pegboard.providers.builtin.database.mysql import MysqlEngine, mysql_engine
from pegboard.providers.builtin.database.mysql.connection import (
    ConnectionPool,
    MeteredConnection,
    connect,
    fetch,
    parse_address,
    start_transaction,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = Limits(seconds=20)
ENDLESS = "SELECT count(*) FROM orders a, orders b, orders c, orders d"


@pytest.fixture(scope="module")
def maker(mysql: Shop) -> Iterator[str]:
    """The URL of a user who may do what no statement may here: to leave things behind, somebody must be able to."""
    user = f"{mysql.name}_maker"
    mysql.outside(
        f"CREATE USER '{user}'@'localhost' IDENTIFIED BY 'makes'",
        f"GRANT ALL ON {mysql.name}.* TO '{user}'@'localhost'",
        f"CREATE ROLE {mysql.name}_role",
        f"GRANT {mysql.name}_role TO '{user}'@'localhost'",
        "CREATE TABLE basket (id int AUTO_INCREMENT PRIMARY KEY, note varchar(20)) ENGINE = InnoDB",
    )
    yield mysql.reader.replace("_reader:reads@", "_maker:makes@")
    mysql.outside("DROP TABLE basket", f"DROP ROLE {mysql.name}_role", f"DROP USER '{user}'@'localhost'")


@pytest.fixture
async def engine(mysql: Shop) -> AsyncIterator[MysqlEngine]:
    """Asked by a user who has no other connections."""
    user = f"'{mysql.name}_alone'@'localhost'"
    mysql.outside(f"CREATE USER {user} IDENTIFIED BY 'reads'", f"GRANT SELECT ON {mysql.name}.* TO {user}")
    engine = mysql_engine(mysql.reader.replace("_reader:", "_alone:"), EVERYTHING)
    yield engine
    await engine.aclose()
    mysql.outside(f"DROP USER IF EXISTS {user}")
    await until_gone(mysql, ids(mysql))


def answers(connection: MeteredConnection, *statements: str) -> list[Any]:
    """The first row of each, or the number of its error."""
    told: list[Any] = []
    for statement in statements:
        try:
            told.append(next(iter(fetch(connection, statement)), None))
        except pymysql.MySQLError as error:
            told.append(error.args[0])
    return told


def again(url: str, *statements: str) -> tuple[ConnectionPool, MeteredConnection]:
    """A connection that was given back after these, and taken anew."""
    pool = ConnectionPool(parse_address(url))
    first = pool.take(20)
    for statement in statements:
        first.query(statement)
    pool.put_back(first)
    second = pool.take(20)
    assert second is first
    return pool, second


STATE = (
    "SET @mine = 'xyzzy'",
    "SET SESSION sql_mode = 'ANSI_QUOTES', SESSION max_statement_time = 0, SESSION lock_wait_timeout = 999",
    "SET SESSION TRANSACTION READ WRITE",
    "SET NAMES latin1, timestamp = 1, autocommit = 0, SESSION group_concat_max_len = 4",
    "CREATE TEMPORARY TABLE customers (word varchar(20)) SELECT 'xyzzy' AS word",
    "CREATE TEMPORARY TABLE left_behind (word varchar(20))",
    "PREPARE later FROM 'SELECT 1'",
    "INSERT INTO basket (note) VALUES ('not to be kept')",
    "HANDLER orders OPEN",
    "DO GET_LOCK('pegboard.lock', 0)",
    "USE information_schema",
)
LOOKS = (
    "SELECT @mine, @@sql_mode = @@global.sql_mode, @@autocommit, @@timestamp > 1000, LAST_INSERT_ID(), DATABASE()",
    "SELECT @@group_concat_max_len = @@global.group_concat_max_len, @@character_set_client, @@in_transaction",
    "SELECT name FROM customers ORDER BY id",
    "SELECT * FROM left_behind",
    "EXECUTE later",
    "SELECT count(*) FROM basket",
    "HANDLER orders READ FIRST",
    "SELECT IS_USED_LOCK('pegboard.lock')",
)


@pytest.mark.behaviour("databases.mysql.nothing_crosses")
def test_whatever_a_session_holds_is_gone_when_its_connection_is_used_again(mysql: Shop, maker: str) -> None:
    pool, connection = again(maker, *STATE)
    told = answers(connection, *LOOKS)
    pool.close()
    assert told == [
        (None, 1, 1, 1, 0, mysql.name),
        (1, "utf8mb4", 0),
        ("C1",),
        1146,
        1243,
        (0,),
        1109,
        (None,),
    ]


@pytest.mark.behaviour("databases.mysql.nothing_crosses")
def test_a_connection_on_which_a_role_was_taken_on_is_not_used_again(mysql: Shop, maker: str) -> None:
    pool = ConnectionPool(parse_address(maker))
    first = pool.take(20)
    first.query(f"SET ROLE {mysql.name}_role")
    pool.put_back(first)
    second = pool.take(20)
    told = second is first, answers(second, "SELECT CURRENT_ROLE()")
    second.cut()
    pool.close()
    assert told == (False, [(None,)])


@pytest.mark.behaviour("databases.mysql.nothing_crosses")
def test_a_connection_that_is_used_again_has_every_setting_of_a_new_one(mysql: Shop, maker: str) -> None:
    pool, used = again(maker, *STATE)
    fresh = connect(parse_address(maker), 20)
    told = []
    for connection in (used, fresh):
        start_transaction(connection, 5, write=False)
        rows = dict(fetch(connection, "SHOW SESSION VARIABLES"))
        told.append({name: value for name, value in rows.items() if name not in {"pseudo_thread_id", "timestamp"}})
        connection.cut()
    pool.close()
    differing = {name for name in told[0].keys() | told[1].keys() if told[0].get(name) != told[1].get(name)}
    # Seeds that the server draws for each.
    assert differing <= {"rand_seed1", "rand_seed2"}
    assert (told[0]["tx_read_only"], told[0]["max_statement_time"]) == ("ON", "5.000000")


@pytest.mark.behaviour("databases.mysql.nothing_crosses")
def test_locks_and_transactions_end_when_a_connection_is_given_back_and_not_when_it_is_taken(
    mysql: Shop, maker: str
) -> None:
    for held in ("LOCK TABLES basket WRITE", "INSERT INTO basket (id, note) VALUES (7, 'locked')"):
        pool = ConnectionPool(parse_address(maker))
        connection = pool.take(20)
        for statement in ("SET autocommit = 0", "DO GET_LOCK('pegboard.lock', 0)", held):
            connection.query(statement)
        pool.put_back(connection)
        got = mysql.outside("SELECT GET_LOCK('pegboard.lock', 20)")
        mysql.outside("SET lock_wait_timeout = 20", "INSERT INTO basket (id, note) VALUES (7, 'outside')")
        notes = mysql.outside("SELECT note FROM basket")
        mysql.outside("DELETE FROM basket")
        pool.close()
        assert (got, notes) == ([(1,)], [("outside",)])


def ids(shop: Shop, running: str = "%") -> set[int]:
    """The engine's connections, as the server has them."""
    question = (
        f"SELECT id FROM information_schema.processlist WHERE user = '{shop.name}_alone'"
        f" AND coalesce(info, '') LIKE '{running}'"
    )
    return {int(row[0]) for row in shop.outside(question)}


async def asked_of(engine: MysqlEngine, statement: str, limits: Limits = LIMITS) -> Answer:
    with anyio.fail_after(60):
        return await engine.run(statement, (), limits)


async def until_gone(shop: Shop, gone: set[int]) -> None:
    with anyio.fail_after(30):
        while ids(shop) & gone:  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.02)


@pytest.mark.behaviour("databases.mysql.used_again")
async def test_statements_one_after_the_other_share_a_connection(mysql: Shop, engine: MysqlEngine) -> None:
    seen = []
    for _ in range(3):
        assert isinstance(await asked_of(engine, "SELECT count(*) FROM orders"), Rows)
        seen.append(frozenset(ids(mysql)))
    await engine.schema()
    seen.append(frozenset(ids(mysql)))
    await engine.aclose()
    await until_gone(mysql, ids(mysql))
    assert len(seen[0]) == 1
    assert set(seen) == {seen[0]}
    closed = await asked_of(engine, "SELECT 1")
    assert closed == Failed("The source was closed.", None, Fault.AWAY)


SPOILT = {
    "late": (ENDLESS, Limits(seconds=0.5)),
    "cut short": ("SELECT a.id FROM orders a, orders b", Limits(seconds=20, rows=5)),
    "failed": ("SELECT nothing FROM orders", LIMITS),
    "flooded": ("SELECT repeat('x', 15000000), repeat('x', 15000000), repeat('x', 15000000)", LIMITS),
}


@pytest.mark.behaviour("databases.mysql.used_again")
@pytest.mark.parametrize("how", SPOILT)
async def test_a_connection_on_which_something_was_left_unfinished_is_not_used_again(
    mysql: Shop, engine: MysqlEngine, how: str
) -> None:
    assert isinstance(await asked_of(engine, "SELECT 1"), Rows)
    before = ids(mysql)
    await asked_of(engine, *SPOILT[how])
    assert isinstance(await asked_of(engine, "SELECT 1"), Rows)
    await until_gone(mysql, before)
    assert len(before) == 1


@pytest.mark.behaviour("databases.mysql.used_again")
async def test_a_statement_that_is_cancelled_takes_its_connection_along_and_no_other(
    mysql: Shop, engine: MysqlEngine
) -> None:
    told: list[Answer] = []
    for _ in range(4):
        told.append(await asked_of(engine, "SELECT count(*) FROM orders"))
        kept = ids(mysql)
        async with anyio.create_task_group() as endless:
            endless.start_soon(asked_of, engine, ENDLESS)
            with anyio.fail_after(30):
                while not (used := ids(mysql, "SELECT count(*) FROM orders a,%")):  # noqa: ASYNC110 - as above
                    await anyio.sleep(0.02)
            told += [await asked_of(engine, "SELECT count(*) FROM orders") for _ in range(4)]
            endless.cancel_scope.cancel()
        told += [await asked_of(engine, "SELECT count(*) FROM orders") for _ in range(5)]
        await until_gone(mysql, used)
        assert used <= kept
    assert [one.rows if isinstance(one, Rows) else one for one in told] == [((400,),)] * 40
    assert mysql.outside("SELECT count(*) FROM information_schema.innodb_trx") == [(0,)]


@pytest.mark.behaviour("databases.mysql.used_again")
async def test_a_right_that_was_taken_away_is_gone_for_the_next_statement(mysql: Shop, engine: MysqlEngine) -> None:
    user = f"'{mysql.name}_alone'@'localhost'"
    statement = "SELECT count(*) FROM orders"
    told = [await asked_of(engine, statement)]
    for change in (
        f"REVOKE SELECT ON {mysql.name}.* FROM {user}",
        f"GRANT SELECT ON {mysql.name}.* TO {user}",
        f"ALTER USER {user} ACCOUNT LOCK",
        f"ALTER USER {user} ACCOUNT UNLOCK",
        f"DROP USER {user}",
    ):
        mysql.outside(change)
        told.append(await asked_of(engine, statement))
    assert [one.rows if isinstance(one, Rows) else isinstance(one, Failed) and one.fault for one in told] == [
        ((400,),),
        Fault.AWAY,
        ((400,),),
        Fault.AWAY,
        ((400,),),
        Fault.AWAY,
    ]


@pytest.mark.behaviour("databases.mysql.used_again")
async def test_a_connection_that_the_server_closed_meanwhile_is_replaced_without_a_word(
    mysql: Shop, engine: MysqlEngine
) -> None:
    for _ in range(3):
        assert isinstance(await asked_of(engine, "SELECT 1"), Rows)
        (kept,) = ids(mysql)
        mysql.outside(f"KILL CONNECTION {kept}")
        await until_gone(mysql, {kept})


@pytest.mark.behaviour("databases.mysql.used_again")
async def test_of_many_at_once_each_has_its_own_answer_and_a_few_connections_are_kept(
    mysql: Shop, engine: MysqlEngine
) -> None:
    told: dict[int, Answer] = {}

    async def ask(number: int) -> None:
        told[number] = await engine.run("SELECT id + ? FROM orders WHERE id = ?", [1000, number], LIMITS)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(1, 41):
                tasks.start_soon(ask, number)
    kept = len(ids(mysql))
    await engine.aclose()
    await until_gone(mysql, ids(mysql))
    found = {number: one.rows if isinstance(one, Rows) else one for number, one in told.items()}
    assert found == {number: ((number + 1000,),) for number in range(1, 41)}
    assert 1 <= kept <= 8
