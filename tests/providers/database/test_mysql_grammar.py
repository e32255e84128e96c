"""What is read of a statement for MySQL and MariaDB as these servers read it, and in whose words that is told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.providers.database.mysql_attacks import BENIGN, FUNCTIONS, WRITES
from tests.providers.database.mysql_shop import Shop
from tests.providers.database.test_mysql_attacks import asked

from pegboard.core.database import Access, NamePattern, name_pattern
from pegboard.ports.databases import Failed, Fault, Refused, Rows
from pegboard.providers.builtin.database.mysql.grammar import Broken
from pegboard.providers.builtin.database.mysql.reading import Reading, read
from pegboard.providers.builtin.database.mysql.words import Unreadable

TOKENS = [re.findall(r"\w+|'[^']*'|\S", text) for text in (*WRITES, *FUNCTIONS, *BENIGN)]
TOKEN = st.sampled_from(sorted({token for text in TOKENS for token in text}))
OF_THE_PARSER = re.compile(r"sqlglot|<class|Token|Required keyword|Expect(ed|ing) |Invalid expression")

NOT_EXPLAINED = Unreadable(
    "Only queries and tables are explained.", "Give EXPLAIN a SELECT, or DESCRIBE a table's name."
)


@st.composite
def garbled(draw: st.DrawFn) -> str:
    """A statement with words taken out, put in, or the end of another behind it."""
    tokens = [*draw(st.sampled_from(TOKENS))]
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(tokens)))
        match draw(st.sampled_from(("out", "in", "end"))):
            case "out":
                del tokens[place : place + 1]
            case "in":
                tokens.insert(place, draw(TOKEN))
            case _:
                other = draw(st.sampled_from(TOKENS))
                tokens[place:] = other[draw(st.integers(0, len(other))) :]
    return " ".join(tokens)


@pytest.mark.behaviour("databases.own_words")
@given(garbled(), st.booleans())
def test_no_statement_breaks_the_reader_and_nothing_is_told_in_its_parsers_words(text: str, write: bool) -> None:
    match read(text, write=write):
        case Broken(words, position):
            assert OF_THE_PARSER.search(words) is None
            assert position is None or 0 <= position <= len(text)
        case Unreadable(why, mend):
            assert OF_THE_PARSER.search(why + mend) is None
        case Reading():
            pass


@pytest.mark.behaviour("databases.own_words")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "SELECT {d '2024-01-01'}",
            Unreadable("Braces ({d '…'}, {fn …}, {oj …}) are not read here.", "Write DATE '2024-01-01' instead."),
        ),
        (
            "SELECT id FROM orders LIMIT ROWS EXAMINED 5",
            Unreadable(
                "LIMIT ROWS EXAMINED is not read here.", "Leave it out: each statement has a time limit anyway."
            ),
        ),
        ("UPDATE IGNORE orders SET id = 1", Unreadable("UPDATE IGNORE is not read here.", "Leave IGNORE out.")),
        ("SELECT 1 % FROM orders", Broken("The statement cannot be read: 'FROM' is not expected there.", 11)),
        ("SELECT\n 1 +\n FROM t", Broken("The statement cannot be read: 'FROM' is not expected there.", 13)),
        (
            "EXPLAIN (SELECT 1",
            Broken("The statement cannot be read: something is missing at its end, or '1' is not expected there.", 16),
        ),
        ("EXPLAIN DELETE FROM orders", NOT_EXPLAINED),
        ("DESCRIBE REPLACE INTO orders", NOT_EXPLAINED),
        ("EXPLAIN FOR CONNECTION 1", NOT_EXPLAINED),
        ("SELECT NOW ( , DATE_ADD ( NOW ( ) )", None),
        (
            "SELECT id\u00a0FROM orders",
            Unreadable("A blank of another alphabet stands between words.", "Write an ordinary blank there."),
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place_or_the_way_out(text: str, told: Unreadable | Broken | None) -> None:
    found = read(text, write=True)
    assert found == told if told is not None else isinstance(found, Broken | Unreadable)
    assert isinstance(read("DESCRIBE `delete`", write=True), Reading)


CLAUSES = ("lateral", "qualify", "tablesample", "pivot", "unnest", "sample", "final")
AS_TABLES = (
    "SELECT * FROM {0}",
    "SELECT * FROM orders, {0}",
    "SELECT * FROM orders, {0} x",
    "SELECT * FROM (orders, {0} x)",
    "SELECT * FROM orders, {0} WHERE 1",
    "SELECT * FROM orders, {0} x, {0} y",
    "SELECT * FROM orders o JOIN orders p ON 1, {0} x LIMIT 1",
    "SELECT 1 FROM orders GROUP BY 1, (SELECT word FROM {0} x)",
    "SELECT * FROM information_schema..{0}",
)


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("databases.withheld", "databases.mysql.as_written")
async def test_a_closed_table_is_closed_also_where_it_is_called_like_a_clause_of_another_database(mysql: Shop) -> None:
    opened = name_pattern(f"{mysql.name}.orders")
    assert isinstance(opened, NamePattern)
    for name in CLAUSES:
        mysql.outside(f"CREATE TABLE {name} (word varchar(20))", f"INSERT INTO {name} VALUES ('xyzzy')")
    try:
        roads = [road.format(name) for name in CLAUSES for road in AS_TABLES]
        answers = await asked(mysql, roads, Access(allow=(opened,)))
    finally:
        mysql.outside(*(f"DROP TABLE {name}" for name in CLAUSES))
    assert [(road, told) for road, told in zip(roads, answers, strict=True) if isinstance(told, Rows)] == []


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("databases.benign")
async def test_columns_of_a_table_made_of_json_have_types_with_brackets(mysql: Shop) -> None:
    columns = "n FOR ORDINALITY, a varchar(20) PATH '$.a', d decimal(9, 2) PATH '$.d', t datetime(3) PATH '$.t'"
    (told,) = await asked(
        mysql, [f"""SELECT * FROM JSON_TABLE('[{{"a": "x", "d": 1.5}}]', '$[*]' COLUMNS ({columns})) AS j"""]
    )
    assert isinstance(told, Rows)
    assert told.rows == ((1, "x", 1.5, None),)


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("databases.withheld")
async def test_lists_of_schemas_that_tell_of_the_server_or_are_closed_are_not_given(mysql: Shop) -> None:
    other = f"{mysql.name}_far"
    mysql.outside(
        f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.hoard (id int)",
        f"GRANT SELECT ON {other}.* TO '{mysql.name}_reader'@'localhost'",
    )
    try:
        texts = ["SHOW TABLES FROM mysql", "SHOW FULL TABLES IN information_schema", f"SHOW TABLES FROM {other}"]
        whole = await asked(mysql, texts)
        opened = name_pattern(f"{mysql.name}.*")
        assert isinstance(opened, NamePattern)
        there, nowhere = await asked(mysql, [texts[2], "SHOW TABLES FROM nowhere"], Access(allow=(opened,)))
    finally:
        mysql.outside(f"DROP DATABASE {other}", f"REVOKE SELECT ON {other}.* FROM '{mysql.name}_reader'@'localhost'")
    way_out = "Use search_schemas, or information_schema.TABLES and COLUMNS."
    assert whole[:2] == [
        Refused("mysql tells of the server.", way_out),
        Refused("information_schema tells of the server.", way_out),
    ]
    assert isinstance(whole[2], Rows)
    assert whole[2].rows == (("hoard",),)
    assert there == Failed(f"Unknown database '{other}'", None, Fault.NO_TABLE, other)
    assert nowhere == Failed("Unknown database 'nowhere'", None, Fault.NO_TABLE, "nowhere")
