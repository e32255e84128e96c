"""Statements without their values: what is recorded of them by default."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.database import Dialect
from pegboard.core.database.valueless import MOST_LETTERS, valueless

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
        (Dialect.SQLITE, "SELECT ?1, :p, @q, $r, ? -- it's\nFROM t", "SELECT ?1, :p, @q, $r, ?  \nFROM t"),
        (Dialect.SQLITE, "SELECT x'ff', 'C:\\', 'd'", "SELECT x?, ?, ?"),
        (Dialect.SQLITE, "SELECT /* a /* b */ 1", "SELECT   ?"),
        (Dialect.POSTGRESQL, "SELECT /* 'a /* ' */ 'b */ 1, $1", "SELECT   ?, $1"),
        (Dialect.POSTGRESQL, "SELECT E'it\\'s', 'C:\\', 'it''s', U&'d'", "SELECT ?, ?, ?, U&?"),
        (Dialect.POSTGRESQL, 'SELECT $$a\'b$$, $t$c $$ d$t$, "e"', 'SELECT ?, ?, "e"'),
        (Dialect.POSTGRESQL, "SELECT -1, 1.5e-3, .5, 0xFF, t2.c3", "SELECT -?, ?, ?, ?, t2.c3"),
        (Dialect.DUCKDB, "FROM 'a.csv' SELECT $1, {'k': 2}", "FROM ? SELECT $1, {?: ?}"),
        (Dialect.MYSQL, "SELECT \"it\\\"s\", 'it\\'s', `a b`, @v # it's\n, 1", "SELECT ?, ?, `a b`, @v  \n, ?"),
        (Dialect.MYSQL, "SELECT 1--'a'\n-- 'b\n, 'c'", "SELECT ?--?\n \n, ?"),
        (Dialect.MYSQL, "SELECT 'never ends", "SELECT ?"),
        (Dialect.MYSQL, "SELECT 'never ends\\", "SELECT ?"),
        (Dialect.POSTGRESQL, "", ""),
    ],
)
def test_values_and_comments_are_left_out_and_names_stay(dialect: Dialect, statement: str, told: str) -> None:
    assert valueless(statement, dialect) == told


@pytest.mark.behaviour("databases.recorded_without_values")
@given(st.sampled_from(Dialect), st.text(max_size=40), st.integers(0, 10**15))
def test_no_value_that_is_written_as_its_dialect_wants_it_is_told(dialect: Dialect, value: str, number: int) -> None:
    escaped = value.replace("'", "''")
    if dialect is Dialect.MYSQL:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    statement = f"SELECT a FROM t WHERE b = '{escaped}' AND c = {number} /* {number} */ AND d"
    assert valueless(statement, dialect) == "SELECT a FROM t WHERE b = ? AND c = ?   AND d"


@pytest.mark.behaviour("databases.recorded_without_values")
@pytest.mark.parametrize("dialect", Dialect)
def test_of_a_long_statement_the_beginning_is_told(dialect: Dialect) -> None:
    assert valueless("x" * (MOST_LETTERS + 7), dialect) == "x" * MOST_LETTERS + "… (and 7 characters)"
    assert valueless("SELECT '" + "x" * MOST_LETTERS, dialect) == "SELECT ?… (and 8 characters)"


@given(st.sampled_from(Dialect), st.text(alphabet="'\"`$\\/*-#[]e1. \nx", max_size=200))
def test_any_text_is_read_to_its_end(dialect: Dialect, text: str) -> None:
    assert len(valueless(text, dialect)) <= 2 * len(text)
