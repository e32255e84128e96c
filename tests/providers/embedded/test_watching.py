"""A statement of DuckDB that runs too long is interrupted from within its worker too, and none after it."""

import time

import duckdb
import pytest

from pegboard.providers.builtin.database.duckdb.execution import Watch

ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range < 0"


def test_what_is_beyond_its_deadline_is_interrupted_and_what_comes_after_it_is_not() -> None:
    connection, watch = duckdb.connect(":memory:"), Watch()
    told = []
    for _ in range(2):
        with pytest.raises(duckdb.InterruptException), watch.over(connection, time.monotonic()):
            connection.execute(ENDLESS).fetchall()
        with watch.over(connection, time.monotonic() + 100):
            told.append(connection.execute("SELECT sum(range) FROM range(1000000)").fetchall())
    connection.close()
    assert told == [[(499999500000,)]] * 2
