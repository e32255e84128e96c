"""What a PostgreSQL source offers is what it answers: views through which a closed column might be read are neither."""

from collections.abc import AsyncIterator

import pytest
from tests.providers.database.postgres_shop import Shop

from pegboard.core.database import EVERYTHING, Access, Limits, NamePattern, Rows, name_pattern
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROWS = {
    "lists_json": "SELECT to_jsonb(p) - 'ssn' AS j FROM people p",
    "lists_far": "SELECT j FROM lists_json",
    "lists_row": "SELECT p AS r FROM people p",
    "lists_text": "SELECT p::text AS t FROM people p",
}
PLAIN = {
    "lists_names": "SELECT id, name FROM people",
    "lists_count": "SELECT count(*) AS n FROM people",
    "lists_orders": "SELECT * FROM orders",
}


@pytest.fixture
async def views(shop: Shop) -> AsyncIterator[Shop]:
    for name, text in (ROWS | PLAIN).items():
        await shop.outside(f"CREATE VIEW {name} AS {text}")
        await shop.outside(f"GRANT SELECT ON {name} TO PUBLIC")
    yield shop
    await shop.outside(f"DROP VIEW {', '.join(ROWS | PLAIN)}")


@pytest.mark.behaviour("databases.withheld")
async def test_a_view_that_takes_whole_rows_is_offered_where_it_is_answered_and_nowhere_else(views: Shop) -> None:
    pattern = name_pattern("public.people.ssn")
    assert isinstance(pattern, NamePattern)
    for access, wanted in ((EVERYTHING, ROWS | PLAIN), (Access(deny=(pattern,)), PLAIN)):
        engine = postgresql_engine(views.reader, access)
        listed = {table.name.table for table in (await engine.schema()).tables}
        answers = {name: await engine.run(f"SELECT * FROM {name}", (), Limits(seconds=20)) for name in ROWS | PLAIN}
        await engine.aclose()
        assert listed & (ROWS | PLAIN).keys() == wanted.keys()
        assert {name for name, told in answers.items() if isinstance(told, Rows)} == wanted.keys()
        assert ("people_rows" in listed) == (access is EVERYTHING)
