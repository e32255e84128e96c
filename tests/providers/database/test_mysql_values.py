"""What MariaDB told can be asked for again: each value is bound as a parameter, and finds its row."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.providers.database.mysql_shop import Shop

from pegboard.core.databases.rows import QueryRows
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.providers.database.mysql.engine import MysqlEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MANY = QueryLimits(rows=500, seconds=20)


def _time(value: timedelta) -> str:
    sign, rest = ("-", -value) if value < timedelta() else ("", value)
    seconds, micro = divmod(rest // timedelta(microseconds=1), 10**6)
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micro:06}"


LONGEST = timedelta(hours=838, minutes=59, seconds=59)
KINDS: dict[str, st.SearchStrategy[object]] = {
    "time(6)": st.timedeltas(-LONGEST, LONGEST).map(_time),
    "datetime(6)": st.datetimes(datetime(1000, 1, 1)).map(lambda value: value.isoformat(" ")),
    "date": st.dates(date(1000, 1, 1)).map(date.isoformat),
    "year": st.integers(1901, 2155),
    "bit(64)": st.integers(0, 2**64 - 1),
    "enum('a', 'B', 'c d')": st.sampled_from(("a", "B", "c d")),
    "set('a', 'b', 'c')": st.sampled_from(("", "a", "b", "a,b", "a,b,c", "c")),
    "decimal(30, 10)": st.decimals(-(10**19), 10**19, places=10),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "bigint unsigned": st.integers(0, 2**64 - 1),
    "double": st.floats(-1e300, 1e300, allow_nan=False, allow_subnormal=False),
    "varchar(40)": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40),
    "inet6": st.ip_addresses(v=6).map(str),
    "uuid": st.uuids(version=4).map(str),
}


@pytest.mark.behaviour("databases.asked_again")
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
async def test_a_value_that_was_told_finds_its_row_as_a_parameter(mysql: Shop, kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(KINDS[kind], min_size=1, max_size=12))
    lines = [f"INSERT INTO told VALUES ({number}, {_literal(value)})" for number, value in enumerate(values)]
    mysql.outside(f"CREATE OR REPLACE TABLE told (id int PRIMARY KEY, v {kind}) CHARSET utf8mb4", *lines)
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    try:
        told = await engine.run("SELECT id, v FROM told ORDER BY id", (), MANY)
        assert isinstance(told, QueryRows)
        assert len(told.rows) == len(values)
        for number, value in told.rows:
            found = await engine.run("SELECT id FROM told WHERE v = ?", [value], MANY)
            assert isinstance(found, QueryRows), (value, found)
            assert (number,) in found.rows, value
    finally:
        await engine.aclose()
        mysql.outside("DROP TABLE told")


def _literal(value: object) -> str:
    if isinstance(value, int | float | Decimal):
        return str(value)
    return f"_utf8mb4 0x{str(value).encode().hex()}" if value else "''"


@pytest.mark.behaviour("databases.asked_again", "databases.values")
async def test_times_bits_choices_and_bytes_are_told_as_the_server_writes_them(mysql: Shop) -> None:
    mysql.outside(
        "CREATE OR REPLACE TABLE told (t time, u time(3), at datetime(3), d date, b bit(12), s set('x', 'y'), "
        "e enum('x', 'y'), tb tinyblob, mb mediumblob, lb longblob, tt tinytext, mt mediumtext, lt longtext, "
        "c char(3), bi binary(2), vb varbinary(9), n float)",
        "INSERT INTO told VALUES ('09:30:00', '-25:30:00.5', '2026-01-02 03:04:05.678', '2026-01-02', b'101010101010', "
        "'x,y', 'y', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 1.1)",
    )
    engine = MysqlEngine(mysql.reader, FULL_ACCESS)
    try:
        told = await engine.run("SELECT * FROM told", (), MANY)
        assert isinstance(told, QueryRows)
        bytes_again = await engine.run(
            "SELECT 1 FROM told WHERE tb = UNHEX(SUBSTR(?, 3)) AND HEX(lb) = UPPER(SUBSTR(?, 3))",
            ["0x61", "0x63"],
            MANY,
        )
        floats = await engine.run("SELECT 1 FROM told WHERE n = CAST(? AS FLOAT)", [1.1], MANY)
        zero = await engine.run(
            "SELECT CAST('0000-00-00' AS DATE), SEC_TO_TIME(-5), TIMEDIFF('25:00', '0:30')", (), MANY
        )
    finally:
        await engine.aclose()
        mysql.outside("DROP TABLE told")
    assert [(field.type, value) for field, value in zip(told.columns, told.rows[0], strict=True)] == [
        *(("time", "09:30:00"), ("time", "-25:30:00.500"), ("datetime", "2026-01-02 03:04:05.678")),
        *(("date", "2026-01-02"), ("bit", 2730), ("set", "x,y"), ("enum", "y")),
        *(("tinyblob", "0x61"), ("mediumblob", "0x62"), ("longblob", "0x63")),
        *(("tinytext", "d"), ("mediumtext", "e"), ("longtext", "f"), ("char", "g")),
        *(("binary", "0x6800"), ("varbinary", "0x69"), ("float", 1.1)),
    ]
    assert [each.rows for each in (bytes_again, floats) if isinstance(each, QueryRows)] == [((1,),), ((1,),)]
    assert isinstance(zero, QueryRows)
    assert zero.rows == (("0000-00-00", "-00:00:05", "24:30:00"),)
