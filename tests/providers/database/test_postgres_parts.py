"""Partitions by a closed column, and tables that inherit with a check of it: their very names tell its values."""

import secrets

import anyio
import pytest
from tests.providers.database.postgres_shop import Shop, make_shop

from pegboard.core.database import EVERYTHING, Access, Answer, Failed, Fault, Limits, Refused, Rows
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PARTS = """
CREATE TABLE pk (id int, city text, ssn text) PARTITION BY LIST (ssn);
CREATE TABLE pk_123 PARTITION OF pk FOR VALUES IN ('123-45') PARTITION BY LIST (city);
CREATE TABLE pk_123_bonn PARTITION OF pk_123 DEFAULT;
CREATE TABLE pk_rest PARTITION OF pk DEFAULT;
CREATE VIEW pk_seen AS SELECT id, city FROM pk;
CREATE VIEW pk_part AS SELECT id, city FROM pk_123;
CREATE TABLE ex (id int, city text, ssn text) PARTITION BY HASH (lower(ssn));
CREATE TABLE ex_0 PARTITION OF ex FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE towns (id int, city text, ssn text) PARTITION BY LIST (lower(city));
CREATE TABLE towns_bonn PARTITION OF towns DEFAULT;
CREATE TABLE kin (id int, city text, ssn text, CONSTRAINT filled CHECK (ssn <> ''));
CREATE TABLE kin_123 (CHECK (ssn = '123-45')) INHERITS (kin);
CREATE TABLE kin_far () INHERITS (kin_123);
CREATE TABLE kin_plain () INHERITS (kin);
INSERT INTO pk VALUES (1, 'Bonn', '123-45'), (2, 'Ulm', 'x');
INSERT INTO ex VALUES (1, 'Bonn', '123-45');
INSERT INTO towns VALUES (1, 'bonn', '123-45');
INSERT INTO kin_123 VALUES (1, 'Bonn', '123-45');
GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC;
"""
OPEN = ("pk", "pk_seen", "ex", "towns", "towns_bonn", "kin", "kin_plain")
SHUT = ("pk_123", "pk_123_bonn", "pk_rest", "pk_part", "ex_0", "kin_123", "kin_far")
RULE = EVERYTHING.closing(*(("public", name, "ssn") for name in ("pk", "ex", "towns", "kin")))


@pytest.fixture(scope="module")
def parted(postgres_server: str) -> Shop:
    async def made() -> Shop:
        own = await make_shop(postgres_server, f"own{secrets.token_hex(4)}")
        for line in PARTS.strip().removesuffix(";").split(";\n"):
            await own.outside(line)
        return own

    return anyio.run(made)


async def asked(shop: Shop, statement: str, rule: Access = RULE) -> Answer:
    engine = postgresql_engine(shop.reader, rule)
    answer = await engine.run(statement, (), Limits())
    await engine.aclose()
    return answer


@pytest.mark.behaviour("databases.withheld", "databases.closed_columns")
@pytest.mark.parametrize("table", SHUT)
async def test_a_part_by_a_closed_column_is_as_one_that_is_not_there(parted: Shop, table: str) -> None:
    assert await asked(parted, f"SELECT city FROM {table}") == Failed(
        f'relation "{table}" does not exist', 17, Fault.NO_TABLE, table
    )
    assert isinstance(await asked(parted, f"SELECT city FROM {table}", EVERYTHING), Rows)


@pytest.mark.behaviour("databases.withheld", "databases.closed_columns")
@pytest.mark.parametrize("table", OPEN)
async def test_the_whole_and_parts_by_open_columns_are_read_without_the_closed_one(parted: Shop, table: str) -> None:
    answer = await asked(parted, f"SELECT * FROM {table}")
    assert isinstance(answer, Rows)
    assert [column.name for column in answer.columns] == ["id", "city"]


@pytest.mark.behaviour("databases.explained", "databases.withheld")
async def test_a_plan_that_names_such_parts_is_not_told(parted: Shop) -> None:
    untold = Refused(
        "The plan of this statement would tell how its tables are parted, by values that are not told.",
        "Run the query itself.",
    )
    told = {table: await asked(parted, f"EXPLAIN SELECT city FROM {table}") for table in OPEN}
    assert {table for table, answer in told.items() if answer == untold} == {"pk", "pk_seen", "ex", "kin"}
    assert all(isinstance(told[table], Rows) for table in ("towns", "towns_bonn", "kin_plain"))
    assert isinstance(await asked(parted, "EXPLAIN SELECT city FROM pk", EVERYTHING), Rows)


@pytest.mark.behaviour("databases.withheld")
async def test_a_search_knows_no_such_part(parted: Shop) -> None:
    engine = postgresql_engine(parted.reader, RULE)
    told = {table.name.table for table in (await engine.schema()).tables}
    await engine.aclose()
    # Partitions are in no list in any case; tables that inherit are.
    assert told & {*OPEN, *SHUT} == {*OPEN} - {"towns_bonn"}
