"""What a PostgreSQL source withstands, by the state of the database afterwards and not by the refusal alone."""

from dataclasses import replace

import anyio
import pytest
from tests.providers.database.corpus import corpus, held
from tests.providers.database.postgres_attacks import BENIGN, FUNCTIONS, OPEN, ROADS, WRITES
from tests.providers.database.postgres_shop import Shop

from pegboard.core.database import (
    EVERYTHING,
    Access,
    Answer,
    Failed,
    Fault,
    Limits,
    NamePattern,
    Refused,
    Rows,
    Severity,
    name_pattern,
)
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = Limits(seconds=3)


def access(*deny: str) -> Access:
    patterns = tuple(pattern for text in deny if isinstance(pattern := name_pattern(text), NamePattern))
    return Access(deny=patterns)


CLOSED = access("public.secret", "hr.*", "public.people.ssn", "public.ledger_shut", "public.vault")


async def asked(shop: Shop, statements: list[str], rule: Access = EVERYTHING) -> list[Answer]:
    engine = postgresql_engine(shop.reader, rule)
    try:
        with anyio.fail_after(100):
            answers = [await engine.run(statement, (), LIMITS) for statement in statements]
            # Whoever cannot be reached withstands everything.
            control = await engine.run("SELECT count(*) FROM orders", (), LIMITS)
            assert isinstance(control, Rows)
            assert control.rows == ((400,),)
            return answers
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.postgres.only_queries")
async def test_whatever_writes_waits_or_reads_files_is_refused_and_changes_nothing(shop: Shop) -> None:
    before = await shop.state()
    for rule in (EVERYTHING, CLOSED):
        answers = await asked(shop, [*WRITES, *FUNCTIONS], rule)
        through = [text for text, told in zip((*WRITES, *FUNCTIONS), answers, strict=True) if isinstance(told, Rows)]
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
    for rule, texts in ((EVERYTHING, [*BENIGN, *OPEN]), (CLOSED, list(BENIGN))):
        answers = await asked(shop, texts, rule)
        assert [(text, told) for text, told in zip(texts, answers, strict=True) if not isinstance(told, Rows)] == []


@pytest.mark.behaviour("databases.withheld")
async def test_a_closed_table_is_answered_by_every_road_like_one_that_is_not_there(shop: Shop) -> None:
    there = await asked(shop, [road.format("secret") for road in ROADS], CLOSED)
    nowhere = await asked(shop, [road.format("zebras") for road in ROADS], CLOSED)
    told = [_same(answer, "secret") for answer in there]
    assert told == [_same(answer, "zebras") for answer in nowhere]
    assert not any("xyzzy" in repr(answer) for answer in there)


def _same(answer: Answer, name: str) -> object:
    if isinstance(answer, Rows):
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
    answers = await asked(shop, roads, CLOSED)
    assert [road for road, told in zip(roads, answers, strict=True) if isinstance(told, Rows)] == []
    for name in ("secret_view", "people_ssns", "ledger", "vault_child", "counter", "hr.pay"):
        (told,) = await asked(shop, [f"SELECT * FROM {name}"], CLOSED)
        assert told == replace(_missing(name), position=14)
    (fine,) = await asked(shop, ["SELECT name, city FROM people_fine ORDER BY 1"], CLOSED)
    assert isinstance(fine, Rows)
    assert fine.rows == (("Ann", "Bonn"), ("Bob", "Köln"), ("Cid", "Ulm"))


def _missing(name: str) -> Failed:
    return Failed(f'relation "{name}" does not exist', None, Fault.NO_TABLE, name)


@pytest.mark.behaviour("databases.closed_columns")
async def test_a_closed_column_is_in_no_star_no_row_no_join_and_no_message(shop: Shop) -> None:
    stars = [
        "SELECT * FROM people ORDER BY id",
        "TABLE people",
        "SELECT p.* FROM people p ORDER BY id",
        "SELECT to_jsonb(people) FROM people",
        "SELECT row_to_json(p) FROM people p",
        "SELECT p FROM people p",
        "SELECT (p).* FROM people p",
        "SELECT * FROM people NATURAL JOIN (VALUES ('123-45-6789')) v(ssn)",
        "SELECT json_agg(people.*) FROM public.people",
        "SELECT * FROM vips",
        "SELECT p::text FROM people p",
    ]
    for road, told in zip(stars, await asked(shop, stars, CLOSED), strict=True):
        assert isinstance(told, Rows), (road, told)
        assert (
            "123-45" not in repr(told.rows).replace("('123-45-6789'", "").replace("'123-45-6789')", "")
            or "v(ssn)" in road
        )
        assert "ssn" not in [field.name for field in told.columns] or "v(ssn)" in road
    closed = [
        "SELECT ssn FROM people",
        "SELECT people.ssn FROM people",
        "SELECT name FROM people WHERE ssn LIKE '1%'",
        "SELECT name FROM people ORDER BY ssn",
        "SELECT count(*) FROM people JOIN people q USING (ssn)",
        "SELECT (p).ssn FROM people p",
        "SELECT ssn(p) FROM people p",
        "SELECT ssn FROM vips",
        "SELECT max(ssn) FROM ONLY people",
        "SELECT p.a, p.c FROM people p(a, b, c, d)",
        "SELECT (NULL::people).ssn",
        "EXPLAIN VERBOSE SELECT name FROM people",
        "SELECT * FROM people TABLESAMPLE system (100)",
    ]
    other = [road.replace("ssn", "sns") for road in closed]
    there, nowhere = await asked(shop, closed, CLOSED), await asked(shop, other, CLOSED)
    assert [road for road, told in zip(closed, there, strict=True) if isinstance(told, Rows)] == []
    assert [repr(told) for told in there] == [repr(told).replace("sns", "ssn") for told in nowhere]


@pytest.mark.behaviour("databases.catalogue_is_narrowed")
async def test_what_the_catalogue_lists_is_what_is_open(shop: Shop) -> None:
    tables, columns = await asked(
        shop,
        [
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
            "SELECT column_name FROM information_schema.columns c WHERE c.table_name = 'people' ORDER BY 1",
        ],
        CLOSED,
    )
    assert isinstance(tables, Rows)
    assert isinstance(columns, Rows)
    names = {row[0] for row in tables.rows}
    assert {"orders", "customers", "people", "people_fine", "order_totals"} <= names
    assert names.isdisjoint(
        {"secret", "secret_view", "secret_far", "secret_kept", "people_ssns", "ledger", "vault_child"}
    )
    assert columns.rows == (("city",), ("id",), ("name",))


@pytest.mark.behaviour("databases.catalogue_is_narrowed")
async def test_columns_are_counted_in_the_catalogue_as_though_a_closed_one_were_not_there(shop: Shop) -> None:
    every = "SELECT * FROM information_schema.columns WHERE table_name = 'people'"
    (whole,) = await asked(shop, [every], EVERYTHING)
    counted, starred = await asked(
        shop,
        [
            "SELECT column_name, ordinal_position, dtd_identifier, pg_typeof(ordinal_position)::text"
            " FROM information_schema.columns WHERE table_name = 'people' ORDER BY ordinal_position",
            every,
        ],
        CLOSED,
    )
    assert isinstance(counted, Rows), counted
    kind = "information_schema.cardinal_number"
    assert counted.rows == (("id", 1, "1", kind), ("name", 2, "2", kind), ("city", 3, "3", kind))
    assert isinstance(starred, Rows), starred
    assert isinstance(whole, Rows), whole
    assert starred.columns == whole.columns


@pytest.mark.behaviour("databases.postgres.superuser")
async def test_a_superuser_is_refused_with_the_reason_unless_its_operator_insists(shop: Shop) -> None:
    engine = postgresql_engine(shop.admin, EVERYTHING)
    told = await engine.run("SELECT 1", (), LIMITS)
    checked = await engine.check()
    await engine.aclose()
    assert isinstance(told, Refused)
    assert "superuser" in told.why
    assert "CREATE ROLE" in told.mend
    assert [finding.severity for finding in checked.findings] == [Severity.REFUSED_UNLESS_FORCED]
    forced = postgresql_engine(shop.admin, EVERYTHING, forced=True)
    answer = await forced.run("SELECT 1", (), LIMITS)
    held = [await forced.run(text, (), LIMITS) for text in (*WRITES, *FUNCTIONS)]
    await forced.aclose()
    assert isinstance(answer, Rows)
    assert [told for told in held if isinstance(told, Rows)] == []
