"""What a PostgreSQL source does not do though nothing names it: call functions that people defined, tell of what is
closed by numbers and copies. Beside that, the words for what it cannot read."""

import secrets

import anyio
import asyncpg
import pytest
from tests.providers.database.postgres_shop import Shop, make_shop
from tests.providers.database.test_postgres_attacks import LIMITS, access, asked

from pegboard.core.database import EVERYTHING, Answer, Failed, Fault, Refused, Rows
from pegboard.providers.builtin.database.postgres import postgresql_engine
from pegboard.providers.builtin.database.postgres.connecting import _WHOLE_AS_TEXT

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOLD = """
CREATE FUNCTION told() RETURNS int LANGUAGE plpgsql SECURITY DEFINER IMMUTABLE AS
    $$BEGIN RAISE EXCEPTION 'leak %', (SELECT max(amount) FROM hr.pay); END$$;
"""
HIDDEN = """
CREATE TYPE feeling AS ENUM ('sad', 'ok');
CREATE FUNCTION of_feeling(feeling) RETURNS int LANGUAGE sql AS 'SELECT public.told()';
CREATE CAST (feeling AS int) WITH FUNCTION of_feeling(feeling) AS IMPLICIT;
CREATE TABLE feelings (id int, f feeling, fs feeling[]);
INSERT INTO feelings VALUES (1, 'ok', '{ok}');
CREATE VIEW felt AS SELECT id, f AS g FROM feelings;
CREATE TYPE shade AS ENUM ('light', 'dark');
CREATE FUNCTION of_shade(shade) RETURNS int LANGUAGE sql AS 'SELECT public.told()';
CREATE CAST (shade AS int) WITH FUNCTION of_shade(shade);
CREATE TABLE shades (id int, s shade);
INSERT INTO shades VALUES (1, 'dark');
CREATE FUNCTION to_shade(text) RETURNS shade LANGUAGE sql AS 'SELECT NULL::public.shade FROM public.told()';
CREATE CAST (text AS shade) WITH FUNCTION to_shade(text);
CREATE VIEW shaded AS SELECT s::int AS n FROM shades;
CREATE FUNCTION checked(text) RETURNS boolean LANGUAGE sql AS 'SELECT public.told() = 1';
CREATE FUNCTION same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.told() = 1';
CREATE OPERATOR ==== (LEFTARG = text, RIGHTARG = text, FUNCTION = same);
CREATE DOMAIN plain AS text;
CREATE TABLE notes (id int, d plain, ds plain[]);
INSERT INTO notes VALUES (1, 'x', '{x}');
CREATE TABLE names (id int, d plain);
INSERT INTO names VALUES (1, 'x');
CREATE TYPE pair AS (a plain);
CREATE TABLE pairs (id int, p pair);
INSERT INTO pairs VALUES (1, '(x)');
CREATE DOMAIN deeper AS plain;
CREATE DOMAIN doubly AS text CHECK (VALUE::plain IS NOT NULL);
CREATE DOMAIN paired AS pair;
CREATE DOMAIN signed AS text CHECK (VALUE ==== 'x');
CREATE TYPE span AS RANGE (SUBTYPE = plain);
ALTER DOMAIN plain ADD CHECK (checked(VALUE)) NOT VALID;
"""
SIGNED = """
CREATE TYPE spot AS ENUM ('here', 'there');
CREATE FUNCTION compared(spot, spot) RETURNS boolean LANGUAGE sql AS 'SELECT public.told() = 1';
CREATE OPERATOR = (LEFTARG = spot, RIGHTARG = spot, FUNCTION = compared);
CREATE OPERATOR >= (LEFTARG = spot, RIGHTARG = spot, FUNCTION = compared);
CREATE TABLE spots (id int, w spot);
INSERT INTO spots VALUES (1, 'here');
CREATE FUNCTION pg_catalog.in_disguise() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT public.told()';
"""

CASTS = [
    "SELECT f::int FROM feelings",
    "SELECT f + 1 FROM feelings",
    "SELECT sum(f) FROM feelings",
    "SELECT repeat('x', f) FROM feelings",
    "SELECT generate_series(1, f) FROM feelings",
    "SELECT id FROM feelings LIMIT (SELECT f FROM feelings)",
    "SELECT fs[1] + 1 FROM feelings",
    "SELECT g + 1 FROM felt",
    "SELECT 'ok'::feeling + 1",
    "SELECT feeling 'ok' + 1",
    "SELECT enum_first(NULL::feeling) + 1",
    'SELECT x.f + 1 FROM jsonb_populate_recordset(NULL::feelings, \'[{"f": "ok"}]\') x',
    "SELECT s::int FROM shades",
    "SELECT CAST(s AS int[]) FROM shades",
    "SELECT * FROM shaded",
    "SELECT city::shade FROM customers",
    "SELECT ARRAY[city]::shade[] FROM customers",
]
CHECKS = [
    "SELECT 'x'::plain",
    "SELECT '(x)'::pair",
    "SELECT ROW('x')::pair",
    "SELECT '{\"(x)\"}'::pair[]",
    'SELECT * FROM jsonb_to_record(\'{"a":{"a":"x"}}\') AS t(a pair)',
    'SELECT jsonb_populate_record(NULL::pair, \'{"a": "x"}\')',
    'SELECT jsonb_populate_record(p, \'{"a": "x"}\') FROM (SELECT p FROM pairs UNION ALL SELECT NULL) q',
    'SELECT jsonb_populate_record(n, \'{"d": "x"}\') FROM notes n',
    "SELECT 'x'::deeper",
    "SELECT '{x}'::plain[]",
    "SELECT '{x}'::deeper[]",
    "SELECT 'x'::doubly",
    "SELECT 'x'::signed",
    "SELECT '(x)'::paired",
    "SELECT '[x,y]'::span",
    "SELECT '{[x,y]}'::span_multirange",
    "SELECT n FROM names n UNION ALL SELECT '(1,x)'",
    "SELECT coalesce(n.*, '(1,x)') FROM names n",
    "SELECT ds || 'x' FROM notes",
    "SELECT ds = '{x}' FROM notes",
    "SELECT ARRAY[d] = '{x}' FROM names",
    "SELECT ARRAY(SELECT d FROM names) = '{x}'",
    "SELECT lag(d, 1, 'x') OVER () FROM names",
    "SELECT array_agg(d) = '{x}' FROM names",
    'SELECT * FROM json_to_recordset(\'[{"d": "x"}]\') AS t(d plain)',
]
SIGNS = [
    "SELECT w = 'here' FROM spots",
    "SELECT CASE w WHEN 'here' THEN 1 END FROM spots",
    "SELECT w BETWEEN 'here' AND 'there' FROM spots",
    "SELECT count(*) FROM spots a JOIN spots b USING (w)",
    "SELECT count(*) FROM spots a NATURAL JOIN spots b",
    "SELECT w IN (SELECT w FROM spots) FROM spots",
    "SELECT NULLIF(w, 'here') FROM spots",
    "SELECT w IS DISTINCT FROM 'here' FROM spots",
    "SELECT in_disguise()",
]
FINE = [
    "SELECT s FROM shades",
    "SELECT s, count(*) FROM shades GROUP BY s ORDER BY s",
    "SELECT id::int, city FROM customers WHERE city LIKE 'B%'",
    "SELECT d FROM names WHERE d = 'x'",
    "SELECT upper(d), coalesce(d, 'y') FROM names",
    "SELECT d FROM names UNION ALL SELECT 'y'",
    "SELECT CASE WHEN id = 1 THEN 'y' ELSE d END, greatest(d, 'y') FROM names",
    "SELECT * FROM names",
    "SELECT n.id, n.d FROM names n WHERE n.d IN ('x', 'y')",
    "SELECT 5::cents, 'good'::mood",
    "SELECT m, c FROM kinds WHERE m = 'good'",
    "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders) AND id BETWEEN 1 AND 5",
]


async def _shop(server: str, script: str) -> Shop:
    shop = await make_shop(server, f"hiding{secrets.token_hex(4)}")
    connection = await asyncpg.connect(shop.admin)
    try:
        await connection.execute(f"{TOLD}{script}GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC")
    finally:
        await connection.close()
    return shop


@pytest.fixture(scope="module")
def hiding(postgres_server: str) -> Shop:
    return anyio.run(_shop, postgres_server, HIDDEN)


def _through(roads: list[str], answers: list[Answer]) -> dict[str, Answer]:
    return {road: told for road, told in zip(roads, answers, strict=True) if not isinstance(told, Refused)}


@pytest.mark.behaviour("databases.postgres.unnamed_functions")
async def test_no_cast_and_no_check_calls_a_function_that_somebody_defined(hiding: Shop) -> None:
    roads = [*CASTS, *CHECKS]
    assert _through(roads, await asked(hiding, roads)) == {}


@pytest.mark.behaviour("databases.postgres.unnamed_functions")
async def test_no_sign_that_is_left_out_calls_a_function_that_somebody_defined(postgres_server: str) -> None:
    shop = await _shop(postgres_server, SIGNED)
    engine = postgresql_engine(shop.reader, EVERYTHING)
    try:
        with anyio.fail_after(100):
            assert _through(SIGNS, [await engine.run(road, (), LIMITS) for road in SIGNS]) == {}
            assert isinstance(await engine.run("SELECT w FROM spots", (), LIMITS), Rows)
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.postgres.unnamed_functions")
async def test_what_calls_no_such_function_is_answered_beside_them(hiding: Shop) -> None:
    answers = await asked(hiding, FINE)
    held = {road: told for road, told in zip(FINE, answers, strict=True) if not isinstance(told, Rows)}
    assert held == {}


INWARD = [
    "SELECT pg_input_is_valid('secret', 'regclass')",
    "SELECT pg_input_is_valid('(1,a)', 'secret')",
    "SELECT * FROM pg_input_error_info('(1)', 'secret')",
    "SELECT array_in('{1259}', 2205, -1)::text",
    "SELECT domain_in('x', 16438, -1) IS NULL",
    "SELECT record_in('(1,Zed,3)', 16397, -1)::text",
    "SELECT enum_in('x', 16397)::text",
    "SELECT range_in('[1,2]', 16397, -1)::text",
    "SELECT oidvectortypes('16397')",
    "SELECT satisfies_hash_partition(16397, 1, 0, 1)",
    "SELECT makeaclitem(10, 10, 'SELECT', false)::text",
    "SELECT acldefault('r', 10)::text",
    "SELECT 'x=r/postgres'::aclitem",
]


@pytest.mark.behaviour("databases.withheld")
async def test_no_function_tells_of_what_it_is_given_by_a_types_name_or_number(shop: Shop) -> None:
    assert _through(INWARD, await asked(shop, INWARD, access("public.secret"))) == {}


@pytest.mark.behaviour("databases.closed_columns")
async def test_a_column_that_is_computed_from_a_closed_one_is_closed_too(shop: Shop) -> None:
    rule = access("public.copied.ssn")
    copies = ["SELECT copy FROM copied", "SELECT c FROM copied_view", "SELECT max(c.copy) FROM copied c"]
    fine = ["SELECT * FROM copied", "SELECT * FROM copied_fine"]
    answers = await asked(shop, [*copies, *fine], rule)
    assert [told for told in answers[:3] if not isinstance(told, Failed)] == []
    assert [told.rows for told in answers[3:] if isinstance(told, Rows)] == [((1, "Bonn", "BONN"),), ((1, "BONN"),)]
    engine = postgresql_engine(shop.reader, rule)
    try:
        tables = {table.name.table: [one.name for one in table.columns] for table in (await engine.schema()).tables}
    finally:
        await engine.aclose()
    assert {name: found for name, found in tables.items() if name.startswith("copied")} == {
        "copied": ["id", "city", "place"],
        "copied_fine": ["id", "place"],
    }


@pytest.mark.behaviour("databases.engines_words")
async def test_a_type_that_the_driver_does_not_know_is_told_with_what_to_write_instead(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(_WHOLE_AS_TEXT, "anyarray")
    unread, cast, record = await asked(
        shop,
        [
            "SELECT * FROM pg_stats LIMIT 1",
            "SELECT most_common_vals::text FROM pg_stats WHERE tablename = 'customers' AND attname = 'id'",
            "SELECT ts_debug('x')",
        ],
    )
    words = "A column of the answer is of a type that cannot be read here. Name the columns, and cast it to text."
    assert unread == Failed(words, None, Fault.OTHER)
    assert isinstance(cast, Rows)
    assert cast.rows == ((None,),)
    assert isinstance(record, Rows)
    assert record.rows == (('(asciiword,"Word, all ASCII",x,{english_stem},english_stem,{x})',),)


@pytest.mark.behaviour("databases.engines_words")
async def test_parameters_in_another_dialect_are_answered_with_how_they_are_written_here(shop: Shop) -> None:
    engine = postgresql_engine(shop.reader, EVERYTHING)
    try:
        for sign, said in (("?", "end of input"), (":id", 'or near ":"'), ("%s", 'or near "%"')):
            told = await engine.run(f"SELECT * FROM orders WHERE id = {sign}", (1,), LIMITS)
            assert isinstance(told, Failed)
            assert told.words == f"syntax error at {said}. Write parameters as $1, $2, … in the statement."
    finally:
        await engine.aclose()
