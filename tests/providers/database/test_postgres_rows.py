"""Rows and ranges of a PostgreSQL source as values: they come as the server writes them."""

import secrets
from collections.abc import AsyncIterator

import pytest
from tests.providers.database.postgres_shop import Shop, make_shop
from tests.providers.database.test_postgres import LIMITS

from pegboard.core.databases.rows import QueryRows
from pegboard.core.model.databases import FULL_ACCESS
from pegboard.ports.databases import DatabaseEngine
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ODD = r"""
CREATE TYPE season AS RANGE (subtype = date);
CREATE DOMAIN priced AS orders;
CREATE TABLE odd (id int, "a ""b"" c" date, total numeric, said text, seen timestamptz[], f float8, raw bytea,
    yes bool[], open season, span int4range, doc jsonb, areas box[], far text[][], bare int[], day timestamp, o orders,
    os orders[]);
INSERT INTO odd SELECT 1, '0044-03-15 BC', 12345678901234567890.50, 'q"u\o,t(e) ''s''', '{2020-01-01 00:00:00+00,NULL}',
    'NaN', '\xde00ad', '{t,f,NULL}', '[2020-01-01,2020-02-01)', '[1,3)', '{"a": "b\"c"}', '{(1,1),(0,0);(2,2),(0,0)}',
    '{{a,"b,c"},{NULL,"NULL"}}', '[0:1]={7,8}', 'infinity', o, ARRAY[o, NULL] FROM orders o WHERE o.id = 1;
INSERT INTO odd (id, said, yes, open) VALUES (2, '', '{}', 'empty');
CREATE TABLE small (day date);
INSERT INTO small VALUES (NULL), ('2020-01-01');
CREATE TABLE nothing ();
INSERT INTO nothing DEFAULT VALUES;
GRANT SELECT ON odd, small, nothing TO PUBLIC;
GRANT INSERT, SELECT ON orders TO PUBLIC;
"""
ORDER = '(1,2,1.50,"note 1",2026-01-02)'


@pytest.fixture
async def odd(postgres_server: str) -> AsyncIterator[tuple[Shop, DatabaseEngine]]:
    own = await make_shop(postgres_server, f"odd{secrets.token_hex(4)}")
    for statement in ODD.split(";\n"):
        if statement.strip():
            await own.outside(statement)
    engine = PostgresEngine(own.reader, FULL_ACCESS, writes=True)
    yield own, engine
    await engine.aclose()


async def told(engine: DatabaseEngine, statement: str, *parameters: str) -> tuple[tuple[object, ...], ...]:
    answer = await engine.run(statement, list(parameters), LIMITS)
    assert isinstance(answer, QueryRows), answer
    return answer.rows


@pytest.mark.behaviour("databases.values")
async def test_rows_come_as_the_server_writes_them_alone_in_arrays_and_in_domains(
    odd: tuple[Shop, DatabaseEngine],
) -> None:
    _, engine = odd
    whole = await engine.run("SELECT odd, odd::text FROM odd ORDER BY id", (), LIMITS)
    alone = await engine.run("SELECT * FROM odd ORDER BY id", (), LIMITS)
    assert isinstance(whole, QueryRows)
    assert isinstance(alone, QueryRows)
    assert [row[0] for row in whole.rows] == [row[1] for row in whole.rows]
    assert [(field.name, field.type) for field in whole.columns] == [("odd", "odd"), ("odd_2", "text")]
    assert [field.name for field in alone.columns][1] == 'a "b" c'
    assert alone.rows[0][-2:] == (ORDER, [ORDER, None])
    assert alone.rows[0][8:10] == ("[2020-01-01,2020-02-01)", "[1,3)")
    assert await told(engine, "SELECT array_agg(o ORDER BY id) FROM orders o WHERE id < 2") == (([ORDER],),)
    assert await told(engine, "SELECT o::priced FROM orders o WHERE id = 1") == ((ORDER,),)
    assert await told(engine, "SELECT s FROM small s ORDER BY 1") == (("(2020-01-01)",), ("()",))
    assert await told(engine, "SELECT n FROM nothing n") == (("()",),)
    assert await told(engine, "SELECT ROW(o, date '2020-01-01') FROM orders o WHERE id = 1") == (
        ('("(1,2,1.50,""note 1"",2026-01-02)",2020-01-01)',),
    )
    assert await told(engine, "SELECT ($1::orders).made_on, $2::season", "(1,2,3,4,2020-01-01)", "empty") == (
        ("2020-01-01", "empty"),
    )


@pytest.mark.behaviour("databases.values", "databases.writes_are_opted_in")
async def test_a_row_that_was_just_written_is_told(odd: tuple[Shop, DatabaseEngine]) -> None:
    own, engine = odd
    statement = "INSERT INTO orders VALUES (9001, 1, 2.5, NULL, '2026-05-05') RETURNING orders"
    answer = await engine.run(statement, (), LIMITS, write=True)
    assert isinstance(answer, QueryRows)
    assert answer.rows == (("(9001,1,2.50,,2026-05-05)",),)
    assert len(await own.outside("SELECT FROM orders WHERE id = 9001")) == 1


@pytest.mark.behaviour("databases.values", "databases.postgres.changes_are_seen")
async def test_a_row_whose_table_changed_has_the_columns_of_now(odd: tuple[Shop, DatabaseEngine]) -> None:
    own, engine = odd
    before = await told(engine, "SELECT s FROM small s WHERE day IS NOT NULL")
    await own.outside("ALTER TABLE small RENAME day TO date")
    await own.outside("ALTER TABLE small ADD number int DEFAULT 5")
    after = await told(engine, "SELECT s FROM small s WHERE date IS NOT NULL")
    assert (before, after) == ((("(2020-01-01)",),), (("(2020-01-01,5)",),))
