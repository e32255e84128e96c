"""Models that call tools in their text: small and large, thinking, cut off, and in each format that is theirs."""

import json
from typing import Any

import pytest
from tests.servers.model import Body, text_of
from tests.surfaces.chat.place import Place, Raw, Turn, calls, text

QUESTION = "Add two whole numbers: 2 and 3."
HERMES = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'


def system(body: Body) -> str:
    first = body["messages"][0]
    assert first["role"] == "system"
    return text_of(first)


@pytest.mark.behaviour("chat.text_formats", "prompt.flow_order")
def test_a_small_model_without_tool_calling_gets_the_same_tools_in_its_prompt(place: Place) -> None:
    """Capabilities, search, prompt, request, in this order: two tools for a small model, in a format of its own."""
    model = place.model(Turn(f"Let me see. {HERMES}"), Turn("The sum is 5."), name="tiny", size="1b")
    body = place.say(model, QUESTION)
    assert (text(body).split(), calls(body)) == (["Let", "me", "see.", "The", "sum", "is", "5."], [("add", "returned")])
    first, second = place.asked_of(model)
    assert ("tools" in first, "tool_choice" in first) == (False, False)
    assert '"add"' in system(first)
    assert "<tool_call>" in system(first)
    told = body["pegboard"]
    assert (told["format"], [tool["name"] for tool in told["tools"]].count("add")) == ("hermes", 1)
    assert len([tool for tool in told["tools"] if tool["tool"].startswith("mcp:")]) == 2
    assert [part["part"] for part in told["prompt"]] == ["base", "format", "built-ins", "tools"]
    assert sum(part["tokens"] for part in told["prompt"]) > 100
    answered = second["messages"][-1]
    assert (answered["role"], "<tool_response>" in answered["content"]) == ("user", True)
    assert '{"name": "add", "arguments": {"a": 2, "b": 3}}' in second["messages"][-2]["content"]


@pytest.mark.behaviour("chat.text_formats")
@pytest.mark.parametrize(
    ("name", "size", "said", "format"),
    [
        ("qwen3", "1.7b", HERMES, "hermes"),
        ("mistral-7b-instruct-v0.3", "7b", '[TOOL_CALLS][{"name": "add", "arguments": {"a": 2, "b": 3}}]', "mistral"),
        ("nobody-knows", "8b", HERMES, "hermes"),
        (
            "qwen3-coder",
            "30b",
            "<tool_call>\n<function=add>\n<parameter=a>\n2\n</parameter>\n<parameter=b>\n3\n</parameter>\n"
            "</function>\n</tool_call>",
            "qwen3_coder",
        ),
        ("llama-4-scout", "17b", "[add(a=2, b=3)]", None),
    ],
    ids=["hermes", "mistral", "unknown", "tagged", "pythonic"],
)
def test_each_family_is_read_in_the_format_it_was_trained_on(
    text_only: Place, name: str, size: str, said: str, format: str | None
) -> None:
    model = text_only.model(Turn(said), Turn("5."), name=name, size=size)
    body = text_only.say(model, QUESTION)
    assert (calls(body), text(body)) == ([("add", "returned")], "5."), body["pegboard"]
    assert format is None or body["pegboard"]["format"] == format


@pytest.mark.behaviour("chat.text_formats")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_thinking_is_told_apart_and_calls_in_it_are_none(place: Place, streams: bool) -> None:
    thinking = f"<think>Perhaps {HERMES}? No.</think>The answer is 7."
    model = place.model(Turn(thinking, size=3), name="tiny", size="1b")
    if streams:
        answer = place.post({"model": model, "messages": [{"role": "user", "content": "hm"}], "stream": True})
        lines = [line.removeprefix("data: ") for line in answer.text.split("\n") if line.startswith("data: {")]
        pieces = [json.loads(line)["choices"][0]["delta"] for line in lines]
        said = "".join(piece.get("content") or "" for piece in pieces)
        thought = "".join(piece.get("reasoning_content") or "" for piece in pieces)
    else:
        message = place.say(model)["choices"][0]["message"]
        said, thought = message["content"], message["reasoning_content"]
    assert (said, thought) == ("The answer is 7.", f"Perhaps {HERMES}? No.")


DRAFT = '<tool_call>\n{"name": "add", "arguments": {"a": 8, "b": 8}}\n</tool_call>'


@pytest.mark.behaviour("chat.text_formats")
@pytest.mark.parametrize("name", ["muser", "native-muser", "opened"])
@pytest.mark.parametrize("size", [1, 1000])
def test_thinking_that_the_prompt_opened_is_told_apart_and_a_call_in_it_is_none(
    place: Place, name: str, size: int
) -> None:
    said = f"Hm, a draft: {DRAFT} but no.\n</think>{HERMES}"
    model = place.model(Turn(said, size=size), Turn("So.</think>It is 5.", size=size), name=name)
    body = place.say(model, QUESTION)
    message = body["choices"][0]["message"]
    assert (message["content"], calls(body)) == ("It is 5.", [("add", "returned")]), body["pegboard"]
    assert message["reasoning_content"] == f"Hm, a draft: {DRAFT} but no.\nSo."
    assert DRAFT not in json.dumps(place.asked_of(model)[1]["messages"])


@pytest.mark.behaviour("chat.text_formats")
def test_a_stream_of_thinking_that_the_settings_say_is_opened_tells_none_of_it_as_text(place: Place) -> None:
    model = place.model(Turn("Hm, hm.</think>Five.", size=2), name="opened")
    answer = place.post({"model": model, "messages": [{"role": "user", "content": "hm"}], "stream": True})
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in answer.text.split("\n") if line[:7] == "data: {"]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Five."
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "Hm, hm."


@pytest.mark.behaviour("chat.text_formats")
@pytest.mark.parametrize(
    ("turn", "told"),
    [
        (Turn("To end thinking write `</think>`, and < or </th.", size=3), None),
        (Turn("I say </think> aloud.", "Apart."), "Apart."),
        (Turn("<think>Hm.</think>And </think> again."), "Hm."),
    ],
    ids=["quoted", "told apart by the server", "opened by the model"],
)
def test_an_end_of_thinking_that_ends_none_is_text(place: Place, turn: Turn, told: str | None) -> None:
    message = place.say(place.model(turn, name="muser"))["choices"][0]["message"]
    assert message["content"] == turn.text.removeprefix("<think>Hm.</think>")
    assert message.get("reasoning_content") == told


@pytest.mark.behaviour("chat.limits", "chat.text_formats")
def test_a_call_in_text_beyond_a_limit_is_neither_made_nor_told_as_the_answer(place: Place) -> None:
    model = place.model(Turn(f"Once more. {HERMES}"), name="tiny", size="1b")
    body = place.say(model, QUESTION)
    assert body["choices"][0]["finish_reason"] == "length"
    assert "tool_call" not in text(body)
    assert (calls(body)[:3], body["pegboard"]["stopped"]["limit"]) == ([("add", "returned")] * 3, "repeated_calls")


@pytest.mark.behaviour("chat.text_formats")
@pytest.mark.parametrize("name", ["tiny", "model"])
def test_one_call_at_a_time_is_one_whatever_the_model_writes(place: Place, name: str) -> None:
    two = [("add", {"a": 2, "b": 3}), ("add", {"a": 8, "b": 8})]
    turn = Turn(HERMES + DRAFT) if name == "tiny" else Turn(calls=two)
    body = place.say(place.model(turn, Turn("5."), name=name), QUESTION, parallel_tool_calls=False)
    assert (calls(body), text(body)) == ([("add", "returned")], "5.")


@pytest.mark.behaviour("chat.truncated_calls")
def test_a_call_in_text_that_was_cut_off_is_never_made(place: Place) -> None:
    cut = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b"'
    body = place.say(place.model(Turn(cut, finish="length"), name="tiny", size="1b"), QUESTION)
    assert (body["choices"][0]["finish_reason"], calls(body)) == ("length", [("", "cut_off")])


@pytest.mark.behaviour("chat.text_formats")
def test_what_is_no_call_is_told_to_the_model_with_how_it_is_written_right(place: Place) -> None:
    wrong = '<tool_call>\n{"name": "add", "arguments": nonsense}\n</tool_call>'
    model = place.model(Turn(wrong), Turn(HERMES), Turn("5."), name="tiny", size="1b")
    body = place.say(model, QUESTION)
    assert ([ended for _, ended in calls(body)], text(body)) == (["unreadable", "returned"], "5.")
    second = place.asked_of(model)[1]
    assert "nonsense" in second["messages"][-2]["content"]
    assert "To call a tool, write exactly this" in second["messages"][-1]["content"]


@pytest.mark.behaviour("chat.text_formats", "chat.client_tools")
def test_a_clients_own_tools_are_in_the_prompt_and_their_results_in_the_models_words(place: Place) -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    said = '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'
    model = place.model(Turn(said), Turn("It rains."), name="tiny", size="1b")
    first = place.say(model, QUESTION, tools=[tool])
    message: dict[str, Any] = first["choices"][0]["message"]
    assert (first["choices"][0]["finish_reason"], len(message["tool_calls"])) == ("tool_calls", 1)
    assert '"weather"' in system(place.asked_of(model)[0])
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain"}
    messages = [{"role": "user", "content": QUESTION}, message, result]
    second = place.post({"model": model, "messages": messages, "tools": [tool]})
    assert text(second.json()) == "It rains."
    asked = place.asked_of(model)[1]["messages"]
    assert [each["role"] for each in asked] == ["system", "user", "assistant", "user"]
    assert "rain" in asked[-1]["content"]


@pytest.mark.behaviour("chat.text_formats")
def test_a_result_that_is_too_long_keeps_both_ends_and_says_what_was_cut(place: Place) -> None:
    said = '<tool_call>\n{"name": "big", "arguments": {"bytes": 300000}}\n</tool_call>'
    model = place.model(Turn(said), Turn("Long."), name="tiny", size="1b")
    place.say(model, "A text of many bytes")
    result = place.asked_of(model)[1]["messages"][-1]["content"]
    assert len(result) < 17_000
    assert "of 300000 characters" in result


@pytest.mark.behaviour("chat.text_formats")
def test_a_model_may_search_in_its_text_too(place: Place) -> None:
    search = '<tool_call>\n{"name": "tool_search", "arguments": {"query": "transparent pixel image"}}\n</tool_call>'
    model = place.model(Turn(search), Turn("Found."), name="tiny", size="1b")
    assert calls(place.say(model, QUESTION)) == [("tool_search", "returned")]
    first, second = place.asked_of(model)
    assert ('"picture"' in system(first), '"picture"' in system(second)) == (False, True)


@pytest.mark.behaviour("chat.text_formats")
def test_a_server_that_takes_no_tools_for_its_model_is_told_of_them_in_the_prompt(place: Place) -> None:
    """And is not asked that way a second time."""

    def refusing(body: Body) -> Turn | Raw:
        if "tools" in body:
            return Raw(400, b'{"error": {"message": "this model does not support tools"}}')
        return Turn("5." if "<tool_response>" in text_of(body["messages"][-1]) else HERMES)

    model = place.character(refusing)
    for asked in (["tools", None, None], [None, None]):
        before = len(place.asked_of(model))
        body = place.say(model, QUESTION)
        assert (calls(body), text(body), body["pegboard"]["format"]) == ([("add", "returned")], "5.", "hermes")
        assert ["tools" if "tools" in each else None for each in place.asked_of(model)[before:]] == asked
        assert any("this model does not support tools" in why for why in body["pegboard"]["reasons"])
