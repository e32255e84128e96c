"""Whose tool a model means by a name, and what a client is told of tools that share one."""

from dataclasses import replace

import pytest
from tests.prompts.boards import ADD, READ, capable

from pegboard.core.prompting import LEAST_BUDGET, Prompting
from pegboard.core.ticket import TICKET_ID, TICKET_TOOL
from pegboard.gateway.chat.offering import SEARCH_TOOL, Offering
from pegboard.prompts.building import CLASH, Prompt, build
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape

NATIVE = Model(8, tool_calling=True)


def offering(*client: str, waiting: bool = False, budget: int | None = None, words: str = "") -> Offering:
    settings = Prompting() if budget is None else replace(Prompting(), base="", budget=budget)
    shapes = [ToolShape(name, words, {"type": "object", "properties": {}}) for name in client]
    prompt: Prompt = build(capable(model=NATIVE, found=[READ, ADD]), settings, client=shapes, waiting=waiting)
    return Offering(prompt, frozenset(client))


def own(of: Offering) -> str:
    """The name that a tool of the board has while the client brings none."""
    return next(name for name, id in of.ours.items() if id == READ)


@pytest.mark.behaviour("chat.client_tools")
def test_a_tool_of_ours_has_another_name_where_the_client_has_its_own() -> None:
    name = own(offering())
    found = offering(name)
    renamed = own(found)
    assert renamed != name
    assert found.clashes == [f"{name!r} is called {renamed!r} here: a tool of the client's own has that name."]
    assert [each.shape.name for each in found.prompt.offered].count(name) == 1


@pytest.mark.behaviour("chat.client_tools")
def test_a_tool_of_ours_without_a_free_name_is_left_out_and_that_is_told() -> None:
    name = own(offering())
    taken = [name]
    while READ in offering(*taken).ours.values():
        taken.append(own(offering(*taken)))
    found = offering(*taken)
    assert f"{READ} is left out: a tool of the client's own has its name." in found.clashes
    assert [(ruling.subject, ruling.why) for ruling in found.prompt.left_out] == [(str(READ), CLASH)]


@pytest.mark.behaviour("chat.client_tools")
def test_search_and_tickets_make_room_for_tools_of_the_client() -> None:
    found = offering("tool_search", TICKET_TOOL, waiting=True)
    assert found.search == "pegboard_tool_search"
    assert found.ours["pegboard_tool_search"] == SEARCH_TOOL.id
    assert found.ours[f"pegboard_{TICKET_TOOL}"] == TICKET_ID
    assert offering("tool_search", "pegboard_tool_search").search is None


@pytest.mark.behaviour("chat.client_tools")
def test_a_tool_of_the_clients_that_the_budget_has_no_room_for_is_still_the_clients() -> None:
    name = own(offering())
    found = offering(name, budget=LEAST_BUDGET, words="very many words " * 2_000)
    assert name not in [each.shape.name for each in found.prompt.offered]
    assert found.client == {name}


def test_how_to_wait_for_a_person_is_told_once_somebody_must_decide() -> None:
    assert TICKET_TOOL not in offering().ours
    waiting = offering(waiting=True)
    assert waiting.ours[TICKET_TOOL] == TICKET_ID
    told = [each for each in waiting.shown if isinstance(each, dict) and each["name"] == TICKET_TOOL]
    assert [each["why"] for each in told] == ["a call waits for a person's decision"]
