"""Statements that would change a SQLite file, before a person is asked: only what could run is asked about."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.core.databases.rows import QueryAnswer, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.providers.database.common import NEEDS_WRITE
from pegboard.providers.database.worker.engine import sqlite_engine

pytestmark = pytest.mark.anyio
SHOP = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO orders VALUES (1, 'first');
    CREATE TABLE vault (id INTEGER PRIMARY KEY, word TEXT);
    INSERT INTO vault VALUES (1, 'xyzzy');
    CREATE TABLE parents (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO parents VALUES (1, 'a');
    CREATE TABLE vault_kids (id INT REFERENCES parents(id) ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO vault_kids VALUES (1);
    CREATE TABLE refers (id INT, vault INT REFERENCES vault(id));
    CREATE TABLE shown (id INT, note TEXT);
    CREATE TABLE noted (n INT);
    CREATE TABLE counted (id INT);
    CREATE TRIGGER counts AFTER INSERT ON counted BEGIN INSERT INTO noted SELECT count(*) FROM vault; END;
    CREATE TABLE listed (id INT);
    CREATE TRIGGER lists AFTER INSERT ON listed BEGIN INSERT INTO noted SELECT 1 FROM vault; END;
    CREATE TABLE halted (id INT);
    CREATE TRIGGER halts AFTER INSERT ON halted
        BEGIN SELECT raise(ABORT, 'there are some') WHERE (SELECT count(*) FROM vault) > 0; END;
    CREATE TABLE timed (id INT);
    CREATE TRIGGER times AFTER INSERT ON timed WHEN (SELECT count(*) FROM vault) > 0
        BEGIN INSERT INTO noted VALUES (1); END;
    CREATE TABLE kept (id INT);
    CREATE TRIGGER keeps AFTER INSERT ON kept BEGIN INSERT INTO noted SELECT count(*) FROM orders; END;
    CREATE TRIGGER shows AFTER INSERT ON shown BEGIN INSERT INTO vault VALUES (88, 't'); END;
"""
REACHING = (
    "DELETE FROM parents WHERE id = 1",
    "UPDATE parents SET id = 5",
    "INSERT INTO refers VALUES (1, 1)",
    "INSERT INTO refers VALUES (1, 999)",
    "INSERT INTO shown VALUES (1, 'a')",
    "INSERT INTO counted VALUES (1)",
    "INSERT INTO listed VALUES (1)",
    "INSERT INTO halted VALUES (1)",
    "INSERT INTO timed VALUES (1)",
    "WITH one AS (SELECT 1 AS id) DELETE FROM parents WHERE id IN (SELECT id FROM one)",
)
FINE = (
    "WITH vault AS (SELECT 1) DELETE FROM orders WHERE id = (SELECT count(*) FROM vault)",
    "INSERT INTO kept VALUES (1)",
    "UPDATE parents SET note = 'b'",
    "INSERT INTO parents VALUES (7, 'c')",
    "DELETE FROM orders",
)
EXPLAINING = (
    "EXPLAIN DELETE FROM orders",
    "EXPLAIN QUERY PLAN UPDATE orders SET note = ''",
    "explain insert into orders values (2, '')",
    "EXPLAIN WITH one AS (SELECT 1) DELETE FROM orders",
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SHOP)
    return path


def closed() -> DatabaseAccess:
    patterns = [parse_name_pattern(one) for one in ("vault", "vault_kids")]
    return DatabaseAccess(deny=tuple(one for one in patterns if isinstance(one, NamePattern)))


async def told(
    path: Path, rule: DatabaseAccess, statements: tuple[str, ...], *, writes: bool, write: bool
) -> list[QueryAnswer]:
    engine = sqlite_engine(str(path), rule, writes=writes)
    try:
        with anyio.fail_after(60):
            return [await engine.run(text, (), QueryLimits(), write=write) for text in statements]
    finally:
        await engine.aclose()


def state(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.behaviour("databases.writes_confirmed", "databases.attacks_held")
async def test_nobody_is_asked_about_a_change_that_would_reach_what_is_closed(shop: Path) -> None:
    before = state(shop)
    answers = await told(shop, closed(), REACHING, writes=True, write=False)
    assert answers == await told(shop, closed(), REACHING, writes=True, write=True)
    beyond = StatementRefusal(
        "The statement would read or write, by a trigger, a foreign key or a virtual table, more than this source "
        "shows.",
        "Change rows of another table, or ask the operator of this source for the change.",
    )
    assert answers == [beyond] * len(REACHING)
    assert state(shop) == before
    assert await told(shop, closed(), FINE, writes=True, write=False) == [NEEDS_WRITE] * len(FINE)
    every = REACHING + FINE
    assert await told(shop, FULL_ACCESS, every, writes=True, write=False) == [NEEDS_WRITE] * len(every)


@pytest.mark.behaviour("databases.writes_confirmed", "databases.plans")
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("is_closed", [False, True])
async def test_nobody_is_asked_about_a_plan_of_a_change(shop: Path, is_closed: bool, writes: bool) -> None:
    before = state(shop)
    rule = closed() if is_closed else FULL_ACCESS
    for write in (False, True):
        answers = await told(shop, rule, EXPLAINING, writes=writes, write=write)
        assert answers == [StatementRefusal("Only queries are explained.", "Give EXPLAIN a SELECT.")] * len(EXPLAINING)
    assert state(shop) == before
