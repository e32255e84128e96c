"""A tool that asks back, for a client that is asked on the way: the rounds between them."""

import json
from collections.abc import Iterable

import anyio
import pytest
from tests.support.asking import AskedClient
from tests.surfaces.mcp.scripted import ASK, DONE, Carrier, asked, needs

from pegboard.core.calls.call import NeedsInput, ProtocolErrorReply, ToolCall, ToolFailure
from pegboard.core.json.values import JsonObject
from pegboard.core.model.selection import View
from pegboard.ports.providers import ClientPeer, PeerRequestError, Progress
from pegboard.surfaces.mcp import input_rounds as rounds
from pegboard.surfaces.mcp.input_rounds import MAX_ROUNDS, call_with_input_rounds
from pegboard.surfaces.mcp.results import CallOutcome

pytestmark = pytest.mark.anyio
ACCEPT: JsonObject = {"action": "accept", "content": {"colour": "größe", "none": None}}
QUESTION: JsonObject = {"message": "Which\n colour?"}


def carrier(*ends: CallOutcome, then: CallOutcome = DONE) -> Carrier:
    left = list(ends)

    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        return left.pop(0) if left else then

    return Carrier(course)


def text_of(ended: CallOutcome) -> str:
    assert isinstance(ended, ToolFailure)
    result = json.loads(ended.body)
    assert result["isError"] is True
    return str(result["content"][0]["text"])


def beside(calls: Iterable[ToolCall]) -> list[JsonObject]:
    return [{name: json.loads(text) for name, text in call.beside.items()} for call in calls]


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
async def test_the_answers_and_the_state_go_with_the_next_call_beside_what_the_client_said() -> None:
    carry, client = carrier(needs("s1", a=QUESTION, b=QUESTION), needs("s2"), needs(c=QUESTION)), AskedClient(ACCEPT)
    call = asked(_meta={"x": 1}, requestState="old", inputResponses={})
    with anyio.fail_after(60):
        assert await call_with_input_rounds(call, View(), carry, None, client) == DONE
    assert beside(carry.calls) == [
        {"_meta": {"x": 1}, "requestState": "old", "inputResponses": {}},
        {"_meta": {"x": 1}, "inputResponses": {"a": ACCEPT, "b": ACCEPT}, "requestState": "s1"},
        {"_meta": {"x": 1}, "requestState": "s2"},
        {"_meta": {"x": 1}, "inputResponses": {"c": ACCEPT}},
    ]
    assert client.asked == [(ASK, QUESTION)] * 3
    first, *later = carry.calls
    assert {each.parent for each in later} == {first.id}
    assert len({each.id for each in carry.calls}) == 4


@pytest.mark.parametrize("ended", [DONE, ProtocolErrorReply(b"{}")])
async def test_what_needs_nothing_is_carried_once(ended: CallOutcome) -> None:
    carry = carrier(ended)
    assert await call_with_input_rounds(asked(), View(), carry, None, AskedClient()) == ended
    assert len(carry.calls) == 1


async def test_a_tool_that_never_stops_asking_is_given_up() -> None:
    carry = carrier(then=needs(a=QUESTION))
    told = text_of(await call_with_input_rounds(asked(), View(), carry, None, AskedClient(ACCEPT)))
    assert told == "The call of 'ask' was given up: its tool asked back more than 10 times."
    assert len(carry.calls) == MAX_ROUNDS + 1


async def test_a_tool_that_only_wants_to_be_called_again_is_called_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    ends = [needs("s"), needs("s"), needs("s", a=QUESTION), needs("s"), *[needs("s")] * 4]
    assert await call_with_input_rounds(asked(), View(), carrier(*ends), None, AskedClient(ACCEPT)) == DONE
    assert pauses == [0.05, 0.1, 0.05, 0.1, 0.2, 0.25, 0.25]


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
async def test_of_several_questions_none_is_asked_if_one_cannot_be() -> None:
    client = AskedClient(ACCEPT, capabilities={"elicitation": {}})
    ended = await call_with_input_rounds(
        asked(), View(), carrier(needs(a=QUESTION, b={**QUESTION, "mode": "url"})), None, client
    )
    assert text_of(ended) == (
        "The call of 'ask' cannot go on: its tool needs an answer from the user (\"Which colour?\"). "
        "The client knows elicitation, but not in the mode 'url'."
    )
    assert client.asked == []


async def test_a_client_that_answers_with_an_error_ends_the_call_with_its_words() -> None:
    client = AskedClient(PeerRequestError(-1, "The user said no"))
    ended = await call_with_input_rounds(asked(), View(), carrier(needs(a=QUESTION, b=QUESTION)), None, client)
    assert "The client answered with an error: The user said no (-1)." in text_of(ended)


async def test_a_client_that_does_not_answer_ends_the_call_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "ANSWER_TIMEOUT_S", 0.01)
    client = AskedClient()
    with anyio.fail_after(60):
        ended = await call_with_input_rounds(asked(), View(), carrier(needs(a=QUESTION)), None, client)
    assert "There was no answer within 0.01 seconds." in text_of(ended)
    assert client.given_up.is_set()


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b"{}",
        b'{"inputRequests":[]}',
        b'{"inputRequests":7}',
        b'{"inputRequests":{"a":7}}',
        b'{"inputRequests":{"a":{"method":7}}}',
        b'{"inputRequests":{"a":{"method":"roots/list","params":[]}}}',
        b'{"requestState":7}',
    ],
)
async def test_what_cannot_be_read_as_a_question_ends_the_call(body: bytes) -> None:
    ended = await call_with_input_rounds(asked(), View(), carrier(NeedsInput(body)), None, AskedClient(ACCEPT))
    assert text_of(ended) == "The call of 'ask' failed: its tool asked for something that cannot be read."


async def test_a_page_to_open_gets_the_id_that_the_older_era_wants() -> None:
    client = AskedClient({"action": "accept"})
    page: JsonObject = {"message": "There.", "mode": "url", "url": "https://there.example/"}
    assert await call_with_input_rounds(asked(), View(), carrier(needs(a=page)), None, client) == DONE
    [(_, params)] = client.asked
    assert {**params, "elicitationId": ""} == {**page, "elicitationId": ""}
    assert params["elicitationId"]
