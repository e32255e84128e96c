"""DuckDB files as they are met: what they hold, how they are asked, and what is wrong with them."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import duckdb
import pytest

from pegboard.core.databases.rows import (
    QueryRows,
    ResultColumn,
    StatementFailure,
    StatementFault,
    StatementRefusal,
    ValueFormat,
)
from pegboard.core.databases.schema import DatabaseTable, ForeignKey, TableColumn, TableName
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, QueryLimits
from pegboard.ports.databases import DatabaseEngine, Parameters
from pegboard.providers.database.common import parameter_count_message
from pegboard.providers.database.worker.engine import duckdb_engine

pytestmark = pytest.mark.anyio
SHOP = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), total DECIMAL(10, 2));
    COMMENT ON TABLE orders IS 'What was bought';
    COMMENT ON COLUMN orders.total IS 'In euros';
    CREATE SCHEMA archive;
    CREATE TABLE archive.old (a INTEGER);
    CREATE VIEW archive.older AS SELECT a + 1 AS b FROM old;
    CREATE MACRO doubled(x) AS x * 2;
    INSERT INTO customers VALUES (1, 'Ada'), (2, 'Zoë 😀');
    INSERT INTO orders VALUES (1, 1, 2.50), (2, 2, 7.25);
"""


def made(path: Path, script: str = SHOP) -> str:
    with duckdb.connect(str(path)) as connection:
        connection.execute(script)
    return str(path)


@asynccontextmanager
async def opened(path: str, access: DatabaseAccess = FULL_ACCESS) -> AsyncIterator[DatabaseEngine]:
    engine = duckdb_engine(path, access)
    try:
        with anyio.fail_after(60):
            yield engine
    finally:
        await engine.aclose()


async def rows(engine: DatabaseEngine, statement: str, parameters: Parameters = ()) -> QueryRows:
    answer = await engine.run(statement, parameters, QueryLimits())
    assert isinstance(answer, QueryRows), answer
    return answer


@pytest.mark.behaviour("databases.values")
async def test_what_is_beyond_the_calendar_is_not_told_as_a_day_of_it(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (d DATE, ts TIMESTAMP); INSERT INTO t VALUES ('infinity', '-infinity'), ('9999-12-31', NULL)"
    )
    async with opened(made(tmp_path / "days.duckdb", script)) as engine:
        told = await rows(engine, "SELECT * FROM t ORDER BY d DESC")
        inner = await rows(engine, "SELECT [d], {'d': d}, TIMESTAMPTZ '-infinity' FROM t WHERE d > '9999-12-31'")
        early = await rows(engine, "SELECT DATE '0044-03-15 (BC)', TIMESTAMP '9999-12-31 23:59:59.999999'")
    assert told.rows == (("infinity", "-infinity"), ("9999-12-31", None))
    assert inner.rows == ((["infinity"], {"d": "infinity"}, "-infinity"),)
    assert early.rows == (("0044-03-15 (BC)", "9999-12-31T23:59:59.999999"),)


@pytest.mark.behaviour("databases.values")
async def test_months_stay_months_and_nanoseconds_are_kept(tmp_path: Path) -> None:
    asked = "SELECT i, $1 AS n FROM (VALUES {}) t (i) ORDER BY i DESC;"
    values = ("1 year 2 months 3 days 04:05:06.7", "1 month", "-1 month", "0 days", "-5 seconds", "178956970 years")
    async with opened(made(tmp_path / "spans.duckdb")) as engine:
        told = await rows(engine, asked.format(", ".join(f"(INTERVAL '{each}')" for each in values)), [7])
        exact = await rows(engine, "SELECT TIMESTAMP_NS '2020-01-01 00:00:00.123456789' AS t, 1 AS n")
        noted = await rows(engine, "SELECT INTERVAL '1 day' AS i; -- done")
    assert told.columns == (ResultColumn("i", "INTERVAL"), ResultColumn("n", "INTEGER"))
    spans = ("178956970 years", "1 year 2 months 3 days 04:05:06.7", "1 month", "00:00:00", "-00:00:05", "-1 month")
    assert told.rows == tuple((span, 7) for span in spans)
    assert exact.rows == (("2020-01-01 00:00:00.123456789", 1),)
    assert noted.rows == (("1 day",),)


async def test_the_schema_tells_comments_keys_and_relations_of_every_schema(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "the shop.duckdb")) as engine:
        schema = await engine.schema()
        checked = await engine.check()
    customers, orders = TableName("main", "customers"), TableName("main", "orders")
    assert schema.tables == (
        DatabaseTable(TableName("archive", "old"), (TableColumn("a", "INTEGER"),), rows=0),
        DatabaseTable(TableName("archive", "older"), (TableColumn("b", "INTEGER"),), is_view=True),
        DatabaseTable(
            customers,
            (TableColumn("id", "INTEGER", is_nullable=False), TableColumn("name", "VARCHAR", is_nullable=False)),
            ("id",),
            rows=2,
        ),
        DatabaseTable(
            orders,
            (
                TableColumn("id", "INTEGER", is_nullable=False),
                TableColumn("customer", "INTEGER"),
                TableColumn("total", "DECIMAL(10,2)", comment="In euros"),
            ),
            ("id",),
            "What was bought",
            rows=2,
        ),
    )
    assert schema.relations == (ForeignKey(orders, ("customer",), customers, ("id",)),)
    assert (checked.version, checked.findings) == (f"DuckDB {duckdb.__version__}", ())


@pytest.mark.behaviour("databases.values", "databases.parameters")
async def test_values_and_parameters_of_every_kind(tmp_path: Path) -> None:
    kinds = """SELECT 170141183460469231731687303715884105727, 1.50::DECIMAL(5, 2), 'NaN'::DOUBLE, DATE '2026-03-04',
        TIMESTAMPTZ '2026-03-04 05:06:00+00', '\\xAA'::BLOB, [1, 2], {'a': 1}, MAP {'k': 2}, NULL,
        '12345678-1234-1234-1234-123456789abc'::UUID, INTERVAL 2 DAY"""
    async with opened(made(tmp_path / "shop.duckdb")) as engine:
        told = await rows(engine, kinds)
        values = list(told.rows[0])
        assert str(values.pop(4)).startswith("2026-03-0")
        assert values == [
            "170141183460469231731687303715884105727",
            1.5,
            "NaN",
            "2026-03-04",
            "0xaa",
            [1, 2],
            {"a": 1},
            {"k": 2},
            None,
            "12345678-1234-1234-1234-123456789abc",
            "2 days",
        ]
        assert told.columns[:2] == (
            ResultColumn("170141183460469231731687303715884105727", "HUGEINT", (ValueFormat.NUMBER_AS_TEXT,)),
            ResultColumn("CAST(1.50 AS DECIMAL(5, 2))", "DECIMAL(5,2)"),
        )
        assert (await rows(engine, "SELECT ?, ?", ["x", None])).rows == (("x", None),)
        assert (await rows(engine, "SELECT $a, $b", {"a": [1], "$b": True})).rows == (([1], True),)
        assert (await rows(engine, "SELECT doubled(21)")).rows == ((42,),)
        assert [
            await engine.run("SELECT ?", (), QueryLimits()),
            await engine.run("SELECT $a", {"b": 1}, QueryLimits()),
            await engine.run("SELECT $a", {"a": 1, "b": 1}, QueryLimits()),
            await engine.run("SELECT 1 WHERE 1=:id", {"id": 1}, QueryLimits()),
        ] == [
            StatementFailure(parameter_count_message(1, 0, "?"), fault=StatementFault.PARAMETERS),
            StatementFailure("No value was given for the parameter 'a'.", fault=StatementFault.PARAMETERS),
            StatementFailure("The statement has no parameter 'b'.", fault=StatementFault.PARAMETERS),
            StatementFailure(
                'Parser Error: syntax error at or near ":". Write $name in it where a value belongs.',
                None,
                StatementFault.SYNTAX,
            ),
        ]


@pytest.mark.behaviour("databases.failures", "databases.writes")
async def test_a_failure_says_what_was_not_found_and_writes_are_refused(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "shop.duckdb")) as engine:
        answers = [
            await engine.run(each, (), QueryLimits())
            for each in ("SELECT * FROM ordres", "SELECT totl FROM orders", "SELECT nothing_such(1)", "SELEKT 1")
        ]
        assert [(each.position, each.fault, each.name) for each in answers if isinstance(each, StatementFailure)] == [
            (14, StatementFault.NO_TABLE, "ordres"),
            (7, StatementFault.NO_COLUMN, "totl"),
            (0, StatementFault.SYNTAX, None),
        ]
        assert isinstance(answers[2], StatementRefusal)
        write = await engine.run("DELETE FROM orders", (), QueryLimits())
        assert isinstance(write, StatementRefusal)
        assert write.is_write
        assert isinstance(await engine.run("DELETE FROM orders", (), QueryLimits(), write=True), StatementRefusal)


@pytest.mark.behaviour("databases.unopenable")
async def test_a_file_that_cannot_be_opened_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.duckdb").write_text("not a database\n" * 20)
    begins = {
        "missing.duckdb": "There is no file",
        "folder": "is a folder. Name the database file in it.",
        "text.duckdb": "is not a DuckDB database: it begins with other bytes.",
    }
    for name, words in begins.items():
        async with opened(str(tmp_path / name)) as engine:
            answer = await engine.run("SELECT 1", (), QueryLimits())
            assert isinstance(answer, StatementFailure)
            assert (answer.fault, words in answer.message) == (StatementFault.UNAVAILABLE, True), answer


@pytest.mark.behaviour("databases.unopenable")
async def test_a_file_that_another_process_writes_is_told_as_such(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.duckdb")
    holds = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    async with await anyio.open_process([sys.executable, "-c", holds, path], stderr=None) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert (await other.stdout.receive()).startswith(b"o")
        async with opened(path) as engine:
            answer = await engine.run("SELECT 1", (), QueryLimits())
            assert isinstance(answer, StatementFailure)
            assert (answer.fault, "open in a process that writes it" in answer.message) == (
                StatementFault.UNAVAILABLE,
                True,
            )
            await other.stdin.aclose()
            await other.wait()
            assert (await rows(engine, "SELECT count(*) FROM orders")).rows == ((2,),)


@pytest.mark.behaviour("databases.capped")
async def test_a_long_result_is_cut_while_it_is_fetched(tmp_path: Path) -> None:
    async with opened(made(tmp_path / "shop.duckdb")) as engine:
        answer = await engine.run("SELECT i FROM range(100000000) t(i)", (), QueryLimits(rows=3))
    assert isinstance(answer, QueryRows)
    assert (answer.rows, answer.truncation and answer.truncation.limited_by) == (((0,), (1,), (2,)), "rows")


@pytest.mark.behaviour("databases.statements_stopped")
async def test_a_statement_that_takes_too_long_is_interrupted_and_the_next_one_is_not(tmp_path: Path) -> None:
    endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range < 0"
    async with opened(made(tmp_path / "shop.duckdb")) as engine:
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)
        for _ in range(2):
            answer = await engine.run(endless, (), QueryLimits(seconds=0.2))
            assert isinstance(answer, StatementFailure)
            assert answer.fault is StatementFault.TIME
            assert (await rows(engine, "SELECT sum(range) FROM range(1000000)")).rows == ((499999500000,),)


@pytest.mark.behaviour("databases.withheld")
async def test_a_macro_may_do_no_more_than_a_statement(tmp_path: Path) -> None:
    script = (
        "CREATE MACRO twice(x) AS x * 2; CREATE MACRO four(x) AS twice(twice(x));"
        "CREATE MACRO few(n) AS TABLE SELECT * FROM range(n);"
        "CREATE MACRO anyq(t) AS TABLE SELECT * FROM query(t);"
        "CREATE MACRO places() AS TABLE SELECT path FROM duckdb_databases();"
        "CREATE MACRO setting() AS (SELECT value FROM duckdb_settings() LIMIT 1)"
    )
    async with opened(made(tmp_path / "shop.duckdb", script)) as engine:
        assert (await rows(engine, "SELECT four(3), (SELECT count(*) FROM few(5))")).rows == ((12, 5),)
        for statement in ("FROM anyq('SELECT path FROM duckdb_databases()')", "FROM places()", "SELECT setting()"):
            assert isinstance(await engine.run(statement, (), QueryLimits()), StatementRefusal), statement


def damaged(path: str) -> str:
    held = bytearray(Path(path).read_bytes())
    held[4104:] = bytes(byte ^ 0xFF for byte in held[4104:])
    Path(path).write_bytes(held)
    return path


@pytest.mark.behaviour("databases.checked")
async def test_a_damaged_file_is_not_taken_for_one_in_use(tmp_path: Path) -> None:
    async with opened(damaged(made(tmp_path / "shop.duckdb"))) as engine:
        (finding, *_) = (await engine.check()).findings
        assert "process that writes" not in finding.message


FILE_AS_TABLE = (
    "SELECT * FROM 'one.duckdb'",
    'SELECT * FROM "one.duckdb"',
    "SELECT * FROM one.duckdb",
    "SELECT * FROM ONE.DuckDB",
    "SELECT * FROM './one.duckdb'",
    "SELECT * FROM '{path}'",
    'SELECT * FROM "{stem}".duckdb',
    "SUMMARIZE 'one.duckdb'",
    "DESCRIBE 'one.duckdb'",
    "SHOW 'one.duckdb'",
    "TABLE 'one.duckdb'",
    "SELECT (SELECT max(ssn) FROM 'one.duckdb')",
    "WITH q AS (FROM one.duckdb) FROM q",
    """WITH a AS (WITH "one.duckdb" AS (SELECT 1) FROM 'one.duckdb') SELECT * FROM a, 'one.duckdb'""",
    "SELECT * FROM (PIVOT 'one.duckdb' ON name IN ('Ann') USING max(ssn))",
    "FROM (SELECT 1) POSITIONAL JOIN 'one.duckdb'",
)


@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize("deny", [(), ("customers.ssn",)], ids=["all open", "a column closed"])
async def test_the_file_itself_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deny: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)  # a worker starts in the folder of its gateway
    script = """
        CREATE TABLE customers (id INTEGER, name VARCHAR, ssn VARCHAR);
        INSERT INTO customers VALUES (1, 'Ann', '123-45');
    """
    path = made(tmp_path / "one.duckdb", script)
    access = FULL_ACCESS.with_denied(*(("main", *each.split(".")) for each in deny))
    async with opened(path, access) as engine:
        answers = {
            statement: await engine.run(
                statement.format(path=path, stem=path.removesuffix(".duckdb")), (), QueryLimits()
            )
            for statement in FILE_AS_TABLE
        }
        benign = [
            await rows(engine, f"SELECT id, name FROM {name} WHERE id = 1.0 AND name LIKE 'A%'")
            for name in ("customers", "main.customers", "one.customers", "one.main.customers", "One.Main.CUSTOMERS")
        ]
    read = [statement for statement, answer in answers.items() if not isinstance(answer, StatementFailure)]
    assert read == []
    faults = {answer.fault for answer in answers.values() if isinstance(answer, StatementFailure)}
    assert faults == {StatementFault.NO_TABLE}
    assert [each.rows for each in benign] == [((1, "Ann"),)] * 5


@pytest.mark.behaviour("databases.withheld")
@pytest.mark.parametrize("table", ["staff", "one.main.staff", "one.duckdb", "duckdb_columns", "duckdb_databases"])
async def test_no_function_reads_a_table_that_a_text_names(tmp_path: Path, table: str) -> None:
    path = made(tmp_path / "one.duckdb", "CREATE TABLE staff (word VARCHAR); INSERT INTO staff VALUES ('xyzzy')")
    for access in (FULL_ACCESS, FULL_ACCESS.with_denied(("main", "staff"))):
        async with opened(path, access) as engine:
            answer = await engine.run(f"SELECT * FROM histogram('{table}', word)", (), QueryLimits())
            counted = await rows(engine, "SELECT histogram(i)[1] FROM generate_series(1, 3) t (i)")
        assert isinstance(answer, StatementRefusal)
        assert answer.why == "The function histogram() is not among those that a statement may use."
        assert counted.rows == ((1,),)


@pytest.mark.behaviour("databases.withheld")
async def test_a_view_of_the_file_itself_is_closed_where_a_column_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = "CREATE TABLE customers (id INTEGER, ssn VARCHAR); INSERT INTO customers VALUES (1, '123-45')"
    path = made(tmp_path / "one.duckdb", script)
    with duckdb.connect(str(tmp_path / "two.duckdb")) as other:
        other.execute("CREATE TABLE customers (id INTEGER, ssn VARCHAR)")
    with duckdb.connect(path) as file:
        file.execute("CREATE VIEW everyone AS SELECT * FROM 'two.duckdb'")
    (tmp_path / "two.duckdb").unlink()
    (tmp_path / "two.duckdb").symlink_to(path)
    async with opened(path, FULL_ACCESS.with_denied(("main", "customers", "ssn"))) as engine:
        assert (await rows(engine, "SELECT * FROM customers")).rows == ((1,),)
        answer = await engine.run("SELECT * FROM everyone", (), QueryLimits())
    assert isinstance(answer, StatementFailure)
    assert answer.fault is StatementFault.NO_TABLE
