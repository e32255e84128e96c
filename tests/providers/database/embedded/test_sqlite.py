"""SQLite files as they are met: what they hold, how they are asked and written, and what is wrong with them."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import pytest

from pegboard.core.databases.rows import (
    FindingSeverity,
    QueryRows,
    ResultColumn,
    StatementFailure,
    StatementFault,
    StatementRefusal,
    ValueFormat,
)
from pegboard.core.databases.schema import DatabaseTable, ForeignKey, TableColumn, TableName
from pegboard.core.json.values import Json
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.ports.databases import DatabaseEngine, Parameters, SourceError
from pegboard.providers.database.worker.engine import sqlite_engine

pytestmark = pytest.mark.anyio
SHOP = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, photo BLOB);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers, total REAL);
    CREATE VIEW totals AS SELECT customer, sum(total) AS total FROM orders GROUP BY customer;
    INSERT INTO customers VALUES (1, 'Ada', x'00ff'), (2, 'Zoë 😀', NULL);
    INSERT INTO orders VALUES (1, 1, 2.5), (2, 1, 9e999), (3, 2, -9e999);
"""


def made(path: Path, script: str = SHOP) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return str(path)


@asynccontextmanager
async def opened(
    path: str, access: DatabaseAccess = FULL_ACCESS, *, writes: bool = False
) -> AsyncIterator[DatabaseEngine]:
    engine = sqlite_engine(path, access, writes=writes)
    try:
        with anyio.fail_after(30):
            yield engine
    finally:
        await engine.aclose()


async def rows(
    engine: DatabaseEngine, statement: str, parameters: Parameters = (), *, write: bool = False
) -> QueryRows:
    answer = await engine.run(statement, parameters, QueryLimits(), write=write)
    assert isinstance(answer, QueryRows), answer
    return answer


async def failed(engine: DatabaseEngine, statement: str, parameters: Parameters = ()) -> StatementFailure:
    answer = await engine.run(statement, parameters, QueryLimits())
    assert isinstance(answer, StatementFailure), answer
    return answer


async def test_the_schema_tells_tables_keys_views_and_relations(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "shop.db")) as engine:
        schema = await engine.schema()
        checked = await engine.check()
    customers, orders, totals = (TableName("main", name) for name in ("customers", "orders", "totals"))
    assert schema.tables == (
        DatabaseTable(
            customers,
            (
                TableColumn("id", "INTEGER", is_nullable=False),
                TableColumn("name", "TEXT", is_nullable=False),
                TableColumn("photo", "BLOB"),
            ),
            ("id",),
        ),
        DatabaseTable(
            orders,
            (
                TableColumn("id", "INTEGER", is_nullable=False),
                TableColumn("customer", "INTEGER"),
                TableColumn("total", "REAL"),
            ),
            ("id",),
        ),
        DatabaseTable(totals, (TableColumn("customer", "INTEGER"), TableColumn("total", "")), is_view=True),
    )
    assert schema.relations == (ForeignKey(orders, ("customer",), customers, ("id",)),)
    assert (checked.version, checked.role, checked.findings) == (f"SQLite {sqlite3.sqlite_version}", None, ())


async def test_the_stamp_changes_with_the_schema_and_with_nothing_else(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db")
    async with opened(path) as engine:
        before = await engine.schema_version()
        made(tmp_path / "shop.db", "INSERT INTO orders VALUES (4, 1, 1)")
        assert await engine.schema_version() == before
        made(tmp_path / "shop.db", "CREATE TABLE notes (text TEXT)")
        assert await engine.schema_version() != before
        assert "main.notes" in [str(table.name) for table in (await engine.schema()).tables]
        (tmp_path / "shop.db").unlink()
        made(tmp_path / "shop.db", "CREATE TABLE other (a)")
        assert [str(table.name) for table in (await engine.schema()).tables] == ["main.other"]


@pytest.mark.behaviour("databases.values")
async def test_values_of_every_kind_are_told_with_their_types(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "shop.db")) as engine:
        customers = await rows(engine, "SELECT * FROM customers ORDER BY id")
        assert customers.columns == (
            ResultColumn("id", "integer"),
            ResultColumn("name", "text"),
            ResultColumn("photo", "blob", (ValueFormat.BINARY_AS_HEX,)),
        )
        assert customers.rows == ((1, "Ada", "0x00ff"), (2, "Zoë 😀", None))
        totals = await rows(engine, "SELECT total FROM orders ORDER BY id")
        assert totals.rows == ((2.5,), ("Infinity",), ("-Infinity",))
        assert (await rows(engine, "SELECT 9223372036854775807, 0.5, NULL")).rows == (
            ("9223372036854775807", 0.5, None),
        )


async def test_text_that_is_no_utf_8_is_told_with_what_can_be_read_of_it(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db", "CREATE TABLE t (a TEXT); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), ('b')")
    async with opened(path) as engine:
        assert (await rows(engine, "SELECT a FROM t")).rows == (("\ufffdA",), ("b",))
        assert (await rows(engine, "SELECT 'ä'")).rows == (("ä",),)


@pytest.mark.behaviour("databases.parameters")
async def test_parameters_are_bound_by_place_and_by_name(tmp_path: Path) -> None:
    bound: list[tuple[str, Parameters, tuple[Json, ...]]] = [
        ("SELECT ?, ?", [1, "a"], (1, "a")),
        ("SELECT ?2, ?1", [1, 2], (2, 1)),
        ("SELECT :a, @b, $c", {"a": 1, "b": None, "c": True}, (1, None, 1)),
        ("SELECT :a", {":a": "x"}, ("x",)),
        ("SELECT $1, $2", ["x", 0.5], ("x", 0.5)),
        ("SELECT '?', \":a\" FROM (SELECT 1 AS ':a')", [], ("?", 1)),
        ("SELECT ?", ["Robert'); DROP TABLE orders; --"], ("Robert'); DROP TABLE orders; --",)),
    ]
    async with opened(made(tmp_path / "shop.db")) as engine:
        told = [(await rows(engine, statement, parameters)).rows for statement, parameters, _ in bound]
    assert told == [(row,) for _, _, row in bound]


@pytest.mark.behaviour("databases.parameters")
async def test_parameters_that_do_not_fit_are_told(tmp_path: Path) -> None:
    wrong: list[tuple[str, Parameters, str]] = [
        ("SELECT ?", [], "The statement has 1 parameter, and 0 values were given."),
        (
            "SELECT 1 WHERE 1 = '%s'",
            [1],
            "The statement has 0 parameters, and 1 value was given. Write ? in it where a value belongs.",
        ),
        ("SELECT :a", [1], "The statement calls its parameters by name (:a). Give an object with their values."),
        ("SELECT :a", {}, "No value was given for the parameter 'a'."),
        ("SELECT :a", {"a": 1, "b": 2}, "The statement has no parameter 'b'."),
        ("SELECT ?", {"a": 1}, "The statement has parameters by place (?). Give a list with their values."),
        (
            "SELECT ?",
            [[1]],
            "Parameter 1 is a list. Give a text, a number, true, false or null, or JSON as text.",
        ),
        (
            "SELECT ?",
            [2**70],
            "A parameter is an integer of more than 64 bits. Send it as text, and cast it in the statement.",
        ),
        ("SELECT ?", ["\ud800"], "A parameter holds half of a surrogate pair, which is no text."),
    ]
    async with opened(made(tmp_path / "shop.db")) as engine:
        told = [await engine.run(statement, parameters, QueryLimits()) for statement, parameters, _ in wrong]
    assert told == [StatementFailure(words, fault=StatementFault.PARAMETERS) for _, _, words in wrong]


INSTEAD = "search_schemas tells what there is, and so do sqlite_schema and PRAGMA table_info(name)."
DEEP = "The statement is nested too deeply. Ask in simpler statements."


@pytest.mark.behaviour("databases.failures")
async def test_a_failure_says_what_was_not_found_and_where(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "shop.db")) as engine:
        assert [
            await failed(engine, "SELECT * FROM ordres"),
            await failed(engine, "SELECT totl FROM orders"),
            await failed(engine, "SELECT totall(1)"),
            await failed(engine, "SELECT FROM orders"),
            await failed(engine, "SELEKT 1"),
            await failed(engine, "SELECT 'a"),
            await failed(engine, "SHOW TABLES"),
            await failed(engine, f"SELECT {'1+' * 500}1"),
            await failed(engine, f"SELECT {'(' * 5000}1{')' * 5000}"),
        ] == [
            StatementFailure("no such table: ordres", 14, StatementFault.NO_TABLE, "ordres"),
            StatementFailure("no such column: totl", 7, StatementFault.NO_COLUMN, "totl"),
            StatementFailure("no such function: totall", 7, StatementFault.NO_FUNCTION, "totall"),
            StatementFailure('near "FROM": syntax error', 7, StatementFault.SYNTAX),
            StatementFailure('near "SELEKT": syntax error', 0, StatementFault.SYNTAX),
            StatementFailure('unrecognized token: "\'a"', None, StatementFault.SYNTAX),
            StatementFailure(f'near "SHOW": syntax error. SQLite has no SHOW: {INSTEAD}', 0, StatementFault.SYNTAX),
            StatementFailure(f"Expression tree is too large (maximum depth 200). {DEEP}", None, StatementFault.SYNTAX),
            StatementFailure(f"parser stack overflow. {DEEP}", None, StatementFault.SYNTAX),
        ]


@pytest.mark.behaviour("databases.capped")
async def test_a_long_result_is_cut_while_it_is_fetched(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    async with opened(made(tmp_path / "shop.db")) as engine:
        short = await engine.run(endless, (), QueryLimits(rows=3))
        assert isinstance(short, QueryRows)
        assert (short.rows, short.truncation and short.truncation.limited_by) == (((1,), (2,), (3,)), "rows")
        wide = await engine.run("SELECT hex(zeroblob(1000000))", (), QueryLimits(cell_chars=10))
        assert isinstance(wide, QueryRows)
        assert wide.truncation is not None
        assert (wide.rows, wide.truncation.cells) == ((("0000000000…",),), ((0, 0, 2_000_000),))


@pytest.mark.behaviour("databases.full_text")
async def test_a_full_text_index_is_searched_and_keeps_its_tables_to_itself(tmp_path: Path) -> None:
    path = made(
        tmp_path / "shop.db",
        "CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES ('hello world'), ('good night');"
        "CREATE TABLE secrets (a); CREATE VIRTUAL TABLE leak USING fts5(a, content='secrets')",
    )
    search = "SELECT body, bm25(docs) < 0 FROM docs WHERE docs MATCH 'hello'"
    async with opened(path) as engine:
        assert (await rows(engine, search)).rows == (("hello world", 1),)
    async with opened(path, _closed("secrets")) as engine:
        assert (await rows(engine, search)).rows == (("hello world", 1),)
        assert (await failed(engine, "SELECT * FROM docs_content")).fault is StatementFault.NO_TABLE
        assert (await failed(engine, "SELECT * FROM leak")).fault is StatementFault.NO_TABLE
        assert [str(table.name) for table in (await engine.schema()).tables] == ["main.docs"]


@pytest.mark.behaviour("databases.full_text", "databases.closed_columns")
async def test_a_full_text_index_over_a_closed_column_is_closed_and_so_is_its_vocabulary(tmp_path: Path) -> None:
    path = made(
        tmp_path / "shop.db",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name, email); INSERT INTO people VALUES (1, 'Ann', 'ann@secret');"
        "CREATE VIRTUAL TABLE found USING fts5(name, email, content='people', content_rowid='id');"
        "CREATE VIRTUAL TABLE names USING fts5(name, content=people, content_rowid=id);"
        "INSERT INTO found(found) VALUES ('rebuild'); INSERT INTO names(names) VALUES ('rebuild');"
        "CREATE VIEW all_people AS SELECT * FROM people;"
        "CREATE VIRTUAL TABLE by_view USING fts5(name, content='all_people');"
        "CREATE VIRTUAL TABLE unnamed USING fts4(content='people');"
        "CREATE VIRTUAL TABLE terms USING fts5vocab(found, col); CREATE VIRTUAL TABLE fine USING fts5vocab(names, col);"
        "CREATE VIEW seen AS SELECT term FROM terms",
    )
    async with opened(path, _closed("people.email")) as engine:
        for table in ("found", "terms", "seen", "by_view", "unnamed", "found_data", "all_people"):
            told, absent = [await engine.run(f"SELECT * FROM {name}", (), QueryLimits()) for name in (table, "nowhere")]
            assert str(told).replace(table, "nowhere") == str(absent)
        matching = await failed(engine, "SELECT rowid FROM found WHERE found MATCH 'email:ann'")
        assert matching.fault is StatementFault.NO_TABLE
        assert (await rows(engine, "SELECT rowid FROM names WHERE names MATCH 'ann'")).rows == ((1,),)
        assert (await rows(engine, "SELECT term FROM fine")).rows == (("ann",),)
        assert [table.name.table for table in (await engine.schema()).tables] == ["fine", "names", "people"]
        assert "email" not in str(await rows(engine, "SELECT sql FROM sqlite_master"))


def _closed(*patterns: str) -> DatabaseAccess:
    return DatabaseAccess(
        deny=tuple(each for each in map(parse_name_pattern, patterns) if isinstance(each, NamePattern))
    )


@pytest.mark.behaviour("databases.checked")
async def test_patterns_that_fit_nothing_are_found_by_a_check(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "shop.db"), _closed("ordres", "customers.photo")) as engine:
        assert [finding.message for finding in (await engine.check()).findings] == [
            "The pattern 'ordres' fits no table and no column. Check how it is spelt."
        ]


@pytest.mark.behaviour("databases.unopenable")
async def test_a_file_that_cannot_be_opened_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("not a database, but long enough to look like a file of some kind\n" * 20)
    made(tmp_path / "corrupt.db")
    content = bytearray((tmp_path / "corrupt.db").read_bytes())
    content[100:4096] = bytes(3996)
    (tmp_path / "corrupt.db").write_bytes(content)
    begins = {
        "missing.db": "There is no file",
        "folder": "is a folder. Name the database file in it.",
        "text.db": "is not a SQLite database: it begins with other bytes.",
        "corrupt.db": "is damaged",
    }
    for name, words in begins.items():
        async with opened(str(tmp_path / name)) as engine:
            answer = await failed(engine, "SELECT * FROM sqlite_master")
            assert (answer.fault, words in answer.message) == (StatementFault.UNAVAILABLE, True), answer
            with pytest.raises(SourceError, match=r"db|folder"):
                await engine.schema()
            checked = await engine.check()
            assert [finding.severity for finding in checked.findings] == [FindingSeverity.REFUSED_UNLESS_FORCED]


@pytest.mark.behaviour("databases.unopenable")
async def test_an_empty_file_is_an_empty_database_and_a_locked_one_is_busy(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    async with opened(str(tmp_path / "empty.db")) as engine:
        assert (await engine.schema()).tables == ()
        assert "There is no table to read" in (await engine.check()).findings[0].message
    path = made(tmp_path / "shop.db")
    async with opened(path) as engine:
        assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((3,),)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answer = await failed(engine, "SELECT count(*) FROM orders")
            assert answer.fault in (StatementFault.BUSY, StatementFault.UNAVAILABLE)
            assert "locked" in answer.message
            other.execute("ROLLBACK")
        assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((3,),)


async def test_a_database_with_a_write_ahead_log_is_read_while_another_writes_it(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO orders VALUES (10, 1, 1)")
        async with opened(path) as engine:
            assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((3,),)
            other.execute("COMMIT")
            assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((4,),)


@pytest.mark.behaviour("databases.writes")
async def test_a_write_happens_only_where_writes_are_on_and_asked_for(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db")
    insert = "INSERT INTO orders (customer, total) VALUES (?, ?) RETURNING id, total"
    async with opened(path) as engine:
        refused = await engine.run(insert, [1, 7.0], QueryLimits(), write=True)
        assert isinstance(refused, StatementRefusal)
        assert refused.is_write
    async with opened(path, writes=True) as engine:
        refused = await engine.run(insert, [1, 7.0], QueryLimits())
        assert isinstance(refused, StatementRefusal)
        assert refused.is_write
        hidden = await engine.run("WITH x AS (SELECT 1) DELETE FROM orders", (), QueryLimits())
        assert isinstance(hidden, StatementRefusal)
        assert hidden.is_write
        assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((3,),)
        done = await rows(engine, insert, [1, 7.0], write=True)
        assert (done.rows, done.affected_rows) == (((4, 7.0),), 1)
        assert (await rows(engine, "UPDATE orders SET total = 0", write=True)).affected_rows == 4
        assert (
            await rows(engine, "WITH x AS (SELECT 4) DELETE FROM orders WHERE id IN x", write=True)
        ).affected_rows == 1
        assert (await rows(engine, "SELECT sum(total), count(*) FROM orders", write=True)).rows == ((0.0, 3),)


@pytest.mark.behaviour("databases.writes")
async def test_a_row_that_is_there_already_is_changed_where_something_is_closed_too(tmp_path: Path) -> None:
    script = "CREATE TABLE stock (id INTEGER PRIMARY KEY, code TEXT UNIQUE, n); CREATE TABLE hidden (a)"
    upsert = "INSERT INTO stock (code, n) VALUES ('a', 1) ON CONFLICT (code) DO UPDATE SET n = n + 1"
    async with opened(made(tmp_path / "shop.db", script), _closed("hidden"), writes=True) as engine:
        assert [(await rows(engine, upsert, write=True)).affected_rows for _ in range(2)] == [1, 1]
        assert (await rows(engine, "SELECT code, n FROM stock")).rows == (("a", 2),)


@pytest.mark.behaviour("databases.writes")
async def test_a_write_that_fails_changes_nothing_and_no_schema_is_ever_changed(tmp_path: Path) -> None:
    path = made(
        tmp_path / "shop.db",
        SHOP
        + """CREATE TABLE audit (line TEXT);
        CREATE TRIGGER noted AFTER DELETE ON customers BEGIN INSERT INTO audit VALUES (old.name); END;""",
    )
    async with opened(path, _closed("audit", "customers.photo"), writes=True) as engine:
        doubled = await engine.run("INSERT INTO orders VALUES (7, 1, 1), (1, 1, 1)", (), QueryLimits(), write=True)
        assert isinstance(doubled, StatementFailure)
        orphan = await engine.run("INSERT INTO orders VALUES (8, 99, 1)", (), QueryLimits(), write=True)
        assert orphan == StatementFailure("FOREIGN KEY constraint failed")
        for statement in (
            "DROP TABLE orders",
            "CREATE TABLE t (a)",
            "ALTER TABLE orders ADD x",
            "PRAGMA user_version = 3",
        ):
            assert isinstance(await engine.run(statement, (), QueryLimits(), write=True), StatementRefusal)
        closed = await engine.run("INSERT INTO audit VALUES ('x')", (), QueryLimits(), write=True)
        assert closed == StatementFailure("no such table: audit", 12, StatementFault.NO_TABLE, "audit")
        for statement in (
            "UPDATE customers SET name = 'x'",
            "DELETE FROM customers",
            "UPDATE sqlite_master SET sql = ''",
        ):
            answer = await engine.run(statement, (), QueryLimits(), write=True)
            assert not isinstance(answer, QueryRows), answer
        too_long = (
            "INSERT INTO orders WITH RECURSIVE c(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM c) SELECT x, 1, 1 FROM c"
        )
        answer = await engine.run(too_long, (), QueryLimits(seconds=0.3), write=True)
        assert isinstance(answer, StatementFailure)
        assert answer.fault is StatementFault.TIME
        assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((3,),)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(
            "SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM audit)"
        ).fetchone() == (2, 0)
