"""Models that write programs: told of functions, run, told what came of it, and searching for more."""

from collections.abc import Iterator

import pytest
from tests.servers.model import Body, text_of
from tests.surfaces.chat.place import Place, Turn, calls, opened, text

QUESTION = "Add two whole numbers: 2 and 3."


@pytest.fixture(scope="module")
def coding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Every model writes programs."""
    with opened(tmp_path_factory.mktemp("code"), prompts={"primary": "codemode"}) as place:
        yield place


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def system(body: Body) -> str:
    return text_of(body["messages"][0])


@pytest.mark.behaviour("code.chat")
def test_a_model_is_told_of_functions_and_its_program_is_run(coding: Place) -> None:
    code = "first = await everyday.add(a=2, b=3)\nprint(first['total'])\nawait everyday.add(a=first['total'], b=10)"
    model = coding.model(Turn(f"Let me see.\n{block(code)}"), Turn("The sums are 5 and 15."))
    body = coding.say(model, QUESTION)
    assert text(body).endswith("The sums are 5 and 15.")
    assert calls(body) == [("python_execution", "returned")]
    first, second = coding.asked_of(model)
    assert "tools" not in first
    assert "# functions of everyday" in system(first)
    assert "async def add(*, a: int, b: int)" in system(first)
    assert "await" in system(first)
    assert "small Python of its own" in system(first)
    fed = second["messages"][-1]["content"]
    assert "5\n" in fed
    assert '"total": 15' in fed
    assert body["pegboard"]["format"] == "codemode"
    rows = [row for row in coding.activity() if row.get("presentation") == "chat"][:3]
    assert [row["name"] for row in rows] == ["python_execution", "add", "add"]


@pytest.mark.behaviour("code.chat")
def test_a_program_that_is_wrong_is_told_to_the_model_by_line(coding: Place) -> None:
    wrong = "total = everyday.add(a=2, b=3)['total']"
    model = coding.model(Turn(block(wrong)), Turn("I cannot."))
    body = coding.say(model, QUESTION)
    assert calls(body) == [("python_execution", "tool_failed")]
    assert "`await` is missing" in coding.asked_of(model)[1]["messages"][-1]["content"]


@pytest.mark.behaviour("code.chat", "autosearch.model_may_search_again")
def test_a_model_searches_for_more_functions_by_a_block_of_its_own(coding: Place) -> None:
    search = block('print(tool_search(query="give the text back as it came", limit=1))')
    model = coding.model(Turn(search), Turn(block("await everyday.echo(text='hi')")), Turn("It says hi."))
    body = coding.say(model, "hello there")
    assert calls(body) == [("tool_search", "returned"), ("python_execution", "returned")]
    assert "async def echo(" in system(coding.asked_of(model)[1])


@pytest.mark.behaviour("code.chat")
def test_a_tool_of_the_clients_own_is_called_alone_and_by_the_client(coding: Place) -> None:
    own = {"type": "function", "function": {"name": "blink", "parameters": {"type": "object", "properties": {}}}}
    model = coding.model(Turn(block("blink()")))
    body = coding.say(model, "hello", tools=[own])
    [call] = body["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], body["choices"][0]["finish_reason"]) == ("blink", "tool_calls")


@pytest.mark.behaviour("builtins.python_execution_included", "code.chat")
def test_a_model_that_calls_tools_natively_has_python_execution_too(place: Place) -> None:
    code = "first = await everyday.add(a=2, b=3)\nfirst['total'] + 10"
    model = place.model(Turn(calls=[("python_execution", {"code": code})]), Turn("It is 15."))
    body = place.say(model, QUESTION)
    assert (body["pegboard"]["format"], calls(body)) == ("native", [("python_execution", "returned")])
    first, second = place.asked_of(model)
    told = {each["function"]["name"]: each["function"]["description"] for each in first["tools"]}
    assert "everyday.add" in told["python_execution"]
    assert second["messages"][-1]["content"] == "15"
    reasons = [why for why in body["pegboard"]["reasons"] if "python_execution" in why or "codemode" in why]
    assert [why for why in reasons if "has no python_execution" in why] == []


def test_a_call_of_python_execution_that_does_not_fit_is_told_with_its_schema(place: Place) -> None:
    model = place.model(Turn(calls=[("python_execution", {"program": "1"})]), Turn("I cannot."))
    assert calls(place.say(model, QUESTION)) == [("python_execution", "bad_arguments")]
    assert "timeout_s" in place.asked_of(model)[1]["messages"][-1]["content"]
