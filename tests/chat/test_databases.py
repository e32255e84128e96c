"""Databases in a chat: a model is told of them while one is on, asks in SQL, and writes only after a yes."""

from pathlib import Path

import pytest
from tests.chat.place import Turn, calls, opened, text
from tests.support.shop import customers, shop

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
        assert {each["subject"]: each["place"] for each in told["builtins"]} == {
            "python_execution": "out",
            "tool_search": "in",
            "search_schemas": "in",
            "execute_sql": "in",
        }
