"""OpenAI's own Python client against /v1, unmodified: streaming and not."""

from typing import Any

import pytest
from openai import APIError, NotFoundError
from openai.types.chat import ChatCompletionToolParam
from tests.surfaces.chat.place import Place, Turn

ADD = Turn("Let me add.", calls=[("add", {"a": 2, "b": 3})])
WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.mark.behaviour("chat.openai_client")
def test_an_answer_comes_whole_with_the_tools_of_the_board_called_on_the_way(place: Place) -> None:
    model = place.model(ADD, Turn("The sum is 5."))
    with place.client as client:
        answer = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "add 2 and 3"}])
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason) == ("Let me add.\n\nThe sum is 5.", "stop")
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (200, 20, 220)
    assert answer.model == model
    first, second = place.asked_of(model)
    assert "add" in [tool["function"]["name"] for tool in first["tools"]]
    assert second["messages"][-2]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    assert '"total"' in second["messages"][-1]["content"]


@pytest.mark.behaviour("chat.openai_client", "chat.streams")
def test_an_answer_comes_piece_by_piece_and_adds_up_to_the_whole(place: Place) -> None:
    model = place.model(ADD, Turn("The sum is 5.", thinking="Easy."))
    with (
        place.client as client,
        client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": "add 2 and 3"}],
            stream=True,
            stream_options={"include_usage": True},
        ) as stream,
    ):
        chunks = [*stream]
    *pieces, last = chunks
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == "Let me add.\n\nThe sum is 5."
    thoughts = [(piece.choices[0].delta.model_extra or {}).get("reasoning_content", "") for piece in pieces]
    assert "".join(thoughts) == "Easy."
    assert [piece.choices[0].finish_reason for piece in pieces if piece.choices[0].finish_reason] == ["stop"]
    assert (last.choices, last.usage and last.usage.total_tokens) == ([], 220)
    assert len(pieces) > 5
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


@pytest.mark.behaviour("chat.client_tools")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_calls_of_the_clients_own_tools_are_handed_over_and_their_results_taken(place: Place, streams: bool) -> None:
    """Ours of the same turn have run before, and are known to the model when the client comes back."""
    turn = Turn(calls=[("add", {"a": 1, "b": 1}), ("weather", {"city": "Köln"})])
    model = place.model(turn, Turn("It rains, and 1 + 1 is 2."))
    with place.client as client:
        asked: list[Any] = [{"role": "user", "content": "add 1 and 1, and the weather?"}]
        first: Any
        if streams:
            with client.chat.completions.stream(model=model, messages=asked, tools=[WEATHER]) as stream:
                first = stream.get_final_completion()
        else:
            first = client.chat.completions.create(model=model, messages=asked, tools=[WEATHER])
        (choice,) = first.choices
        assert choice.finish_reason == "tool_calls"
        (call,) = choice.message.tool_calls
        assert call.type == "function"
        assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Köln"}')
        said: Any = {
            "role": "assistant",
            "tool_calls": [call.model_dump(include={"id", "type", "function"})],
            "content": None,
        }
        result: Any = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
        second = client.chat.completions.create(model=model, messages=[*asked, said, result], tools=[WEATHER])
    assert second.choices[0].message.content == "It rains, and 1 + 1 is 2."
    messages = place.asked_of(model)[1]["messages"]
    assert [message["role"] for message in messages if message["role"] != "system"] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert [each["function"]["name"] for each in messages[-3]["tool_calls"]] == ["add", "weather"]
    assert ('"total"' in messages[-2]["content"], messages[-1]["content"]) == (True, "rain")


@pytest.mark.behaviour("chat.models_listed")
def test_models_are_listed_and_told_one_by_one(place: Place) -> None:
    name = place.model(Turn("hi"))
    with place.client as client:
        listed = {model.id: model.owned_by for model in client.models.list()}
        assert client.models.retrieve(name).id == name
        with pytest.raises(NotFoundError, match="There is no model 'nobody' here"):
            client.models.retrieve("nobody")
    assert listed[name] == "local"


def test_a_model_that_its_server_does_not_have_is_a_404(place: Place) -> None:
    with place.client as client, pytest.raises(NotFoundError, match="not found, try pulling it first"):
        client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "hi"}])


@pytest.mark.behaviour("chat.openai_client", "chat.model_server_trouble")
def test_an_answer_that_breaks_off_is_an_error_of_the_client(place: Place) -> None:
    model = place.model(Turn("The beginning of an answer", cut=3))
    with (
        place.client as client,
        client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "hi"}], stream=True
        ) as stream,
        pytest.raises(APIError, match="broke off"),
    ):
        assert [*stream]
