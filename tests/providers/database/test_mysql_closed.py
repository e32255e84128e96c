"""Tables of a MySQL or MariaDB source of which some columns are closed: answered as the server answers them, but for
those."""

from collections.abc import Iterator

import anyio
import pytest
from tests.providers.database.mysql_shop import Shop

from pegboard.core.database import EVERYTHING, Access, Answer, Failed, Limits, NamePattern, Refused, Rows, name_pattern
from pegboard.providers.builtin.database.mysql import mysql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TABLES = {
    "gen": """(id int PRIMARY KEY, hidden varchar(20), copy varchar(20) AS (hidden) VIRTUAL,
        far varchar(30) AS (concat(copy, 'x')) STORED, filled varchar(30) DEFAULT (concat(hidden, 'y')),
        fine int AS (id + 1) VIRTUAL, said varchar(20) DEFAULT 'hidden')""",
    "parts": """(id int, hidden int) PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (10),
        PARTITION high VALUES LESS THAN (100))""",
    "kept": "(id int, hidden int) WITH SYSTEM VERSIONING",
    "leads": """(id int PRIMARY KEY, a int, b int, FOREIGN KEY (a) REFERENCES secret (id),
        FOREIGN KEY (b) REFERENCES orders (id))""",
    "shut": "(word varchar(20)) ENGINE = MyISAM",
    "merged": "(word varchar(20)) ENGINE = MERGE UNION = (shut)",
}


@pytest.fixture(scope="module")
def shop(mysql: Shop) -> Iterator[Shop]:
    mysql.outside(
        *(f"CREATE TABLE {name} {shape}" for name, shape in TABLES.items()),
        "INSERT INTO gen (id, hidden) VALUES (1, 'xyzzy')",
        "INSERT INTO parts VALUES (1, 2), (50, 51)",
        "INSERT INTO shut VALUES ('xyzzy')",
        "CREATE VIEW gen_view AS SELECT id, copy FROM gen",
    )
    yield mysql
    mysql.outside("DROP VIEW gen_view", *(f"DROP TABLE {name}" for name in reversed(TABLES)))


def closed(shop: Shop) -> Access:
    names = ("secret", "shut", "people.ssn", "gen.hidden", "parts.hidden", "kept.hidden")
    patterns = [name_pattern(f"{shop.name}.{name}") for name in names]
    return Access(deny=tuple(pattern for pattern in patterns if isinstance(pattern, NamePattern)))


async def asked(shop: Shop, statements: tuple[str, ...], rule: Access) -> list[Answer]:
    engine = mysql_engine(shop.reader, rule)
    with anyio.fail_after(100):
        return [await engine.run(statement, (), Limits(seconds=20)) for statement in statements]


SAME = (
    "SELECT name FROM people WHERE name REGEXP '^A'",
    "SELECT name FROM people WHERE name NOT RLIKE '^A'",
    "SELECT count(*), max(id MOD 2), (SELECT max(name) FROM people) FROM people",
    "SELECT 0x1F+0, CHR(65), INTERVAL(5,1,3,10), TO_CHAR(DATE'2024-01-01','YYYY') FROM people",
    "SELECT INTERVAL 1 DAY + '2024-01-01', MEDIAN(id) OVER (), UTC_DATE() IS NULL FROM people",
    "SELECT people.name, `people`.id FROM people ORDER BY people.id DESC LIMIT 1",
    "SELECT p.id, q.name, total FROM people p JOIN (people AS q, orders) ON p.id = q.id AND orders.id = q.id",
    "SELECT id, name FROM (people)",
    "SELECT p.name FROM people p STRAIGHT_JOIN orders o ON o.id = p.id",
    "WITH people AS (SELECT id, name FROM people) SELECT * FROM people",
    "SELECT name FROM people WHERE EXISTS (SELECT 1 FROM people AS x WHERE x.id = people.id)",
    "SELECT name FROM people UNION (SELECT city FROM people)",
    "SELECT trim(BOTH 'A' FROM name) FROM people /* FROM people */ -- people\n",
    "SELECT id FROM people WHERE name = 'FROM people'",
    "SELECT fine, said FROM gen",
    "SHOW CREATE TABLE orders",
    "SHOW INDEX FROM orders",
    "SHOW CREATE VIEW people_fine",
)


@pytest.mark.behaviour("databases.mysql.as_written")
async def test_a_statement_on_a_table_with_a_closed_column_is_answered_as_on_a_whole_one(shop: Shop) -> None:
    name = f"{shop.name}.people"
    qualified = (f"SELECT {name}.name, {shop.name} . `people` . id FROM {name} WHERE {name}.id = 1",)
    whole = await asked(shop, (*SAME, *qualified), EVERYTHING)
    narrow = await asked(shop, (*SAME, *qualified), closed(shop))
    told = [(one.columns, one.rows) if isinstance(one, Rows) else one for one in narrow]
    assert told == [(one.columns, one.rows) for one in whole if isinstance(one, Rows)]


@pytest.mark.behaviour("databases.mysql.as_written")
async def test_what_would_be_lost_of_a_table_with_a_closed_column_is_refused_with_the_reason(shop: Shop) -> None:
    texts = (
        "SELECT * FROM parts PARTITION (low)",
        "SELECT * FROM kept FOR SYSTEM_TIME ALL",
        "SELECT * FROM people AS p FORCE INDEX (people_ssn)",
        'SELECT * FROM "people"',
    )
    assert await asked(shop, texts, closed(shop)) == [
        Refused("PARTITION cannot be asked of 'parts' here.", "Leave it out."),
        Refused("FOR SYSTEM_TIME cannot be asked of 'kept' here.", "Leave it out."),
        Refused("An index hint cannot be asked of 'people' here.", "Leave it out."),
        Refused("The name of 'people' is written in a way that is not read here.", "Write it plainly."),
    ]


@pytest.mark.behaviour("databases.mysql.as_written")
async def test_a_server_is_quoted_with_what_was_written_and_not_with_what_ran(shop: Shop) -> None:
    texts = (
        "SELECT VALUES(id) FROM people",
        "SELECT p.id FROM orders LEFT JOIN LATERAL (SELECT id FROM people) p ON 1",
        "SELECT id FROM people HAVING VALUES(id) > 1",
    )
    answers = await asked(shop, texts, closed(shop))
    quoted = [one.words.split(" near ")[1].split(" at line")[0] for one in answers if isinstance(one, Failed)]
    # It quotes so many characters of what ran.
    assert [words.rstrip(".'") for words in quoted] == [
        "'VALUES(id) FROM people",
        "'(SELECT id FROM people",
        "'VALUES(id) > 1",
    ]


@pytest.mark.behaviour("databases.mysql.made_of_closed")
async def test_what_is_made_of_a_closed_column_is_closed_too(shop: Shop) -> None:
    texts = (
        *(f"SELECT {name} FROM gen" for name in ("hidden", "copy", "far", "filled", "DEFAULT(filled)", "gen.COPY")),
        "SELECT * FROM gen_view",
        "SELECT * FROM merged",
        "SELECT 1 FROM gen WHERE copy LIKE 'x%'",
    )
    answers = await asked(shop, texts, closed(shop))
    assert [text for text, told in zip(texts, answers, strict=True) if not isinstance(told, Failed)] == []
    assert "xyzzy" not in repr(answers)
    (everything,) = await asked(shop, ("SELECT * FROM gen",), closed(shop))
    assert isinstance(everything, Rows)
    assert [field.name for field in everything.columns] == ["id", "fine", "said"]
    schema = await mysql_engine(shop.reader, closed(shop)).schema()
    tables = {table.name.table: [column.name for column in table.columns] for table in schema.tables}
    assert tables["gen"] == ["id", "fine", "said"]
    assert {"gen_view", "merged", "shut"}.isdisjoint(tables)


@pytest.mark.behaviour("databases.withheld")
async def test_how_a_table_was_created_is_told_without_keys_that_lead_to_closed_tables(shop: Shop) -> None:
    leads, people = await asked(shop, ("SHOW CREATE TABLE leads", "SHOW CREATE TABLE people"), closed(shop))
    assert isinstance(leads, Rows)
    (told,) = leads.rows
    assert str(told[1]).startswith(
        "CREATE TABLE `leads` (\n"
        "  `id` int(11) NOT NULL,\n"
        "  `a` int(11) DEFAULT NULL,\n"
        "  `b` int(11) DEFAULT NULL,\n"
        "  PRIMARY KEY (`id`),\n"
        "  KEY `a` (`a`),\n"
        "  KEY `b` (`b`),\n"
        "  CONSTRAINT `leads_ibfk_2` FOREIGN KEY (`b`) REFERENCES `orders` (`id`)\n"
        ") ENGINE=InnoDB"
    )
    assert people == Refused("That is not told of 'people'.", "DESCRIBE `people` tells its columns.")


@pytest.mark.behaviour("databases.catalogue_is_narrowed")
async def test_columns_are_counted_as_though_a_closed_one_were_not_there(shop: Shop) -> None:
    texts = (
        "SELECT COLUMN_NAME, ORDINAL_POSITION FROM information_schema.COLUMNS"
        " WHERE TABLE_NAME = 'people' ORDER BY ORDINAL_POSITION",
        "SELECT * FROM information_schema.COLUMNS WHERE TABLE_NAME = 'people'",
    )
    counted, starred = await asked(shop, texts, closed(shop))
    (whole,) = await asked(shop, texts[1:], EVERYTHING)
    assert isinstance(counted, Rows), counted
    assert isinstance(starred, Rows), starred
    assert isinstance(whole, Rows), whole
    assert counted.rows == (("id", 1), ("name", 2), ("city", 3))
    assert [column.name for column in starred.columns] == [column.name for column in whole.columns]


async def test_a_source_with_thousands_of_columns_lists_them_all_where_something_is_closed(shop: Shop) -> None:
    names = [f"wide_{number}" for number in range(4)]
    columns = ", ".join(f"a_rather_long_name_of_a_column_{number} int" for number in range(500))
    shop.outside(*(f"CREATE TABLE {name} ({columns}) ENGINE = Aria" for name in names))
    try:
        texts = ("SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_NAME LIKE 'wide%'",)
        (told,) = await asked(shop, texts, closed(shop))
    finally:
        shop.outside(*(f"DROP TABLE {name}" for name in names))
    assert isinstance(told, Rows), told
    assert told.rows == ((2000,),)


@pytest.mark.behaviour("databases.mysql.as_written")
async def test_a_statement_that_writes_does_what_was_written_also_where_a_column_is_closed(shop: Shop) -> None:
    shop.outside(
        "CREATE TABLE basket (id int PRIMARY KEY, note varchar(20))",
        f"GRANT INSERT, UPDATE, DELETE ON {shop.name}.basket TO '{shop.name}_reader'@'localhost'",
    )
    engine = mysql_engine(shop.reader, closed(shop), writes=True)
    texts = (
        "INSERT INTO basket SELECT id, TO_CHAR(DATE'2024-01-01', 'YYYY') FROM people",
        "INSERT INTO basket SELECT id + 10, 0x1F + 0 FROM people",
        "DELETE b FROM basket b JOIN people p ON p.id = b.id WHERE p.name REGEXP '^A'",
        "DELETE FROM b USING basket AS b JOIN people AS p ON p.id + 10 = b.id WHERE p.name = 'Bob'",
    )
    refused = (
        "TRUNCATE basket",
        "DELETE p FROM basket b JOIN people p ON p.id = b.id",
        "DELETE b FROM basket b, secret",
    )
    try:
        answers = [await engine.run(text, (), Limits(seconds=20), write=True) for text in texts]
        others = [await engine.run(text, (), Limits(seconds=20), write=True) for text in refused]
        left = shop.outside("SELECT id, note FROM basket ORDER BY id")
    finally:
        shop.outside("DROP TABLE basket")
    assert [told.affected if isinstance(told, Rows) else told for told in answers] == [2, 2, 1, 1]
    assert left == [(2, "2024"), (11, "31")]
    truncated, people, secret = others
    assert truncated == Refused(
        "TRUNCATE is not a query.",
        "Only queries are answered here: SELECT, WITH … SELECT, EXPLAIN, DESCRIBE, SHOW TABLES, SHOW COLUMNS; "
        "and INSERT, UPDATE and DELETE.",
    )
    assert people == Refused("'people' can only be read here.", "Write to a table all of whose columns are open.")
    assert isinstance(secret, Failed)
    assert secret.words == f"Table '{shop.name}.secret' doesn't exist"
