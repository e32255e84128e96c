"""What a change in MariaDB gives back: as much of it is told as the limits let, and the change is made whole."""

from collections.abc import Iterator

import pytest
from tests.providers.database.mysql_shop import Shop

from pegboard.core.databases.rows import QueryRows, ResultTruncation
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.providers.database.mysql.engine import MysqlEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MADE = "INSERT INTO jotted (note) SELECT 'abc' FROM seq_1_to_90 RETURNING id, repeat(note, 70) AS note"


@pytest.fixture
def clerk(mysql: Shop) -> Iterator[str]:
    """The URL of a user that may change one table, which is empty."""
    name = f"'jots_{mysql.name}'@'localhost'"
    mysql.outside(
        "CREATE TABLE jotted (id int PRIMARY KEY AUTO_INCREMENT, note varchar(20))",
        f"CREATE USER {name} IDENTIFIED BY 'writes'",
        f"GRANT SELECT ON {mysql.name}.* TO {name}",
        f"GRANT INSERT, UPDATE, DELETE ON {mysql.name}.jotted TO {name}",
    )
    role = mysql.reader.split("//")[1].split("@")[0]
    yield mysql.reader.replace(role, f"jots_{mysql.name}:writes")
    mysql.outside("DROP TABLE jotted", f"DROP USER {name}")


def closing(*patterns: str) -> DatabaseAccess:
    return DatabaseAccess(deny=tuple(one for one in map(parse_name_pattern, patterns) if isinstance(one, NamePattern)))


@pytest.mark.behaviour("databases.capped", "databases.writes_are_opted_in")
@pytest.mark.parametrize(
    ("limits", "kept", "by"),
    [
        pytest.param(QueryLimits(seconds=20, rows=3), 3, "rows", id="far more rows"),
        pytest.param(QueryLimits(seconds=20, rows=89), 89, "rows", id="one row more"),
        pytest.param(QueryLimits(seconds=20, rows=90), 90, None, id="as many rows"),
        pytest.param(QueryLimits(seconds=20, rows=100, bytes=1000), 4, "bytes", id="more bytes"),
    ],
)
@pytest.mark.parametrize("rule", [FULL_ACCESS, closing("secret")], ids=["whole", "closed"])
async def test_a_change_that_gives_back_more_than_is_told_is_made_and_told_with_its_count(
    mysql: Shop, clerk: str, rule: DatabaseAccess, limits: QueryLimits, kept: int, by: str | None
) -> None:
    engine = MysqlEngine(clerk, rule, writes=True)
    made = await engine.run(MADE, (), limits, write=True)
    counted = mysql.outside("SELECT count(*) FROM jotted")
    gone = await engine.run("DELETE FROM jotted RETURNING id, repeat(note, 70) AS note", (), limits, write=True)
    after = await engine.run("SELECT count(*) FROM jotted", (), limits)
    await engine.aclose()
    assert isinstance(made, QueryRows), made
    assert isinstance(gone, QueryRows), gone
    cut = ResultTruncation(True, by, ()) if by else None
    assert [(len(one.rows), one.truncation, one.affected_rows) for one in (made, gone)] == [(kept, cut, 90)] * 2
    assert [*counted] == [(90,)]
    assert isinstance(after, QueryRows)
    assert after.rows == ((0,),)
