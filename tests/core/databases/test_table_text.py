"""Rows as text: nothing that is in a database makes up a row, a heading or a remark, and what is left out is told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from pegboard.core.databases.rows import ResultTruncation, RowValues
from pegboard.core.databases.text import format_plan, format_search_answer, format_table
from pegboard.core.json.values import Json
from pegboard.core.model.databases import QueryLimits
from pegboard.gateway.databases.execute_sql import is_explain


@pytest.mark.behaviour("databases.table_text")
def test_rows_are_lines_with_cells_between_bars() -> None:
    rows: list[RowValues] = [
        (1, "Ada | Co", None, True, 1.5),
        (2, "two\nlines\t\\", "NULL", False, 2),
        (3, "", {"a": [1, "x|y"]}, None, "9007199254740993"),
    ]
    assert format_table(["id", "na|me", "note", "ok", "n"], rows) == snapshot(
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
    rows: list[RowValues] = [(number, "x" * 200) for number in range(100)]
    cut = ResultTruncation(True, "rows", ((0, 1, 4000), (3, 1, 5000)))
    told = format_table(["id", "text"], rows, cut, letters=90, of_cell=8)
    assert told.splitlines()[2:] == snapshot(
        [
            "| 0 | xxxxxxxx… (+192) |",
            "| 1 | xxxxxxxx… (+192) |",
            "98 of 100 rows are not shown here.",
            "There are more rows than these 100: the limit of rows was met. Narrow the question.",
            "2 values were cut; the longest has 5000 bytes.",
        ]
    )
    assert format_table(["id"], []) == snapshot("""\
| id |
|---|
No rows.\
""")
    assert format_table([], []) == "No columns."
    wide = format_table([f"column_{number}" for number in range(1000)], [tuple(range(1000))], letters=400)
    assert wide.splitlines()[-1] == snapshot("983 more columns are not shown here. Name those that you need.")
    assert len(wide) < 700


LINES = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("|\\\n\r\u2028\u202e\u200b'")), max_size=300)
cells: st.SearchStrategy[Json] = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts)


@pytest.mark.behaviour("databases.table_text")
@given(st.lists(st.tuples(cells, texts), max_size=8), st.lists(texts, min_size=2, max_size=2))
def test_no_value_makes_up_a_line_or_a_cell(rows: list[RowValues], columns: list[str]) -> None:
    told = format_table(columns, rows, letters=100_000)
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
    assert format_search_answer(answer) == snapshot("""\
table orders in shop (SQLite, about 3 rows): Orders\\ntable customers in bank
- id bigint, key
- state text (such as new, paid\\n- x) -- what | it\\u{2028}is
- … and 2 more columns
joins: orders.a = b.c
example: SELECT 1

Database 'x' cannot be read:\\nno\
""")
    assert format_search_answer({"tables": []}) == "Nothing was found."


@pytest.mark.behaviour("databases.plans")
def test_a_plan_is_told_whole_and_in_its_own_lines() -> None:
    box = "╭─ Scan ─╮\n│ orders | x │\n╰────────╯\n"
    assert format_plan(["key", "plan"], [("physical", box), ("n", 1)]) == snapshot("""\
| key | plan |
|---|---|
| physical | ╭─ Scan ─╮ |
|  | │ orders \\| x │ |
|  | ╰────────╯ |
| n | 1 |\
""")
    wide = "Seq Scan on orders " + "x" * 3000
    assert wide in format_plan(["QUERY PLAN"], [(wide,)])
    long = format_plan(["p"], [("\n".join(f"line {number}" for number in range(5000)),)], letters=300).splitlines()
    assert long[-1] == snapshot("4975 of 5000 lines of the plan are not shown here. Explain a simpler query.")
    assert all(line.startswith("|") for line in long[:-1])


@pytest.mark.behaviour("databases.plans")
def test_a_plan_is_known_by_its_first_word_and_may_be_longer_than_another_value() -> None:
    plans = ("EXPLAIN SELECT 1", " -- why\n explain query plan select 1", "/* a */ Explain (format json) select 1")
    others = ("SELECT 'EXPLAIN'", "WITH explain AS (SELECT 1) SELECT 1", "explained", "")
    assert [is_explain(text) for text in (*plans, *others)] == [True] * 3 + [False] * 4
    assert QueryLimits(cell_chars=2_000, bytes=1_000_000).for_plan() == QueryLimits(cell_chars=64_000, bytes=1_000_000)
    assert QueryLimits(cell_chars=2_000, bytes=5_000).for_plan().cell_chars == 5_000
    assert QueryLimits(cell_chars=100_000).for_plan().cell_chars == 100_000


@pytest.mark.behaviour("databases.plans", "databases.table_text")
@given(st.lists(st.tuples(cells, texts), max_size=6), st.lists(texts, min_size=2, max_size=2))
def test_no_part_of_a_plan_makes_up_a_remark(rows: list[RowValues], columns: list[str]) -> None:
    lines = LINES.split(format_plan(columns, rows, letters=100_000))
    assert all(line.startswith("|") for line in lines) or (not rows and lines[-1] == "No rows.")
