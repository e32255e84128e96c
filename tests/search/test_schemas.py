"""Tables are found by what they are called, short or long, by their comments, columns, keys and samples; and the index
follows the databases part by part."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.databases.shop import CUSTOMERS, LINES, ORDERS, SECRETS, SHOP, refers, table
from tests.core.databases.test_telling import denied

from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, TableColumn, TableName, narrow_schema
from pegboard.core.model.databases import DatabaseId, Dialect
from pegboard.search.documents import IndexedDocuments
from pegboard.search.semantic import document_text
from pegboard.search.tables import IndexedDatabase, TableDocumentSource, TableIndex, matching_columns, table_key
from pegboard.search.text import ABBREVIATIONS, expansions, is_consonant_only, matching_short_forms

SOURCE = DatabaseId("shop")


def index(schemas: Mapping[str, DatabaseSchema]) -> TableIndex:
    made = TableIndex()
    for source, schema in schemas.items():
        made.update(DatabaseId(source), IndexedDatabase.of(DatabaseId(source), schema, {}))
    return made


def found(schemas: TableIndex, query: str, *sources: str, most: int = 5) -> list[str]:
    hits = schemas.search(query, [DatabaseId(source) for source in sources] or [*schemas.databases]).tables
    return [f"{source}:{name}" for source, name in islice(hits, most)]


def made(*tables: DatabaseTable) -> DatabaseSchema:
    return DatabaseSchema(Dialect.SQLITE, tables, (), "public")


@pytest.mark.behaviour("databases.search")
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("who buys from us", "shop:public.customers"),
        ("total of each order by day", "shop:public.orders"),
        ("Stück", "shop:Übersicht.order"),
        ("Übersicht.order", "shop:Übersicht.order"),
        ("what is in public.orders?", "shop:public.orders"),
        ("employee salary", "people:hr.EMP_SAL"),
        ("which branches are there", "people:hr.tbl_brnch"),
        ("payments", "people:hr.pmt"),
        ("注文 の 一覧", "people:hr.注文"),
        ("EMP_SAL", "people:hr.EMP_SAL"),
    ],
)
def test_tables_are_found_by_what_people_call_them(query: str, best: str) -> None:
    people = made(
        table("EMP_SAL", "EMP_NO", "AMT", schema="hr"),
        table("tbl_brnch", "brnch_id", "city", schema="hr"),
        table("pmt", "id", "paid_on", schema="hr"),
        table("注文", "番号", schema="hr"),
    )
    assert found(index({"shop": SHOP, "people": people}), query)[0] == best


@pytest.mark.behaviour("databases.search")
def test_samples_are_searched_where_there_are_any_and_are_not_read_for_their_meaning() -> None:
    schemas, tickets = TableIndex(), table("t1", "kind")
    assert found(index({"shop": made(tickets, ORDERS)}), "refund") == []
    held = IndexedDatabase.of(SOURCE, made(tickets, ORDERS), {tickets.name: {"kind": ("refund", "exchange")}})
    schemas.update(SOURCE, held)
    assert found(schemas, "refund") == ["shop:public.t1"]
    assert all("refund" not in document_text(telling.document) for telling in held.document_sources)


@pytest.mark.behaviour("databases.search")
def test_one_database_is_searched_as_if_there_were_no_others() -> None:
    both, alone = index({"shop": SHOP, "other": made(SECRETS, ORDERS)}), index({"shop": SHOP})
    for query in ("orders of customers", "pin", "customer id"):
        assert found(both, query, "shop") == found(alone, query)
    both.remove(DatabaseId("other"))
    assert found(both, "orders of customers") == found(alone, "orders of customers")


names = st.text(st.sampled_from("abcde_ÄÖ日本Z"), min_size=1, max_size=6)
columns = st.lists(names, min_size=1, max_size=4, unique_by=str.casefold)


@st.composite
def databases(draw: st.DrawFn) -> DatabaseSchema:
    tables = [
        table(called, *draw(columns), key=(), comment=draw(st.sampled_from(["", "a b c", "cab dec"])))
        for called in draw(st.lists(names, min_size=1, max_size=6, unique_by=str.casefold))
    ]
    pairs = draw(st.lists(st.tuples(st.sampled_from(tables), st.sampled_from(tables)), max_size=4))
    relations = [
        replace(refers(one.name.table, one.columns[0].name, other.name.table), to_columns=(other.columns[0].name,))
        for one, other in pairs
    ]
    return DatabaseSchema(Dialect.SQLITE, tuple(tables), tuple(dict.fromkeys(relations)), "public")


@pytest.mark.behaviour("databases.withheld_in_search")
@settings(max_examples=40)
@given(databases(), databases(), st.data())
def test_with_denied_tables_the_answer_is_that_of_a_database_without_them(
    open_one: DatabaseSchema, closed: DatabaseSchema, data: st.DataObject
) -> None:
    taken = {each.name.table.casefold() for each in open_one.tables}
    hidden = tuple(each for each in closed.tables if each.name.table.casefold() not in taken)
    linking = tuple(
        replace(
            refers(open_one.tables[0].name.table, open_one.tables[0].columns[0].name, each.name.table),
            to_columns=(each.columns[0].name,),
        )
        for each in hidden
    )
    whole = replace(open_one, tables=(*hidden, *open_one.tables), relations=(*linking, *open_one.relations))
    shown = narrow_schema(whole, denied(*(f"public.{each.name.table}" for each in hidden))) if hidden else whole
    query = " ".join(data.draw(st.lists(st.one_of(names, st.sampled_from(["a", "cab"])), max_size=4)))
    one, other = index({"x": shown}), index({"x": open_one})
    assert found(one, query) == found(other, query)
    assert one.databases[DatabaseId("x")].schema == other.databases[DatabaseId("x")].schema


@pytest.mark.behaviour("databases.search_incremental")
def test_a_table_that_changed_is_taken_apart_again_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    document = TableDocumentSource.document.fget  # type: ignore[attr-defined]

    def counted(telling: TableDocumentSource) -> object:
        taken.append(telling.table.name.table)
        return document(telling)

    first = IndexedDatabase.of(SOURCE, SHOP, {})
    again = IndexedDatabase.of(SOURCE, replace(SHOP, tables=tuple(replace(each) for each in SHOP.tables)), {}, first)
    assert again.part is first.part
    changed = replace(ORDERS, columns=(*ORDERS.columns, TableColumn("parcel", "text")))
    monkeypatch.setattr(TableDocumentSource, "document", property(counted))
    second = IndexedDatabase.of(SOURCE, replace(SHOP, tables=(CUSTOMERS, changed, SECRETS)), {}, first)
    assert taken == ["orders", "secrets"]
    schemas = TableIndex()
    schemas.update(SOURCE, first)
    assert found(schemas, "parcel") == []
    schemas.update(SOURCE, second)
    assert found(schemas, "parcel") == ["shop:public.orders"]
    assert found(schemas, "Stück") == []


@settings(max_examples=25)
@given(st.lists(databases(), min_size=1, max_size=3), names)
def test_an_index_that_followed_changes_answers_as_one_that_was_made_at_once(
    steps: list[DatabaseSchema], query: str
) -> None:
    schemas, held = TableIndex(), None
    for schema in steps:
        held = IndexedDatabase.of(SOURCE, schema, {}, held)
        schemas.update(SOURCE, held)
        assert found(schemas, query, most=99) == found(index({"shop": schema}), query, most=99)


@pytest.mark.behaviour("databases.search_bounded")
def test_five_thousand_tables_are_indexed_and_one_of_them_found() -> None:
    kinds = ("invoice", "parcel", "visit", "sensor", "ticket")
    many = tuple(
        DatabaseTable(
            TableName(f"s{n % 7}", f"{kinds[n % 5]}_{n}"),
            tuple(TableColumn(f"{kinds[c % 5]}_c{c}", "text") for c in range(8)),
        )
        for n in range(5_000)
    )
    schemas = index({"big": made(*many, table("lighthouse", "keeper"))})
    assert found(schemas, "keeper of the lighthouse")[0] == "big:public.lighthouse"
    assert found(schemas, "invoice_1230")[0] == "big:s5.invoice_1230"


def test_short_forms_are_understood() -> None:
    assert [*expansions(["EMP", "no", "x"])] == ["employee", "staff", "number"]
    assert [word for word in ("brnch", "dsbrs", "name", "id", "qty", "größe", "cd") if is_consonant_only(word)] == [
        *("brnch", "dsbrs", "qty"),
    ]
    bare = ["brnch", "mrch", "qty", "pmt", "prd", "str"]
    asked = ("branches", "Merchant", "quantity", "payment", "product", "street", "a", "")
    assert [matching_short_forms(word, bare) for word in asked] == [
        ["brnch"],
        ["mrch"],
        ["qty"],
        ["pmt"],
        [],
        [],
        [],
        [],
    ]
    assert all(words for words in ABBREVIATIONS.values())


def test_the_columns_that_a_question_is_about_are_told() -> None:
    people = table("emp", "EMP_NO", "HIRE_DT", "LST_NM", "DEPT_CD")
    assert matching_columns("last name and hire date of employees", people) == ["HIRE_DT", "EMP_NO", "LST_NM"]
    assert matching_columns("", people) == []


def test_what_is_read_of_a_table_for_its_meaning_is_in_words() -> None:
    telling = TableDocumentSource(table_key(SOURCE, LINES.name), replace(LINES, comment="Lines"))
    assert document_text(telling.document) == "shop: table order (Lines) with columns id, order id, stück, from"
    assert len(IndexedDocuments.of([telling.document])) == 1
