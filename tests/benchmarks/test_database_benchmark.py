"""The benchmark of databases: the same statements for the driver and the guard, and none that was seen before."""

from pathlib import Path

import pytest
from benchmarks.database import embedded, running, thousands
from benchmarks.database.running import Ran, small_statement

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("benchmarks.run_as_modules")
async def test_no_small_statement_comes_twice_and_each_is_answered(tmp_path: Path) -> None:
    assert len({small_statement(number) for number in range(400)}) == 400
    async with embedded.sqlite(tmp_path) as one:
        ran = await running.ran(one, 1)
    assert ran.engine == "SQLite"
    assert min(ran.bare, ran.guarded, ran.bare_rows, ran.guarded_rows) > 0
    assert set(ran.as_json()) >= {"overhead_ms", "overhead_cpu_ms", "rows_times"}


def test_a_table_tells_the_guard_apart_from_the_driver() -> None:
    text = running.as_text([Ran("SQLite", 1.0, 1.5, 0.25, 0.5, 100.0, 120.0, 0.4)])
    assert text.splitlines()[2].split() == ["SQLite", "1.00", "1.50", "0.50", "0.40", "0.25", "100.0", "120.0", "1.20x"]


def test_what_a_server_with_thousands_of_tables_takes_is_told_as_a_sum() -> None:
    text = thousands.as_text([thousands.Thousands("MariaDB", 5000, 1.5, 0.5, 0.25)])
    assert text.splitlines()[2].split() == ["MariaDB", "5,000", "1.50", "0.50", "2.00", "10", "0.25"]
