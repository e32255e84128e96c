"""Attacks on SQLite and DuckDB, judged by what became of the database; and a judge that sees harm."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from benchmarks.sql_attacks.__main__ import played, shown
from benchmarks.sql_attacks.case import BadFileError, Case, read
from benchmarks.sql_attacks.embedded import DuckdbStage, SqliteStage
from benchmarks.sql_attacks.judging import Judge
from benchmarks.sql_attacks.stage import Stage

from pegboard.core.databases.rows import (
    DatabaseCheck,
    QueryAnswer,
    QueryRows,
    ResultColumn,
    RowCollector,
    StatementFailure,
)
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess, Dialect, QueryLimits
from pegboard.ports.databases import DatabaseEngine, Parameters
from pegboard.providers.database.duckdb.statement import provide_time_zones

GIVEN = Path(__file__).parents[3] / "corpus" / "sql_attacks.json"
OWN = Path(__file__).parent / "own.json"
QUICK = QueryLimits(seconds=0.5)

pytestmark = pytest.mark.anyio


@pytest.mark.slow
@pytest.mark.behaviour("databases.attacks_held", "databases.read_only", "databases.withheld")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("file", [GIVEN, OWN], ids=["given", "own"])
async def test_every_attack_is_held_and_every_benign_statement_is_answered(file: Path, dialect: str) -> None:
    cases = [case for case in read(file) if case.dialect == dialect]
    verdicts, absent = await played(cases, QUICK)
    assert absent == {}
    assert [(each.case.id, each.outcome, each.words) for each in verdicts if not each.held] == []
    assert len(verdicts) == len(cases) > 25


class Bare:
    """No guard at all: what the attacks would do."""

    def __init__(self, run: Callable[[str], QueryAnswer]) -> None:
        self._run = run
        self.dialect = Dialect.SQLITE

    async def check(self) -> DatabaseCheck:
        raise NotImplementedError

    async def schema(self) -> DatabaseSchema:
        raise NotImplementedError

    async def schema_version(self) -> str:
        raise NotImplementedError

    async def run(
        self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
    ) -> QueryAnswer:
        return self._run(statement)

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> None: ...

    async def aclose(self) -> None:
        pass


def told(columns: list[str], rows: list[tuple[object, ...]]) -> QueryRows:
    collector = RowCollector(QueryLimits(rows=1000))
    for row in rows:
        collector.add((row,))
    return QueryRows(
        tuple(ResultColumn(name, "") for name in columns), tuple(collector.rows), collector.truncation, 0.0
    )


def bare_sqlite(path: Path) -> DatabaseEngine:
    def run(statement: str) -> QueryAnswer:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            try:
                cursor = connection.execute(statement)
                return told([each[0] for each in cursor.description or ()], cursor.fetchall())
            except (sqlite3.Error, sqlite3.Warning) as error:
                return StatementFailure(str(error))

    return Bare(run)


def bare_duckdb(path: Path) -> DatabaseEngine:
    provide_time_zones()

    def run(statement: str) -> QueryAnswer:
        with duckdb.connect(str(path)) as connection:
            try:
                connection.execute(statement)
                return told([str(each[0]) for each in connection.description or ()], connection.fetchall())
            except duckdb.Error as error:
                return StatementFailure(str(error))

    return Bare(run)


class BareSqliteStage(SqliteStage):
    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        return bare_sqlite(self.path)


class BareDuckdbStage(DuckdbStage):
    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        return bare_duckdb(self.path)


HARMFUL = {
    "sqlite": ("L01", "L02", "L03", "L13", "L18", "L26", "L44", "SL001", "SL011", "SL026", "SL046", "SL076", "SL085"),
    "duckdb": ("D02", "D04", "D10", "D12", "D39", "DU001", "DU005", "DU012", "DU020", "DU039", "DU089", "DU094"),
}


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.sql_attacks")
@pytest.mark.parametrize(("dialect", "stage"), [("sqlite", BareSqliteStage), ("duckdb", BareDuckdbStage)])
async def test_the_judge_sees_harm_where_nothing_guards(
    dialect: str, stage: Callable[[Path], Stage], tmp_path: Path
) -> None:
    folder = tmp_path / "database"
    folder.mkdir()
    judge = Judge(stage(folder), tmp_path / "watched", QUICK)
    cases = {case.id: case for file in (GIVEN, OWN) for case in read(file)}
    outcomes = {name: (await judge.judged(cases[name])).outcome for name in HARMFUL[dialect]}
    assert outcomes == dict.fromkeys(HARMFUL[dialect], "harmed")
    benign = await judge.judged(Case("ok", dialect, "SELECT count(*) FROM orders", "allow", ""))
    assert (benign.outcome, benign.held) == ("answered", True)


class BreakingSqliteStage(SqliteStage):
    """Its engine raises at a statement that is not there."""

    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        def run(statement: str) -> QueryAnswer:
            if statement == ";":
                raise ValueError("nothing to take apart")
            return told(["a"], [(1,)])

        return Bare(run)


@pytest.mark.behaviour("benchmarks.sql_attacks")
async def test_a_case_that_breaks_an_engine_is_told_beside_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "database"
    folder.mkdir()
    judge = Judge(BreakingSqliteStage(folder), tmp_path / "watched", QUICK)
    broken = await judge.judged(Case("a", "sqlite", ";", "refuse", ""))
    after = await judge.judged(Case("b", "sqlite", "SELECT 1", "allow", ""))
    assert [(each.outcome, each.held, each.words) for each in (broken, after)] == [
        ("broke", False, "ValueError: nothing to take apart"),
        ("answered", True, "1 rows"),
    ]


@pytest.mark.parametrize(
    "text", ["{", "{}", '[{"id": "x"}]', '[{"id": "x", "dialect": "y", "sql": "", "expect": "?"}]']
)
def test_a_file_that_holds_no_attacks_is_told(text: str, tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadFileError, match=r"cases\.json"):
        read(file)


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.sql_attacks")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_a_refusal_proves_nothing_where_the_database_itself_would_have_failed(dialect: str) -> None:
    cases = [
        Case("writes", dialect, "DELETE FROM accounts", "refuse", ""),
        Case("no such function", dialect, "SELECT no_such_function(1)", "refuse", ""),
        Case("either", dialect, "DROP TABLE nowhere", "allow_or_refuse", ""),
        Case("either works", dialect, "DROP TABLE accounts", "allow_or_refuse", ""),
        Case("answered", dialect, "SELECT 1", "allow_or_refuse", ""),
    ]
    verdicts, _ = await played(cases, QUICK, with_control=True)
    assert [(each.case.id, each.outcome, each.held, each.proves_nothing) for each in verdicts] == [
        ("writes", "refused", True, False),
        ("no such function", "refused", True, True),
        ("either", "refused", True, True),
        ("either works", "refused", True, False),
        ("answered", "answered", True, False),
    ]
    assert "no_such_function" in str(verdicts[1].control)
    [attacks, _] = shown(verdicts).splitlines()[2:4]
    assert attacks.split()[-2:] == ["3", "2"]
    told = {each.case.id: (each.as_json()["held"], each.as_json()["works_without"]) for each in verdicts}
    assert told == {
        "writes": (True, True),
        "no such function": (None, False),
        "either": (None, False),
        "either works": (True, True),
        "answered": (True, None),
    }


@pytest.mark.behaviour("benchmarks.sql_attacks")
async def test_a_statement_that_may_be_answered_must_still_do_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "database"
    folder.mkdir()
    judge = Judge(BareSqliteStage(folder), tmp_path / "watched", QUICK)
    harmed = await judge.judged(Case("x", "sqlite", "DELETE FROM accounts", "allow_or_refuse", ""))
    assert (harmed.outcome, harmed.held) == ("harmed", False)


async def test_a_dialect_that_no_stage_plays_is_told() -> None:
    verdicts, absent = await played([Case("x", "oracle", "SELECT 1", "allow", "")], QUICK)
    assert (verdicts, absent) == ([], {"oracle": "no stage plays 'oracle'"})
