"""A launch filter in a chat: what it takes away is neither shown nor found nor called, and it opens nothing."""

from typing import Any

import pytest
from tests.surfaces.chat.place import Place, Turn, calls, text
from tests.surfaces.cli.terminal import program

QUESTION = "Add two whole numbers: 2 and 3."


def names(body: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in body["pegboard"]["tools"]]


@pytest.mark.behaviour("filter.in_chat")
def test_what_the_filter_of_a_request_takes_away_is_neither_shown_nor_called(place: Place) -> None:
    model = place.model(Turn(calls=[("add", {"a": 2, "b": 3})]), Turn("I cannot."))
    body = place.say(model, QUESTION, pegboard={"filter": {"deny_tools": ["*:add"]}})
    assert ("add" in names(body), text(body)) == (False, "I cannot.")
    assert calls(body) == [("add", "unknown_tool")]
    again = place.model(Turn(calls=[("add", {"a": 2, "b": 3})]), Turn("5."))
    told = place.say(
        again, QUESTION, pegboard={"filter": {"allow_servers": ["every*"], "deny_builtins": ["execute_*"]}}
    )
    assert calls(told) == [("add", "returned")]


@pytest.mark.behaviour("filter.in_chat")
def test_a_filter_that_allows_nothing_leaves_a_model_without_tools(place: Place) -> None:
    model = place.model(Turn("Hello."))
    body = place.say(model, QUESTION, pegboard={"filter": {"allow_servers": [], "allow_builtins": []}})
    assert names(body) == []
    (asked,) = place.asked_of(model)
    assert "tools" not in asked


@pytest.mark.behaviour("filter.in_chat")
@pytest.mark.parametrize(
    ("filter", "told"),
    [
        ([], "pegboard.filter must be an object with some of allow_builtins, deny_builtins, allow_servers, "),
        ({"tools": []}, "pegboard.filter.tools is unknown. Did you mean 'deny_tools' or 'allow_tools'? Known there: "),
        ({"deny_tool": []}, "pegboard.filter.deny_tool is unknown. Did you mean 'deny_tools'"),
        ({"denyBuiltins": []}, "pegboard.filter.denyBuiltins is unknown. Did you mean 'deny_builtins'?"),
        ({"allowed_tools": []}, "pegboard.filter.allowed_tools is unknown. Did you mean 'allow_tools'?"),
        ({"deny_tools": "x"}, "pegboard.filter.deny_tools must be a list of at most 200 patterns."),
        ({"deny_tools": ["x"] * 201}, "pegboard.filter.deny_tools must be a list of at most 200 patterns."),
        ({"deny_tools": [7]}, "pegboard.filter: '' is not a pattern: write scope:name"),
        ({"allow_servers": ["a:b"]}, "pegboard.filter: 'a:b' is not a pattern for servers"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(place: Place, filter: object, told: str) -> None:
    answer = place.post({"messages": [{"role": "user", "content": "x"}], "pegboard": {"filter": filter}})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(told)


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("enabled_builtins", "Did you mean 'filter.allow_builtins'?"),
        ("tool_call_formats", "It is set in pegboard.yaml: 'prompts.formats' and 'prompts.primary'."),
        ("format", "It is set in pegboard.yaml: 'prompts.formats' and 'prompts.primary'."),
        ("filters", "Did you mean 'filter'?"),
        ("colour", ""),
    ],
)
def test_an_unknown_member_is_named_with_ours(place: Place, name: str, hint: str) -> None:
    answer = place.post({"messages": [{"role": "user", "content": "x"}], "pegboard": {name: "PureJson"}})
    told = " ".join(filter(None, (f"pegboard.{name} is unknown.", hint, "Known there: run (true or false), wait")))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, f"pegboard.{name}")
    assert answer.json()["error"]["message"].startswith(told)


@pytest.mark.slow
@pytest.mark.behaviour("filter.in_chat", "filter.in_flags")
def test_the_terminal_client_takes_the_filter_as_flags(place: Place) -> None:
    model = place.model(Turn("No tools."))
    words = ("chat", QUESTION, "--model", model, "--deny-tools", "*:add, *:echo", "--allow-builtins", "")
    done = program(place.folder, *words, "--data-dir", place.gateway.data_dir)
    assert (done.code, done.out) == (0, "No tools.\n"), done.err
    (asked,) = place.asked_of(model)
    shown = [tool["function"]["name"] for tool in asked.get("tools", ())]
    assert {"add", "tool_search"}.isdisjoint(shown)
