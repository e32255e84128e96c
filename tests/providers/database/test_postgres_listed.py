"""What a PostgreSQL source offers is what it answers: views through which a closed column might be read are neither."""

import secrets
from collections.abc import AsyncIterator

import pytest
from tests.providers.database.postgres_shop import Shop, make_shop

from pegboard.core.database import EVERYTHING, Access, Limits, NamePattern, Refused, Rows, name_pattern
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


FOREIGN = (
    "CREATE FOREIGN DATA WRAPPER nowhere",
    "CREATE SERVER far FOREIGN DATA WRAPPER nowhere",
    "CREATE FOREIGN TABLE elsewhere (id int) SERVER far",
    "CREATE VIEW lists_elsewhere AS SELECT id FROM elsewhere",
    "CREATE TABLE parts (id int) PARTITION BY LIST (id)",
    "CREATE FOREIGN TABLE parts_far PARTITION OF parts FOR VALUES IN (1) SERVER far",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC",
)
LIMITS = Limits(seconds=20)


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
        answers = {name: await engine.run(f"SELECT * FROM {name}", (), LIMITS) for name in ROWS | PLAIN}
        await engine.aclose()
        assert listed & (ROWS | PLAIN).keys() == wanted.keys()
        assert {name for name, told in answers.items() if isinstance(told, Rows)} == wanted.keys()
        assert ("people_rows" in listed) == (access is EVERYTHING)


@pytest.mark.behaviour("databases.offered_is_answered")
async def test_a_view_that_is_always_refused_is_not_offered(shop: Shop) -> None:
    await shop.outside("CREATE VIEW lists_wiped AS SELECT gone FROM calls_wipe")
    await shop.outside("GRANT SELECT ON lists_wiped TO PUBLIC")
    engine = postgresql_engine(shop.reader, EVERYTHING)
    schema = await engine.schema()
    answers = {
        table.name.table: await engine.run(f'SELECT 1 FROM "{table.name.schema}"."{table.name.table}"', (), LIMITS)
        for table in schema.tables
    }
    refused = await engine.run("SELECT * FROM lists_wiped", (), LIMITS)
    await engine.aclose()
    await shop.outside("DROP VIEW lists_wiped")
    assert answers.keys().isdisjoint({"calls_wipe", "lists_wiped", "catalogue_view"})
    assert {"orders", "order_totals", "secret_far", "people_rows"} <= answers.keys()
    assert {name: told for name, told in answers.items() if not isinstance(told, Rows)} == {}
    assert isinstance(refused, Refused)
    assert refused.why.startswith("The view 'public.calls_wipe' cannot be looked through: wipe() was defined")


@pytest.mark.behaviour("databases.offered_is_answered")
async def test_a_foreign_table_is_offered_where_its_operator_insists(postgres_server: str) -> None:
    own = await make_shop(postgres_server, f"own{secrets.token_hex(4)}")
    for line in FOREIGN:
        await own.outside(line)
    listed = []
    for forced in (False, True):
        engine = postgresql_engine(own.reader, EVERYTHING, forced=forced)
        listed.append({table.name.table for table in (await engine.schema()).tables})
        await engine.aclose()
    assert listed[1] - listed[0] == {"elsewhere", "lists_elsewhere", "parts"}
