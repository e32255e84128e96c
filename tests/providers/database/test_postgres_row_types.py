"""What a PostgreSQL source tells of types in which rows of a closed table lie: nothing, and of the rest everything."""

import secrets
from dataclasses import replace

import pytest
from tests.providers.database.postgres_shop import Shop, make_shop
from tests.providers.database.test_postgres_attacks import CLOSED, LIMITS, access, asked

from pegboard.core.database import EVERYTHING, Access, Answer, Failed, Fault, NamePattern, Refused, Rows, name_pattern
from pegboard.providers.builtin.database.postgres import postgresql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEPT = ["id", "s", "ss", "b", "d", "m", "x", "t", "o"]
TYPES = ["boxed", "boxed[]", "_boxed", "public.boxed", "sealed", "many", "far_boxed", "far_boxed[]", "known_as"]


async def listed(shop: Shop, rule: Access) -> dict[str, list[str]]:
    """The columns of each table that is offered."""
    engine = postgresql_engine(shop.reader, rule)
    schema = await engine.schema()
    await engine.aclose()
    return {table.name.table: [column.name for column in table.columns] for table in schema.tables}


def heads(answer: Answer) -> list[str]:
    assert isinstance(answer, Rows), answer
    return [field.name for field in answer.columns]


@pytest.mark.behaviour("databases.postgres.row_types")
async def test_a_column_in_which_rows_of_a_closed_table_lie_is_closed_with_it(shop: Shop) -> None:
    rows, row, names, other = await asked(
        shop,
        [
            "SELECT (rows_kept).* FROM (SELECT * FROM people_kept) rows_kept",
            "SELECT to_jsonb(k) - 'o' AS j FROM rows_kept k",
            "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = 'rows_kept' ORDER BY 1",
            "SELECT (o).id, (t).b FROM rows_kept",
        ],
        CLOSED,
    )
    assert heads(rows) == ["id"]
    assert isinstance(row, Rows)
    assert row.rows == (('{"t":{"a":3,"b":"pair"},"id":1}'.replace(":", ": ").replace(",", ", "),),)
    assert isinstance(names, Rows)
    assert names.rows == (("id", "int4"), ("o", "orders"), ("t", "plain_pair"))
    assert isinstance(other, Rows)
    assert other.rows == ((1, "pair"),)
    offered = await listed(shop, CLOSED)
    assert {name: offered.get(name) for name in ("rows_kept", "people_kept", "rows_fine")} == {
        "rows_kept": ["id", "t", "o"],
        "people_kept": ["id"],
        "rows_fine": ["id", "t"],
    }
    assert offered.keys().isdisjoint({"rows_view", "rows_typed", "rows_made"})


@pytest.mark.behaviour("databases.postgres.row_types")
async def test_such_columns_and_types_are_answered_like_those_that_are_not_there(shop: Shop) -> None:
    answers = await asked(shop, [f"SELECT {column} FROM rows_kept" for column in KEPT], CLOSED)
    assert {name for name, told in zip(KEPT, answers, strict=True) if isinstance(told, Rows)} == {"id", "t", "o"}
    assert answers[1] == Failed('column "s" does not exist', 7, Fault.NO_COLUMN, "s")
    types = await asked(shop, [f"SELECT NULL::{name}" for name in TYPES], CLOSED)
    absent = await asked(shop, [f"SELECT NULL::{name.replace('o', '0')}" for name in TYPES], CLOSED)
    told = [replace(one, words="", name="") for one in (*types, *absent) if isinstance(one, Failed)]
    assert told == [Failed("", 13, Fault.OTHER, "")] * len(TYPES) * 2
    assert types[0] == Failed('type "boxed" does not exist', 13, Fault.OTHER, "boxed")
    views = await asked(shop, [f"SELECT * FROM {name}" for name in ("rows_view", "rows_typed", "rows_made")], CLOSED)
    assert views[2] == Failed('relation "rows_made" does not exist', 14, Fault.NO_TABLE, "rows_made")
    assert [told.fault for told in views if isinstance(told, Failed)] == [Fault.NO_TABLE] * 3


@pytest.mark.behaviour("databases.postgres.row_types")
@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        pytest.param(EVERYTHING, ["id", "p", "ps", "v", "k", "r"], id="nothing closed"),
        pytest.param(access("public.orders"), ["id", "p", "ps", "v", "k"], id="a table far within"),
        pytest.param(access("public.people.ssn"), ["id", "r"], id="a column, and so that of the heir"),
        pytest.param(access("public.vips.rank"), ["id", "p", "ps", "r"], id="a column of the heir alone"),
        pytest.param(access("hr.*"), ["id", "p", "ps", "v", "k", "r"], id="what has nothing to do with it"),
    ],
)
async def test_what_is_closed_of_a_table_closes_every_type_that_holds_its_rows(
    shop: Shop, rule: Access, kept: list[str]
) -> None:
    assert (await listed(shop, rule))["people_kept"] == kept
    every = [f"SELECT pg_typeof({one})::text FROM people_kept" for one in ("id", "p", "ps", "v", "k", "r")]
    answers = await asked_alone(shop, every, rule)
    assert [told.rows != () for told in answers if isinstance(told, Rows)] == [True] * len(kept)


@pytest.mark.behaviour("databases.postgres.row_types")
async def test_what_is_not_on_the_list_of_the_allowed_is_in_no_type_either(shop: Shop) -> None:
    pattern = name_pattern("public.rows_kept")
    assert isinstance(pattern, NamePattern)
    rule = Access(allow=(pattern,))
    assert await listed(shop, rule) == {"rows_kept": ["id", "t"]}
    (told,) = await asked_alone(shop, ["SELECT to_json(r) FROM rows_kept r"], rule)
    assert isinstance(told, Rows)
    assert told.rows == (('{"id":1,"t":{"a":3,"b":"pair"}}',),)


async def asked_alone(shop: Shop, statements: list[str], rule: Access) -> list[Answer]:
    engine = postgresql_engine(shop.reader, rule)
    answers = [await engine.run(statement, (), LIMITS) for statement in statements]
    await engine.aclose()
    return answers


FURTHER = (
    "CREATE TYPE secret_span AS RANGE (subtype = secret, multirange_type_name = secret_spans)",
    "CREATE TABLE further (id int, span secret_span, spans secret_spans, row_of_view people_fine, parent people,"
    " child vips)",
    "INSERT INTO further SELECT 1, secret_span(s, s, '[]'), NULL, NULL, NULL, NULL FROM secret s WHERE id = 1",
    "GRANT SELECT ON further TO PUBLIC",
)


@pytest.mark.behaviour("databases.postgres.row_types")
async def test_ranges_of_rows_rows_of_views_and_those_of_a_family_are_closed_with_what_is_in_them(
    postgres_server: str,
) -> None:
    own = await make_shop(postgres_server, f"own{secrets.token_hex(4)}")
    for statement in FURTHER:
        await own.outside(statement)
    kept = {
        rule: (await listed(own, EVERYTHING if rule == "nothing" else access(rule)))["further"]
        for rule in ("nothing", "public.secret", "hr.*", "public.vips")
    }
    assert kept == {
        "nothing": ["id", "span", "spans", "row_of_view", "parent", "child"],
        "public.secret": ["id", "parent", "child"],
        # What a view makes of others is of no use as a type where something is closed.
        "hr.*": ["id", "span", "spans", "parent", "child"],
        "public.vips": ["id", "span", "spans"],
    }
    told = await asked_alone(own, ["SELECT * FROM further", "SELECT span FROM further"], access("public.secret"))
    assert heads(told[0]) == ["id", "parent", "child"]
    assert told[1] == Failed('column "span" does not exist', 7, Fault.NO_COLUMN, "span")
    (whole,) = await asked_alone(own, ["SELECT span FROM further"], EVERYTHING)
    assert isinstance(whole, Rows)
    assert whole.rows == (('["(1,xyzzy)","(1,xyzzy)"]',),)


@pytest.mark.behaviour("databases.postgres.row_types", "databases.withheld")
async def test_what_is_named_by_its_schema_or_as_a_type_is_answered_alike_whether_it_is_there_or_not(
    shop: Shop,
) -> None:
    views = ("secret_view", "secret_far", "secret_kept", "rows_view", "people", "ledger_shut", "nowhere")
    for form, fault in (("NULL::{}", Fault.OTHER), ("NULL::{}[]", Fault.OTHER), ("{}(1)", Fault.NO_FUNCTION)):
        answers = await asked(shop, [f"SELECT {form.format(name)}" for name in views], CLOSED)
        assert [(told.fault, told.name) for told in answers if isinstance(told, Failed)] == [
            (fault, name) for name in views
        ]
        said = {told.words.replace(told.name or "", "it") for told in answers if isinstance(told, Failed)}
        assert len(said) == 1
    for form in (
        "1 OPERATOR({}.+) 1",
        "id FROM orders ORDER BY id USING OPERATOR({}.<)",
        "1 OPERATOR({}.=) ANY (SELECT 1)",
        "note COLLATE {}.nowhere FROM orders",
        "* FROM xmltable('/a' PASSING '<a/>' COLUMNS a {}.nowhere)",
        "{}.nowhere(1)",
    ):
        there, absent = await asked(shop, [f"SELECT {form.format(schema)}" for schema in ("hr", "nohr")], CLOSED)
        assert not isinstance(there, Rows)
        assert repr(there).replace("hr.", "nohr.") == repr(absent)
    fine = ['note COLLATE "C"', 'note COLLATE pg_catalog."C"', "id OPERATOR(pg_catalog.+) 0"]
    assert [heads(told) for told in await asked(shop, [f"SELECT {one} AS x FROM orders" for one in fine], CLOSED)] == [
        ["x"]
    ] * len(fine)


@pytest.mark.behaviour("databases.postgres.row_types", "databases.postgres.changes_are_seen")
async def test_a_type_that_comes_to_hold_such_rows_is_closed_from_then_on(postgres_server: str) -> None:
    own = await make_shop(postgres_server, f"own{secrets.token_hex(4)}")
    engine = postgresql_engine(own.reader, CLOSED)
    before = await engine.run("SELECT t, (NULL::plain_pair).a FROM rows_kept", (), LIMITS)
    await own.outside("ALTER TYPE plain_pair ADD ATTRIBUTE c boxed")
    after = [await engine.run(text, (), LIMITS) for text in ("SELECT t FROM rows_kept", "SELECT (NULL::plain_pair).a")]
    await engine.aclose()
    assert heads(before) == ["t", "a"]
    assert [told.words for told in after if isinstance(told, Failed)] == [
        'column "t" does not exist',
        'type "plain_pair" does not exist',
    ]


@pytest.mark.behaviour("databases.postgres.row_types", "databases.writes_are_opted_in")
async def test_a_function_behind_a_cast_is_refused_without_the_name_of_a_closed_type(postgres_server: str) -> None:
    own = await make_shop(postgres_server, f"own{secrets.token_hex(4)}")
    await own.outside("CREATE FUNCTION of_secret(secret) RETURNS text LANGUAGE sql AS 'SELECT $1.word'")
    await own.outside("CREATE CAST (secret AS text) WITH FUNCTION of_secret(secret) AS IMPLICIT")
    engine = postgresql_engine(own.reader, CLOSED, writes=True)
    told = await engine.run("SELECT id FROM rows_kept", (), LIMITS)
    written = await engine.run("UPDATE rows_kept SET id = 2", (), LIMITS, write=True)
    await engine.aclose()
    assert isinstance(told, Refused)
    assert "secret" not in told.why + told.mend
    assert written == Refused(
        "Rows of 'rows_kept' are read here, and not changed.",
        "Ask its operator for the change, or change rows of another table.",
    )
