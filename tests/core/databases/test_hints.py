"""Hints for a statement that failed: which name is wrong, which may be meant, and what the tables have."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tests.core.databases.shop import CUSTOMERS, SECRETS, SHOP, refers, table
from tests.core.databases.test_telling import denied

from pegboard.core.databases.hints import MAX_COLUMNS, MAX_TABLES, StatementHints, hints_for, similar_names
from pegboard.core.databases.rows import StatementFault
from pegboard.core.databases.schema import DatabaseSchema, TableColumn, narrow_schema


@pytest.mark.behaviour("databases.help")
@pytest.mark.parametrize(
    ("statement", "fault", "name", "sentences"),
    [
        (
            "SELECT fullname FROM customers",
            StatementFault.NO_COLUMN,
            "fullname",
            ["There is no column 'fullname' in customers. Did you mean customers.full_name?"],
        ),
        (
            "SELECT o.total FROM orders o",
            StatementFault.NO_COLUMN,
            "o.total",
            ["There is no column 'total' in orders. Did you mean orders.grand_total?"],
        ),
        (
            "SELECT * FROM custmers WHERE id = 1",
            StatementFault.NO_TABLE,
            "custmers",
            ["There is no table 'custmers' here. Did you mean customers?"],
        ),
        (
            'SELECT "Stueck" FROM "Übersicht"."order"',
            StatementFault.NO_COLUMN,
            "Stueck",
            ['There is no column \'Stueck\' in "Übersicht"."order". Did you mean "Übersicht"."order"."Stück"?'],
        ),
        (
            "SELECT x.email FROM orders o JOIN customers c ON c.id = o.customer_id",
            StatementFault.NO_COLUMN,
            "x.email",
            ["'x' names no table of this statement; it has o, c, orders or customers."],
        ),
        (
            "SELECT email FROM orders",
            StatementFault.NO_COLUMN,
            "email",
            ["There is no column 'email' in orders, and none like it. customers has one of that name."],
        ),
        (
            "SELECT 1 FROM zebra",
            StatementFault.NO_TABLE,
            "zebra",
            ['There is no table \'zebra\' here. The tables are customers, orders, "Übersicht"."order".'],
        ),
        ("SELECT id FROM orders WHERE", StatementFault.SYNTAX, None, []),
        (
            "WITH recent AS (SELECT * FROM orders) SELECT plased_at FROM recent",
            StatementFault.NO_COLUMN,
            "plased_at",
            ["There is no column 'plased_at' in orders. Did you mean orders.placed_at?"],
        ),
        (
            "SELECT EXTRACT(YEAR FROM placed_at) FROM s.ordrs WHERE id IS DISTINCT FROM customer_id",
            StatementFault.NO_TABLE,
            "s.ordrs",
            ['There is no table \'s.ordrs\' here. Did you mean orders or "Übersicht"."order"?'],
        ),
        (
            "SELECT customers.email, o.id FROM orders o JOIN customers c ON c.id = o.customer_id",
            StatementFault.NO_COLUMN,
            "customers.email",
            ["'customers' is called c in this statement."],
        ),
        (
            "SELECT customers.emial FROM customers JOIN customers AS c ON c.id = customers.id",
            StatementFault.NO_COLUMN,
            "customers.emial",
            ["There is no column 'emial' in customers. Did you mean customers.email?"],
        ),
    ],
)
def test_the_wrong_name_is_reported_with_those_that_may_be_meant(
    statement: str, fault: StatementFault, name: str | None, sentences: list[str]
) -> None:
    assert [*hints_for(SHOP, statement, fault, name).sentences] == sentences


@pytest.mark.behaviour("databases.help")
def test_a_text_in_double_quotes_is_said_to_belong_into_single_ones() -> None:
    advice = "Double quotes are for names. If a text is meant, write it in single quotes: 'Zzz'."
    statement = 'SELECT * FROM customers WHERE full_name = "Zzz"'
    assert hints_for(SHOP, statement, StatementFault.NO_COLUMN, "Zzz").sentences == (
        "There is no column 'Zzz' in customers, and none like it.",
        advice,
    )
    bare = hints_for(SHOP, "SELECT * FROM customers WHERE full_name = zzz", StatementFault.NO_COLUMN, "zzz").sentences
    assert bare == ("There is no column 'zzz' in customers, and none like it.",)


@pytest.mark.behaviour("databases.help")
def test_the_tables_that_a_statement_names_come_with_their_columns() -> None:
    statement = "SELECT nme FROM Customers c, orders -- , 'x' FROM nothing"
    assert hints_for(SHOP, statement, StatementFault.NO_COLUMN, "nme") == snapshot(
        StatementHints(
            ("There is no column 'nme' in customers or orders. Did you mean customers.full_name?",),
            (
                "customers has id bigint, full_name text, email text, vip boolean",
                "orders has id bigint, customer_id bigint, placed_at timestamp, grand_total numeric",
            ),
        )
    )
    assert hints_for(SHOP, "SELECT 1 + ", StatementFault.SYNTAX) == StatementHints((), ())


@pytest.mark.behaviour("databases.help")
def test_hints_are_bounded_however_wide_and_many_the_tables_are() -> None:
    wide = replace(CUSTOMERS, columns=tuple(TableColumn(f"c{number}", "text") for number in range(1000)))
    many = tuple(table(f"t{number}", "id bigint") for number in range(50))
    plan = DatabaseSchema(SHOP.dialect, (wide, *many), (), "public")
    tables = ", ".join(f"t{number}" for number in range(50))
    hints = hints_for(plan, f"SELECT x FROM customers, {tables}", StatementFault.NO_COLUMN, "x")
    assert len(hints.tables) == MAX_TABLES
    assert hints.tables[0].endswith(f", and {1000 - MAX_COLUMNS} more")
    assert hints_for(plan, "SELECT * FROM " + "nothing, " * 1000, StatementFault.NO_TABLE, "nothing").sentences


@pytest.mark.behaviour("databases.withheld_in_help")
@pytest.mark.parametrize(
    ("statement", "fault", "name"),
    [
        ("SELECT pin FROM secrets", StatementFault.NO_TABLE, "secrets"),
        ("SELECT s.pin FROM secrets s JOIN customers c ON c.id = s.customer_id", StatementFault.NO_TABLE, "secrets"),
        ("SELECT customer_id FROM orders", StatementFault.NO_COLUMN, "customer_id"),
        ("SELECT o.customer_id FROM orders o", StatementFault.NO_COLUMN, "o.customer_id"),
        ("SELECT secret FROM secretes", StatementFault.NO_TABLE, "secretes"),
        ("SELECT pin FROM customers", StatementFault.NO_COLUMN, "pin"),
    ],
)
def test_a_closed_name_gets_the_hints_of_one_that_does_not_exist(
    statement: str, fault: StatementFault, name: str
) -> None:
    whole = replace(
        SHOP,
        tables=(*SHOP.tables, SECRETS),
        relations=(*SHOP.relations, refers("secrets", "customer_id", "customers")),
    )
    closed = narrow_schema(whole, denied("public.secrets", "public.orders.customer_id"))
    orders = replace(SHOP.tables[1], columns=tuple(c for c in SHOP.tables[1].columns if c.name != "customer_id"))
    absent = replace(SHOP, tables=(CUSTOMERS, orders, SHOP.tables[2]), relations=SHOP.relations[1:])
    hints = hints_for(closed, statement, fault, name)
    assert hints == hints_for(absent, statement, fault, name)
    assert "pin text" not in str(hints)


@given(st.text(max_size=200), st.sampled_from(StatementFault))
def test_whatever_the_statement_hints_are_given_in_good_order(statement: str, fault: StatementFault) -> None:
    hints_for(SHOP, statement, fault, statement or None)
    hints_for(SHOP, f"SELECT * FROM {statement}", fault)


def test_names_are_near_by_letters_by_words_and_by_parts() -> None:
    names = ["customer_address", "orders", "address_of_customer", "ordering", "Ördner", "cust", "invoices"]
    asked = ("customerAddress", "order", "custmer", "ORDERS", "zzz", "")
    assert {each: similar_names(each, names) for each in asked} == snapshot(
        {
            "customerAddress": ["customer_address", "address_of_customer", "cust"],
            "order": ["orders", "ordering", "Ördner"],
            "custmer": ["cust", "customer_address", "address_of_customer"],
            "ORDERS": ["orders", "ordering", "Ördner"],
            "zzz": [],
            "": [],
        }
    )
