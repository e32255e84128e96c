"""Tables as they are told: names in the right quotes, joins both ways, an example that runs, and all within bounds."""

import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tests.core.databases.shop import CUSTOMERS, LINES, ORDERS, SECRETS, SHOP, name, refers, table

from pegboard.core.databases.schema import (
    MAX_COLUMNS,
    MAX_RELATIONS,
    RESERVED_WORDS,
    DatabaseSchema,
    DatabaseTable,
    ForeignKey,
    TableColumn,
    TableName,
    example_statement,
    narrow_schema,
    quote_identifier,
    quote_table,
    table_outline,
)
from pegboard.core.model.databases import DatabaseAccess, Dialect, NamePattern, parse_name_pattern


@pytest.mark.behaviour("databases.examples")
def test_a_name_is_quoted_where_an_engine_would_not_take_it_bare() -> None:
    names = ("orders", "order", "Orders", "größe", "a b", 'say "hi"', "tick`", "1st", "", "_x9")
    assert [quote_identifier(name, Dialect.POSTGRESQL) for name in names] == snapshot(
        ["orders", '"order"', '"Orders"', '"größe"', '"a b"', '"say ""hi"""', '"tick`"', '"1st"', '""', "_x9"]
    )
    assert [quote_identifier(name, Dialect.MYSQL) for name in ("order", "tick`", 'say "hi"')] == [
        "`order`",
        "`tick```",
        '`say "hi"`',
    ]


@pytest.mark.behaviour("databases.examples")
def test_whatever_a_table_and_its_columns_are_called_its_example_runs() -> None:
    words = sorted(RESERVED_WORDS)
    odd = ["größe", "a b", 'say "hi"', "tick`", "1st", "日本", "x;y", "'", "--", "/*", "Mixed", *words]
    connection = sqlite3.connect(":memory:")
    try:
        for each in odd:
            other = f"{each} too"
            made = DatabaseTable(
                TableName("main", each), (TableColumn(each, "text"), TableColumn("id", "integer")), ("id",)
            )
            linked = DatabaseTable(
                TableName("main", other), (TableColumn(each, "text"), TableColumn("link_id", "integer"))
            )
            schema = DatabaseSchema(
                Dialect.SQLITE, (made, linked), (ForeignKey(linked.name, ("link_id",), made.name, ("id",)),), "main"
            )
            for table in (made, linked):
                columns = ", ".join(f'"{column.name.replace(chr(34), chr(34) * 2)}"' for column in table.columns)
                connection.execute(f'CREATE TABLE "{table.name.table.replace(chr(34), chr(34) * 2)}" ({columns})')
            for table in (made, linked):
                assert connection.execute(example_statement(schema, table.name)).fetchall() == []
            assert " JOIN " in example_statement(schema, linked.name)
    finally:
        connection.close()


@pytest.mark.behaviour("databases.examples")
def test_an_example_shows_the_key_what_was_asked_for_and_the_name_of_what_it_refers_to() -> None:
    assert [
        example_statement(SHOP, ORDERS.name, ["grand_total"]),
        example_statement(SHOP, CUSTOMERS.name),
        example_statement(SHOP, LINES.name),
    ] == (
        snapshot(
            [
                "SELECT o.id, o.grand_total, o.customer_id, o.placed_at, c.full_name FROM orders AS o "
                "JOIN customers AS c ON c.id = o.customer_id LIMIT 10",
                "SELECT id, full_name, email, vip FROM customers LIMIT 10",
                'SELECT id, order_id, "Stück", "from" FROM "Übersicht"."order" LIMIT 10',
            ]
        )
    )


def test_a_join_leads_to_a_table_that_was_found_too_before_others() -> None:
    shops = table("shops", "id bigint", "title")
    schema = replace(
        SHOP,
        tables=(*SHOP.tables, shops),
        relations=(*SHOP.relations, refers("orders", "id", "shops")),
    )
    assert " JOIN customers " in example_statement(schema, ORDERS.name)
    assert " JOIN shops " in example_statement(schema, ORDERS.name, beside={shops.name})


@pytest.mark.behaviour("databases.search_answer")
def test_a_table_is_told_with_its_columns_keys_and_joins_in_both_directions() -> None:
    assert table_outline(SHOP, ORDERS.name) == snapshot(
        {
            "table": "orders",
            "columns": [
                {"name": "id", "type": "bigint", "is_key": True},
                {"name": "customer_id", "type": "bigint"},
                {"name": "placed_at", "type": "timestamp"},
                {"name": "grand_total", "type": "numeric"},
            ],
            "joins": ["orders.customer_id = customers.id", '"Übersicht"."order".order_id = orders.id'],
        }
    )
    told = table_outline(SHOP, CUSTOMERS.name, samples={"email": ("a@b", "c@d")})
    assert told["comment"] == "Who buys"
    assert told["columns"][2] == {"name": "email", "type": "text", "samples": ["a@b", "c@d"]}  # type: ignore[index]


@pytest.mark.behaviour("databases.search_bounded")
def test_of_a_thousand_columns_the_best_are_told_and_how_many_are_left() -> None:
    wide = replace(
        CUSTOMERS,
        columns=(*CUSTOMERS.columns, *(TableColumn(f"c{number}", "text") for number in range(996))),
        key=("id", "c900"),
        comment="A " * 400,
        rows=12,
    )
    others = tuple(table(f"t{number}", "id bigint", "c bigint") for number in range(50))
    relations = tuple(refers(f"t{n}", "c", "customers") for n in range(50))
    told = table_outline(DatabaseSchema(Dialect.SQLITE, (wide, *others), relations, "public"), wide.name, ["c950"])
    columns, joins = told["columns"], told["joins"]
    assert isinstance(columns, list)
    assert isinstance(joins, list)
    names = [each["name"] for each in columns if isinstance(each, dict)]
    assert len(names) == MAX_COLUMNS
    assert names[-2:] == ["c900", "c950"]
    assert told["columns_left"] == 1000 - MAX_COLUMNS
    assert (len(joins), told["joins_left"]) == (MAX_RELATIONS, 50 - MAX_RELATIONS)
    assert len(str(told["comment"])) == 300
    assert told["rows_about"] == 12


def denied(*texts: str) -> DatabaseAccess:
    patterns = tuple(map(parse_name_pattern, texts))
    assert all(isinstance(each, NamePattern) for each in patterns)
    return DatabaseAccess((), tuple(each for each in patterns if isinstance(each, NamePattern)))


@pytest.mark.behaviour("databases.withheld_in_search")
def test_a_denied_table_or_column_is_in_no_outline_join_or_example() -> None:
    whole = replace(
        SHOP,
        tables=(*SHOP.tables, SECRETS),
        relations=(
            *SHOP.relations,
            refers("secrets", "customer_id", "customers"),
            refers("customers", "id", "secrets"),
        ),
    )
    shown = narrow_schema(whole, denied("public.secrets", "public.orders.customer_id"))
    plain = replace(ORDERS, columns=tuple(column for column in ORDERS.columns if column.name != "customer_id"))
    without = replace(SHOP, tables=(CUSTOMERS, plain, LINES), relations=SHOP.relations[1:])
    for each in without.by_name:
        assert table_outline(shown, each) == table_outline(without, each)
        assert example_statement(shown, each) == example_statement(without, each)
    assert [*shown.by_name] == [*without.by_name]


@given(st.text(min_size=1), st.sampled_from(Dialect))
def test_a_quoted_name_ends_where_its_quotes_end(text: str, dialect: Dialect) -> None:
    told = quote_identifier(text, dialect)
    mark = "`" if dialect is Dialect.MYSQL else '"'
    assert told == text or told[1:-1].replace(mark * 2, mark) == text
    assert quote_table(name(text), SHOP) == quote_identifier(text, Dialect.POSTGRESQL)
