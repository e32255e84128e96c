"""What a MySQL or MariaDB source withstands, by the state of the database afterwards and not by the refusal alone."""

from dataclasses import replace

import anyio
import pytest
from tests.providers.database.corpus import corpus, held
from tests.providers.database.mysql_attacks import BENIGN, FUNCTIONS, ROADS, WRITES
from tests.providers.database.mysql_shop import Shop

from pegboard.core.database import (
    EVERYTHING,
    Access,
    Answer,
    Failed,
    Fault,
    Limits,
    NamePattern,
    Refused,
    Rows,
    name_pattern,
)
from pegboard.providers.builtin.database.mysql import mysql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = Limits(seconds=3)


def closed(shop: Shop) -> Access:
    patterns = (name_pattern(f"{shop.name}.secret"), name_pattern(f"{shop.name}.people.ssn"))
    return Access(deny=tuple(pattern for pattern in patterns if isinstance(pattern, NamePattern)))


async def asked(shop: Shop, statements: list[str], rule: Access = EVERYTHING) -> list[Answer]:
    engine = mysql_engine(shop.reader, rule)
    with anyio.fail_after(100):
        answers = [await engine.run(statement, (), LIMITS) for statement in statements]
        # Whoever cannot be reached withstands everything.
        control = await engine.run("SELECT count(*) FROM orders", (), LIMITS)
        assert isinstance(control, Rows)
        assert control.rows == ((400,),)
        return answers


@pytest.mark.behaviour("databases.mysql.only_queries")
async def test_whatever_writes_waits_or_reads_files_is_refused_and_changes_nothing(mysql: Shop) -> None:
    before = mysql.state()
    for rule in (EVERYTHING, closed(mysql)):
        answers = await asked(mysql, [*WRITES, *FUNCTIONS], rule)
        through = [text for text, told in zip((*WRITES, *FUNCTIONS), answers, strict=True) if isinstance(told, Rows)]
        assert through == []
    assert mysql.state() == before


@pytest.mark.behaviour("databases.mysql.file_of_attacks")
async def test_every_attack_of_the_file_is_held_and_every_benign_statement_answered(mysql: Shop) -> None:
    cases = [case for case in corpus() if case["dialect"] == "mysql"]
    before = mysql.state()
    answers = await asked(mysql, [case["sql"] for case in cases])
    assert mysql.state() == before
    assert [
        (case["id"], told) for case, told in zip(cases, answers, strict=True) if not held(case["expect"], told)
    ] == []


@pytest.mark.behaviour("databases.benign")
async def test_what_people_ask_is_answered_also_where_something_is_closed(mysql: Shop) -> None:
    for rule in (EVERYTHING, closed(mysql)):
        answers = await asked(mysql, list(BENIGN), rule)
        assert [(text, told) for text, told in zip(BENIGN, answers, strict=True) if not isinstance(told, Rows)] == []


@pytest.mark.behaviour("databases.withheld")
async def test_a_closed_table_is_answered_by_every_road_like_one_that_is_not_there(mysql: Shop) -> None:
    there = await asked(mysql, [road.format("secret", mysql.name) for road in ROADS], closed(mysql))
    nowhere = await asked(mysql, [road.format("zebras", mysql.name) for road in ROADS], closed(mysql))
    assert [_same(one, "secret") for one in there] == [_same(one, "zebras") for one in nowhere]
    assert not any("xyzzy" in repr(answer) for answer in there)


def _same(answer: Answer, name: str) -> str:
    if isinstance(answer, Rows):
        answer = replace(answer, seconds=0.0)
    return repr(answer).replace(name, "NAME")


@pytest.mark.behaviour("databases.withheld")
async def test_views_lead_to_nothing_closed(mysql: Shop) -> None:
    for name in ("secret_view", "secret_far", "people_ssns"):
        (told,) = await asked(mysql, [f"SELECT * FROM {name}"], closed(mysql))
        assert told == Failed(f"Table '{mysql.name}.{name}' doesn't exist", None, Fault.NO_TABLE, name)
    fine, listed = await asked(mysql, ["SELECT * FROM people_fine ORDER BY 1", "SHOW TABLES"], closed(mysql))
    assert isinstance(fine, Rows)
    assert fine.rows == (("Ann", "Bonn"), ("Bob", "Köln"))
    assert isinstance(listed, Rows)
    assert sorted(row[0] for row in listed.rows if isinstance(row[0], str)) == [
        *("calls_peek", "customers", "kinds", "order_totals", "orders", "people", "people_fine")[1:],
    ]


@pytest.mark.behaviour("databases.closed_columns")
async def test_a_closed_column_is_in_no_star_no_join_no_list_and_no_message(mysql: Shop) -> None:
    stars = [
        "SELECT * FROM people ORDER BY id",
        "SELECT p.* FROM people p",
        "SELECT * FROM orders o JOIN people p ON p.id = o.id",
        "DESCRIBE people",
        "SHOW COLUMNS FROM people",
        "SELECT * FROM (SELECT * FROM people) x",
        f"SELECT * FROM {mysql.name}.people",
    ]
    for road, told in zip(stars, await asked(mysql, stars, closed(mysql)), strict=True):
        assert isinstance(told, Rows), (road, told)
        assert "ssn" not in repr(told)
        assert "123-45" not in repr(told)
    roads = [
        "SELECT ssn FROM people",
        "SELECT people.ssn FROM people",
        "SELECT name FROM people WHERE ssn LIKE '1%'",
        "SELECT name FROM people ORDER BY ssn",
        "SELECT count(*) FROM people JOIN people q USING (ssn)",
        "SELECT p.ssn FROM people p",
        "SELECT count(*) FROM people NATURAL JOIN (SELECT '123-45-6789' AS ssn) v",
        "DESCRIBE people ssn",
        "SHOW COLUMNS FROM people LIKE 'ssn'",
        "EXPLAIN SELECT name FROM people",
        "SHOW CREATE TABLE people",
        "SHOW INDEX FROM people",
    ]
    there = await asked(mysql, roads, closed(mysql))
    nowhere = await asked(mysql, [road.replace("ssn", "sns") for road in roads], closed(mysql))
    assert [_same(told, "ssn") for told in there] == [_same(told, "sns") for told in nowhere]
    assert not any("6789" in repr(told) for told in there)


@pytest.mark.behaviour("databases.mysql.too_powerful")
async def test_a_user_that_may_read_files_or_do_everything_is_refused_unless_its_operator_insists(mysql: Shop) -> None:
    address = mysql.reader.replace(f"{mysql.name}_reader:reads@", "root@")
    engine = mysql_engine(address, EVERYTHING)
    told = await engine.run("SELECT 1", (), LIMITS)
    assert isinstance(told, Refused)
    assert "(ALL PRIVILEGES)" in told.why
    assert "GRANT SELECT" in told.mend
    forced = mysql_engine(address, EVERYTHING, forced=True)
    before = mysql.state()
    assert isinstance(await forced.run("SELECT 1", (), LIMITS), Rows)
    assert [text for text in (*WRITES, *FUNCTIONS) if isinstance(await forced.run(text, (), LIMITS), Rows)] == []
    assert mysql.state() == before


@pytest.mark.behaviour("databases.mysql.only_queries")
async def test_a_stored_function_is_not_called_under_a_name_that_is_built_in_elsewhere(mysql: Shop) -> None:
    names = ("BIN_TO_UUID", "ANY_VALUE", "REGEXP_LIKE", "NVL", "PATH", "FULL", "JSON_SCHEMA_VALID", "COUNT", "max")
    body = "(x int) RETURNS varchar(50) READS SQL DATA RETURN (SELECT max(word) FROM secret)"
    mysql.outside(*(f"CREATE FUNCTION {name} {body}" for name in names))
    mysql.outside(f"CREATE FUNCTION polygon {body.replace('x int', '', 1)}")
    mysql.outside("CREATE VIEW calls_path AS SELECT path(1) AS word")
    calls = [
        *(f"SELECT {name}{blank}(1)" for name in names for blank in ("", " ", "/**/", "\n")),
        "SELECT id FROM people WHERE Path(id) = 'x'",
        "WITH path(x) AS (SELECT 1) SELECT path(1) FROM path",
        "SELECT POLYGON()",
        "SELECT word FROM calls_path",
    ]
    try:
        answers = await asked(mysql, calls, closed(mysql))
        whole = await asked(mysql, ["SELECT word FROM calls_path", "SELECT count(id), max(id) FROM people"])
    finally:
        mysql.outside("DROP VIEW calls_path", *(f"DROP FUNCTION {name}" for name in (*names, "polygon")))
    # COUNT, MAX and NVL are built into this server, if the bracket stands where it should; NVL then wants two values.
    built_in = {"SELECT COUNT(1)", "SELECT max(1)"}
    assert [text for text, told in zip(calls, answers, strict=True) if isinstance(told, Rows)] == sorted(built_in)
    assert "xyzzy" not in repr(answers)
    assert isinstance(whole[0], Refused)
    assert isinstance(whole[1], Rows)
    spaced = await asked(mysql, ["SELECT count(*) FROM orders o WHERE id IN (1, 2) AND NVL(id, 0) > 0"])
    assert [told.rows for told in spaced if isinstance(told, Rows)] == [((2,),)]
