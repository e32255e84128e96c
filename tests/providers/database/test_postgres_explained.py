"""Plans of a PostgreSQL source: told for whatever would be answered, and silent on what is closed."""

import secrets

import anyio
import pytest
from tests.providers.database.postgres_shop import Shop, make_shop
from tests.providers.database.test_postgres_attacks import CLOSED, LIMITS

from pegboard.core.database import EVERYTHING, Answer, Failed, Fault, Refused, Rows
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

UNTOLD = Refused("The plan of this statement is not told here.", "Run the query itself.")
INDEXES = """
CREATE TABLE members (id int PRIMARY KEY, name text, ssn text, twice text GENERATED ALWAYS AS (ssn || ssn) STORED);
INSERT INTO members SELECT i, 'm' || i, 's' || i FROM generate_series(1, 20000) i;
CREATE INDEX by_name ON members (name);
CREATE TABLE covered (LIKE members INCLUDING GENERATED);
INSERT INTO covered (id, name, ssn) SELECT id, name, ssn FROM members;
CREATE INDEX covering ON covered (name) INCLUDE (ssn);
CREATE TABLE partial (LIKE members INCLUDING GENERATED);
INSERT INTO partial (id, name, ssn) SELECT id, name, ssn FROM members;
CREATE INDEX parted ON partial (name, (ssn || 'x'));
CREATE TABLE doubled (LIKE members INCLUDING GENERATED);
INSERT INTO doubled (id, name, ssn) SELECT id, name, ssn FROM members;
CREATE INDEX doubling ON doubled (name, twice);
CREATE TABLE spoken (LIKE members INCLUDING GENERATED);
INSERT INTO spoken (id, name, ssn) SELECT id, name, ssn FROM members;
CREATE INDEX beside_ssn ON spoken (name);
CREATE TABLE ruled (LIKE members);
ALTER TABLE ruled ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON ruled USING (ssn <> '');
ANALYZE;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC;
"""
TABLES = ("members", "covered", "partial", "doubled", "spoken", "ruled")
RULE = CLOSED.closing(*(("public", name, "ssn") for name in TABLES))


@pytest.fixture(scope="module")
def indexed(postgres_server: str) -> Shop:
    async def made() -> Shop:
        own = await make_shop(postgres_server, f"own{secrets.token_hex(4)}")
        for line in INDEXES.strip().removesuffix(";").split(";\n"):
            await own.outside(line)
        return own

    return anyio.run(made)


async def asked(shop: Shop, statement: str, parameters: Parameters = (), *, whole: bool = False) -> Answer:
    engine = postgresql_engine(shop.reader, EVERYTHING if whole else RULE)
    answer = await engine.run(statement, parameters, LIMITS)
    await engine.aclose()
    return answer


def text(answer: Answer) -> str:
    assert isinstance(answer, Rows), answer
    return "\n".join(str(row[0]) for row in answer.rows)


@pytest.mark.behaviour("databases.explained")
@pytest.mark.parametrize(
    "statement",
    [
        "EXPLAIN SELECT name FROM people WHERE city = 'Bonn'",
        "EXPLAIN SELECT * FROM people NATURAL JOIN vips",
        "EXPLAIN (FORMAT JSON) SELECT p FROM people p ORDER BY p",
        "EXPLAIN (COSTS OFF, FORMAT YAML) (SELECT to_json(p) FROM people p)",
        "/* ( é ) */ EXPLAIN /* ü */ (COSTS OFF) -- (\n (SELECT name, 'ß' FROM people p WHERE p.name = 'x')",
        "explain (select 1 from people)",
        "EXPLAIN WITH q AS (TABLE people) SELECT * FROM q",
        "EXPLAIN SELECT * FROM people_fine",
    ],
)
async def test_what_would_be_answered_is_explained_also_beside_a_closed_column(indexed: Shop, statement: str) -> None:
    plan = text(await asked(indexed, statement))
    assert "people" in plan
    assert "ssn" not in plan


@pytest.mark.behaviour("databases.explained")
async def test_a_plan_takes_parameters_and_tells_an_index_over_what_is_open(indexed: Shop) -> None:
    plan = text(await asked(indexed, "EXPLAIN (COSTS OFF) SELECT id FROM members WHERE name = $1", ["m7"]))
    assert "by_name" in plan


@pytest.mark.behaviour("databases.explained", "databases.withheld")
@pytest.mark.parametrize("table", ["covered", "partial", "doubled", "spoken", "ruled"])
async def test_a_plan_that_would_tell_of_a_closed_column_is_not_told(indexed: Shop, table: str) -> None:
    query = f"SELECT id, name FROM {table} WHERE name = 'm7'"
    assert await asked(indexed, f"EXPLAIN {query}") == UNTOLD
    assert isinstance(await asked(indexed, query), Rows)
    # Where nothing is closed it is told, with the index or the rule that would have given it away.
    whole = text(await asked(indexed, f"EXPLAIN (COSTS OFF) {query}", whole=True))
    assert any(word in whole for word in ("covering", "parted", "doubling", "beside_ssn", "ssn <> ''"))


@pytest.mark.behaviour("databases.explained", "databases.withheld")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 FROM information_schema.columns WHERE column_name = 'word'",
        "SELECT name FROM people WHERE name IN (SELECT table_name FROM information_schema.tables)",
        "WITH q AS (TABLE information_schema.tables) SELECT count(*) FROM q",
    ],
)
async def test_guesses_about_the_catalogue_are_told_only_where_nothing_is_closed(indexed: Shop, query: str) -> None:
    not_explained = Refused("What is read of information_schema is not explained.", "Run the query itself.")
    assert await asked(indexed, f"EXPLAIN {query}") == not_explained
    assert isinstance(await asked(indexed, query), Rows)
    assert "Scan" in text(await asked(indexed, f"EXPLAIN {query}", whole=True))


@pytest.mark.behaviour("databases.explained", "databases.closed_columns")
async def test_what_would_not_be_answered_is_not_explained_either(indexed: Shop) -> None:
    assert await asked(indexed, "EXPLAIN SELECT ssn FROM people") == Failed(
        'column "ssn" does not exist', 15, Fault.NO_COLUMN, "ssn"
    )
    assert await asked(indexed, "EXPLAIN SELECT * FROM secret") == Failed(
        'relation "secret" does not exist', 22, Fault.NO_TABLE, "secret"
    )
    verbose = await asked(indexed, "EXPLAIN (VERBOSE off, VERBOSE 1) SELECT name FROM people")
    analysed = await asked(indexed, "EXPLAIN ANALYZE SELECT name FROM people")
    change = await asked(indexed, "EXPLAIN DELETE FROM people")
    assert [told.mend for told in (verbose, analysed, change) if isinstance(told, Refused)] == [
        "Leave VERBOSE out.",
        "Leave ANALYZE out.",
        "Give EXPLAIN a SELECT.",
    ]


@pytest.mark.behaviour("databases.explained", "databases.closed_columns")
@pytest.mark.parametrize("verbose", ["", " true", " on", " 1", " 'ON'"])
@pytest.mark.parametrize("quiet", [" false", " off", " 0", " 'False'"])
async def test_only_a_plan_that_would_tell_more_is_refused_for_that(indexed: Shop, verbose: str, quiet: str) -> None:
    told = await asked(indexed, f"EXPLAIN (VERBOSE{verbose}, COSTS off) SELECT id FROM customers")
    assert told == Refused("EXPLAIN VERBOSE tells of more than is asked.", "Leave VERBOSE out.")
    assert text(await asked(indexed, f"EXPLAIN (VERBOSE{quiet}, COSTS off) SELECT id FROM customers")) == (
        "Seq Scan on customers"
    )


@pytest.mark.behaviour("databases.engines_words")
async def test_a_character_that_no_text_holds_is_told_as_such_and_not_as_too_much(indexed: Shop) -> None:
    assert await asked(indexed, "SELECT chr(0)") == Failed(
        "null character not permitted. chr() makes characters that a text can hold: not 0, none beyond the encoding",
        None,
        Fault.OTHER,
    )
