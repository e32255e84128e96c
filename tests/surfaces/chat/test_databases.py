"""Databases in a chat: a model is told of them while one is on, asks in SQL, and writes only after a yes."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.shop import customers, shop
from tests.surfaces.chat.place import Turn, calls, opened, text

pytestmark = pytest.mark.slow

COUNT = "SELECT count(*) AS n FROM customers WHERE city = 'Lyon'"


@pytest.mark.behaviour("builtins.search_schemas_included", "builtins.execute_sql_included")
@pytest.mark.behaviour("builtins.execute_sql_answers", "databases.writes_confirmed")
def test_a_model_finds_the_table_asks_it_and_writes_only_after_a_yes(tmp_path: Path) -> None:
    file = shop(tmp_path / "shop.db")
    with opened(tmp_path, databases={"shop": {"url": "sqlite:///shop.db", "writes": True}}) as place:
        model = place.model(
            Turn(calls=[("search_schemas", {"query": "customers by city"})]),
            Turn(calls=[("execute_sql", {"source": "shop", "sql": COUNT})]),
            Turn(calls=[("execute_sql", {"source": "shop", "sql": "DELETE FROM customers"})]),
            Turn("Two."),
        )
        body = place.say(model, "How many customers are in Lyon?")
        assert (text(body), calls(body)) == (
            "Two.",
            [
                ("search_schemas", "returned"),
                ("execute_sql", "returned"),
                ("execute_sql", "confirmation_required"),
            ],
        )
        first, second, third, fourth = place.asked_of(model)
        offered = [tool["function"]["name"] for tool in first["tools"]]
        assert {"search_schemas", "execute_sql"} <= {*offered}
        assert "table customers in shop (SQLite" in second["messages"][-1]["content"]
        assert "| 2 |" in third["messages"][-1]["content"]
        assert fourth["messages"][-1]["content"].startswith("confirmation_required")
        assert customers(file) == ["Ada", "Ben", "Cleo"]
        told = place.pegboard("prompt", "--model", "model-x:70b")
        assert {each["subject"]: each["availability"] for each in told["builtins"]} == {
            "python_execution": "in",
            "tool_search": "in",
            "search_schemas": "in",
            "execute_sql": "in",
        }


@pytest.mark.behaviour("databases.limited_by_caller", "builtins.execute_sql_included")
@pytest.mark.parametrize("kind", ["model", "muser"])
def test_a_model_is_told_of_those_databases_that_its_caller_may_ask_and_of_no_other(kind: str, tmp_path: Path) -> None:
    shop(tmp_path / "shop.db")
    databases = {
        "shop": {"url": "sqlite:///shop.db", "description": "Who buys."},
        "payroll": {"url": "sqlite:///shop.db", "description": "What people earn: salaries.", "writes": True},
    }
    principals = {"sales": {"token": "${TOKEN_OF_SALES}", "databases": ["shop"]}}
    with opened(tmp_path, databases=databases, principals=principals) as place:
        native = kind == "model"
        model = place.model(
            *(
                Turn(calls=[(name, {**arguments})]) if native else Turn(hermes(name, arguments))
                for name, arguments in (
                    ("execute_sql", {"source": "payrolx", "sql": COUNT}),
                    ("execute_sql", {"source": "payroll", "sql": COUNT}),
                    ("search_schemas", {"query": "salaries that people earn"}),
                    ("execute_sql", {"source": "shop", "sql": COUNT}),
                )
            ),
            Turn("Two."),
            name=kind,
        )
        body = place.say(model, "How many customers are in Lyon?")
        assert calls(body) == [
            ("execute_sql", "bad_arguments"),
            ("execute_sql", "bad_arguments"),
            ("search_schemas", "returned"),
            ("execute_sql", "returned"),
        ]
        read = place.asked_of(model)
        assert "Who buys" in json.dumps(read[0])
        assert "| 2 |" in json.dumps(read[-1])
        unheard, refused = (each["messages"][-1]["content"] for each in read[1:3])
        assert refused.replace("payroll", "payrolx") == unheard
        own = json.dumps(read).replace('\\"payroll\\"', "").replace("'payroll'", "")
        assert ("What people earn" in own, "payroll" in own.replace(refused, "")) == (False, False)


def hermes(name: str, arguments: Mapping[str, object]) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@pytest.mark.behaviour("deferred.builtins_take_no_place", "deferred.bounded")
def test_a_built_in_that_a_search_finds_keeps_its_name_and_takes_no_place(tmp_path: Path) -> None:
    shop(tmp_path / "shop.db")
    with opened(tmp_path, databases={"shop": {"url": "sqlite:///shop.db"}}) as place:
        search = ("tool_search", {"query": "run one SQL statement", "limit": 2})
        model = place.model(Turn(calls=[search]), Turn("Done."), size="1b")
        place.say(model, "Add two whole numbers.")
        first, second = place.asked_of(model)
    before, after = ([tool["function"]["name"] for tool in body["tools"]] for body in (first, second))
    answer = json.loads(second["messages"][-1]["content"])
    assert answer["tools"][0]["name"] == "execute_sql"
    assert "add" in after
    assert len(after) == len(before)
