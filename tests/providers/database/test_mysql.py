"""MySQL and MariaDB as a source: what comes back, in what shape, and what is left when nobody waits any more."""

import os
import signal
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.providers.database.mysql_shop import Shop
from tests.support.collect_failures import each_case

from pegboard.core.databases.rows import FindingSeverity, QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.providers.database.common import parameter_count_message
from pegboard.providers.database.mysql.engine import MysqlEngine
from pegboard.providers.database.mysql.statement import MysqlStatement, read_statement
from pegboard.providers.database.server import QUERIES_ONLY

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)
ENDLESS = "SELECT count(*) FROM orders a, orders b, orders c, orders d"


@pytest.mark.behaviour("databases.values")
async def test_values_of_every_kind_come_as_json_and_lose_nothing(mysql: Shop) -> None:
    told = await MysqlEngine(mysql.reader, FULL_ACCESS).run("SELECT * FROM kinds", (), LIMITS)
    assert isinstance(told, QueryRows)
    assert [(field.name, field.type) for field in told.columns] == [
        ("id", "int"),
        ("doc", "longtext"),
        ("seen", "datetime"),
        ("raw", "blob"),
        ("big", "bigint"),
        ("f", "double"),
        ("bits", "bit"),
        ("t", "time"),
        ("e", "enum"),
        ("y", "year"),
    ]
    assert told.rows == (
        (
            *(1, '{"a": [1, null]}', "2026-03-04 05:06:07", "0xdeadbeef", "18446744073709551615", 0.5, 5),
            *("25:00:01", "b", 2026),
        ),
    )


@pytest.mark.behaviour("databases.parameters_are_bound")
async def test_parameters_are_bound_and_no_text_gets_out_of_its_place(mysql: Shop) -> None:
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    texts = ["'", '"', "\\", "\\'", "o''x", "?", "/*!", "-- ", "é😀\n", "", "'; DELETE FROM orders; --"]
    for text in texts:
        told = await engine.run("SELECT ? AS a, '?' AS b /* ? */", [text], LIMITS)
        assert isinstance(told, QueryRows), told
        assert told.rows == ((text, "?"),)
    answers = [
        await engine.run("SELECT count(*) FROM orders WHERE made_on < ? AND id < ?", ["2026-01-05", 100], LIMITS),
        await engine.run("SELECT ?, ?, ?, ?", [1, 1.5, True, None], LIMITS),
        await engine.run("SELECT id FROM orders ORDER BY id LIMIT ?", [2], LIMITS),
        await engine.run("SELECT ?", [], LIMITS),
        await engine.run("SELECT ?", ["\ud800"], LIMITS),
    ]
    named = await engine.run("SELECT 1", {"a": 1}, LIMITS)
    assert [told.rows if isinstance(told, QueryRows) else told for told in answers] == [
        ((3,),),
        ((1, 1.5, 1, None),),
        ((1,), (2,)),
        StatementFailure(parameter_count_message(1, 0, "?"), None, StatementFault.PARAMETERS),
        StatementFailure("Parameter 1 is not a value that SQL can hold.", None, StatementFault.PARAMETERS),
    ]
    assert isinstance(named, StatementFailure)
    assert (named.fault, "write ? in the statement" in named.message) == (StatementFault.PARAMETERS, True)


@pytest.mark.behaviour("databases.engines_words")
async def test_a_failure_keeps_the_engines_words(mysql: Shop) -> None:
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    column, table, syntax = [
        await engine.run(text, (), LIMITS)
        for text in ("SELECT nme FROM customers", "SELECT 1 FROM custmers", "SELECT /* a */ 1 FROM GROUP x")
    ]
    assert column == StatementFailure("Unknown column 'nme' in 'SELECT'", None, StatementFault.NO_COLUMN, "nme")
    assert table == StatementFailure(
        f"Table '{mysql.name}.custmers' doesn't exist", None, StatementFault.NO_TABLE, "custmers"
    )
    assert isinstance(syntax, StatementFailure)
    assert (syntax.position, syntax.fault) == (22, StatementFault.SYNTAX)
    assert syntax.message.endswith("near 'GROUP x' at line 1")


@pytest.mark.behaviour("databases.capped")
async def test_what_a_limit_leaves_is_the_beginning_of_the_whole(mysql: Shop) -> None:
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    statement = "SELECT id, repeat('x', id % 40) FROM orders ORDER BY id"
    whole = await engine.run(statement, (), QueryLimits(rows=1000))
    assert isinstance(whole, QueryRows)
    for rows, size in ((1, 10**6), (7, 10**6), (399, 10**6), (400, 10**6), (401, 10**6), (1000, 500), (1000, 1)):
        told = await engine.run(statement, (), QueryLimits(rows=rows, bytes=size))
        assert isinstance(told, QueryRows)
        assert told.rows == whole.rows[: len(told.rows)]
        assert (told.truncation is None) == (len(told.rows) == 400)
        assert len(told.rows) == rows or size < 10**6 or rows > 400


@pytest.mark.behaviour("databases.floods_are_not_kept")
async def test_a_row_larger_than_anyone_can_want_is_not_taken_in(mysql: Shop) -> None:
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    cells = ", ".join(["repeat('x', 15000000)"] * 4)
    told = await engine.run(f"SELECT {cells}", (), LIMITS)
    assert isinstance(told, StatementFailure)
    assert (told.fault, "larger than 32 MB" in told.message) == (StatementFault.MEMORY, True)
    assert isinstance(await engine.run("SELECT 1", (), LIMITS), QueryRows)


def _running(shop: Shop) -> int:
    question = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT count(*) FROM orders a%'"
    (count,) = shop.outside(question)[0]
    return int(count)


async def _until(shop: Shop, wanted: int) -> None:
    with anyio.fail_after(30):
        while await anyio.to_thread.run_sync(_running, shop) != wanted:  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.05)


@pytest.mark.behaviour("databases.cancel_reaches_the_server")
async def test_to_stop_waiting_stops_the_statement_on_the_server(mysql: Shop) -> None:
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run, ENDLESS, (), QueryLimits(seconds=100))
        await _until(mysql, 1)
        tasks.cancel_scope.cancel()
    # The server answers the KILL before the statement has left its list.
    await _until(mysql, 0)
    late = await engine.run(ENDLESS, (), QueryLimits(seconds=0.5))
    assert isinstance(late, StatementFailure)
    assert late.fault is StatementFault.TIME
    await _until(mysql, 0)


@pytest.mark.behaviour("databases.killed_gateway")
async def test_a_process_that_is_killed_leaves_no_transaction_open(mysql: Shop, tmp_path: Path) -> None:
    program = tmp_path / "asking.py"
    program.write_text(
        "import anyio\n"
        "from pegboard.core.model.databases import FULL_ACCESS, QueryLimits\n"
        "from pegboard.providers.database.mysql.engine import MysqlEngine\n"
        f"anyio.run(MysqlEngine({mysql.reader!r}, FULL_ACCESS).run, {ENDLESS!r}, (), QueryLimits(seconds=5))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await anyio.open_process([sys.executable, str(program)], env=environment)
    await _until(mysql, 1)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await process.aclose()
    # The server looks up from its work at the latest when the time of the statement is over.
    await _until(mysql, 0)
    assert mysql.outside("SELECT count(*) FROM information_schema.innodb_trx") == [(0,)]


@pytest.mark.behaviour("databases.writes_are_opted_in")
async def test_rows_are_changed_only_where_the_source_and_the_caller_say_so(mysql: Shop) -> None:
    mysql.outside(
        "CREATE TABLE basket (id int PRIMARY KEY, note varchar(20))",
        f"GRANT INSERT, UPDATE, DELETE ON {mysql.name}.basket TO '{mysql.name}_reader'@'localhost'",
    )
    insert = "INSERT INTO basket (id, note) VALUES (1, ?), (2, 'b')"
    reading, writing = MysqlEngine(mysql.reader, FULL_ACCESS), MysqlEngine(mysql.reader, FULL_ACCESS, writes=True)
    refused = [
        await reading.run(insert, ["a"], LIMITS),
        await reading.run(insert, ["a"], LIMITS, write=True),
        await writing.run(insert, ["a"], LIMITS),
    ]
    assert [told.is_write for told in refused if isinstance(told, StatementRefusal)] == [True, True, True]
    told = await writing.run(insert, ["a"], LIMITS, write=True)
    changed = await writing.run("UPDATE basket SET note = 'z' WHERE id < 9", (), LIMITS, write=True)
    clash = await writing.run("INSERT INTO basket VALUES (3, 'c'), (1, 'again')", (), LIMITS, write=True)
    others = [
        await writing.run(text, (), LIMITS, write=True)
        for text in (
            "TRUNCATE basket",
            "DROP TABLE basket",
            "INSERT INTO basket SELECT wipe_all(), 'x'",
            "INSERT INTO basket VALUES (sleep(1), 'x')",
            "INSERT INTO basket SELECT 9, load_file('/etc/passwd')",
            "DELETE FROM orders; DELETE FROM basket",
            "LOAD DATA INFILE '/etc/passwd' INTO TABLE basket",
        )
    ]
    left = mysql.outside("SELECT id, note FROM basket ORDER BY id")
    checks = [(await engine.check()).findings for engine in (reading, writing)]
    mysql.outside("DROP TABLE basket")
    assert isinstance(told, QueryRows), told
    assert told.affected_rows == 2
    assert isinstance(changed, QueryRows)
    assert changed.affected_rows == 2
    assert isinstance(clash, StatementFailure)
    assert "Duplicate entry" in clash.message
    assert [told for told in others if isinstance(told, QueryRows)] == []
    assert left == [(1, "z"), (2, "z")]
    assert [[finding.severity for finding in findings] for findings in checks] == [
        [FindingSeverity.REFUSED_UNLESS_FORCED],
        [],
    ]


@pytest.mark.behaviour("databases.mysql.nothing_crosses")
async def test_of_many_at_once_each_has_its_own_answer_and_the_rights_of_its_user(mysql: Shop) -> None:
    user = f"'{mysql.name}_alone'@'localhost'"
    mysql.outside(
        f"CREATE USER {user} IDENTIFIED BY 'reads' WITH MAX_USER_CONNECTIONS 9",
        f"GRANT SELECT ON {mysql.name}.* TO {user}",
    )
    engine = MysqlEngine(mysql.reader.replace("_reader:", "_alone:"), FULL_ACCESS)
    answers: dict[int, object] = {}

    async def ask(number: int) -> None:
        answer = await engine.run("SELECT id + ? FROM orders WHERE id = ?", [1000, number], LIMITS)
        answers[number] = answer.rows if isinstance(answer, QueryRows) else answer

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(1, 101):
                tasks.start_soon(ask, number)
    after = []
    for change in (f"REVOKE SELECT ON {mysql.name}.* FROM {user}", f"DROP USER {user}"):
        mysql.outside(change)
        after.append(await engine.run("SELECT count(*) FROM orders", (), LIMITS))
    assert answers == {number: ((number + 1000,),) for number in range(1, 101)}
    assert [answer.fault if isinstance(answer, StatementFailure) else answer for answer in after] == [
        StatementFault.UNAVAILABLE,
        StatementFault.UNAVAILABLE,
    ]


@pytest.mark.behaviour("databases.schema_is_read_whole")
async def test_tables_are_read_with_their_comments_and_keys(mysql: Shop) -> None:
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    before = await engine.schema_version()
    schema = await engine.schema()
    customers = next(table for table in schema.tables if table.name == (mysql.name, "customers"))
    assert (customers.comment, customers.key) == ("Who buys", ("id",))
    assert [(column.name, column.type, column.is_nullable, column.comment) for column in customers.columns] == [
        ("id", "int(11)", False, ""),
        ("name", "varchar(50)", False, ""),
        ("city", "varchar(50)", True, "Where they live"),
    ]
    (link,) = schema.relations
    assert (link.table, link.columns) == ((mysql.name, "orders"), ("customer_id",))
    assert (link.to_table, link.to_columns) == ((mysql.name, "customers"), ("id",))
    assert schema.default_schema == mysql.name
    assert await engine.schema_version() == before
    mysql.outside("ALTER TABLE kinds COMMENT = 'of everything'")
    after = await engine.schema_version()
    mysql.outside("ALTER TABLE kinds COMMENT = ''")
    assert after != before


async def test_a_server_that_is_not_there_is_told_with_its_place_and_without_the_password() -> None:
    engine = MysqlEngine("mysql://me:hidden@127.0.0.1:1/shop", FULL_ACCESS)
    told = await engine.run("SELECT 1", (), LIMITS)
    assert isinstance(told, StatementFailure)
    assert told.fault is StatementFault.UNAVAILABLE
    assert told.message.startswith("MySQL at 127.0.0.1:1/shop cannot be reached: ")
    assert "hidden" not in told.message
    assert [finding.severity for finding in (await engine.check()).findings] == [FindingSeverity.REFUSED_UNLESS_FORCED]


@pytest.mark.behaviour("databases.hostile_texts")
@given(st.text(max_size=60), st.sampled_from(["SELECT ", "SELECT 1 FROM ", "WITH x AS (", "(((", "'", '"', "/*", "`"]))
@settings(max_examples=100)
async def test_any_text_is_read_or_refused_and_breaks_nothing(text: str, start: str) -> None:
    read_statement(start + text, FULL_ACCESS, "shop")


@pytest.mark.behaviour("databases.hostile_texts")
@each_case("text", ["", " ", "\n", ";", " ; ", "-- x", "# x", "/* */", "/* */ ; -- x"])
async def test_a_text_without_a_statement_is_refused(text: str) -> None:
    assert read_statement(text, FULL_ACCESS, "shop") == StatementRefusal("The text holds no statement.", QUERIES_ONLY)


@pytest.mark.behaviour("databases.hostile_texts")
async def test_words_are_taken_apart_as_the_server_does() -> None:
    for text in (
        "SELECT 1 /*!1*/",
        "SELECT 1 /*M!1*/",
        "SELECT 1 /* open",
        "SELECT @a",
        "SELECT @a := 1",
        "SELECT 1; SELECT 2",
    ):
        assert isinstance(read_statement(text, FULL_ACCESS, "shop"), StatementRefusal), text
    engine = MysqlEngine("mysql://me:hidden@127.0.0.1:1/shop", FULL_ACCESS)
    for text in ("SELECT '\0'", "SELECT 1" + " " * 100_000):
        assert isinstance(await engine.run(text, (), LIMITS), StatementRefusal), text
    found = read_statement("SELECT 'it''s \\'; -- ', `a``b` -- gone\n /* ; */ FROM t # too\n;", FULL_ACCESS, "shop")
    assert isinstance(found, MysqlStatement)
    assert [word.text for word in found.words] == ["SELECT", "'it''s \\'; -- '", ",", "`a``b`", "FROM", "t"]
    assert "gone" not in found.text
    deep = read_statement("SELECT " + "(" * 5000 + "1" + ")" * 5000, FULL_ACCESS, "shop")
    chain = read_statement("SELECT " + "1+" * 20_000 + "1", FULL_ACCESS, "shop")
    assert [type(each) for each in (deep, chain)] == [MysqlStatement, MysqlStatement]
