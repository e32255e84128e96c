"""`pegboard db …` at a terminal: words or one document, the code that says how it ended, and no secret."""

import json
from pathlib import Path

import pytest
from tests.support.shop import customers, shop
from tests.surfaces.cli.terminal import Pegboard, board, program


@pytest.fixture
def config(tmp_path: Path) -> Path:
    shop(tmp_path / "shop.db")
    databases = {
        "shop": {"url": "sqlite:///shop.db", "description": "Orders and customers", "deny": ["staff"]},
        "open": {"url": "sqlite:///shop.db", "writes": True},
        "gone": {"url": "sqlite:///gone.db", "enabled": False},
        "far": {"url": "postgresql://ada:${FAR_PASSWORD}@db.example.com/far", "enabled": False},
    }
    return board(tmp_path / "pegboard.yaml", {}, databases=databases)


@pytest.mark.behaviour("databases.commands", "databases.secrets_unseen")
def test_every_database_is_listed_without_who_asks_there(
    pegboard: Pegboard, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_PASSWORD", "swordfish")
    done = pegboard("db", "list", "--config", config)
    assert (done.code, done.out) == (
        0,
        "DATABASE  KIND        WHERE                            HOW\n"
        "○ far     PostgreSQL  postgresql://db.example.com/far  read-only, off\n"
        "○ gone    SQLite      sqlite:///gone.db                read-only, off\n"
        "● open    SQLite      sqlite:///shop.db                may be changed after a yes\n"
        "● shop    SQLite      sqlite:///shop.db                read-only\n",
    )
    document = pegboard("db", "list", "--config", config, "--json")
    assert [each["id"] for each in document.json["databases"]] == ["far", "gone", "open", "shop"]
    assert "swordfish" not in document.out
    assert "ada" not in document.out


@pytest.mark.behaviour("databases.commands")
def test_a_check_tells_what_answers_and_what_may_be_seen(pegboard: Pegboard, config: Path) -> None:
    one = pegboard("db", "check", "shop", "--config", config)
    assert one.code == 0, one.err
    assert one.out.startswith("● shop: SQLite 3.")
    assert one.out.endswith("; 2 tables of 8 columns\n")
    both = pegboard("db", "check", "--config", config, "--json").json["databases"]
    assert [(each["id"], each["served"], each["tables"]) for each in both] == [("open", True, 3), ("shop", True, 2)]
    nobody = pegboard("db", "check", "shpo", "--config", config)
    assert (nobody.code, nobody.err) == (4, "pegboard: There is no database 'shpo'. Did you mean 'shop'?\n")
    off = pegboard("db", "check", "gone", "--config", config)
    assert (off.code, "Write enabled: true at" in off.err) == (5, True)


@pytest.mark.behaviour("databases.commands", "databases.doctor")
def test_a_database_that_is_not_there_is_told_by_check_and_doctor(pegboard: Pegboard, tmp_path: Path) -> None:
    config = board(tmp_path / "pegboard.yaml", {}, databases={"gone": {"url": "sqlite:///gone.db"}})
    done = pegboard("db", "check", "--config", config)
    assert done.code == 1
    assert done.out.startswith("○ gone cannot be asked: ")
    doctor = pegboard("doctor", "--config", config, "--json")
    (found,) = [each for each in doctor.json["findings"] if each["subject"] == "database gone"]
    assert doctor.code == 1
    assert found["message"].startswith("Database gone cannot be asked: ")
    assert found["fix"] == f"Correct it at {config}:4, then look again: pegboard db check gone"
    assert not (tmp_path / "gone.db").exists()


@pytest.mark.behaviour("databases.commands", "builtins.execute_sql_answers")
def test_a_query_is_answered_as_a_table_or_as_one_document(pegboard: Pegboard, config: Path) -> None:
    asked = "SELECT city, count(*) AS customers FROM customers GROUP BY city ORDER BY city"
    table = pegboard("db", "query", "shop", asked, "--config", config)
    assert (table.code, table.out) == (0, "| city | customers |\n|---|---|\n| Lyon | 2 |\n| Paris | 1 |\n"), table.err
    document = pegboard("db", "query", "shop", asked, "--max-rows", "1", "--config", config, "--json").json
    assert (document["rows"], document["row_count"], document["truncated"]) == (
        [["Lyon", 2]],
        1,
        {"more_rows": True, "by": "rows"},
    )
    named = pegboard(
        *("db", "query", "shop", "SELECT name FROM customers WHERE city = :c AND id > :i ORDER BY id"),
        *("--param", "c=Lyon", "--param", "i=1", "--config", config, "--json"),
    )
    assert named.json["rows"] == [["Ben"]]
    placed = pegboard(
        "db", "query", "shop", "SELECT ?, ?", "--param", "5", "--param", "x", "--config", config, "--json"
    )
    assert placed.json["rows"] == [[5, "x"]]


@pytest.mark.behaviour("databases.commands")
def test_a_query_is_read_from_standard_input(pegboard: Pegboard, config: Path) -> None:
    for words in (("db", "query", "shop"), ("db", "query", "shop", "-")):
        done = pegboard(*words, "--config", config, stdin="SELECT name\nFROM customers\nWHERE id = 3\n")
        assert (done.code, done.out) == (0, "| name |\n|---|\n| Cleo |\n"), done.err
    empty = pegboard("db", "query", "shop", "--config", config)
    assert (empty.code, "there is no SQL" in empty.err) == (2, True)


@pytest.mark.behaviour("databases.commands", "databases.errors_help")
def test_a_query_that_fails_tells_what_mends_it_and_ends_with_1(pegboard: Pegboard, config: Path) -> None:
    done = pegboard("db", "query", "shop", "SELECT nam FROM customers", "--config", config)
    assert (done.code, done.out) == (1, "")
    assert "nam" in done.err
    assert "name" in done.err
    denied = pegboard("db", "query", "shop", "SELECT * FROM staff", "--config", config)
    nothing = pegboard("db", "query", "shop", "SELECT * FROM stafx", "--config", config)
    assert denied.code == nothing.code == 1
    assert denied.err.replace("staff", "stafx") == nothing.err
    assert "Dora" not in denied.err
    nowhere = pegboard("db", "query", "shp", "SELECT 1", "--config", config)
    assert (nowhere.code, nowhere.out) == (4, "")
    assert "There is no database 'shp' in use. There are: open, shop" in nowhere.err


@pytest.mark.behaviour("databases.writes_confirmed", "databases.commands")
def test_a_query_that_writes_is_refused_or_waits_for_a_person(pegboard: Pegboard, config: Path, tmp_path: Path) -> None:
    write = "DELETE FROM customers WHERE id = 2"
    refused = pegboard("db", "query", "shop", write, "--config", config)
    assert (refused.code, refused.err.startswith("pegboard: Refused: shop may only be read")) == (5, True)
    waits = pegboard("db", "query", "open", write, "--config", config, "--json")
    assert (waits.code, waits.json["outcome"]) == (5, "confirmation_required")
    assert customers(tmp_path / "shop.db") == ["Ada", "Ben", "Cleo"]
    shown = pegboard("tickets", "show", waits.json["ticket"], "--config", config).out
    assert json.loads(shown.partition("arguments, to the letter:")[2].partition("\npegboard")[0])["sql"] == write
    assert pegboard("tickets", "allow", waits.json["ticket"], "--config", config).code == 0
    done = pegboard("db", "query", "open", write, "--config", config, "--json")
    assert (done.code, done.json["changed_rows"]) == (0, 1), done.err
    assert customers(tmp_path / "shop.db") == ["Ada", "Cleo"]
    again = pegboard("db", "query", "open", write, "--config", config, "--json")
    assert again.json["outcome"] == "confirmation_required"


@pytest.mark.behaviour("databases.commands", "builtins.search_schemas_by_meaning")
def test_tables_are_found_by_what_they_mean(pegboard: Pegboard, config: Path) -> None:
    done = pegboard("db", "search", "who placed an order", "--source", "shop", "--config", config)
    assert done.code == 0, done.err
    assert done.out.startswith("table orders in shop (SQLite")
    assert "- id INTEGER, key\n- customer_id INTEGER\n" in done.out
    assert "joins: orders.customer_id = customers.id\n" in done.out
    document = pegboard("db", "search", "salary of staff", "--limit", "1", "--config", config, "--json").json
    assert [(each["source"], each["table"]) for each in document["tables"]] == [("open", "staff")]


@pytest.mark.behaviour("databases.commands")
def test_without_databases_every_command_says_where_to_declare_one(pegboard: Pegboard, tmp_path: Path) -> None:
    config = board(tmp_path / "pegboard.yaml", {})
    where = "No databases. Declare one under databases in pegboard.yaml: docs/how-to/databases.md"
    for words in (("list",), ("check",)):
        done = pegboard("db", *words, "--config", config)
        assert (done.code, done.out) == (0, f"{where}\n")
    for asking in (("search", "x"), ("query", "shop", "SELECT 1")):
        done = pegboard("db", *asking, "--config", config)
        assert (done.code, done.err) == (4, f"pegboard: {where}\n")


@pytest.mark.behaviour("databases.commands")
def test_a_file_that_is_wrong_ends_with_3_and_its_line(tmp_path: Path) -> None:
    (tmp_path / "pegboard.yaml").write_text("databases:\n  shop:\n    url: shop.db\n")
    done = program(tmp_path, "db", "list", cwd=tmp_path)
    assert done.code == 3
    assert "pegboard.yaml:3: databases.shop.url: write a URL: sqlite:///file.db" in done.err


@pytest.mark.behaviour("databases.commands")
def test_a_statement_that_is_refused_ends_with_another_code_than_one_that_fails(
    pegboard: Pegboard, config: Path, tmp_path: Path
) -> None:
    refused = pegboard("db", "query", "shop", "DELETE FROM customers", "--config", config)
    assert (refused.code, refused.err) == (
        5,
        "pegboard: Refused: shop may only be read, and this statement would change it. It has not run. Ask for what is "
        "there instead, or tell the user.\n",
    )
    defining = pegboard("db", "query", "open", "DROP TABLE customers", "--config", config)
    assert (defining.code, defining.err.startswith("pegboard: Refused by open: DROP statements")) == (5, True)
    failed = pegboard("db", "query", "open", "INSERT INTO customers (nmae) VALUES (1)", "--config", config)
    assert (failed.code, "Did you mean" in failed.err) == (1, True)
    gone = board(tmp_path / "gone.yaml", {}, databases={"gone": {"url": "sqlite:///gone.db"}})
    away = pegboard("db", "query", "gone", "SELECT 1", "--config", gone)
    assert (away.code, away.err.startswith("pegboard: Database 'gone' cannot be asked: There is no file")) == (6, True)


@pytest.mark.behaviour("databases.commands")
def test_a_password_that_stands_for_nothing_is_told_without_a_default_to_write(
    pegboard: Pegboard, tmp_path: Path
) -> None:
    config = board(
        tmp_path / "pegboard.yaml", {}, databases={"far": {"url": "postgresql://ada:${NOTSET}@db.example.com/far"}}
    )
    done = pegboard("db", "query", "far", "SELECT 1", "--config", config)
    assert (done.code, "NOTSET is not set" in done.err, "default" in done.err) == (6, True, False)
    assert "default" not in pegboard("db", "check", "--config", config).out
