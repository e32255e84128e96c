"""What a PostgreSQL can show beside its tables: plans, functions that need no privilege, tables that are made later."""

import secrets

import anyio
import pytest
from tests.providers.database.postgres_shop import Shop, access, make_shop

from pegboard.core.database import QueryLimits, QueryRows, StatementRefusal
from pegboard.providers.builtin.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)


@pytest.fixture(scope="module")
def own(postgres_server: str) -> Shop:
    return anyio.run(make_shop, postgres_server, f"hidden{secrets.token_hex(4)}")


PLANS = """
CREATE VIEW named AS SELECT id, name FROM people WHERE ssn <> '987-65-4321';
CREATE VIEW over_named AS SELECT name FROM named;
CREATE TABLE policed (id int, holder text);
ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY only_mine ON policed USING (holder <> '987-65-4321');
CREATE VIEW policed_view WITH (security_invoker) AS SELECT id FROM policed;
CREATE VIEW order_notes AS SELECT note FROM orders WHERE id > 3;
CREATE MATERIALIZED VIEW order_kept AS SELECT note FROM orders WHERE id > 3;
"""


@pytest.mark.behaviour("databases.explained")
async def test_no_plan_shows_the_condition_of_a_view_or_a_policy_over_what_is_closed(own: Shop) -> None:
    rule = access("people.ssn", "hr.*", allow=("*", "public.named", "public.over_named"))
    await own.outside_all(PLANS)
    engine = PostgresEngine(await own.login("plans", rule), rule)
    hiding = (
        "EXPLAIN SELECT id AS ssn FROM named",
        "EXPLAIN SELECT /* ssn */ id FROM public.named n WHERE n.id = 1",
        "EXPLAIN (VERBOSE) SELECT id FROM named UNION SELECT 1",
        "EXPLAIN SELECT name FROM over_named",
        "EXPLAIN SELECT 1 FROM (WITH named AS (SELECT 1) SELECT * FROM named) a, named b",
        "EXPLAIN SELECT holder FROM policed",
        "EXPLAIN SELECT id FROM policed_view",
    )
    shown = (
        "EXPLAIN SELECT name FROM people WHERE city = 'Bonn'",
        "EXPLAIN SELECT note FROM order_notes o JOIN public.orders USING (note)",
        "EXPLAIN WITH a AS (SELECT 1 AS x) SELECT x FROM a, order_kept",
    )
    try:
        assert (await engine.check()).findings == ()
        answers = {text: await engine.run(text, (), LIMITS) for text in (*hiding, *shown)}
        rows = await engine.run("SELECT id FROM named", (), LIMITS)
    finally:
        await engine.aclose()
        await own.outside_all("DROP TABLE policed CASCADE; DROP VIEW named CASCADE; DROP VIEW order_notes")
        await own.outside_all("DROP MATERIALIZED VIEW order_kept")
    assert isinstance(rows, QueryRows)
    assert {text for text, answer in answers.items() if isinstance(answer, StatementRefusal)} == {*hiding}
    assert {text for text, answer in answers.items() if isinstance(answer, QueryRows)} == {*shown}
