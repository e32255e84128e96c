"""Whose tool a model means by a name, and what a client is told of tools that share one."""

from dataclasses import replace

import pytest
from tests.prompts.boards import ADD, READ, capable

from pegboard.core.calls.tickets import TICKET_ID, TICKET_TOOL
from pegboard.core.model.settings import MIN_BUDGET_TOKENS, PromptSettings
from pegboard.gateway.chat.calls import SEARCH_TOOL, ToolOffer
from pegboard.prompts.model import Model
from pegboard.prompts.system_prompt import CLASH_REASON, BuiltPrompt, build
from pegboard.prompts.tool_shape import ToolShape

NATIVE = Model(8, tool_calling=True)


def offering(*client: str, waiting: bool = False, budget: int | None = None, words: str = "") -> ToolOffer:
    settings = PromptSettings() if budget is None else replace(PromptSettings(), base="", budget=budget)
    shapes = [ToolShape(name, words, {"type": "object", "properties": {}}) for name in client]
    prompt: BuiltPrompt = build(capable(model=NATIVE, found=[READ, ADD]), settings, client=shapes, waiting=waiting)
    return ToolOffer(prompt, frozenset(client))


def own(of: ToolOffer) -> str:
    """The name that a tool of the board has while the client brings none."""
    return next(name for name, id in of.gateway_tools.items() if id == READ)


@pytest.mark.behaviour("chat.client_tools")
def test_a_tool_of_ours_has_another_name_where_the_client_has_its_own() -> None:
    name = own(offering())
    found = offering(name)
    renamed = own(found)
    assert renamed != name
    assert found.name_clashes == [f"{name!r} is called {renamed!r} here: a tool of the client's own has that name."]
    assert [each.shape.name for each in found.prompt.offered_tools].count(name) == 1


@pytest.mark.behaviour("chat.client_tools")
def test_a_tool_of_ours_without_a_free_name_is_left_out_and_that_is_told() -> None:
    name = own(offering())
    taken = [name]
    while READ in offering(*taken).gateway_tools.values():
        taken.append(own(offering(*taken)))
    found = offering(*taken)
    assert f"{READ} is left out: a tool of the client's own has its name." in found.name_clashes
    assert [(ruling.subject, ruling.why) for ruling in found.prompt.left_out] == [(str(READ), CLASH_REASON)]


@pytest.mark.behaviour("chat.client_tools")
def test_search_and_tickets_make_room_for_tools_of_the_client() -> None:
    found = offering("tool_search", TICKET_TOOL, waiting=True)
    assert found.search_tool == "pegboard_tool_search"
    assert found.gateway_tools["pegboard_tool_search"] == SEARCH_TOOL.id
    assert found.gateway_tools[f"pegboard_{TICKET_TOOL}"] == TICKET_ID
    assert offering("tool_search", "pegboard_tool_search").search_tool is None


@pytest.mark.behaviour("chat.client_tools")
def test_a_tool_of_the_clients_that_the_budget_has_no_room_for_is_still_the_clients() -> None:
    name = own(offering())
    found = offering(name, budget=MIN_BUDGET_TOKENS, words="very many words " * 2_000)
    assert name not in [each.shape.name for each in found.prompt.offered_tools]
    assert found.client_tools == {name}


def test_how_to_wait_for_a_person_is_told_once_somebody_must_decide() -> None:
    assert TICKET_TOOL not in offering().gateway_tools
    waiting = offering(waiting=True)
    assert waiting.gateway_tools[TICKET_TOOL] == TICKET_ID
    told = [each for each in waiting.tool_schemas if isinstance(each, dict) and each["name"] == TICKET_TOOL]
    assert [each["reason"] for each in told] == ["a call waits for a person's decision"]
