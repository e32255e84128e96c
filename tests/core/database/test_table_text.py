"""Rows as text: nothing that is in a database makes up a row, a heading or a remark, and what is left out is told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from pegboard.core.database import Cut, Row
from pegboard.core.database.found_text import found_text
from pegboard.core.database.table_text import table_text
from pegboard.core.folded import Json


@pytest.mark.behaviour("databases.table_text")
def test_rows_are_lines_with_cells_between_bars() -> None:
    rows: list[Row] = [
        (1, "Ada | Co", None, True, 1.5),
        (2, "two\nlines\t\\", "NULL", False, 2),
        (3, "", {"a": [1, "x|y"]}, None, "9007199254740993"),
    ]
    assert table_text(["id", "na|me", "note", "ok", "n"], rows) == snapshot(
        """\
| id | na\\|me | note | ok | n |
|---|---|---|---|---|
| 1 | Ada \\| Co | NULL | true | 1.5 |
| 2 | two\\nlines\\t\\\\ | 'NULL' | false | 2 |
| 3 | '' | {"a":[1,"x\\|y"]} | NULL | 9007199254740993 |\
"""
    )


@pytest.mark.behaviour("databases.table_text")
def test_what_is_left_out_is_told() -> None:
    rows: list[Row] = [(number, "x" * 200) for number in range(100)]
    cut = Cut(True, "rows", ((0, 1, 4000), (3, 1, 5000)))
    told = table_text(["id", "text"], rows, cut, letters=90, of_cell=8)
    assert told.splitlines()[2:] == snapshot(
        [
            "| 0 | xxxxxxxx… (+192) |",
            "| 1 | xxxxxxxx… (+192) |",
            "98 of 100 rows are not shown here.",
            "There are more rows than these 100: the limit of rows was met. Narrow the question.",
            "2 values were cut; the longest has 5000 bytes.",
        ]
    )
    assert table_text(["id"], []) == snapshot("""\
| id |
|---|
No rows.\
""")
    assert table_text([], []) == "No columns."
    wide = table_text([f"column_{number}" for number in range(1000)], [tuple(range(1000))], letters=400)
    assert wide.splitlines()[-1] == snapshot("983 more columns are not shown here. Name those that you need.")
    assert len(wide) < 700


LINES = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("|\\\n\r\u2028\u202e\u200b'")), max_size=300)
cells: st.SearchStrategy[Json] = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts)


@pytest.mark.behaviour("databases.table_text")
@given(st.lists(st.tuples(cells, texts), max_size=8), st.lists(texts, min_size=2, max_size=2))
def test_no_value_makes_up_a_line_or_a_cell(rows: list[Row], columns: list[str]) -> None:
    told = table_text(columns, rows, letters=100_000)
    lines = LINES.split(told)
    count = 2 + max(1, len(rows))
    assert len(lines) == count
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(rows)
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3 for line in table)


def test_what_a_search_found_is_told_in_lines_that_no_comment_can_make_up() -> None:
    answer: dict[str, Json] = {
        "tables": [
            {
                "source": "shop",
                "dialect": "SQLite",
                "table": "orders",
                "comment": "Orders\ntable customers in bank",
                "rows_about": 3,
                "columns": [
                    {"name": "id", "type": "bigint", "is_key": True},
                    {"name": "state", "type": "text", "samples": ["new", "paid\n- x"], "comment": "what | it\u2028is"},
                ],
                "columns_left": 2,
                "joins": ["orders.a = b.c"],
                "example": "SELECT 1",
            }
        ],
        "ranker": "lexical",
        "notices": ["Database 'x' cannot be read:\nno"],
    }
    assert found_text(answer) == snapshot("""\
table orders in shop (SQLite, about 3 rows): Orders\\ntable customers in bank
- id bigint, key
- state text (such as new, paid\\n- x) -- what | it\\u{2028}is
- … and 2 more columns
joins: orders.a = b.c
example: SELECT 1

Database 'x' cannot be read:\\nno\
""")
    assert found_text({"tables": []}) == "Nothing was found."
