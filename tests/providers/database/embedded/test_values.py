"""What SQLite and DuckDB told can be asked for again: each value is bound as a parameter, and finds its row."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard.core.databases.rows import QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.ports.databases import DatabaseEngine
from pegboard.providers.database.worker.engine import duckdb_engine, sqlite_engine

pytestmark = pytest.mark.anyio

OF_DUCKDB = {
    "BOOLEAN": "true",
    "UBIGINT": "18446744073709551615",
    "HUGEINT": "170141183460469231731687303715884105727",
    "DECIMAL(38, 10)": "12345678901234567890.5",
    "FLOAT": "1.1",
    "DOUBLE": "-1.1e300",
    "DATE": "'2026-01-02'",
    "TIME": "'09:30:00.5'",
    "TIME_NS": "'09:30:00.123456789'",
    "TIMETZ": "'09:30:00+02'",
    "TIMESTAMP": "'2026-01-02 03:04:05.6'",
    "TIMESTAMP_S": "'2026-01-02 03:04:05'",
    "TIMESTAMP_MS": "'2026-01-02 03:04:05.6'",
    "TIMESTAMP_NS": "'2026-01-02 03:04:05.123456789'",
    "TIMESTAMPTZ": "'2026-01-02 03:04:05+02'",
    "INTERVAL": "'1 year 2 months 3 days 04:05:06.7'",
    "VARCHAR": "'a|b'",
    "BIT": "'0101'",
    "UUID": "'eeccb8c5-9943-b2bb-bb5e-222f4e14b687'",
    "ENUM('ok', 'INTERVAL')": "'INTERVAL'",
    "JSON": """'{"a": 1}'""",
    "INTEGER[]": "[1, 2]",
    "INTEGER[2]": "[1, 2]",
    "INTERVAL[]": "[INTERVAL '1 month', INTERVAL '40 days', NULL]",
    "TIMESTAMP_NS[]": "[TIMESTAMP_NS '2026-01-02 03:04:05.123456789']",
    """STRUCT("INTERVAL" INTEGER, b INTERVAL, c TIME_NS[])""": """{'INTERVAL': 1, 'b': INTERVAL '1 month',
        'c': [TIME_NS '09:30:00.123456789']}""",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
}


@pytest.mark.behaviour("databases.asked_again")
async def test_a_value_of_duckdb_finds_its_row_as_a_parameter_whatever_its_type(tmp_path: Path) -> None:
    path = tmp_path / "values.duckdb"
    with duckdb.connect(str(path)) as connection:
        for number, (kind, value) in enumerate(OF_DUCKDB.items()):
            connection.execute(f"CREATE TABLE t{number} AS SELECT 1 AS id, CAST({value} AS {kind}) AS v")
        connection.execute("CREATE TABLE b AS SELECT 1 AS id, '\\xAA\\x01'::BLOB AS v")
    engine = duckdb_engine(str(path), FULL_ACCESS)
    try:
        with anyio.fail_after(120):
            lost = {}
            for number, kind in enumerate(OF_DUCKDB):
                again = await told(engine, f"t{number}")
                if not await found(engine, f"t{number}", "$1", again):
                    lost[kind] = again
            assert lost == {}
            assert await found(
                engine, "b", "unhex(substr($1, 3)) AND hex(v) = upper(substr($1, 3))", await told(engine, "b")
            )
            spans = await told(engine, f"t{[*OF_DUCKDB].index('INTERVAL[]')}")
    finally:
        await engine.aclose()
    assert spans == ["1 month", "40 days", None]


async def told(engine: DatabaseEngine, table: str) -> object:
    answer = await engine.run(f"SELECT v FROM {table}", (), QueryLimits())
    assert isinstance(answer, QueryRows), answer
    return answer.rows[0][0]


async def found(engine: DatabaseEngine, table: str, place: str, value: object) -> bool:
    answer = await engine.run(f"SELECT id FROM {table} WHERE v = {place}", [value], QueryLimits())  # type: ignore[list-item]
    return isinstance(answer, QueryRows) and answer.rows == ((1,),)


@pytest.mark.behaviour("databases.asked_again")
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
        ),
        min_size=1,
        max_size=20,
    )
)
async def test_a_value_of_sqlite_finds_its_row_as_a_parameter(
    tmp_path_factory: pytest.TempPathFactory, values: list[int | float | str]
) -> None:
    path = tmp_path_factory.mktemp("values") / "values.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, b BLOB)")
        for value in values:
            kind = {int: "i", float: "r", str: "s"}[type(value)]
            connection.execute(f"INSERT INTO t ({kind}, b) VALUES (?, ?)", (value, str(value).encode()))
        connection.commit()
    engine = sqlite_engine(str(path), FULL_ACCESS, writes=False)
    try:
        with anyio.fail_after(60):
            every = await engine.run("SELECT id, i, r, s, b FROM t", (), QueryLimits(rows=100))
            assert isinstance(every, QueryRows)
            assert len(every.rows) == len(values)
            for id, *each, blob in every.rows:
                column, given = next(((name, one) for name, one in zip("irs", each, strict=True) if one is not None))
                again = await engine.run(f"SELECT id FROM t WHERE {column} = ?", [given], QueryLimits(rows=100))
                assert isinstance(again, QueryRows)
                assert (id,) in again.rows, given
                bytes_again = await engine.run(
                    "SELECT id FROM t WHERE hex(b) = upper(substr(?, 3))", [blob], QueryLimits(rows=100)
                )
                assert isinstance(bytes_again, QueryRows), bytes_again
                assert (id,) in bytes_again.rows
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.own_words")
async def test_a_pivot_that_has_to_look_for_its_columns_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('b', 2)) v (c, n)")
    engine = duckdb_engine(str(path), FULL_ACCESS)
    try:
        with anyio.fail_after(60):
            open_ended = [
                await engine.run(text, (), QueryLimits())
                for text in ("PIVOT t ON c USING sum(n)", "FROM (PIVOT t ON c)")
            ]
            listed = await engine.run("PIVOT t ON c IN ('a', 'b') USING sum(n)", (), QueryLimits())
            unnamed = await engine.run("UPDATE EXTENSIONS", (), QueryLimits())
            unquoted = await engine.run(
                "SELECT 1 FROM t QUALIFY row_number() OVER (ORDER BY nn) = 1", (), QueryLimits()
            )
    finally:
        await engine.aclose()
    assert [each.fix for each in open_ended if isinstance(each, StatementRefusal)] == [
        "List them: PIVOT t ON c IN ('a', 'b') USING count(*). SELECT DISTINCT c FROM t tells which there are."
    ] * 2
    assert isinstance(listed, QueryRows)
    assert listed.rows == ((1, 2),)
    assert isinstance(unnamed, StatementRefusal)
    assert unnamed.why == "Such statements are not run here."
    assert isinstance(unquoted, StatementFailure)
    assert (unquoted.fault, unquoted.name) == (StatementFault.NO_COLUMN, "nn")
