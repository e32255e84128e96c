"""Help on a statement that failed: which name is wrong, which may be meant, and what the tables have."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tests.core.database.shop import CUSTOMERS, SECRETS, SHOP, refers, table
from tests.core.database.test_telling import denied

from pegboard.core.database import Column, Schema, narrowed
from pegboard.core.database.joins import Plan
from pegboard.core.database.mending import MOST_COLUMNS, MOST_TABLES, help_for
from pegboard.core.database.named import Named, named
from pegboard.core.database.near import near

PLAN = Plan.of(SHOP)


@pytest.mark.behaviour("databases.help")
@pytest.mark.parametrize(
    ("statement", "words", "name", "hints"),
    [
        (
            "SELECT fullname FROM customers",
            "no such column: fullname",
            "fullname",
            ["There is no column 'fullname' in customers. Did you mean customers.full_name?"],
        ),
        (
            "SELECT o.total FROM orders o",
            "no such column: o.total",
            "o.total",
            ["There is no column 'total' in orders. Did you mean orders.grand_total?"],
        ),
        (
            "SELECT * FROM custmers WHERE id = 1",
            "no such table: custmers",
            "custmers",
            ["There is no table 'custmers' here. Did you mean customers?"],
        ),
        (
            'SELECT "Stueck" FROM "Übersicht"."order"',
            'column "Stueck" does not exist',
            "Stueck",
            ['There is no column \'Stueck\' in "Übersicht"."order". Did you mean "Übersicht"."order"."Stück"?'],
        ),
        (
            "SELECT x.email FROM orders o JOIN customers c ON c.id = o.customer_id",
            'missing FROM-clause entry for table "x"',
            "x.email",
            ["'x' names no table of this statement; it has o, c, orders or customers."],
        ),
        (
            "SELECT email FROM orders",
            "no such column: email",
            "email",
            ["There is no column 'email' in orders, and none like it. customers has one of that name."],
        ),
        (
            "SELECT 1 FROM zebra",
            "no such table",
            None,
            ['There is no table \'zebra\' here. The tables are customers, orders, "Übersicht"."order".'],
        ),
        ("SELECT id FROM orders WHERE", "incomplete input", None, []),
        (
            "WITH recent AS (SELECT * FROM orders) SELECT plased_at FROM recent",
            "no such column: plased_at",
            None,
            ["There is no column 'plased_at' in orders. Did you mean orders.placed_at?"],
        ),
        (
            "WITH c (n) AS MATERIALIZED (SELECT 1), d AS NOT MATERIALIZED (SELECT 2) SELECT * FROM c, d, ordrs",
            "no such table: ordrs",
            "ordrs",
            ['There is no table \'ordrs\' here. Did you mean orders or "Übersicht"."order"?'],
        ),
        (
            "SELECT j.value FROM json_tree('[1]') AS j, (SELECT 1) AS one, ordrs o",
            "no such table: ordrs",
            "ordrs",
            ['There is no table \'ordrs\' here. Did you mean orders or "Übersicht"."order"?'],
        ),
        ("SELECT j.valu FROM orders, json_tree('[1]') j", "no such column: j.valu", "j.valu", []),
        (
            "SELECT EXTRACT(YEAR FROM placed_at), TRIM(BOTH FROM x) FROM ordrs WHERE id IS DISTINCT FROM customer_id",
            "no such table: ordrs",
            "ordrs",
            ['There is no table \'ordrs\' here. Did you mean orders or "Übersicht"."order"?'],
        ),
        (
            "SELECT customers.email, o.id FROM orders o JOIN customers c ON c.id = o.customer_id",
            'invalid reference to FROM-clause entry for table "customers". Perhaps you meant the table alias "c".',
            None,
            [],
        ),
        (
            "SELECT customers.email, o.id FROM orders o JOIN customers c ON c.id = o.customer_id",
            "Unknown column 'customers.email' in 'SELECT'",
            "customers.email",
            ["'customers' is called c in this statement."],
        ),
        (
            "SELECT customers.emial FROM customers JOIN customers c ON c.id = customers.id",
            "no such column: customers.emial",
            "customers.emial",
            ["There is no column 'emial' in customers. Did you mean customers.email?"],
        ),
        (
            "INSERT INTO ordrs (id) VALUES (1)",
            "no such table: ordrs",
            "ordrs",
            ['There is no table \'ordrs\' here. Did you mean orders or "Übersicht"."order"?'],
        ),
    ],
)
def test_the_wrong_name_is_told_with_those_that_may_be_meant(
    statement: str, words: str, name: str | None, hints: list[str]
) -> None:
    assert [*help_for(PLAN, statement, words, name).words] == hints


@pytest.mark.behaviour("databases.help")
def test_a_text_in_double_quotes_is_told_to_stand_in_single_ones() -> None:
    said = "Double quotes are for names. If a text is meant, write it in single quotes: 'It''s Zzz'."
    words = help_for(PLAN, 'SELECT * FROM customers WHERE name = "It\'s Zzz"', name="It's Zzz").words
    assert words == ('There is no column "It\'s Zzz" in customers, and none like it.', said)
    bare = help_for(PLAN, "SELECT * FROM customers WHERE name = zzz", name="zzz").words
    assert bare == ("There is no column 'zzz' in customers, and none like it.",)


@pytest.mark.behaviour("databases.help")
def test_the_tables_that_a_statement_means_come_with_their_columns() -> None:
    assert help_for(PLAN, "SELECT nme FROM Customers c, orders", "no such column: nme", "nme").json == snapshot(
        {
            "hints": ["There is no column 'nme' in customers or orders. Did you mean customers.full_name?"],
            "tables": [
                {"table": "customers", "columns": ["id bigint", "full_name text", "email text", "vip boolean"]},
                {
                    "table": "orders",
                    "columns": ["id bigint", "customer_id bigint", "placed_at timestamp", "grand_total numeric"],
                },
            ],
        }
    )
    assert help_for(PLAN, "SELECT 1 + ").json == {}


@pytest.mark.behaviour("databases.help")
def test_help_is_bounded_however_wide_and_many_the_tables_are() -> None:
    wide = replace(CUSTOMERS, columns=tuple(Column(f"c{number}", "text") for number in range(1000)))
    many = tuple(table(f"t{number}", "id bigint") for number in range(50))
    plan = Plan.of(Schema(SHOP.dialect, (wide, *many), (), "public"))
    told = help_for(plan, f"SELECT x FROM customers, {', '.join(f't{number}' for number in range(50))}", "", "x")
    assert len(told.tables) == MOST_TABLES
    assert told.tables[0]["columns_left"] == 1000 - MOST_COLUMNS
    assert help_for(plan, "SELECT * FROM " + "nothing, " * 1000).json


@pytest.mark.behaviour("databases.withheld_in_help")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pin FROM secrets",
        "SELECT s.pin FROM secrets s JOIN customers c ON c.id = s.customer_id",
        "SELECT customer_id FROM orders",
        "SELECT o.customer_id FROM orders o",
        "SELECT secret FROM secretes",
        "SELECT pin FROM customers",
    ],
)
def test_a_closed_name_gets_the_help_of_one_that_is_not_there(statement: str) -> None:
    whole = replace(
        SHOP,
        tables=(*SHOP.tables, SECRETS),
        relations=(*SHOP.relations, refers("secrets", "customer_id", "customers")),
    )
    closed = Plan.of(narrowed(whole, denied("public.secrets", "public.orders.customer_id")))
    orders = replace(SHOP.tables[1], columns=tuple(c for c in SHOP.tables[1].columns if c.name != "customer_id"))
    absent = Plan.of(replace(SHOP, tables=(CUSTOMERS, orders, SHOP.tables[2]), relations=SHOP.relations[1:]))
    told = help_for(closed, statement, "no such thing")
    assert told == help_for(absent, statement, "no such thing")
    assert "pin text" not in str(told.json)


def test_names_are_found_where_tables_stand_and_nowhere_else() -> None:
    assert named(
        """
        -- FROM comment
        WITH c AS (SELECT 1), "D" AS (SELECT 'FROM text' /* FROM it */)
        SELECT a.x, "Q q"."w""v" FROM s.a AS a, `b b` JOIN [e f] z ON z.id = a.id LEFT JOIN c USING (id)
        WHERE a.y IN (SELECT id FROM "D") ORDER BY a.x
        """
    ) == snapshot(
        Named(
            tables=(("s", "a"), ("b b",), ("e f",)),
            aliases={"a": ("s", "a"), "z": ("e f",)},
            others=(
                ("WITH",),
                ("c",),
                ("D",),
                ("a", "x"),
                ("Q q", 'w"v'),
                ("z", "id"),
                ("a", "id"),
                ("id",),
                ("a", "y"),
                ("IN",),
                ("BY",),
            ),
        )
    )


@given(st.text(max_size=200))
def test_whatever_the_statement_help_is_given_in_good_order(statement: str) -> None:
    help_for(PLAN, statement, statement, statement or None)
    help_for(PLAN, f"SELECT * FROM {statement}")


def test_names_are_near_by_letters_by_words_and_by_parts() -> None:
    names = ["customer_address", "orders", "address_of_customer", "ordering", "Ördner", "cust", "invoices"]
    asked = ("customerAddress", "order", "custmer", "ORDERS", "zzz", "")
    assert {each: near(each, names) for each in asked} == snapshot(
        {
            "customerAddress": ["customer_address", "address_of_customer", "cust"],
            "order": ["orders", "ordering", "Ördner"],
            "custmer": ["cust", "customer_address", "address_of_customer"],
            "ORDERS": ["orders", "ordering", "Ördner"],
            "zzz": [],
            "": [],
        }
    )
