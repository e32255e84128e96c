"""What a PostgreSQL source withstands, by the state of the database afterwards and not by the refusal alone."""

import secrets
from dataclasses import replace

import anyio
import pytest
from tests.providers.database.corpus import corpus, held
from tests.providers.database.postgres_attacks import BENIGN, FUNCTIONS, OPEN, ROADS, WRITES
from tests.providers.database.postgres_shop import SHUT, Shop, access, make_shop

from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, QueryLimits
from pegboard.providers.database.common import NEEDS_WRITE
from pegboard.providers.database.postgres import engine as postgres
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=3)


async def asked(shop: Shop, statements: list[str], rule: DatabaseAccess = FULL_ACCESS) -> list[QueryAnswer]:
    engine = PostgresEngine(shop.reader if rule.is_unrestricted else shop.narrow, rule)
    try:
        with anyio.fail_after(100):
            answers = [await engine.run(statement, (), LIMITS) for statement in statements]
            # Whoever cannot be reached withstands everything.
            control = await engine.run("SELECT count(*) FROM orders", (), LIMITS)
            assert isinstance(control, QueryRows)
            assert control.rows == ((400,),)
            return answers
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.postgres.only_queries")
async def test_whatever_writes_waits_or_reads_files_is_refused_and_changes_nothing(shop: Shop) -> None:
    before = await shop.state()
    for rule in (FULL_ACCESS, SHUT):
        answers = await asked(shop, [*WRITES, *FUNCTIONS], rule)
        through = [
            text for text, told in zip((*WRITES, *FUNCTIONS), answers, strict=True) if isinstance(told, QueryRows)
        ]
        assert through == []
    assert await shop.state() == before


@pytest.mark.behaviour("databases.postgres.file_of_attacks")
async def test_every_attack_of_the_file_is_held_and_every_benign_statement_answered(shop: Shop) -> None:
    cases = [case for case in corpus() if case["dialect"] == "postgres"]
    before = await shop.state()
    answers = await asked(shop, [case["sql"] for case in cases])
    assert await shop.state() == before
    assert [
        (case["id"], told) for case, told in zip(cases, answers, strict=True) if not held(case["expect"], told)
    ] == []


@pytest.mark.behaviour("databases.benign")
async def test_what_people_ask_is_answered_also_where_something_is_closed(shop: Shop) -> None:
    for rule, texts in ((FULL_ACCESS, [*BENIGN, *OPEN]), (SHUT, list(BENIGN))):
        answers = await asked(shop, texts, rule)
        assert [
            (text, told) for text, told in zip(texts, answers, strict=True) if not isinstance(told, QueryRows)
        ] == []


@pytest.mark.behaviour("databases.withheld")
async def test_a_closed_table_is_answered_by_every_road_like_one_that_is_not_there(shop: Shop) -> None:
    there = await asked(shop, [road.format("secret") for road in ROADS], SHUT)
    nowhere = await asked(shop, [road.format("zebras") for road in ROADS], SHUT)
    told = [_same(answer, "secret") for answer in there]
    assert told == [_same(answer, "zebras") for answer in nowhere]
    assert not any("xyzzy" in repr(answer) for answer in there)


def _same(answer: QueryAnswer, name: str) -> object:
    if isinstance(answer, QueryRows):
        answer = replace(answer, seconds=0.0)
    return repr(answer).replace(name, "NAME")


@pytest.mark.behaviour("databases.withheld")
async def test_views_partitions_and_functions_lead_to_nothing_closed(shop: Shop) -> None:
    roads = [
        "SELECT * FROM secret_view",
        "SELECT * FROM secret_far",
        "SELECT * FROM secret_kept",
        "SELECT * FROM people_rows",
        "SELECT * FROM people_ssns",
        "SELECT * FROM ledger",
        "SELECT * FROM ledger_shut",
        "SELECT * FROM vault_child",
        "SELECT * FROM vault",
        "SELECT * FROM hr.pay",
        "SELECT * FROM counter",
        "SELECT * FROM secret_pkey",
        "SELECT * FROM catalogue_view",
        "SELECT * FROM peek()",
        "SELECT leak_of('')",
        "SELECT o.leak FROM orders o",
    ]
    answers = await asked(shop, roads, SHUT)
    assert [road for road, told in zip(roads, answers, strict=True) if isinstance(told, QueryRows)] == []
    for name in ("secret_view", "people_ssns", "people_fine", "ledger", "vault_child", "counter", "hr.pay"):
        (told,) = await asked(shop, [f"SELECT * FROM {name}"], SHUT)
        assert told == StatementFailure(
            f'relation "{name}" does not exist (or cannot be read)', 14, StatementFault.NO_TABLE, name
        )
    (fine,) = await asked(shop, ["SELECT name, city FROM people ORDER BY 1"], SHUT)
    assert isinstance(fine, QueryRows)
    assert fine.rows == (("Ann", "Bonn"), ("Bob", "Köln"), ("Cid", "Ulm"))


@pytest.mark.behaviour("databases.closed_columns")
async def test_a_closed_column_is_answered_by_the_server_as_one_that_does_not_exist(shop: Shop) -> None:
    stars = [
        "SELECT * FROM people ORDER BY id",
        "TABLE people",
        "SELECT p.* FROM people p",
        "SELECT to_jsonb(people) FROM people",
        "SELECT p FROM people p",
        "SELECT p::text FROM people p",
        "SELECT json_agg(people.*) FROM public.people",
    ]
    said = "Something that the statement names does not exist or cannot be read, and * means every column"
    answers = await asked(shop, stars, SHUT)
    assert {answer.message for answer in answers if isinstance(answer, StatementFailure)} == {
        f"{said}; people has id, name, city"
    }
    assert [answer for answer in answers if isinstance(answer, QueryRows)] == []
    closed = [
        "SELECT ssn FROM people",
        "SELECT people.ssn FROM people",
        "SELECT name FROM people WHERE ssn LIKE '1%'",
        "SELECT name FROM people ORDER BY ssn",
        "SELECT CASE WHEN ssn LIKE '1%' THEN 1/0 END FROM people",
        "SELECT count(*) FROM people JOIN people q USING (ssn)",
        "SELECT (p).ssn FROM people p",
        "SELECT ssn(p) FROM people p",
        "SELECT ssn FROM vips",
        "SELECT max(ssn) FROM ONLY people",
        "SELECT p.a, p.c FROM people p(a, b, c, d)",
        "SELECT (NULL::people).ssn",
        "SELECT $1::int, ssn FROM people",
        "SELECT ssn FROM people, orders o, orders q WHERE id = 1",
        "EXPLAIN SELECT ssn FROM people",
        "SELECT ssn FROM people, generate_series(1, 2)",
        "WITH people AS (SELECT ssn FROM people) SELECT * FROM people",
        "SELECT nme, ssn FROM people",
        "SELECT ssn, nme FROM people",
        'SELECT p."ssn" FROM people p, orders o WHERE o.note = 5',
        "SELECT * FROM ssn.ssn",
    ]
    other = [road.replace("ssn", "sns") for road in closed]
    there, nowhere = await asked(shop, closed, SHUT), await asked(shop, other, SHUT)
    assert [road for road, told in zip(closed, there, strict=True) if isinstance(told, QueryRows)] == []
    assert [repr(told) for told in there] == [repr(told).replace("sns", "ssn") for told in nowhere]
    (later,) = await asked(
        shop, ["SELECT 'é', ssn, p.nme /* ssn */ FROM people p WHERE p.ssn = 'x' AND p.ssn > p.nme"], SHUT
    )
    assert isinstance(later, StatementFailure)
    assert (later.position, later.name) == (12, "ssn")
    (later,) = await asked(shop, ["SELECT max(name) AS ssn, 'ssn' FROM people p ORDER BY p.nme"], SHUT)
    assert isinstance(later, StatementFailure)
    assert (later.position, later.name) == (54, "p.nme")
    counted = [
        "SELECT * FROM people UNION SELECT 1",
        "SELECT * FROM people UNION SELECT 1, 2, 3, 4",
        "SELECT * FROM people ORDER BY 5",
        "SELECT p = ROW(1, 2) FROM people p",
    ]
    counted += [f"SELECT U&\"!00{letters}\" UESCAPE '!' FROM people" for letters in ("73sn", "73ns")]
    assert {repr(told) for told in await asked(shop, counted, SHUT)} == {repr(answers[0])}
    said = 'column "ssn" does not exist (or cannot be read); people has id, name, city'
    assert there[0] == StatementFailure(said, 7, StatementFault.NO_COLUMN, "ssn")


@pytest.mark.behaviour("databases.benign", "databases.closed_columns")
async def test_a_name_that_is_closed_may_be_given_to_something_else(shop: Shop) -> None:
    fine, alias, table, *failed = await asked(
        shop,
        [
            'SELECT p."name" FROM public."people" AS p WHERE p."city" = \'Bonn\'',
            "SELECT max(name) AS ssn FROM people",
            "WITH secret AS (SELECT 1 AS a) SELECT * FROM secret",
            "SELECT name, 1/0 AS ssn FROM people",
            "WITH total AS (SELECT 1 AS a) SELECT o.total / 0 FROM orders o, total",
        ],
        SHUT,
    )
    assert [told.rows for told in (fine, alias, table) if isinstance(told, QueryRows)] == [
        (("Ann",),),
        (("Cid",),),
        ((1,),),
    ]
    assert failed == [StatementFailure("division by zero")] * 2


@pytest.mark.behaviour("databases.catalogue_is_narrowed")
async def test_what_the_catalog_lists_is_what_the_login_may_read(shop: Shop) -> None:
    tables, columns, *refused = await asked(
        shop,
        [
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
            "SELECT column_name FROM information_schema.columns c WHERE c.table_name = 'people' ORDER BY 1",
            "SELECT relname FROM pg_class",
            "SELECT tablename FROM pg_catalog.pg_tables",
            "SELECT udt_name FROM information_schema.attributes",
        ],
        SHUT,
    )
    assert isinstance(tables, QueryRows)
    assert isinstance(columns, QueryRows)
    names = {row[0] for row in tables.rows}
    assert {"orders", "customers", "people", "order_totals"} <= names
    assert names.isdisjoint(
        {"secret", "secret_view", "secret_far", "secret_kept", "people_ssns", "ledger", "vault_child"}
    )
    assert columns.rows == (("city",), ("id",), ("name",))
    assert [type(told) for told in refused] == [StatementRefusal] * 3


@pytest.mark.behaviour("databases.explained")
async def test_a_plan_is_answered_unless_it_names_something_closed(shop: Shop) -> None:
    lines = (
        "EXPLAIN (COSTS OFF) SELECT name FROM people WHERE city = 'Bonn'",
        "/* ( é ) */ EXPLAIN (VERBOSE, FORMAT JSON) SELECT id FROM orders WHERE id = 7",
        "EXPLAIN (COSTS OFF) SELECT * FROM secrets_counted",
        "EXPLAIN SELECT 1 FROM information_schema.columns WHERE column_name = 'word'",
        "EXPLAIN ANALYZE SELECT name FROM people",
        "EXPLAIN DELETE FROM people",
    )
    await shop.outside("CREATE VIEW secrets_counted AS SELECT count(word) FROM secret")
    # As it is while the view is named in `allow`, or before the next check.
    await shop.outside("GRANT SELECT ON secrets_counted TO PUBLIC")
    try:
        fine, other, absent, *refused = await asked(shop, list(lines), SHUT)
    finally:
        await shop.outside("DROP VIEW secrets_counted")
    assert isinstance(fine, QueryRows)
    assert isinstance(other, QueryRows)
    words = 'relation "secrets_counted" does not exist (or cannot be read)'
    assert absent == StatementFailure(words, 34, StatementFault.NO_TABLE, "secrets_counted")
    assert [told.fix for told in refused if isinstance(told, StatementRefusal)] == [
        "Run the query itself.",
        "Leave ANALYZE out.",
        "Give EXPLAIN a SELECT.",
    ]


@pytest.mark.behaviour("databases.postgres.only_queries")
async def test_a_superuser_that_its_operator_insists_on_only_reads(shop: Shop) -> None:
    before = await shop.state()
    forced = PostgresEngine(shop.admin, FULL_ACCESS)
    try:
        answers = [await forced.run(text, (), LIMITS) for text in ("SELECT 1", *WRITES, *FUNCTIONS)]
    finally:
        await forced.aclose()
    assert [isinstance(told, QueryRows) for told in answers] == [True, *[False] * (len(answers) - 1)]
    assert await shop.state() == before


FOUND = """
CREATE TABLE "Ärzte" (id int); CREATE TABLE straße (id int, "Öffnung" text); CREATE TABLE noted (id serial, word text);
CREATE TABLE kept (id serial PRIMARY KEY); CREATE TABLE kept_for (id int REFERENCES kept);
CREATE TABLE policed (id int, holder text); ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON policed USING (holder = 'me');
GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO PUBLIC
"""


@pytest.mark.behaviour("databases.withheld", "databases.closed_columns", "databases.explained")
async def test_what_the_server_does_not_check_tells_nothing_of_what_is_closed(postgres_server: str) -> None:
    own = await make_shop(postgres_server, f"found{secrets.token_hex(4)}")
    await own.outside_all(FOUND)
    rule = access("public.secret", "people.ssn", "public.Ärzte", "straße.Öffnung", "public.kept", "public.staf")
    engine = PostgresEngine(await own.login("found", rule, writes=True), rule, writes=True)
    # The server checks no privileges for parts that need not run, and makes only ASCII letters small.
    roads = [
        "WITH q AS (SELECT word FROM {0}) SELECT 1",
        "WITH {0} AS (SELECT word FROM {0}) SELECT 1",
        "SELECT CASE WHEN true THEN 1 ELSE (SELECT id FROM {0} LIMIT 1) END",
        "SELECT 1 WHERE true OR EXISTS (SELECT FROM {0} WHERE word = 'x')",
        "EXPLAIN WITH q AS (SELECT * FROM {0}) SELECT 1",
        "SELECT last_value FROM {0}_id_seq",
        "WITH q AS (SELECT {1} FROM people) SELECT 1",
        "SELECT (o).pg_typeof FROM orders o UNION SELECT '{0}'",
        "SELECT o.pg_typeof::text FROM orders o",
        "SELECT * FROM {2}",
        "SELECT {3} FROM straße",
    ]
    there, nowhere = ("secret", "ssn", "Ärzte", "Öffnung"), ("zecret", "sns", "Ötzte", "Öffnunk")
    fine = [
        "WITH total AS (SELECT sum(total) AS a FROM orders) SELECT a FROM total, people LIMIT 1",
        "WITH note AS (SELECT 1 AS a) SELECT note FROM orders, note LIMIT 1",
        "WITH secret AS (SELECT 1 AS secret) SELECT secret FROM secret",
        "SELECT count(*) AS ssn, date '2020-01-01', to_tsvector('english'::regconfig, 'a') FROM people ORDER BY ssn",
    ]
    about_others = ["SELECT * FROM information_schema.referential_constraints", "SELECT * FROM noted_id_seq"]
    try:
        findings = (await engine.check()).findings
        answers = {
            name: [await engine.run(road.format(*name), (), LIMITS) for road in roads] for name in (there, nowhere)
        }
        answered = [await engine.run(text, (), LIMITS) for text in (*fine, "INSERT INTO noted (word) VALUES ('x')")]
        refused = [await engine.run(text, (), LIMITS) for text in about_others]
        names = await engine.run("SELECT sequence_name FROM information_schema.sequences", (), LIMITS)
    finally:
        await engine.aclose()
    plain = PostgresEngine(await own.login("plain", access()), access())
    plan = await plain.run("EXPLAIN SELECT id FROM policed WHERE holder = 'you'", (), LIMITS)
    await plain.aclose()
    shown = [repr(told) for told in answers[there]]
    for name, other in zip(there, nowhere, strict=True):
        shown = [text.replace(name, other) for text in shown]
    assert shown == [repr(told) for told in answers[nowhere]]
    assert [told for told in answers[there] if isinstance(told, QueryRows)] == []
    assert [type(told) for told in answered] == [*[QueryRows] * 4, StatementRefusal]
    assert answered[4] == NEEDS_WRITE
    assert [told for told in refused if isinstance(told, QueryRows)] == []
    assert isinstance(names, QueryRows)
    assert names.rows == (("noted_id_seq",),)
    assert [each.message for each in findings] == [
        "The pattern 'public.staf' of deny fits no table and no column. Check how it is spelt."
    ]
    # A policy hides rows that an estimate would count, also where nothing is closed.
    assert isinstance(plan, StatementRefusal)


@pytest.mark.behaviour("databases.capped")
async def test_arrays_are_capped_before_the_gateway_waits_for_them_and_names_are_made_unique_in_time(
    shop: Shop,
) -> None:
    texts = [
        "SELECT array_agg(x) FROM generate_series(1, 4000000) x",
        "SELECT array_agg(x) FROM generate_series(1, 900) x",
    ]
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    many, few = [await engine.run(text, (), QueryLimits(seconds=60)) for text in texts]
    await engine.aclose()
    assert many == StatementFailure("A row of the answer is larger than 4 MB.", None, StatementFault.MEMORY)
    assert isinstance(few, QueryRows)
    assert len(str(few.rows[0][0])) > 1900


@pytest.mark.behaviour("databases.cancel_reaches_the_server")
async def test_a_source_whose_statements_do_not_stop_begins_no_more_of_them(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_GRACE_S", 0.5)
    engine = PostgresEngine(shop.reader, FULL_ACCESS)
    endless = "SELECT strpos(repeat('a', 400000), 'b' || repeat('a', 200000))"
    try:
        stuck = [await engine.run(endless, (), QueryLimits(seconds=0.5)) for _ in range(2)]
        again = PostgresEngine(shop.reader, FULL_ACCESS)
        refused = await again.run("SELECT 1", (), LIMITS)
        await again.aclose()
        with anyio.fail_after(100):
            while not isinstance(ended := await engine.run("SELECT 1", (), LIMITS), QueryRows):
                await shop.outside("SELECT pg_sleep(0.2)")
    finally:
        await engine.aclose()
    assert [each.fault for each in stuck if isinstance(each, StatementFailure)] == [StatementFault.TIME] * 2
    assert isinstance(refused, StatementFailure)
    assert "the server does not stop" in refused.message
    assert isinstance(ended, QueryRows)
