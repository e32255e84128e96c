"""Statements without their values: what is recorded of them by default."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.collect_failures import each_case

from pegboard.core.databases.recorded_sql import MAX_STATEMENT_CHARS, remove_values
from pegboard.core.model.databases import Dialect

SERVERS = (Dialect.POSTGRESQL, Dialect.DUCKDB)


@pytest.mark.behaviour("databases.recorded_without_values")
@pytest.mark.parametrize(
    ("dialect", "statement", "told"),
    [
        (
            Dialect.SQLITE,
            "SELECT a1, \"b c\" FROM [d e] WHERE x = 'y' LIMIT 10",
            'SELECT a1, "b c" FROM [d e] WHERE x = ? LIMIT ?',
        ),
        (Dialect.SQLITE, "SELECT ?1, :p, @q, $r, ? -- it's\nFROM t", "SELECT ?1, :p, @q, $r, ? FROM t"),
        (Dialect.SQLITE, "SELECT x'ff', 'C:\\', 'd'", "SELECT x?, ?, ?"),
        (Dialect.SQLITE, "SELECT /* a /* b */ 1", "SELECT ?"),
        (Dialect.POSTGRESQL, "SELECT /* 'a /* ' */ 'b */ 1, $1", "SELECT ?, $1"),
        (Dialect.POSTGRESQL, "SELECT E'it\\'s', 'C:\\', 'it''s', U&'d'", "SELECT ?, ?, ?, U&?"),
        (Dialect.POSTGRESQL, 'SELECT $$a\'b$$, $t$c $$ d$t$, "e"', 'SELECT ?, ?, "e"'),
        (Dialect.POSTGRESQL, "SELECT -1, 1.5e-3, .5, 0xFF, t2.c3", "SELECT -?, ?, ?, ?, t2.c3"),
        (Dialect.DUCKDB, "FROM 'a.csv' SELECT $1, {'k': 2}", "FROM ? SELECT $1, {?: ?}"),
        (Dialect.MYSQL, "SELECT \"it\\\"s\", 'it\\'s', `a b`, @v # it's\n, 1", "SELECT ?, ?, `a b`, @v , ?"),
        (Dialect.MYSQL, "SELECT 1--'a'\n-- 'b\n, 'c'", "SELECT ?--? , ?"),
        (Dialect.MYSQL, "SELECT 'never ends", "SELECT … (18 characters that are not told)"),
        (Dialect.MYSQL, "SELECT 'never ends\\", "SELECT … (19 characters that are not told)"),
        (Dialect.POSTGRESQL, "", ""),
    ],
)
def test_values_and_comments_are_left_out_and_names_stay(dialect: Dialect, statement: str, told: str) -> None:
    assert remove_values(statement, dialect) == told


@pytest.mark.behaviour("databases.recorded_without_values")
@given(st.sampled_from(Dialect), st.text(max_size=40), st.integers(0, 10**15))
def test_no_value_that_is_written_as_its_dialect_wants_it_is_told(dialect: Dialect, value: str, number: int) -> None:
    escaped = value.replace("'", "''")
    if dialect is Dialect.MYSQL:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    statement = f"SELECT a FROM t WHERE b = '{escaped}' AND c = {number} /* {number} */ AND d"
    assert remove_values(statement, dialect) == "SELECT a FROM t WHERE b = ? AND c = ? AND d"


@pytest.mark.behaviour("databases.recorded_without_values")
@pytest.mark.parametrize("dialect", Dialect)
def test_of_a_long_statement_the_beginning_is_told(dialect: Dialect) -> None:
    long = "SELECT " + "x" * MAX_STATEMENT_CHARS
    assert remove_values(long, dialect) == f"{long[:MAX_STATEMENT_CHARS]}… (and 7 characters)"
    assert remove_values("SELECT '" + "x" * MAX_STATEMENT_CHARS + "', a", dialect) == "SELECT ?, a"


@pytest.mark.behaviour("databases.recorded_without_values")
@pytest.mark.parametrize(
    ("dialect", "statement"),
    [
        *((each, "/*" + "x" * 5000 + "*/ SELECT name FROM t") for each in Dialect),
        *((each, "SELECT" + " " * 5000 + "name FROM t") for each in Dialect),
        *((each, "SELECT " + "/**/" * 5000 + "name -- x\n\n\n\nFROM t") for each in Dialect),
        *((each, "-- hi\rSELECT name FROM t") for each in SERVERS),
        *((each, "/*M /* */ hunter */ SELECT name FROM t") for each in SERVERS),
    ],
)
def test_comments_and_blanks_push_nothing_out_of_the_record(dialect: Dialect, statement: str) -> None:
    assert remove_values(statement, dialect) == "SELECT name FROM t"


@pytest.mark.behaviour("databases.recorded_without_values")
def test_a_string_that_goes_on_in_another_line_goes_on_as_it_began() -> None:
    for dialect in SERVERS:
        told = remove_values("SELECT E'a'\n'\\'', name FROM t WHERE ''=''", dialect)
        assert told == "SELECT ?, name FROM t WHERE ?=?"
        assert remove_values("SELECT E'a' -- b'\n'c\\'hunter' AS x", dialect) == "SELECT ? AS x"


def test_what_a_server_runs_of_a_comment_is_told() -> None:
    assert remove_values("/*!50000 SELECT name */", Dialect.MYSQL) == "/*!? SELECT name */"


MARKER = "hunter2"
ALL = ("'{}'", "'it''s {}'", "'{}", "'O'{}' AND b = 'c'", "'a' /* {} */", "x'{}'", "0x{}", "1 -- {}")
BY_DIALECT = {
    Dialect.SQLITE: ('"{}"', '"{}'),
    Dialect.POSTGRESQL: ("E'\\'{}'", "$${}$$", "$t${}$t$", "U&'{}'", '"{}"', "E'a'\n'\\'{}'", "1 /* /* */ {} */"),
    Dialect.DUCKDB: ("e'\\'{}'", "$${}$$", '"{}"', '"{}'),
    Dialect.MYSQL: ("'\\'{}'", '"{}"', '"\\"{}"', '"{}', "N'{}'", "1 # {}"),
}
PLACES = (
    "SELECT a FROM t WHERE b = {}",
    "SELECT a FROM t WHERE b LIKE {}",
    "SELECT a FROM t WHERE b <> {}",
    "SELECT a FROM t WHERE b IN ('c', {}\n)",
    "INSERT INTO t VALUES (1, {}\n)",
    "UPDATE t SET a = {}",
    "please tell me of {} and hunter2",
)


@pytest.mark.behaviour("databases.recorded_without_values")
@each_case(("dialect", "form"), [(each, form) for each, forms in BY_DIALECT.items() for form in (*ALL, *forms)])
@each_case("place", PLACES)
def test_no_value_is_told_in_whatever_quotes_it_stands(dialect: Dialect, form: str, place: str) -> None:
    assert MARKER not in remove_values(place.format(form.format(MARKER)), dialect)


@given(st.sampled_from(Dialect), st.text(alphabet="'\"`$\\/*-#[]e1. \nx", max_size=200))
def test_any_text_is_read_to_its_end(dialect: Dialect, text: str) -> None:
    assert len(remove_values(text, dialect)) <= 2 * len(text) + 50
