"""`FROM DUAL`, by which MySQL and MariaDB say that there is no table, and tables that bear that name."""

from collections.abc import Iterator

import pytest
from tests.providers.database.mysql_shop import Shop

from pegboard.core.databases.rows import QueryRows
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.providers.database.mysql.engine import MysqlEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)
ANSWERED = {
    "SELECT 1 FROM DUAL": ((1,),),
    "SELECT 1 FROM dual WHERE 1 = 1": ((1,),),
    "(SELECT 2 FROM dual)": ((2,),),
    "SELECT 1 FROM DUAL UNION SELECT 2 FROM DUAL": ((1,), (2,)),
    "SELECT (SELECT 3 FROM dual) AS a, count(*) FROM orders": ((3, 400),),
    "SELECT (SELECT 3 FROM dual) AS a, name FROM people ORDER BY id LIMIT 1": ((3, "Ann"),),
    "WITH x AS (SELECT 4 AS a FROM DUAL) SELECT a FROM x": ((4,),),
}
CLOSED = (
    "SELECT * FROM `dual`",
    "SELECT word FROM `dual`",
    "SELECT * FROM dual",
    "SELECT word FROM dual",
    "SELECT dual.word FROM dual",
    "SELECT d.word FROM dual d",
    "SELECT d.word FROM dual AS d",
    "SELECT word FROM dual, orders",
    "SELECT word FROM orders, dual",
    "SELECT word FROM orders JOIN dual",
    "SELECT word FROM dual JOIN orders",
    "SELECT word FROM dual NATURAL JOIN orders",
    "SELECT word FROM (dual)",
    "SELECT word FROM (dual, orders)",
    "SELECT word FROM dual PARTITION (p0)",
    "SELECT word FROM {0}.dual",
    "SELECT word FROM {0}.`dual`",
    "SELECT (SELECT 1 FROM dual), word FROM `dual`",
    "DESCRIBE `dual`",
    "SHOW COLUMNS FROM `dual`",
)


@pytest.fixture
def dual(mysql: Shop) -> Iterator[Shop]:
    """The shop with a table that bears the name, which is denied."""
    mysql.outside("CREATE TABLE `dual` (word varchar(20))", "INSERT INTO `dual` VALUES ('hidden-7')")
    yield mysql
    mysql.outside("DROP TABLE `dual`")


def denying(*patterns: str) -> DatabaseAccess:
    return DatabaseAccess(deny=tuple(one for one in map(parse_name_pattern, patterns) if isinstance(one, NamePattern)))


@pytest.mark.behaviour("databases.benign")
async def test_a_query_of_no_table_is_answered(mysql: Shop) -> None:
    for rule in (FULL_ACCESS, denying(f"{mysql.name}.secret", f"{mysql.name}.people.ssn")):
        engine = MysqlEngine(mysql.reader if rule.is_unrestricted else await mysql.login(rule), rule)
        answers = {text: await engine.run(text, (), LIMITS) for text in ANSWERED}
        assert {text: told.rows if isinstance(told, QueryRows) else told for text, told in answers.items()} == ANSWERED
        assert isinstance(await engine.run("EXPLAIN SELECT 1 FROM DUAL", (), LIMITS), QueryRows)


@pytest.mark.behaviour("databases.withheld")
async def test_a_denied_table_of_that_name_stays_closed(dual: Shop) -> None:
    rule = denying(f"{dual.name}.dual")
    engine = MysqlEngine(await dual.login(rule), rule)
    answers = {text: await engine.run(text.format(dual.name), (), LIMITS) for text in CLOSED}
    assert [text for text, told in answers.items() if isinstance(told, QueryRows) or "hidden-7" in repr(told)] == []
    assert isinstance(await engine.run("SELECT 1 FROM dual", (), LIMITS), QueryRows)
