"""Plans of MariaDB where a column is closed: they are told, and name no key over it."""

import pytest
from tests.providers.database.mysql_shop import Shop
from tests.providers.database.test_mysql_attacks import asked, closed

from pegboard.core.database import Answer
from pegboard.ports.databases import Refused, Rows

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def plan(told: Answer) -> list[tuple[object, ...]]:
    """Table, how it is read, keys that fit, the key, its length and what it is compared with."""
    assert isinstance(told, Rows), told
    names = [column.name for column in told.columns]
    wanted = [names.index(name) for name in ("table", "type", "possible_keys", "key", "key_len", "ref")]
    return [tuple(row[place] for place in wanted) for row in told.rows]


@pytest.mark.behaviour("databases.plans")
async def test_a_plan_is_told_of_a_table_with_a_closed_column_without_keys_over_it(mysql: Shop) -> None:
    mysql.outside("CREATE INDEX people_both ON people (city, ssn)", "CREATE INDEX people_city ON people (city)")
    mysql.outside("CREATE INDEX city_of_SSN ON people (city)")
    texts = [
        "EXPLAIN SELECT name FROM people p WHERE id = 1",
        "EXPLAIN SELECT count(*) FROM people",
        "EXPLAIN SELECT count(*) FROM people_fine",
        "EXPLAIN SELECT name FROM people WHERE city = 'Bonn'",
        "EXPLAIN SELECT p.name FROM people AS p JOIN orders o ON o.id = p.id",
    ]
    as_json = [
        "EXPLAIN FORMAT=JSON SELECT name FROM people WHERE id = 1",
        "EXPLAIN FORMAT=JSON SELECT count(*) FROM people",
    ]
    try:
        told = await asked(mysql, texts, closed(mysql))
        fine, shut = await asked(mysql, as_json, closed(mysql))
        whole = await asked(mysql, texts[1:2])
    finally:
        mysql.outside("DROP INDEX people_both ON people", "DROP INDEX people_city ON people")
        mysql.outside("DROP INDEX city_of_SSN ON people")
    assert plan(whole[0])[0][3] in ("people_ssn", "people_both", "people_city")
    assert plan(told[0]) == [("people", "const", "PRIMARY", "PRIMARY", "4", "const")]
    assert [plan(each)[0][0] for each in told] == ["people"] * 5
    assert not any(name in repr(each) for each in told for name in ("people_ssn", "people_both", "city_of_SSN"))
    possible = plan(told[3])[0][2]
    assert possible == "people_city"
    assert isinstance(fine, Rows)
    assert '"table_name": "people"' in str(fine.rows[0][0])
    if isinstance(shut, Rows):
        assert "ssn" not in repr(shut)
    else:
        assert shut == Refused("Such a plan is told as a table only.", "Leave FORMAT=JSON out.")
