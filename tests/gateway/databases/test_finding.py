"""Search over real databases: what is told of a table, what is not, and how a change becomes known."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
import duckdb
import pytest
from inline_snapshot import snapshot
from tests.core.boards import NOW
from tests.core.databases.test_telling import denied
from tests.gateway.databases.engines import database
from tests.support.encoders import MemoryVectors, SmallEncoder

from pegboard.core.json.values import JsonObject
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, DatabaseId, DatabaseSettings
from pegboard.gateway.databases.schema_reader import SchemaTimings
from pegboard.gateway.databases.schema_search import SchemaFinder
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.ports.databases import DatabaseEngine, SourceError
from pegboard.providers.database.worker.engine import duckdb_engine, sqlite_engine

pytestmark = pytest.mark.anyio

T = TypeVar("T")
AT_ONCE = SchemaTimings(max_age_s=0.0, reread_wait_s=30.0, first_read_wait_s=30.0)
SHOP = DatabaseId("shop")

TABLES = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, email TEXT);
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), status TEXT, total NUMERIC
    );
    INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org'), (2, 'Grace', NULL);
    INSERT INTO orders VALUES (1, 1, 'shipped', 12.5), (2, 1, 'cancelled', 3), (3, 2, 'shipped', 8);
"""
CLOSED = """
    CREATE TABLE salaries (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), secret TEXT);
    INSERT INTO salaries VALUES (1, 1, 'orders of customers');
    CREATE TABLE vouchers (id INTEGER PRIMARY KEY, salary_id INTEGER REFERENCES salaries(id), order_total TEXT);
"""


@dataclass(eq=False)
class Source:
    engine: DatabaseEngine
    database: DatabaseSettings = field(default_factory=lambda: database("shop"))
    why: str = ""
    may_answer: anyio.Event | None = None

    async def run_on_engine(self, work: Callable[[DatabaseEngine], Awaitable[T]]) -> T:
        if self.may_answer is not None:
            await self.may_answer.wait()
        if self.why:
            raise SourceError(self.why)
        return await work(self.engine)


def made(folder: Path, script: str, name: str = "shop") -> Path:
    path = folder / f"{name}.db"
    run(path, script)
    return path


def run(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    try:
        connection.executescript(script)
    finally:
        connection.close()


def opened(path: Path, access: DatabaseAccess = FULL_ACCESS, *, samples: bool = False) -> Source:
    return Source(sqlite_engine(str(path), access), database("shop", samples=samples))


def names(answer: JsonObject) -> list[str]:
    tables = answer["tables"]
    assert isinstance(tables, list)
    return [str(each["table"]) for each in tables if isinstance(each, dict)]


async def closed(sources: Mapping[DatabaseId, Source]) -> None:
    for source in sources.values():
        await source.engine.aclose()


@pytest.mark.behaviour("databases.search", "databases.search_answer")
async def test_a_question_finds_tables_with_all_that_a_statement_needs(tmp_path: Path) -> None:
    sources = {SHOP: opened(made(tmp_path, TABLES))}
    answer = await SchemaFinder(lambda: sources).search("total of orders by customer")
    await closed(sources)
    assert answer == snapshot(
        {
            "tables": [
                {
                    "source": "shop",
                    "dialect": "SQLite",
                    "table": "orders",
                    "columns": [
                        {"name": "id", "type": "INTEGER", "is_key": True},
                        {"name": "customer_id", "type": "INTEGER"},
                        {"name": "status", "type": "TEXT"},
                        {"name": "total", "type": "NUMERIC"},
                    ],
                    "joins": ["orders.customer_id = customers.id"],
                    "example": "SELECT o.id, o.customer_id, o.total, o.status, c.full_name FROM orders AS o "
                    "JOIN customers AS c ON c.id = o.customer_id LIMIT 10",
                },
                {
                    "source": "shop",
                    "dialect": "SQLite",
                    "table": "customers",
                    "columns": [
                        {"name": "id", "type": "INTEGER", "is_key": True},
                        {"name": "full_name", "type": "TEXT", "is_required": True},
                        {"name": "email", "type": "TEXT"},
                    ],
                    "joins": ["orders.customer_id = customers.id"],
                    "example": "SELECT id, full_name, email FROM customers LIMIT 10",
                },
            ],
            "ranker": "lexical",
        }
    )


@pytest.mark.behaviour("databases.withheld_in_search")
async def test_with_denied_tables_and_columns_every_answer_is_that_of_a_database_without_them(tmp_path: Path) -> None:
    whole = made(tmp_path, TABLES + CLOSED, "whole")
    without = made(
        tmp_path, TABLES.replace(", email TEXT", "").replace(", 'ada@example.org'", "").replace(", NULL)", ")")
    )
    access = denied("main.salaries", "main.vouchers", "main.customers.email")
    one = {SHOP: opened(whole, access, samples=True)}
    other = {SHOP: opened(without, samples=True)}
    first, second = SchemaFinder(lambda: one, pace=AT_ONCE), SchemaFinder(lambda: other, pace=AT_ONCE)
    asked = ("orders of customers", "email", "salaries", "secret", "voucher order total", "main.salaries", "shipped")
    for query in asked:
        assert await first.search(query) == await second.search(query)
    assert await first.schema(SHOP) == await second.schema(SHOP)
    await closed(one)
    await closed(other)


@pytest.mark.behaviour("databases.search")
async def test_lists_and_objects_are_no_samples_and_leave_the_source_searchable(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE moods (id INTEGER, tags VARCHAR[], of_it STRUCT(a VARCHAR), word VARCHAR)")
        connection.execute("INSERT INTO moods VALUES (1, ['x'], {'a': 'b'}, 'glum')")
    sources = {SHOP: Source(duckdb_engine(str(tmp_path / "shop.db"), FULL_ACCESS), database("shop", samples=True))}
    answer = await SchemaFinder(lambda: sources, pace=AT_ONCE).search("glum")
    await closed(sources)
    assert names(answer) == ["moods"]
    assert "notices" not in answer


@pytest.mark.behaviour("databases.search_incremental")
async def test_a_change_of_the_schema_is_known_to_the_next_search(tmp_path: Path) -> None:
    path = made(tmp_path, TABLES)
    sources = {SHOP: opened(path)}
    finder = SchemaFinder(lambda: sources, pace=AT_ONCE)
    assert names(await finder.search("lighthouse keepers")) == []
    run(path, "CREATE TABLE lighthouses (id INTEGER PRIMARY KEY, keeper TEXT)")
    assert names(await finder.search("lighthouse keepers")) == ["lighthouses"]
    run(path, "DROP TABLE lighthouses")
    assert names(await finder.search("lighthouse keepers")) == []
    await closed(sources)


@pytest.mark.behaviour("databases.search_samples")
async def test_values_are_found_and_shown_only_where_the_operator_wants_it(tmp_path: Path) -> None:
    path = made(tmp_path, TABLES)
    plain, sampled = {SHOP: opened(path)}, {SHOP: opened(path, denied("main.customers.email"), samples=True)}
    assert (await SchemaFinder(lambda: plain).search("cancelled"))["tables"] == []
    finder = SchemaFinder(lambda: sampled, pace=AT_ONCE)
    answer = await finder.search("cancelled")
    assert names(answer) == ["orders"]
    assert "'samples': ['cancelled', 'shipped']" in str(answer)
    assert "example.org" not in str(await finder.search("customers"))
    await closed({**plain, DatabaseId("again"): sampled[SHOP]})


@pytest.mark.behaviour("databases.search_samples")
async def test_a_column_of_many_or_long_values_gives_no_samples(tmp_path: Path) -> None:
    path = made(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, note TEXT, kind TEXT)")
    rows = ", ".join(f"({n}, 'name {n}', '{'x' * 60}', 'kind {n % 3}')" for n in range(200))
    run(path, f"INSERT INTO t VALUES {rows}")
    sources = {SHOP: opened(path, samples=True)}
    answer = await SchemaFinder(lambda: sources).search("t")
    await closed(sources)
    assert str(answer).count("samples") == 1
    assert "['kind 0', 'kind 1', 'kind 2']" in str(answer)


@pytest.mark.behaviour("databases.search")
async def test_a_source_that_cannot_be_read_is_named_and_the_others_are_searched(tmp_path: Path) -> None:
    away = opened(tmp_path / "none.db")
    away.why = "it is away."
    sources = {SHOP: opened(made(tmp_path, TABLES)), DatabaseId("away"): away}
    finder = SchemaFinder(lambda: sources, pace=AT_ONCE)
    answer = await finder.search("orders")
    assert names(answer) == ["orders"]
    assert answer["notices"] == ["Database 'away' cannot be read: it is away."]
    sources[SHOP].why = "its password was changed."
    answer = await finder.search("orders", [SHOP])
    assert names(answer) == ["orders"]
    assert answer["notices"] == [
        "Database 'shop' cannot be read: its password was changed. What is told of it is from before."
    ]
    await closed(sources)


@pytest.mark.behaviour("databases.search_background")
async def test_a_search_does_not_wait_for_a_slow_source_which_is_read_on_meanwhile(tmp_path: Path) -> None:
    slow = opened(made(tmp_path, TABLES))
    slow.may_answer = anyio.Event()
    sources = {SHOP: slow}
    finder = SchemaFinder(
        lambda: sources, pace=SchemaTimings(max_age_s=0.0, reread_wait_s=0.01, first_read_wait_s=0.01)
    )
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(finder.run)
            await anyio.wait_all_tasks_blocked()
            answer = await finder.search("orders")
            assert answer["notices"] == ["Database 'shop' is still being read. Search again in a moment."]
            slow.may_answer.set()
            while not names(answer := await finder.search("orders")):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert names(answer) == ["orders"]
    await closed(sources)


@pytest.mark.behaviour("databases.withheld_in_search")
async def test_nothing_is_told_of_a_source_as_it_was_before_its_settings_changed(tmp_path: Path) -> None:
    path = made(tmp_path, TABLES)
    first, second = opened(path), opened(path, denied("main.orders"))
    sources = {SHOP: first}
    finder = SchemaFinder(lambda: sources)
    assert "orders" in names(await finder.search("status of orders"))
    sources = {SHOP: second}
    assert names(await finder.search("status of orders")) == []
    second.why = "it is away."
    sources = {SHOP: Source(second.engine, why="it is away.")}
    assert (await finder.search("customers"))["tables"] == []
    await closed({SHOP: first, DatabaseId("x"): second})


@pytest.mark.behaviour("databases.search_hybrid")
async def test_tables_are_found_by_meaning_where_that_is_set_up(tmp_path: Path) -> None:
    sources = {SHOP: opened(made(tmp_path, f"{TABLES} CREATE TABLE cattle (id INTEGER PRIMARY KEY, born DATE)"))}
    encoder, kept = SmallEncoder(remote=True), MemoryVectors()
    meanings = EmbeddingIndex(encoder, kept, lambda: NOW, settling=0.0).for_other_texts()
    finder = SchemaFinder(lambda: sources, meanings)
    assert names(await SchemaFinder(lambda: sources).search("cow")) == []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(finder.run)
            with meanings.progress.subscribe() as bell:
                while (answer := await finder.search("cow"))["ranker"] != "hybrid":
                    await bell.wait()
            tasks.cancel_scope.cancel()
    assert names(answer) == ["cattle"]
    assert sorted(encoder.read) == [
        "shop: table cattle with columns id, born",
        "shop: table customers with columns id, full name, email",
        "shop: table orders with columns id, customer id, status, total",
    ]
    await closed(sources)
