"""What a MySQL or MariaDB source withstands, by the state of the database afterwards and not by the refusal alone."""

from dataclasses import replace

import anyio
import pytest
from tests.providers.database.corpus import corpus, held
from tests.providers.database.mysql_attacks import BENIGN, BENIGN_WHERE_ALL_IS_OPEN, FUNCTIONS, ROADS, WRITES
from tests.providers.database.mysql_shop import Shop, access

from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.json.values import Json
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, QueryLimits
from pegboard.providers.database.mysql.engine import MysqlEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=3)


def closed(shop: Shop) -> DatabaseAccess:
    return access(f"{shop.name}.secret", f"{shop.name}.people.ssn")


async def asked(shop: Shop, statements: list[str], rule: DatabaseAccess = FULL_ACCESS) -> list[QueryAnswer]:
    engine = MysqlEngine(shop.reader if rule.is_unrestricted else await shop.login(rule), rule)
    with anyio.fail_after(100):
        answers = [await engine.run(statement, (), LIMITS) for statement in statements]
        # Whoever cannot be reached withstands everything.
        control = await engine.run("SELECT count(*) FROM orders", (), LIMITS)
        assert isinstance(control, QueryRows)
        assert control.rows == ((400,),)
        return answers


@pytest.mark.behaviour("databases.mysql.only_queries")
async def test_whatever_writes_waits_or_reads_files_is_refused_and_changes_nothing(mysql: Shop) -> None:
    before = mysql.state()
    for rule in (FULL_ACCESS, closed(mysql)):
        answers = await asked(mysql, [*WRITES, *FUNCTIONS], rule)
        through = [
            text for text, told in zip((*WRITES, *FUNCTIONS), answers, strict=True) if isinstance(told, QueryRows)
        ]
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
    for rule in (FULL_ACCESS, closed(mysql)):
        texts = [*BENIGN, *(BENIGN_WHERE_ALL_IS_OPEN if rule.is_unrestricted else ())]
        answers = await asked(mysql, texts, rule)
        assert [
            (text, told) for text, told in zip(texts, answers, strict=True) if not isinstance(told, QueryRows)
        ] == []


@pytest.mark.behaviour("databases.withheld")
async def test_a_closed_table_is_answered_by_every_road_like_one_that_is_not_there(mysql: Shop) -> None:
    there = await asked(mysql, [road.format("secret", mysql.name) for road in ROADS], closed(mysql))
    nowhere = await asked(mysql, [road.format("zebras", mysql.name) for road in ROADS], closed(mysql))
    assert [_same(one, "secret") for one in there] == [_same(one, "zebras") for one in nowhere]
    assert not any("xyzzy" in repr(answer) for answer in there)


def _same(answer: QueryAnswer, name: str) -> str:
    if isinstance(answer, QueryRows):
        answer = replace(answer, seconds=0.0)
    return repr(answer).replace(name, "NAME")


@pytest.mark.behaviour("databases.withheld", "databases.catalogue_is_narrowed")
async def test_views_lead_to_nothing_closed(mysql: Shop) -> None:
    for name in ("secret_view", "secret_far", "people_ssns", "people_fine", "calls_peek"):
        (told,) = await asked(mysql, [f"SELECT * FROM {name}"], closed(mysql))
        assert told == StatementFailure(
            f"{name!r} does not exist or cannot be read.", None, StatementFault.NO_TABLE, name
        )
    texts = [
        "SHOW TABLES",
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = database()",
        "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = database()",
    ]
    for listed in await asked(mysql, texts, closed(mysql)):
        assert isinstance(listed, QueryRows)
        names = {row[0] for row in listed.rows} - {"counter"}
        assert names == {"customers", "kinds", "order_totals", "orders", "people"}


@pytest.mark.behaviour("databases.closed_columns")
async def test_a_closed_column_is_in_no_star_no_join_no_list_and_no_message(mysql: Shop) -> None:
    stars = [
        "SELECT * FROM people ORDER BY id",
        "SELECT p.* FROM people p",
        "SELECT * FROM orders o JOIN people p ON p.id = o.id",
        "SELECT * FROM (SELECT * FROM people) x",
        f"SELECT * FROM {mysql.name}.people",
    ]
    advice = "Not all columns of 'people' can be read here. Name those that can: id, name, city."
    assert await asked(mysql, stars, closed(mysql)) == [StatementFailure(advice, None, StatementFault.NO_COLUMN)] * len(
        stars
    )
    for listed in await asked(mysql, ["DESCRIBE people", "SHOW FULL COLUMNS FROM people"], closed(mysql)):
        assert isinstance(listed, QueryRows)
        assert [row[0] for row in listed.rows] == ["id", "name", "city"]
    roads = [
        "SELECT ssn FROM people",
        "SELECT people.ssn FROM people",
        "SELECT name FROM people WHERE ssn LIKE '1%'",
        "SELECT name FROM people ORDER BY ssn",
        "SELECT count(*) FROM people JOIN people q USING (ssn)",
        "SELECT count(*) FROM people JOIN (SELECT '123-45-6789' AS ssn) v USING (id, ssn)",
        "SELECT p.ssn FROM people p",
        "SELECT ssn FROM people p JOIN people q ON q.id = p.id",
        "SELECT ssn AS `field list` FROM people",
        "SELECT count(*) FROM people NATURAL JOIN (SELECT '123-45-6789' AS ssn) v",
        "SELECT id FROM People FORCE INDEX (people_ssn)",
        "SELECT id FROM people PARTITION (people_ssn)",
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
    joined = ["SELECT count(*) FROM people JOIN orders USING (id)", "SELECT count(*) FROM orders NATURAL JOIN kinds"]
    assert [type(told) for told in await asked(mysql, joined, closed(mysql))] == [QueryRows, QueryRows]


@pytest.mark.behaviour("databases.mysql.only_queries")
async def test_no_stored_function_is_called_and_names_of_closed_routines_are_not_told(mysql: Shop) -> None:
    texts = [
        "SELECT peek()",
        f"SELECT {mysql.name}.peek()",
        "SELECT `count`(1)",
        "SELECT id FROM people WHERE Path(id) = 'x'",
    ]
    for rule in (FULL_ACCESS, closed(mysql)):
        assert [type(told) for told in await asked(mysql, texts, rule)] == [StatementRefusal] * len(texts)
    spaced = await asked(mysql, ["SELECT count(*) FROM orders o WHERE id IN (1, 2) AND NVL(id, 0) > 0"])
    assert [told.rows for told in spaced if isinstance(told, QueryRows)] == [((2,),)]


@pytest.mark.behaviour("databases.mysql.only_queries", "databases.closed_columns")
async def test_a_statement_is_cut_into_words_as_the_server_does_it_also_with_its_parameters(mysql: Shop) -> None:
    mysql.outside("CREATE TABLE people_2024 (id int, ssn varchar(20))", "CREATE TABLE `2024` LIKE people_2024")
    rule = access(*(f"{mysql.name}.{name}" for name in ("secret", "people.ssn", "people_2024.ssn", "2024.ssn")))
    engine = MysqlEngine(await mysql.login(rule), rule)
    # A comment for the server, which takes any control character for the blank behind its dashes.
    texts = [
        "SELECT p.id, g.ssn --{0}'\n FROM people p JOIN (SELECT '123-45-6789' AS ssn) g USING (ssn) -- '",
        "SELECT 1 --{0}'\n, peek() -- '",
        "SELECT '{0}'",
    ]
    # An empty name is an alias for MariaDB; a quotation mark without an end is none for anybody.
    quoted = [
        "SELECT 1 ``, peek() `c`",
        "SELECT 1 AS a '",
        'SELECT 1 AS a "',
        "SELECT 1 AS a `",
        "SELECT \\n",
        "SELECT \\Nx",
        "SELECT ``, `",
    ]
    hidden = [text.format(character) for text in texts for character in ("\x7f", "\x01", "\x1f", "\x0e")]
    glued: list[tuple[str, list[Json]]] = [
        ("SELECT count(*) FROM people_202? JOIN (SELECT '123-45' AS ssn) g USING (ssn)", [4]),
        (f"SELECT count(*) FROM {mysql.name}.2024 JOIN (SELECT '1' AS ssn) g USING (ssn)", []),
        ("SELECT count(*) FROM people_202/**/? JOIN (SELECT '123-45' AS ssn) g USING (ssn)", [4]),
        ("SELECT pe?k()", [1]),
        ("SELECT ?x", [1]),
        ("SELECT 1?", [1]),
        ("SELECT @?", [1]),
        ("SELECT ``.?", [1]),
        ("SELECT 'a'?", ["b"]),
        ("SELECT ??", [1, 2]),
        ("SELECT '1' --?'\n, peek() -- '", [1]),
    ]
    fine: list[tuple[str, list[Json]]] = [
        (
            "SELECT ?,?, -?, 1-?, (?), 1.5, .5, 2.e1 FROM people WHERE id=? AND id<? LIMIT ?",
            [1, 2, -3, -4, "x", 1, 9, 1],
        ),
        ("SELECT 1 --\t'\n FROM people -- '\n WHERE id = ?", [1]),
    ]
    try:
        hidden += quoted
        held = [await engine.run(text, (), LIMITS) for text in hidden]
        held += [await engine.run(text, values, LIMITS) for text, values in glued]
        answered = [await engine.run(text, values, LIMITS) for text, values in fine]
    finally:
        mysql.outside("DROP TABLE people_2024, `2024`")
    assert [text for text, told in zip((*hidden, *glued), held, strict=True) if isinstance(told, QueryRows)] == []
    assert [told.rows for told in answered if isinstance(told, QueryRows)] == [
        ((1, 2, 3, 5, "x", 1.5, 0.5, 20.0),),
        ((1,),),
    ]
