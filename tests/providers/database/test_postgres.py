"""PostgreSQL as a source: what comes back, in what shape, and what is left on the server when nobody waits any more."""

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.providers.database.postgres_shop import Shop

from pegboard.core.databases.rows import (
    FindingSeverity,
    QueryRows,
    ResultColumn,
    ResultTruncation,
    StatementFailure,
    StatementFault,
    StatementRefusal,
    ValueFormat,
)
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.ports.databases import SourceError
from pegboard.providers.database.postgres import connection
from pegboard.providers.database.postgres.connection import AS_TEXT
from pegboard.providers.database.postgres.engine import PostgresEngine
from pegboard.providers.database.postgres.statement import read_statement
from pegboard.providers.database.server import MAX_STATEMENT_LENGTH

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)
NOT_CALLED = "does not exist, or does more than compute and may not be called here"
ENDLESS = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"


@pytest.mark.behaviour("databases.values")
async def test_values_of_every_kind_come_as_json_and_lose_nothing(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    told = await engine.run("SELECT * FROM kinds", (), LIMITS)
    await engine.aclose()
    assert isinstance(told, QueryRows)
    assert told.columns == (
        ResultColumn("id", "integer"),
        ResultColumn("m", "mood"),
        ResultColumn("c", "integer"),
        ResultColumn("tags", "text[]"),
        ResultColumn("doc", "jsonb"),
        ResultColumn("seen", "timestamp with time zone"),
        ResultColumn("span", "int4range"),
        ResultColumn("raw", "bytea", (ValueFormat.BINARY_AS_HEX,)),
        ResultColumn("key", "uuid"),
        ResultColumn("addr", "inet"),
        ResultColumn("big", "bigint", (ValueFormat.NUMBER_AS_TEXT,)),
        ResultColumn("f", "double precision", (ValueFormat.NUMBER_AS_TEXT,)),
    )
    assert told.rows == (
        (
            *(1, "good", 5, ["a", "b"], '{"a": [1, null]}', "2026-03-04T05:06:07+00", "[1,5)", "0xdeadbeef"),
            *("00000000-0000-0000-0000-000000000001", "10.0.0.1", "9223372036854775807", "NaN"),
        ),
    )


@pytest.mark.behaviour("databases.values")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("date 'infinity', timestamp '-infinity', date '0044-03-15 BC'", ("infinity", "-infinity", "0044-03-15 BC")),
        ('\'{a,NULL,"b,c","d\\"e",é}\'::text[], \'{}\'::text[]', (["a", None, "b,c", 'd"e', "é"], [])),
        (
            "ARRAY[date 'infinity'], '{{1,2},{3,4}}'::int[], ARRAY['a'::bytea]",
            (["infinity"], [[1, 2], [3, 4]], ["0x61"]),
        ),
        ("row(1, 'a', date '2000-01-02', NULL), array[row(interval '1 mon')]", ("(1,a,2000-01-02,)", ["(P1M)"])),
        ("daterange('2020-01-01', 'infinity'), array[int4range(1, 5)]", ("[2020-01-01,infinity)", ["[1,5)"])),
        ("tstzrange('2020-01-01', NULL), 'empty'::numrange", ('["2020-01-01 00:00:00+00",)', "empty")),
        ("'{[1,2),[5,6)}'::int4multirange, B'101', ARRAY[B'101']", ("{[1,2),[5,6)}", "101", ["101"])),
        (
            "interval '1 year 2 mons -3 days', 'Infinity'::numeric, 1e30::numeric",
            ("P1Y2M-3D", "Infinity", f"1{'0' * 30}"),
        ),
        ("'[1, 1.0]'::jsonb, point(1, 2), '$.a'::jsonpath, '\\xff00'::bytea", ("[1, 1.0]", "(1,2)", '$."a"', "0xff00")),
    ],
)
async def test_odd_values_come_as_what_they_are(shop: Shop, asked: str, told: tuple[object, ...]) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    answer = await engine.run(f"SELECT {asked}", (), LIMITS)
    await engine.aclose()
    assert isinstance(answer, QueryRows), answer
    assert answer.rows == (told,)


@pytest.mark.behaviour("databases.engines_words", "databases.errors_help")
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT id FROM orders WHERE note = 5", "operator does not exist: text = integer. "),
        ("SELECT id FROM orders WHERE note LIKE 5", "operator does not exist: text ~~ integer. "),
        ("SELECT sum(note) FROM orders", "function sum(text) does not exist. "),
        ("SELECT round(avg(f), 2) FROM kinds", "function round(double precision, integer) does not exist. "),
    ],
)
async def test_a_value_of_another_type_is_no_function_that_is_missing(shop: Shop, statement: str, said: str) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    told = await engine.run(statement, (), LIMITS)
    absent = await engine.run("SELECT totall(note) FROM orders", (), LIMITS)
    await engine.aclose()
    assert isinstance(told, StatementFailure)
    assert told.message.startswith(said)
    assert (told.fault, told.name) == (StatementFault.OTHER, None)
    assert absent == StatementFailure(f"function totall() {NOT_CALLED}", 7, StatementFault.NO_FUNCTION, "totall")


@pytest.mark.behaviour("databases.parameters_are_bound")
async def test_parameters_are_bound_and_a_text_is_a_date_where_one_is_wanted(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    answers = [
        await engine.run("SELECT count(*) FROM orders WHERE made_on < $1", ["2026-01-05"], LIMITS),
        await engine.run(
            "SELECT $1::text, $2::int, $3::jsonb, $4::int[], $5::numeric", ["'; --", "7", {"a": 1}, [1, 2], 1.5], LIMITS
        ),
        await engine.run("SELECT $1::int", ["seven"], LIMITS),
        await engine.run("SELECT $1::int", [], LIMITS),
        await engine.run("SELECT 1", {"a": 1}, LIMITS),
    ]
    await engine.aclose()
    rows = [told.rows if isinstance(told, QueryRows) else told for told in answers]
    assert rows == [
        ((7,),),
        (("'; --", 7, '{"a": 1}', [1, 2], 1.5),),
        StatementFailure('Parameter $1 is "seven", and the statement wants int4.', None, StatementFault.PARAMETERS),
        StatementFailure("The statement has 1 parameter, and 0 values were given.", None, StatementFault.PARAMETERS),
        StatementFailure(
            "Parameters have no names here. Give them as a list, and write $1, $2, … in the statement.",
            None,
            StatementFault.PARAMETERS,
        ),
    ]


@pytest.mark.behaviour("databases.engines_words")
async def test_a_failure_keeps_the_engines_words_and_the_place_as_it_was_written(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    column, table, syntax = [
        await engine.run(text, (), LIMITS)
        for text in ("SELECT 'é', nme FROM customers", "SELECT 1 FROM custmers", "SELECT é FROM FROM customers")
    ]
    await engine.aclose()
    hint = 'Perhaps you meant to reference the column "customers.name".'
    assert column == StatementFailure(f'column "nme" does not exist. {hint}', 12, StatementFault.NO_COLUMN, "nme")
    assert table == StatementFailure('relation "custmers" does not exist', 14, StatementFault.NO_TABLE, "custmers")
    assert syntax == StatementFailure('syntax error at or near "FROM"', 14, StatementFault.SYNTAX)


@pytest.mark.behaviour("databases.capped")
async def test_what_a_limit_leaves_is_the_beginning_of_the_whole(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    statement = "SELECT id, repeat('x', id % 40) FROM orders ORDER BY id"
    whole = await engine.run(statement, (), QueryLimits(rows=1000))
    assert isinstance(whole, QueryRows)
    for rows, size in ((1, 10**6), (7, 10**6), (399, 10**6), (400, 10**6), (401, 10**6), (1000, 500), (1000, 1)):
        told = await engine.run(statement, (), QueryLimits(rows=rows, bytes=size))
        assert isinstance(told, QueryRows)
        assert told.rows == whole.rows[: len(told.rows)]
        assert (told.truncation is None) == (len(told.rows) == 400)
        assert len(told.rows) == rows or size < 10**6 or rows > 400
    await engine.aclose()


@pytest.mark.behaviour("databases.floods_are_not_kept")
async def test_a_value_larger_than_anyone_can_want_is_not_taken_in(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    huge = await engine.run("SELECT repeat('x', 200000000)", (), LIMITS)
    some = await engine.run(
        "SELECT CASE WHEN i < 3 THEN 'a' ELSE repeat('x', 200000000) END FROM generate_series(1, 9) i", (), LIMITS
    )
    each = await engine.run("SELECT repeat('x', 12000000) FROM generate_series(1, 4)", (), LIMITS)
    after = await engine.run("SELECT 1", (), LIMITS)
    await engine.aclose()
    # Four that are too large together are taken in one after the other.
    assert isinstance(each, QueryRows)
    assert len(each.rows) == 4
    assert huge == StatementFailure("A row of the answer is larger than 32 MB.", None, StatementFault.MEMORY)
    assert isinstance(some, QueryRows)
    assert some.rows in ((("a",),), (("a",), ("a",)))
    assert some.truncation == ResultTruncation(rows=True, limited_by="bytes")
    assert isinstance(after, QueryRows)


async def _nothing_runs(shop: Shop) -> None:
    name = shop.reader.split("//")[1].split(":")[0]
    question = (
        f"SELECT pid FROM pg_stat_activity WHERE usename = '{name}' AND (state = 'active' OR xact_start IS NOT NULL)"
    )
    with anyio.fail_after(30):
        while await shop.outside(question):  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.05)


async def _until_it_runs(shop: Shop) -> None:
    name = shop.reader.split("//")[1].split(":")[0]
    question = (
        f"SELECT 1 FROM pg_stat_activity WHERE usename = '{name}' AND query LIKE 'SELECT count(*) FROM generate%'"
    )
    with anyio.fail_after(30):
        while not await shop.outside(question):  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.05)


@pytest.mark.behaviour("databases.cancel_reaches_the_server")
async def test_to_stop_waiting_stops_the_statement_on_the_server(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run, ENDLESS, (), QueryLimits(seconds=100))
        await _until_it_runs(shop)
        tasks.cancel_scope.cancel()
    # The task has ended, and with it what it had begun: there is nothing to wait for.
    name = shop.reader.split("//")[1].split(":")[0]
    left = await shop.outside(f"SELECT query FROM pg_stat_activity WHERE usename = '{name}' AND state = 'active'")
    assert left == []
    assert isinstance(await engine.run("SELECT 1", (), LIMITS), QueryRows)
    late = await engine.run(ENDLESS, (), QueryLimits(seconds=0.5))
    assert late == StatementFailure("The statement was stopped after 0.5 s.", None, StatementFault.TIME)
    await _nothing_runs(shop)
    await engine.aclose()


@pytest.mark.behaviour("databases.killed_gateway")
async def test_a_process_that_is_killed_leaves_no_transaction_open(shop: Shop, tmp_path: Path) -> None:
    program = tmp_path / "asking.py"
    program.write_text(
        "import anyio\n"
        "from pegboard.core.model.databases import FULL_ACCESS, QueryLimits\n"
        "from pegboard.providers.database.postgres.engine import PostgresEngine\n"
        f"anyio.run(PostgresEngine({shop.reader!r}, FULL_ACCESS).run, {ENDLESS!r}, (), QueryLimits(seconds=60))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await anyio.open_process([sys.executable, str(program)], env=environment)
    await _until_it_runs(shop)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await process.aclose()
    await _nothing_runs(shop)


@pytest.mark.behaviour("databases.writes_are_opted_in")
async def test_rows_are_changed_only_where_the_source_and_the_caller_say_so(shop: Shop) -> None:
    name = shop.reader.split("//")[1].split(":")[0]
    await shop.outside("CREATE TABLE basket (id int PRIMARY KEY, note text)")
    await shop.outside(f"GRANT SELECT, INSERT, UPDATE, DELETE ON basket TO {name}")
    insert = "INSERT INTO basket VALUES (1, $1), (2, 'b') RETURNING id, note"
    reading, writing = (
        PostgresEngine(shop.reader, FULL_ACCESS),
        PostgresEngine(shop.reader, FULL_ACCESS, writes=True),
    )
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
            "INSERT INTO basket SELECT wipe(), 'x'",
            "DELETE FROM order_totals",
            "WITH d AS (DELETE FROM basket RETURNING *) SELECT * FROM d",
            "DELETE FROM orders; DELETE FROM basket",
        )
    ]
    left = await shop.outside("SELECT id, note FROM basket ORDER BY id")
    too_much, right = [(await engine.check()).findings for engine in (reading, writing)]
    await shop.outside("DROP TABLE basket")
    await reading.aclose()
    await writing.aclose()
    assert isinstance(told, QueryRows)
    assert (told.rows, told.affected_rows) == (((1, "a"), (2, "b")), 2)
    assert isinstance(changed, QueryRows)
    assert changed.affected_rows == 2
    assert isinstance(clash, StatementFailure)
    assert "duplicate key" in clash.message
    assert [told for told in others if isinstance(told, QueryRows)] == []
    assert [tuple(row) for row in left] == [(1, "z"), (2, "z")]
    assert ["INSERT ON public.basket, " in finding.message for finding in too_much] == [True]
    assert right == ()


@pytest.mark.behaviour("databases.schema_is_read_whole")
async def test_thousands_of_tables_are_read_with_their_comments_and_keys(shop: Shop) -> None:
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    before = await engine.schema_version()
    schema = await engine.schema()
    customers = next(table for table in schema.tables if table.name == ("public", "customers"))
    assert (customers.comment, customers.key, customers.rows) == ("Who buys", ("id",), 50)
    assert [(column.name, column.type, column.is_nullable, column.comment) for column in customers.columns] == [
        ("id", "integer", False, ""),
        ("name", "text", False, ""),
        ("city", "text", True, "Where they live"),
    ]
    (link,) = [one for one in schema.relations if one.table == ("public", "orders")]
    assert (link.columns, link.to_table, link.to_columns) == (("customer_id",), ("public", "customers"), ("id",))
    assert schema.default_schema == "public"
    assert await engine.schema_version() == before
    await shop.outside("COMMENT ON COLUMN orders.note IS 'What was said'")
    after = await engine.schema_version()
    await shop.outside("COMMENT ON COLUMN orders.note IS NULL")
    await engine.aclose()
    assert after != before


async def test_a_server_that_is_not_there_is_told_with_its_place_and_without_the_password() -> None:
    engine = PostgresEngine("postgresql://me:hidden@127.0.0.1:1/shop", FULL_ACCESS)
    told = await engine.run("SELECT 1", (), LIMITS)
    assert isinstance(told, StatementFailure)
    assert told.fault is StatementFault.UNAVAILABLE
    assert told.message.startswith("PostgreSQL at 127.0.0.1:1/shop cannot be reached: ")
    assert "hidden" not in told.message
    checked = await engine.check()
    assert [finding.severity for finding in checked.findings] == [FindingSeverity.REFUSED_UNLESS_FORCED]
    with pytest.raises(SourceError):
        await engine.schema()


@pytest.mark.behaviour("databases.hostile_texts")
@given(st.text(max_size=60), st.sampled_from(["SELECT ", "SELECT 1 FROM ", "WITH x AS (", "(((", "'", '"', "/*", "$$"]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_any_text_is_read_or_refused_and_breaks_nothing(text: str, start: str) -> None:
    read_statement(start + text, None)


@pytest.mark.behaviour("databases.hostile_texts")
async def test_a_tree_too_deep_for_a_stack_is_refused_before_it_is_built() -> None:
    chains = (
        "SELECT " + "1+" * 40_000 + "1",
        "SELECT 1" + "::int" * 18_000,
        "SELECT 1 " + "union all select 1 " * 5000,
    )
    assert {type(read_statement(text, None)).__name__ for text in chains} == {"StatementRefusal"}
    long = "SELECT 1 IN (" + ",".join(map(str, range(15_000))) + ")"
    assert type(read_statement(long, None)).__name__ == "PostgresStatement"
    engine = PostgresEngine("postgresql://me:hidden@127.0.0.1:1/shop", FULL_ACCESS)
    for text in ("SELECT 1" + " " * MAX_STATEMENT_LENGTH, "SELECT '\0'", "SELECT '\ud800'"):
        assert isinstance(await engine.run(text, (), LIMITS), StatementRefusal)


@pytest.mark.behaviour("databases.engines_words")
async def test_words_say_what_to_write_instead(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "AS_TEXT", AS_TEXT - {"anyarray"})
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    try:
        unread = await engine.run("SELECT * FROM pg_stats LIMIT 1", (), LIMITS)
        character = await engine.run("SELECT chr(0)", (), LIMITS)
        defined = await engine.run("SELECT leak_of('x')", (), LIMITS)
        for sign, said in (("?", "end of input"), (":id", 'or near ":"'), ("%s", 'or near "%"')):
            told = await engine.run(f"SELECT * FROM orders WHERE id = {sign}", (1,), LIMITS)
            assert isinstance(told, StatementFailure)
            assert told.message == f"syntax error at {said}. Write parameters as $1, $2, … in the statement."
    finally:
        await engine.aclose()
    words = "A column of the answer is of a type that cannot be read here. Cast it to text."
    assert unread == StatementFailure(words)
    assert isinstance(character, StatementFailure)
    assert (character.message, character.fault) == ("null character not permitted", StatementFault.OTHER)
    assert defined == StatementFailure(f"function leak_of() {NOT_CALLED}", 7, StatementFault.NO_FUNCTION, "leak_of")
