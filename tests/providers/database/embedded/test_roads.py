"""Roads to what is closed in files of SQLite and DuckDB: full text, generated columns, macros, catalogues."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import duckdb
import pytest
from tests.support.roads import LIMITS, gone

from pegboard.core.databases.rows import QueryRows, StatementFailure, StatementFault
from pegboard.core.model.databases import DatabaseAccess, NamePattern, parse_name_pattern
from pegboard.ports.databases import DatabaseEngine
from pegboard.providers.database.worker.engine import duckdb_engine, sqlite_engine

pytestmark = pytest.mark.anyio

SECRETS = ("canary", "CANARY")
OF_SQLITE = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, note TEXT);
    INSERT INTO orders VALUES (1, 1, 'a'), (2, 2, 'b');
    CREATE TABLE vault (id INTEGER PRIMARY KEY, secret TEXT UNIQUE);
    INSERT INTO vault VALUES (1, 'canary-one'), (2, 'canary-two');
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, password TEXT CHECK (length(password) > 3),
        hint TEXT GENERATED ALWAYS AS (substr(password, 1, 10)) VIRTUAL,
        kept TEXT GENERATED ALWAYS AS (upper(password)) STORED);
    INSERT INTO accounts (id, name, password) VALUES (1, 'ada', 'canary-pass'), (2, 'bob', 'canary-word');
    CREATE INDEX acc_pw ON accounts (password);
    CREATE INDEX acc_up ON accounts (upper(password));
    CREATE INDEX acc_part ON accounts (name) WHERE password LIKE 'canary%';
    CREATE VIEW v1 AS SELECT secret AS x FROM vault;
    CREATE VIEW v2 AS SELECT x FROM v1;
    CREATE VIEW v3 AS SELECT name, password AS p FROM accounts;
    CREATE VIEW v4 AS SELECT (SELECT count(*) FROM vault) AS n, id FROM orders;
    CREATE VIEW v5 AS SELECT * FROM accounts;
    CREATE VIRTUAL TABLE vf USING fts5(secret, content='vault', content_rowid='id');
    INSERT INTO vf(vf) VALUES ('rebuild');
    CREATE VIRTUAL TABLE vfv USING fts5vocab('vf', 'row');
    CREATE VIRTUAL TABLE plain USING fts5(body);
    INSERT INTO plain VALUES ('hello');
    CREATE TABLE refs (id INTEGER PRIMARY KEY, v TEXT REFERENCES vault (secret));
    CREATE TRIGGER tg AFTER INSERT ON orders BEGIN INSERT INTO vault VALUES (NULL, 'x'); END;
    ANALYZE;
"""
OF_DUCKDB = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, note VARCHAR);
    INSERT INTO orders VALUES (1, 1, 'a'), (2, 2, 'b');
    CREATE TABLE vault (id INTEGER PRIMARY KEY, secret VARCHAR);
    INSERT INTO vault VALUES (1, 'canary-one'), (2, 'canary-two');
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, name VARCHAR, password VARCHAR,
        hint VARCHAR GENERATED ALWAYS AS (upper(password)) VIRTUAL);
    INSERT INTO accounts VALUES (1, 'ada', 'canary-pass'), (2, 'bob', 'canary-word');
    CREATE VIEW v1 AS SELECT secret AS x FROM vault;
    CREATE VIEW v2 AS SELECT x FROM v1;
    CREATE VIEW v3 AS SELECT name, password AS p FROM accounts;
    CREATE VIEW v5 AS SELECT * FROM accounts;
    CREATE MACRO peek() AS (SELECT max(secret) FROM vault);
    CREATE MACRO peeks() AS TABLE SELECT * FROM vault;
    CREATE MACRO by_name(t) AS TABLE SELECT * FROM query_table(t);
    CREATE TYPE mood AS ENUM ('canary-mood');
    CREATE SEQUENCE seq;
    CREATE SCHEMA fts_main_vault;
    CREATE TABLE fts_main_vault.terms AS SELECT secret AS term FROM vault;
    CREATE TABLE fts_main_vault.docs AS SELECT id AS docid, secret AS name FROM vault;
    CREATE MACRO fts_main_vault.match_bm25(a, b) AS 1;
    CREATE SCHEMA fts_main_orders;
    CREATE TABLE fts_main_orders.terms AS SELECT note AS term FROM orders;
    CREATE SCHEMA fts_main_accounts;
    CREATE TABLE fts_main_accounts.terms AS SELECT password AS term FROM accounts;
"""


def closed(*texts: str) -> DatabaseAccess:
    found = (parse_name_pattern(text) for text in texts)
    return DatabaseAccess(deny=tuple(each for each in found if isinstance(each, NamePattern)))


CLOSED = closed("vault", "accounts.password")


def sqlite_file(folder: Path) -> Path:
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OF_SQLITE)
    return path


def duckdb_file(folder: Path) -> Path:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(OF_DUCKDB)
    return path


def opened(dialect: str, folder: Path) -> tuple[Path, DatabaseEngine]:
    if dialect == "sqlite":
        path = sqlite_file(folder)
        return path, sqlite_engine(str(path), CLOSED, writes=False)
    path = duckdb_file(folder)
    return path, duckdb_engine(str(path), CLOSED)


def left(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if not each.name.endswith(("-shm", "-wal"))]


@pytest.mark.slow
@pytest.mark.behaviour("databases.attacks_held", "databases.withheld")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_no_road_leads_to_what_is_closed_the_first_time_or_the_second(dialect: str, tmp_path: Path) -> None:
    path, engine = opened(dialect, tmp_path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        with anyio.fail_after(300):
            assert await gone(engine, dialect, "tables", "vault", "zebra", SECRETS) == []
            assert await gone(engine, dialect, "columns", "password", "passworx", SECRETS) == []
    finally:
        await engine.aclose()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert left(tmp_path) == [path.name]


@pytest.mark.behaviour("databases.withheld")
async def test_what_is_asked_again_is_judged_again(tmp_path: Path) -> None:
    """The authorizer hears of a statement when it is compiled: one that is kept compiled it would not hear of."""
    _, engine = opened("sqlite", tmp_path)
    statements = ("SELECT sql FROM sqlite_schema", "PRAGMA table_xinfo(accounts)", "SELECT 1 FROM `accounts`")
    try:
        with anyio.fail_after(60):
            # The second would otherwise be compiled, unguarded, for the first.
            await engine.run('SELECT 1 FROM "accounts" WHERE "password" = 1', (), LIMITS)
            for statement in (*statements, *statements, *statements):
                answer = await engine.run(statement, (), LIMITS)
                assert isinstance(answer, QueryRows)
                assert "password" not in repr(answer)
                assert "vault" not in repr(answer)
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.full_text")
async def test_an_index_of_words_is_closed_with_the_table_that_it_is_of(tmp_path: Path) -> None:
    _, engine = opened("duckdb", tmp_path)
    try:
        with anyio.fail_after(60):
            names = {str(table.name) for table in (await engine.schema()).tables}
            fine = await engine.run("SELECT term FROM fts_main_orders.terms ORDER BY 1", (), LIMITS)
            shut = [
                await engine.run(f"SELECT * FROM {name}", (), LIMITS)
                for name in ("fts_main_vault.terms", "fts_main_vault.docs", "fts_main_accounts.terms")
            ]
    finally:
        await engine.aclose()
    assert not any("fts_main_vault" in name or "fts_main_accounts" in name for name in names)
    assert isinstance(fine, QueryRows)
    assert fine.rows == (("a",), ("b",))
    assert [each.fault for each in shut if isinstance(each, StatementFailure)] == [StatementFault.NO_TABLE] * 3
