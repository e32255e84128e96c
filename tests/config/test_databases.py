"""`databases` in pegboard.yaml: sources by id, with everything that is wrong with one told at its place."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.config.loading import FOLDER, problems, settings

from pegboard.config.databases import DatabaseLocation, dialect_of, display_url, locate_database
from pegboard.config.references import expander
from pegboard.core.explain.what_if import describe_settings_changes
from pegboard.core.model.databases import (
    DEFAULT_CALL_ROWS,
    DatabaseAccess,
    DatabaseId,
    DatabaseSettings,
    Dialect,
    NamePattern,
    QueryLimits,
    enabled_databases,
    parse_name_pattern,
)
from pegboard.core.model.server import DeclaredAt
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.ports.providers import UnresolvedReference

SHOP = DatabaseId("shop")
FULL = """\
    databases:
      shop:
        url: sqlite:///shop.db
        description: |
          Orders and
          customers.
        enabled: false
        allow: ["main.*", orders]
        deny: users.password
        max_rows: 50
        max_bytes: 20000
        max_cell: 100
        timeout: 500ms
        samples: true
        writes: true
        force: true
    """


def pattern(text: str) -> NamePattern:
    read = parse_name_pattern(text)
    assert isinstance(read, NamePattern)
    return read


def where(
    url: str, environ: dict[str, str] | None = None, folder: Path = FOLDER
) -> DatabaseLocation | UnresolvedReference:
    given = environ or {}
    return locate_database(DatabaseSettings(SHOP, url, DeclaredAt("f", 1)), expander(given, folder), folder, given)


@pytest.mark.behaviour("databases.declared")
def test_a_database_is_all_that_the_file_says_of_it() -> None:
    assert settings(FULL).declared.databases == {
        SHOP: DatabaseSettings(
            SHOP,
            "sqlite:///shop.db",
            DeclaredAt("pegboard.yaml", 2),
            enabled=False,
            description="Orders and customers.",
            access=DatabaseAccess((pattern("main.*"), pattern("orders")), (pattern("users.password"),)),
            limits=QueryLimits(50, 20_000, 100, 0.5),
            samples=True,
            writes=True,
            force=True,
        )
    }


@pytest.mark.behaviour("databases.declared")
def test_a_url_is_enough_and_then_nothing_is_written_sampled_or_forced() -> None:
    (plain,) = settings("databases: {shop: {url: 'sqlite:///shop.db'}}").declared.databases.values()
    assert plain == DatabaseSettings(SHOP, "sqlite:///shop.db", DeclaredAt("pegboard.yaml", 1))
    assert (plain.enabled, plain.samples, plain.writes, plain.force) == (True, False, False, False)
    assert plain.limits_for_call(None) == QueryLimits(rows=DEFAULT_CALL_ROWS)
    assert plain.limits_for_call(7) == QueryLimits(rows=7)
    assert plain.limits_for_call(10**9) == QueryLimits(rows=1000)
    few = replace(plain, limits=QueryLimits(rows=5))
    assert [few.limits_for_call(asked).rows for asked in (None, 3, 50)] == [5, 3, 5]


@pytest.mark.behaviour("databases.declared")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{url: 'oracle://x'}", "shop.url: write a URL: sqlite:///file.db, duckdb:///file.duckdb, postgresql://user"),
        ("{url: shop.db}", "shop.url: write a URL: "),
        ("{enabled: true}", "shop.url: this is missing. Where it is: "),
        ("{url: 'postgresql://me:swordfish@db/shop'}", "shop.url: write the password as a reference without a default"),
        ("{url: 'postgresql://me:${PW:-swordfish}@db/shop'}", "shop.url: write the password as a reference without"),
        ("{url: 'mysql://db/shop?password=swordfish'}", "shop.url: write the password as a reference without"),
        ("{url: '${request:X-Db}'}", "shop.url: ${request:X-Db} stands for a header of each caller's own request"),
        ("{url: 'sqlite:///a.db', deny: [a.b.c.d]}", "shop.deny[0]: 'a.b.c.d' is not a pattern of tables: write table"),
        ("{url: 'sqlite:///a.db', allow: ['a..b']}", "shop.allow[0]: 'a..b' is not a pattern of tables"),
        ("{url: 'sqlite:///a.db', max_rows: 0}", "shop.max_rows: this must be a whole number from 1 to 10000"),
        ("{url: 'sqlite:///a.db', timeout: never}", "shop.timeout: this must be seconds"),
        ("{url: 'sqlite:///a.db', writes: yes}", "shop.writes: this must be true or false"),
        ("{url: 'sqlite:///a.db', readonly: true}", "shop.readonly: unknown key. It is read-only unless you write"),
        ("{url: 'duckdb:///a.db', writes: true}", "shop.writes: DuckDB is only read here"),
        ("{path: a.db}", "shop.path: unknown key. Write url: sqlite:///path."),
        ("[sqlite]", "shop: this must be a map with keys such as url, enabled, description; it is "),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_never_quotes_a_secret(text: str, told: str) -> None:
    found = problems(f"databases:\n  shop: {text}")
    assert any(problem.startswith(f"pegboard.yaml:2: databases.{told}") for problem in found), found
    assert "swordfish" not in str(found)


@pytest.mark.behaviour("databases.declared")
def test_a_bad_name_of_a_source_is_told() -> None:
    (problem,) = problems("databases:\n  Shop 1: {url: 'sqlite:///a.db'}")
    assert problem.startswith("pegboard.yaml:2: databases.'Shop 1': 'Shop 1' cannot be a name here: use ")


@pytest.mark.behaviour("databases.declared")
def test_a_reference_to_nothing_is_a_warning_at_its_line_and_the_rest_is_loaded() -> None:
    text = "databases:\n  shop: {url: 'postgresql://me:${PW}@db/shop'}\n  other: {url: 'sqlite:///a.db'}"
    loaded = settings(text)
    assert [str(warning) for warning in loaded.warnings] == [
        "pegboard.yaml:2: databases.shop.url: ${PW} stands for nothing: the environment variable PW is not set. "
        "Set it before the gateway starts."
    ]
    assert [*loaded.declared.databases] == ["shop", "other"]
    assert settings(text, {"PW": "x"}).warnings == ()


@pytest.mark.behaviour("databases.declared")
@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:///shop.db", DatabaseLocation(Dialect.SQLITE, "/etc/pegboard/shop.db")),
        ("sqlite:///../shop.db", DatabaseLocation(Dialect.SQLITE, "/etc/shop.db")),
        ("sqlite:////srv/shop.db", DatabaseLocation(Dialect.SQLITE, "/srv/shop.db")),
        ("sqlite:///a%20b%25.db", DatabaseLocation(Dialect.SQLITE, "/etc/pegboard/a b%.db")),
        ("sqlite:///~/shop.db", DatabaseLocation(Dialect.SQLITE, "/srv/ada/shop.db")),
        ("sqlite:///${DIR}/shop.db", DatabaseLocation(Dialect.SQLITE, "/srv/data/shop.db")),
        ("duckdb:///shop.duckdb", DatabaseLocation(Dialect.DUCKDB, "/etc/pegboard/shop.duckdb")),
        ("${WHOLE}", DatabaseLocation(Dialect.POSTGRESQL, "postgresql://ada:p%40ss@db/shop")),
        ("postgres://ada@db:5433/shop", DatabaseLocation(Dialect.POSTGRESQL, "postgres://ada@db:5433/shop")),
        ("mariadb://ada:${PW}@db/shop", DatabaseLocation(Dialect.MYSQL, "mariadb://ada:p%40s%2Fs%20%24%7B@db/shop")),
        (
            "mysql://${USER}:${PW}@${HOST}/shop",
            DatabaseLocation(Dialect.MYSQL, "mysql://ada:p%40s%2Fs%20%24%7B@db/shop"),
        ),
    ],
)
def test_a_source_is_found_from_the_folder_of_the_file_with_its_references_followed(
    url: str, place: DatabaseLocation
) -> None:
    environ = {
        "HOME": "/srv/ada",
        "DIR": "/srv/data",
        "WHOLE": "postgresql://ada:p%40ss@db/shop",
        "USER": "ada",
        "PW": "p@s/s ${",
        "HOST": "db",
    }
    assert where(url, environ) == place


@pytest.mark.behaviour("databases.declared")
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("${GONE}", "${GONE} stands for nothing"),
        ("mysql://ada:${GONE}@db/x", "${GONE} stands for nothing"),
        ("mysql://ada:${PW}@${GONE}/x", "${GONE} stands for nothing"),
        ("${ODD}", "its url does not begin with one of sqlite://, duckdb://, postgresql://"),
        ("sqlite:///?mode=ro", "its url names no file. Write sqlite:///file.db."),
    ],
)
def test_an_address_that_is_none_says_why(url: str, told: str) -> None:
    found = where(url, {"ODD": "http://example.com", "PW": "x"})
    assert isinstance(found, UnresolvedReference)
    assert found.why.startswith(told)


@pytest.mark.behaviour("databases.secrets_unseen")
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///shop.db", "sqlite:///shop.db"),
        ("postgresql://ada:${PW}@db:5433/shop?sslmode=require&password=${PW}", "postgresql://db:5433/shop"),
        ("mysql://ada@db/shop", "mysql://db/shop"),
        ("${WHOLE}", "${WHOLE}"),
        ("${WHOLE:-mysql://a:swordfish@b/c}", "…"),
    ],
)
def test_an_address_is_shown_without_who_asks_there(url: str, shown: str) -> None:
    assert display_url(url) == shown


@pytest.mark.behaviour("databases.secrets_unseen")
def test_no_secret_is_in_what_is_printed_of_settings() -> None:
    loaded = settings("databases: {shop: {url: 'postgresql://me:${PW}@db/shop'}}", {"PW": "swordfish"})
    assert "swordfish" not in repr(loaded)
    assert "swordfish" not in repr(where("postgresql://me:${PW}@db/shop", {"PW": "swordfish"}))


@pytest.mark.behaviour("databases.declared")
def test_what_is_in_use_is_what_is_on_in_the_order_of_ids() -> None:
    loaded = settings(
        "databases: {b: {url: 'sqlite:///b.db'}, c: {url: 'sqlite:///c', enabled: false}, a: {url: 'sqlite:///a'}}"
    )
    assert [*enabled_databases(loaded.declared.databases)] == ["a", "b"]


@pytest.mark.behaviour("databases.follow_the_file")
def test_an_edit_is_told_by_the_names_of_what_changed() -> None:
    before = settings(FULL).declared
    moved = settings(f"    x-line: above\n{FULL}").declared
    assert moved != before
    assert describe_settings_changes(before, moved) == ()
    after = settings(FULL.replace("writes: true", "writes: false").replace("shop.db", "other.db")).declared
    assert describe_settings_changes(before, after) == ("database shop: url, writes changed",)
    assert describe_settings_changes(before, DeclaredSettings()) == ("database shop removed",)
    assert describe_settings_changes(DeclaredSettings(), before) == ("database shop added",)


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb", "postgres", "postgresql", "mysql", "mariadb"])
def test_every_scheme_has_its_dialect(scheme: str) -> None:
    assert dialect_of(f"{scheme}://x") is not None
    assert dialect_of("http://x") is None
