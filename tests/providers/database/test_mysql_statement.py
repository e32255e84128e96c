"""What kind of statement a text is for MySQL and MariaDB, and what is refused whatever a login may do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.providers.database.mysql_attacks import BENIGN, FUNCTIONS, WRITES
from tests.providers.database.mysql_shop import Shop, access

from pegboard.core.databases.rows import QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.providers.database.mysql.engine import MysqlEngine
from pegboard.providers.database.mysql.statement import MysqlStatement, read_statement

TOKENS = [re.findall(r"\w+|'[^']*'|\S", text) for text in (*WRITES, *FUNCTIONS, *BENIGN)]
TOKEN = st.sampled_from(sorted({token for text in TOKENS for token in text}))
OF_THE_PARSER = re.compile(r"sqlglot|<class|Token|Required keyword|Expect(ed|ing) |Invalid expression")
CLOSED = access("shop.secret", "shop.people.ssn")


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
@given(garbled())
def test_no_statement_breaks_the_guard_and_nothing_is_told_in_its_parsers_words(text: str) -> None:
    for rule in (FULL_ACCESS, CLOSED):
        found = read_statement(text, rule, "shop")
        assert OF_THE_PARSER.search(repr(found) if isinstance(found, StatementRefusal) else "") is None


KINDS = {
    "SELECT 1": False,
    "((SELECT 1) UNION SELECT 2)": False,
    "WITH `update` AS (SELECT 1), b (c) AS (SELECT 2) SELECT * FROM b": False,
    "TABLE orders": False,
    "VALUES ROW(1), ROW(2)": False,
    "WITH a AS (SELECT 1) DELETE FROM orders": True,
    "WITH a AS (SELECT 1 AS `select`) UPDATE orders SET id = 1": True,
    "INSERT shop.orders (id) SELECT 1": True,
    "REPLACE INTO `orders` (id) VALUES (1)": True,
    "UPDATE IGNORE orders SET id = REPLACE(id, 1, 2)": True,
    "EXPLAIN FORMAT=JSON SELECT 1": False,
    "DESCRIBE WITH a AS (SELECT 1) SELECT 1": False,
    "DESC `delete`": False,
    "EXPLAIN shop.orders": False,
    "SHOW FULL COLUMNS FROM orders IN shop LIKE 'x%'": False,
    "EXPLAIN DELETE FROM orders": None,
    "DESCRIBE REPLACE INTO orders": None,
    "EXPLAIN WITH a AS (SELECT 1) DELETE FROM orders": None,
    "EXPLAIN FOR CONNECTION 1": None,
    "SHOW TABLES FROM `mysql`": None,
    "SHOW TABLES WHERE sleep(1)": None,
    "SHOW COLUMNS FROM user FROM mysql": None,
    "DESCRIBE mysql.user": None,
    "WITH a AS (SELECT 1)": None,
    "INSERT INTO orders SELECT 1 INTO OUTFILE '/tmp/x'": None,
    "INSERT INTO orders (id) VALUES (sleep(1))": None,
    "SELECT * FROM `information_schema` /* */ . `INNODB_TABLES`": None,
    "SELECT * FROM sys . x": None,
    "SELECT * FROM information_schema.STATISTICS": None,
    "SELECT * FROM information_schema.check_constraints": None,
    "DESCRIBE information_schema.KEY_COLUMN_USAGE": None,
}


@pytest.mark.behaviour("databases.mysql.only_queries")
def test_what_a_statement_does_is_told_by_its_words() -> None:
    found = {text: read_statement(text, FULL_ACCESS, "shop") for text in KINDS}
    assert {text: each.is_write if isinstance(each, MysqlStatement) else None for text, each in found.items()} == KINDS


WHERE_ALL_IS_OPEN = (
    "SHOW CREATE TABLE orders",
    "SHOW INDEX FROM orders",
    "EXPLAIN FORMAT=TREE SELECT 1",
    "EXPLAIN FORMAT=JSON SELECT 1",
)


@pytest.mark.behaviour("databases.catalogue_is_narrowed", "databases.plans")
def test_what_names_closed_columns_is_answered_only_where_nothing_is_closed() -> None:
    for text in WHERE_ALL_IS_OPEN:
        assert isinstance(read_statement(text, FULL_ACCESS, "shop"), MysqlStatement)
        assert isinstance(read_statement(text, CLOSED, "shop"), StatementRefusal)
    assert isinstance(read_statement("SELECT * FROM tables", CLOSED, "information_schema"), StatementRefusal)


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("databases.writes_are_opted_in", "databases.withheld")
async def test_a_change_is_made_by_what_the_login_may_and_says_nothing_of_what_is_closed(mysql: Shop) -> None:
    rule = access(f"{mysql.name}.secret", f"{mysql.name}.people.ssn")
    mysql.outside("CREATE TABLE basket (id int PRIMARY KEY, note varchar(20))")
    engine = MysqlEngine(await mysql.login(rule, writes=True), rule, writes=True)
    # By hand: to change what is open of a table with a closed column.
    mysql.outside(f"GRANT UPDATE (name), DELETE ON people TO {mysql.name}_narrow")
    texts = (
        "INSERT INTO basket SELECT id, TO_CHAR(DATE'2024-01-01', 'YYYY') FROM people",
        "INSERT INTO basket SELECT id + 10, 0x1F + 0 FROM people",
        "DELETE b FROM basket b JOIN people p ON p.id = b.id WHERE p.name REGEXP '^A'",
        "DELETE FROM b USING basket AS b JOIN people AS p ON p.id + 10 = b.id WHERE p.name = 'Bob'",
        "UPDATE orders SET note = concat(note, '') WHERE id = 1",
    )
    closed = (
        ("DELETE b FROM basket b, {0}", ("secret", "zebras"), StatementFault.NO_TABLE),
        ("INSERT INTO {0} VALUES (1, 'x')", ("secret", "zebras"), StatementFault.NO_TABLE),
        ("INSERT INTO basket SELECT 50, {0} FROM people", ("ssn", "sns"), StatementFault.NO_COLUMN),
        ("UPDATE people SET name = {0}", ("ssn", "sns"), StatementFault.NO_COLUMN),
        ("UPDATE people SET {0} = 'x'", ("ssn", "sns"), StatementFault.NO_COLUMN),
        ("DELETE FROM people WHERE {0} = 'x'", ("ssn", "sns"), StatementFault.NO_COLUMN),
        ("UPDATE people JOIN (SELECT '123-45-6789' AS {0}) v USING ({0}) SET name = 'hit'", ("ssn", "sns"), None),
    )
    try:
        answers = [await engine.run(text, (), QueryLimits(seconds=20), write=True) for text in texts]
        left = mysql.outside("SELECT id, note FROM basket ORDER BY id")
        for write in (False, True):
            for text, names, fault in closed:
                there, nowhere = [
                    await engine.run(text.format(name), (), QueryLimits(seconds=20), write=write) for name in names
                ]
                assert repr(there).replace(names[0], names[1]) == repr(nowhere)
                assert (there.fault if isinstance(there, StatementFailure) else None) == fault, there
                assert isinstance(there, StatementFailure | StatementRefusal)
    finally:
        await engine.aclose()
        mysql.outside("DROP TABLE basket")
    assert [told.affected_rows if isinstance(told, QueryRows) else told for told in answers] == [2, 2, 1, 1, 0]
    assert left == [(2, "2024"), (11, "31")]
