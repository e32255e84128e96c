"""What of a source may be read, by patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.databases.schema import (
    DatabaseSchema,
    DatabaseTable,
    ForeignKey,
    TableColumn,
    TableName,
    narrow_schema,
)
from pegboard.core.model.databases import (
    FULL_ACCESS,
    BadPattern,
    DatabaseAccess,
    Dialect,
    NamePattern,
    parse_name_pattern,
)


def access(allow: str = "", deny: str = "") -> DatabaseAccess:
    return DatabaseAccess(_patterns(allow), _patterns(deny))


def _patterns(text: str) -> tuple[NamePattern, ...]:
    found = tuple(parse_name_pattern(each) for each in text.split())
    assert all(isinstance(each, NamePattern) for each in found)
    return tuple(each for each in found if isinstance(each, NamePattern))


@pytest.mark.behaviour("databases.patterns")
@pytest.mark.parametrize(
    ("allow", "deny", "table", "opens"),
    [
        ("", "", "main.users", True),
        ("", "users", "main.users", False),
        ("", "users", "other.users", False),
        ("", "main.users", "other.users", True),
        ("", "secret*", "main.Secret_Keys", False),
        ("", "hr.*", "hr.people", False),
        ("", "hr.*", "sales.people", True),
        ("", "main.users.*", "main.users", False),
        ("", "users.*", "main.users", False),
        ("", "main.users.password", "main.users", True),
        ("orders", "", "main.orders", True),
        ("orders", "", "main.users", False),
        ("main.users.name", "", "main.users", True),
        ("*", "users", "main.users", False),
        ("users", "users", "main.users", False),
        ("", "[us]sers", "main.users", False),
    ],
)
def test_a_table_is_open_when_no_deny_fits_and_an_allow_does(allow: str, deny: str, table: str, opens: bool) -> None:
    schema, name = table.split(".")
    assert access(allow, deny).allows_table(schema, name) is opens


@pytest.mark.behaviour("databases.patterns")
@pytest.mark.parametrize(
    ("allow", "deny", "opens"),
    [
        ("", "", True),
        ("", "main.users.password", False),
        ("", "*.*.pass*", False),
        ("", "users.password", False),
        ("", "USERS.PassWord", False),
        ("", "main.users.name", True),
        ("", "users", False),
        ("main.users", "", True),
        ("main.users.name", "", False),
        ("main.users.name main.users", "", True),
        ("users.password", "", False),
        ("main.users.password", "main.users.password", False),
    ],
)
def test_a_column_is_open_when_its_table_is_and_nothing_denies_it(allow: str, deny: str, opens: bool) -> None:
    assert access(allow, deny).allows_column("main", "users", "password") is opens


@pytest.mark.parametrize("text", ["", ".", "a.b.c.d", "a..b", " users", "users. name", ".users", "x" * 600])
def test_what_is_no_pattern_is_told(text: str) -> None:
    found = parse_name_pattern(text)
    assert isinstance(found, BadPattern)
    assert "pattern" in found.why


def test_access_to_everything_is_known_without_a_look_at_the_source() -> None:
    assert [
        each.is_unrestricted for each in (FULL_ACCESS, access("*"), access("*.*.*"), access("main.*"), access("", "x"))
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_patterns_that_fit_nothing_are_found() -> None:
    patterns = access("main.users orders", "usres users.password main.users.pasword")
    assert [
        str(each) for each in patterns.unmatched_patterns([("main", "users", "password"), ("main", "orders", "id")])
    ] == [
        "usres",
        "main.users.pasword",
    ]


USERS, ORDERS, SECRETS = (TableName("main", name) for name in ("users", "orders", "secrets"))
SHOP = DatabaseSchema(
    Dialect.SQLITE,
    (
        DatabaseTable(
            USERS, (TableColumn("id", "integer"), TableColumn("name", "text"), TableColumn("password", "text")), ("id",)
        ),
        DatabaseTable(ORDERS, (TableColumn("id", "integer"), TableColumn("user", "integer")), ("id",)),
        DatabaseTable(SECRETS, (TableColumn("user", "integer"), TableColumn("value", "text")), ("user",)),
    ),
    (ForeignKey(ORDERS, ("user",), USERS, ("id",)), ForeignKey(SECRETS, ("user",), USERS, ("id",))),
    "main",
)


@pytest.mark.behaviour("databases.withheld")
def test_a_narrowed_schema_has_no_word_of_what_is_closed() -> None:
    assert narrow_schema(SHOP, access("", "secrets users.password")) == DatabaseSchema(
        Dialect.SQLITE,
        (
            DatabaseTable(USERS, (TableColumn("id", "integer"), TableColumn("name", "text")), ("id",)),
            DatabaseTable(ORDERS, (TableColumn("id", "integer"), TableColumn("user", "integer")), ("id",)),
        ),
        (ForeignKey(ORDERS, ("user",), USERS, ("id",)),),
        "main",
    )


def test_a_key_and_a_relation_go_with_any_of_their_columns() -> None:
    found = narrow_schema(SHOP, access("", "main.users.id"))
    assert [table.key for table in found.tables] == [(), ("id",), ("user",)]
    assert found.relations == ()


def test_a_table_without_an_open_column_is_not_there() -> None:
    found = narrow_schema(SHOP, access("", "main.secrets.user main.secrets.value"))
    assert [table.name for table in found.tables] == [USERS, ORDERS]


names = st.text(alphabet="abAB_", min_size=1, max_size=3)
patterns = st.builds(
    lambda parts: parse_name_pattern(".".join(parts)),
    st.lists(st.one_of(names, st.just("*"), names.map(lambda name: name + "*")), min_size=1, max_size=3),
).map(lambda found: found if isinstance(found, NamePattern) else NamePattern("*", "*", "*"))
accesses = st.builds(
    DatabaseAccess, st.lists(patterns, max_size=3).map(tuple), st.lists(patterns, max_size=3).map(tuple)
)


@given(accesses, patterns, names, names, names)
def test_to_deny_more_never_opens_anything(
    given: DatabaseAccess, more: NamePattern, schema: str, table: str, col: str
) -> None:
    denying = DatabaseAccess(given.allow, (*given.deny, more))
    assert not denying.allows_table(schema, table) or given.allows_table(schema, table)
    assert not denying.allows_column(schema, table, col) or given.allows_column(schema, table, col)


@given(accesses, names, names, names)
def test_an_open_column_is_in_an_open_table_and_capitals_do_not_count(
    given: DatabaseAccess, schema: str, table: str, column: str
) -> None:
    opens = given.allows_column(schema, table, column)
    assert not opens or given.allows_table(schema, table)
    assert given.allows_column(schema.upper(), table.lower(), column.swapcase()) is opens
