"""Law 8: a source of which something is closed answers as one in which it never was, by every road."""

import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from benchmarks.sql_attacks import shop
from benchmarks.sql_attacks.case import read

from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.ports.databases import DatabaseEngine
from pegboard.providers.database.worker.engine import duckdb_engine, sqlite_engine

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent


def closed(*patterns: str) -> DatabaseAccess:
    return DatabaseAccess(
        deny=tuple(each for each in map(parse_name_pattern, patterns) if isinstance(each, NamePattern))
    )


CLOSED = closed("vault", "accounts.password")
GONE = ("vault", "password")


def lesser() -> list[str]:
    """The shop as if what is closed had never been."""
    kept = []
    for statement in shop.statements():
        if "vault" in statement or "account_view" in statement or "account_star" in statement:
            continue
        words = statement.replace(", password VARCHAR(200)", "").replace("(id, name, password)", "(id, name)")
        if words.startswith("INSERT INTO accounts"):
            words = "INSERT INTO accounts (id, name) VALUES (1, 'ada'), (2, 'bob')"
        kept.append(words)
    return kept


def make_sqlite(path: Path, statements: list[str]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def make_duckdb(path: Path, statements: list[str]) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


MAKERS: dict[str, tuple[Callable[[Path, list[str]], None], Callable[[str, DatabaseAccess], DatabaseEngine]]] = {
    "sqlite": (make_sqlite, sqlite_engine),
    "duckdb": (make_duckdb, duckdb_engine),
}


@asynccontextmanager
async def both(dialect: str, folder: Path) -> AsyncIterator[tuple[DatabaseEngine, DatabaseEngine]]:
    """The shop with something closed, and the shop without it."""
    make, engine = MAKERS[dialect]
    for name, statements in (("whole", [*shop.statements()]), ("lesser", lesser())):
        (folder / name).mkdir()
        make(folder / name / "shop.db", statements)
    narrow = engine(str(folder / "whole" / "shop.db"), CLOSED)
    without = engine(str(folder / "lesser" / "shop.db"), FULL_ACCESS)
    try:
        yield narrow, without
    finally:
        await narrow.aclose()
        await without.aclose()


def timeless(answer: QueryAnswer) -> QueryAnswer:
    return replace(answer, seconds=0.0) if isinstance(answer, QueryRows) else answer


# A mask has no rowid and no schema before its name; DuckDB explains nothing and shows no catalog where something is
# closed. These refusals say nothing about what is closed.
PAST_THE_MASK = (
    *("cannot be named with its schema here", "cannot be read here", "the schema and rows at once"),
    *("The catalog cannot be read", "Statements are not explained"),
)


@pytest.mark.slow
@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_a_closed_name_is_answered_as_one_that_never_was(dialect: str, tmp_path: Path) -> None:
    statements = [case.sql for case in read(HERE / "own.json") if case.dialect == dialect and case.deny]
    assert len(statements) > 50
    differing = []
    async with both(dialect, tmp_path) as (narrow, without):
        for statement in statements:
            one = timeless(await narrow.run(statement, (), QueryLimits()))
            other = timeless(await without.run(statement, (), QueryLimits()))
            if "rowid" in statement or (
                isinstance(one, StatementRefusal) and any(words in one.why for words in PAST_THE_MASK)
            ):
                continue
            failed = isinstance(one, StatementFailure) or isinstance(other, StatementFailure)
            if (failed or _is_of_rows(statement)) and one != other:
                differing.append((statement, one, other))
    assert differing == []


TABLES = (
    *("accounts", "accounts", "accounts", "orders", "customers", "account_names"),
    *("vault", "accounts", "main.vault", "orders", "customers", "vault_view", "account_names", "account_view"),
    *("order_totals", "nowhere", '"vault"', "(SELECT * FROM accounts)", "(SELECT 1 AS id, 'x' AS password)"),
)
COLUMNS = ("*", "id", "name", "secret", "password", "count(*)", "nothing", "max(name)", "x.id", "x.password", "'a'")
JOINS = (
    "",
    " JOIN {} AS y USING (id)",
    " NATURAL JOIN {} AS y",
    " LEFT JOIN {} AS y ON x.id = y.id",
    " JOIN {} AS y USING (password)",
)
TAILS = (
    "",
    " WHERE x.id IN (SELECT id FROM {})",
    " WHERE EXISTS (SELECT password FROM {})",
    " ORDER BY password",
    " GROUP BY 1",
)


@pytest.mark.behaviour("databases.withheld")
async def test_statements_made_at_random_find_no_difference(tmp_path: Path) -> None:
    chance = random.Random(8)
    answered, differing = 0, list[str]()
    async with both("sqlite", tmp_path) as (narrow, without):
        for _ in range(400):
            before = chance.choice(("", "", "WITH vault AS (SELECT 1 AS id) ", "WITH q AS (SELECT * FROM vault) "))
            join, tail = (chance.choice(each).format(chance.choice(TABLES)) for each in (JOINS, TAILS))
            statement = f"{before}SELECT {chance.choice(COLUMNS)} FROM {chance.choice(TABLES)} AS x{join}{tail}"
            one = timeless(await narrow.run(statement, (), QueryLimits()))
            other = timeless(await without.run(statement, (), QueryLimits()))
            answered += isinstance(one, QueryRows)
            if one != other:
                differing.append(statement)
    assert differing == []
    assert answered > 40


def _is_of_rows(statement: str) -> bool:
    """Whether it reads rows alone: the text of a catalogue is made anew, and need not be the same."""
    words = statement.lower()
    return not any(word in words for word in ("sqlite_", "pragma", "duckdb_", "pg_", "schema.", "show ", "explain"))


@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_the_schema_is_that_of_a_source_without_it(dialect: str, tmp_path: Path) -> None:
    async with both(dialect, tmp_path) as (narrow, without):
        assert await narrow.schema() == await without.schema()


@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_a_natural_join_cannot_guess_a_closed_column(dialect: str, tmp_path: Path) -> None:
    """Were the column there, one account would be left; as it is not, each is paired."""
    guess = "SELECT count(*) FROM accounts NATURAL JOIN (SELECT 'canary-password-of-an-account' AS password) AS guess"
    async with both(dialect, tmp_path) as (narrow, _):
        answer = await narrow.run(guess, (), QueryLimits())
    if isinstance(answer, QueryRows):
        assert answer.rows == ((2,),)
    else:
        assert isinstance(answer, StatementFailure)


@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_where_only_some_is_open_the_rest_is_not_there(dialect: str, tmp_path: Path) -> None:
    make, opened = MAKERS[dialect]
    make(tmp_path / "shop.db", [*shop.statements()])
    patterns = tuple(
        each for each in map(parse_name_pattern, ("customers", "main.orders.id")) if isinstance(each, NamePattern)
    )
    engine = opened(str(tmp_path / "shop.db"), DatabaseAccess(allow=patterns))
    try:
        schema = await engine.schema()
        assert {str(table.name): [column.name for column in table.columns] for table in schema.tables} == {
            "main.customers": ["id", "name", "city"],
            "main.orders": ["id"],
        }
        rows = await engine.run("SELECT * FROM orders ORDER BY 1 LIMIT 2", (), QueryLimits())
        assert isinstance(rows, QueryRows)
        assert (rows.rows, [column.name for column in rows.columns]) == (((1,), (2,)), ["id"])
        assert isinstance(await engine.run("SELECT total FROM orders", (), QueryLimits()), StatementFailure)
        assert isinstance(await engine.run("SELECT * FROM order_totals", (), QueryLimits()), StatementFailure)
        listing = "SELECT sql FROM sqlite_master" if dialect == "sqlite" else "SHOW TABLES"
        told = json.dumps((await engine.run(listing, (), QueryLimits())).rows)  # type: ignore[union-attr]
        assert "vault" not in told
        assert "total" not in told
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.withheld", "databases.closed_columns")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_a_column_that_is_computed_from_a_closed_one_is_closed_too(dialect: str, tmp_path: Path) -> None:
    make, opened = MAKERS[dialect]
    columns = """id INTEGER, "Se cret" TEXT DEFAULT ('a,(b'), copy TEXT GENERATED ALWAYS AS (upper("se cret")) VIRTUAL,
        again TEXT AS (copy || 'x'), twice INTEGER GENERATED ALWAYS AS (id * 2) VIRTUAL, CHECK (id > 0)"""
    make(
        tmp_path / "shop.db",
        [
            f"CREATE TABLE gen ({columns})",
            "INSERT INTO gen VALUES (1, 'plugh')",
            "CREATE VIEW v AS SELECT again FROM gen",
        ],
    )
    engine = opened(str(tmp_path / "shop.db"), closed("gen.se cret"))
    try:
        answer = await engine.run("SELECT * FROM gen", (), QueryLimits())
        assert isinstance(answer, QueryRows)
        assert ([column.name for column in answer.columns], answer.rows) == (["id", "twice"], ((1, 2),))
        for column in ("copy", "again", "Se cret"):
            told, absent = [
                await engine.run(f'SELECT gen."{name}" FROM gen', (), QueryLimits()) for name in (column, "nothing")
            ]
            assert isinstance(told, StatementFailure)
            assert isinstance(absent, StatementFailure)
            # Which open column is nearest hangs on the name itself.
            words = [each.message.partition("\nCandidate")[0].partition("Candidate")[0] for each in (told, absent)]
            assert words[0].replace(column, "nothing") == words[1]
            assert (told.fault, str(told.name).removeprefix("gen.")) == (absent.fault, column)
        assert isinstance(await engine.run("SELECT * FROM v", (), QueryLimits()), StatementFailure)
        assert [str(table.name) for table in (await engine.schema()).tables] == ["main.gen"]
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.closed_columns")
async def test_a_view_of_sqlite_that_allow_names_itself_shows_what_it_reads(tmp_path: Path) -> None:
    make_sqlite(
        tmp_path / "shop.db",
        [
            "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, phone TEXT)",
            "INSERT INTO people VALUES (1, 'Ada', '555-0199')",
            "CREATE VIEW endings AS SELECT id, substr(phone, 5) AS ending FROM people",
            "CREATE VIEW shown AS SELECT * FROM endings",
            "CREATE VIEW also AS SELECT * FROM shown",
        ],
    )
    named = DatabaseAccess(tuple(map(pattern, ("people", "shown", "al*"))), (pattern("people.phone"),))
    engine = sqlite_engine(str(tmp_path / "shop.db"), named)
    try:
        assert [table.name.table for table in (await engine.schema()).tables] == ["people", "shown"]
        answer = await engine.run("SELECT ending FROM shown", (), QueryLimits())
        assert isinstance(answer, QueryRows)
        assert answer.rows == (("0199",),)
        for spoofed in ("shown", "endings"):
            query = f"WITH {spoofed} AS (SELECT phone FROM people) SELECT * FROM {spoofed}"
            assert isinstance(await engine.run(query, (), QueryLimits()), StatementFailure)
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.withheld")
async def test_a_closed_table_with_the_name_of_a_table_function_is_not_read(tmp_path: Path) -> None:
    make_sqlite(tmp_path / "shop.db", ["CREATE TABLE json_each (value TEXT)", "INSERT INTO json_each VALUES ('plugh')"])
    engine = sqlite_engine(str(tmp_path / "shop.db"), closed("json_each"))
    try:
        assert "plugh" not in repr(await engine.run("SELECT value FROM json_each", (), QueryLimits()))
    finally:
        await engine.aclose()


def pattern(text: str) -> NamePattern:
    found = parse_name_pattern(text)
    assert isinstance(found, NamePattern)
    return found


@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize(
    "made",
    [
        "CREATE INDEX by_salary ON customers (salary, id)",
        'CREATE INDEX "x" ON "customers" (abs("Salary"), id)',
        "CREATE UNIQUE INDEX by_salary ON customers (salary)",
        "",
    ],
    ids=["index", "expression", "unique index", "constraint"],
)
async def test_rows_do_not_come_in_the_order_of_a_closed_column(tmp_path: Path, made: str) -> None:
    path = tmp_path / "order.db"
    constraint = "" if made else " UNIQUE"
    make_sqlite(
        path,
        [
            f"CREATE TABLE customers (id INTEGER PRIMARY KEY, salary INTEGER{constraint}, name TEXT, bio TEXT)",
            "INSERT INTO customers VALUES (1, 900, 'Ann', hex(zeroblob(3000))), (2, 100, 'Bob', hex(zeroblob(3000)))",
            *([made] if made else []),
            "CREATE INDEX by_name ON customers (name)",
        ],
    )
    engine = sqlite_engine(str(path), closed("customers.salary", "customers.bio"))
    try:
        listed = await engine.run("SELECT id FROM customers", (), QueryLimits())
        found = await engine.run("SELECT id FROM customers WHERE name = ?", ("Bob",), QueryLimits())
    finally:
        await engine.aclose()
    assert isinstance(listed, QueryRows)
    assert listed.rows == ((1,), (2,))
    assert isinstance(found, QueryRows)
    assert found.rows == ((2,),)
