"""Calls that wait between two requests of their client: for whom, for how long, and how many."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.support.asking import AskedClient
from tests.surfaces.mcp.scripted import ASK, DONE, Carrier, Course, asked

from pegboard.core.calls.call import NeedsInput, ProtocolErrorReply, ProviderFailure, ToolCall, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.selection import Selection, View
from pegboard.ports.providers import ClientPeer, PeerRequestError, Progress
from pegboard.surfaces.mcp.input_rounds import PendingInputCalls
from pegboard.surfaces.mcp.results import CallOutcome

pytestmark = pytest.mark.anyio
UNKNOWN = (
    "The requestState is unknown: it was used already, or its call was given up meanwhile. "
    "Call the tool again without requestState and inputResponses."
)


async def asks(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
    """Asks once, and gives the answer back."""
    return ToolSuccess(json.dumps(dict(await peer.request(ASK, {"message": "?"}))).encode())


@asynccontextmanager
async def parking(course: Course = asks, **limits: Any) -> AsyncIterator[tuple[PendingInputCalls, Carrier]]:
    carry = Carrier(course)
    with anyio.fail_after(60):
        async with PendingInputCalls(carry, **limits).open() as opened:
            yield opened, carry


def question_of(ended: CallOutcome) -> tuple[str, dict[str, Any]]:
    """The state and the questions of an answer that asks."""
    assert isinstance(ended, NeedsInput)
    body = json.loads(ended.body)
    assert body.keys() == {"resultType", "inputRequests", "requestState"}
    return body["requestState"], body["inputRequests"]


def refusal_of(ended: CallOutcome) -> str:
    assert isinstance(ended, ProtocolErrorReply)
    error = json.loads(ended.error)
    assert error["code"] == -32602
    return str(error["message"])


async def test_a_call_that_asks_nothing_is_carried_as_it_is() -> None:
    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        return DONE

    async with parking(course) as (parked, carry):
        assert await parked.call(asked(), View(), None, AskedClient()) == DONE
        assert await parked.call(asked(), View(), None, AskedClient(capabilities={})) == DONE
        assert await parked.call(asked(requestState="a server's own"), View(), None, AskedClient()) == DONE
        assert len(carry.calls) == 3


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
async def test_the_answer_that_comes_back_goes_to_the_call_that_waits() -> None:
    async with parking() as (parked, carry):
        state, questions = question_of(await parked.call(asked(), View(), None, AskedClient()))
        assert questions == {"1": {"method": ASK, "params": {"message": "?"}}}
        again = asked(requestState=state, inputResponses={"1": {"action": "accept"}, "else": {}})
        assert await parked.call(again, View(), None, AskedClient()) == ToolSuccess(b'{"action": "accept"}')
        assert refusal_of(await parked.call(again, View(), None, AskedClient())) == UNKNOWN
        assert len(carry.calls) == 1


@pytest.mark.behaviour("mcp.in.parked_calls_are_their_callers_own")
async def test_nobody_else_can_answer_for_a_call_or_learn_of_it() -> None:
    unreadable: list[Json] = [[], {"1": 7}, "text"]
    async with parking() as (parked, _):
        state, _ = question_of(await parked.call(asked(), View(), None, AskedClient()))
        answer = asked(requestState=state, inputResponses={"1": {}})
        stranger = replace(answer, principal=PrincipalId("mallory"))
        narrower = View().narrow(Selection(disabled=("x",)))
        for call, view in ((stranger, View()), (answer, narrower)):
            assert refusal_of(await parked.call(call, view, None, AskedClient())) == UNKNOWN
        for call in (replace(answer, arguments={"x": 1}), replace(answer, name=asked("other").name)):
            told = refusal_of(await parked.call(call, View(), None, AskedClient()))
            assert told.startswith("The requestState belongs to a call of 'ask' with other arguments.")
        for bad in unreadable:
            call = asked(requestState=state, inputResponses=bad)
            assert "not an object of objects" in refusal_of(await parked.call(call, View(), None, AskedClient()))
        assert await parked.call(answer, View(), None, AskedClient()) == ToolSuccess(b"{}")


async def test_states_cannot_be_guessed_from_one_another() -> None:
    async with parking() as (parked, _):
        states = [question_of(await parked.call(asked(), View(), None, AskedClient()))[0] for _ in range(3)]
        assert len(set(states)) == 3
        assert all(len(state) > 40 for state in states)


@pytest.mark.behaviour("mcp.in.parked_calls_are_bounded")
async def test_a_call_that_nobody_comes_back_for_is_cancelled() -> None:
    over = anyio.Event()

    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        async def ask() -> None:
            with pytest.raises(PeerRequestError, match=r"did not answer within 0\.01 seconds"):
                await peer.request(ASK, {})

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await anyio.sleep_forever()
        finally:
            over.set()
        raise AssertionError("unreachable")

    async with parking(course, answer_timeout_s=0.01) as (parked, carry):
        state, _ = question_of(await parked.call(asked(), View(), None, AskedClient()))
        await over.wait()
        late = asked(requestState=state, inputResponses={"1": {}})
        while refusal_of(await parked.call(late, View(), None, AskedClient())) != UNKNOWN:
            await anyio.lowlevel.checkpoint()
        assert carry.cancelled == 1


@pytest.mark.behaviour("mcp.in.parked_calls_are_bounded")
async def test_of_too_many_parked_calls_the_next_one_cannot_ask() -> None:
    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        try:
            await peer.request(ASK, {})
        except PeerRequestError as refused:
            return ProviderFailure(refused.message, may_have_run=False)
        return DONE

    full = ProviderFailure("Too many calls wait for answers already, so no more can be asked.", may_have_run=False)
    async with parking(course, most=2, most_of_one=1) as (parked, _):
        state, _ = question_of(await parked.call(asked(), View(), None, AskedClient()))
        assert await parked.call(asked(), View(), None, AskedClient()) == full
        ada, eve = asked(principal=PrincipalId("ada")), asked(principal=PrincipalId("eve"))
        question_of(await parked.call(ada, View(), None, AskedClient()))
        assert await parked.call(eve, View(), None, AskedClient()) == full
        answer = asked(requestState=state, inputResponses={"1": {}})
        assert await parked.call(answer, View(), None, AskedClient()) == DONE
        question_of(await parked.call(eve, View(), None, AskedClient()))


async def test_whoever_gives_up_while_it_waits_cancels_the_call() -> None:
    started = anyio.Event()

    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        await peer.request(ASK, {})
        started.set()
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async with parking(course) as (parked, carry):
        state, _ = question_of(await parked.call(asked(), View(), None, AskedClient()))
        answer = asked(requestState=state, inputResponses={"1": {}})

        async def go_on() -> None:
            await parked.call(answer, View(), None, AskedClient())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_on)
            await started.wait()
            tasks.cancel_scope.cancel()
        while not carry.cancelled:
            await anyio.lowlevel.checkpoint()
        assert refusal_of(await parked.call(answer, View(), None, AskedClient())) == UNKNOWN


async def test_questions_at_the_same_time_come_together_or_one_after_the_other() -> None:
    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        async with anyio.create_task_group() as tasks:
            for word in ("a", "b"):
                tasks.start_soon(peer.request, ASK, {"message": word})
        return DONE

    async with parking(course) as (parked, _):
        state, questions = question_of(await parked.call(asked(), View(), None, AskedClient()))
        assert [question["params"]["message"] for question in questions.values()] == ["a"]
        answer = asked(requestState=state, inputResponses={"1": {}})
        state, questions = question_of(await parked.call(answer, View(), None, AskedClient()))
        assert [question["params"]["message"] for question in questions.values()] == ["b"]
        answer = asked(requestState=state, inputResponses={"2": {}})
        assert await parked.call(answer, View(), None, AskedClient()) == DONE


async def test_an_end_that_came_while_the_client_was_asked_is_there_when_it_comes_back() -> None:
    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.request, ASK, {})
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        return DONE

    async with parking(course) as (parked, _):
        state, _ = question_of(await parked.call(asked(), View(), None, AskedClient()))
        again = asked(requestState=state, inputResponses={"1": {"action": "accept"}})
        assert await parked.call(again, View(), None, AskedClient()) == DONE


async def test_each_request_hears_what_is_said_while_it_waits() -> None:
    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        assert progress is not None
        peer.notify("notifications/message", {"n": 1})
        progress(1, 2, None)
        await peer.request(ASK, {})
        peer.notify("notifications/message", {"n": 2})
        progress(2, 2, None)
        return DONE

    first, second = AskedClient(), AskedClient()
    heard: list[tuple[str, float]] = []
    async with parking(course) as (parked, _):
        ended = await parked.call(asked(), View(), lambda done, _, __: heard.append(("first", done)), first)
        answer = asked(requestState=question_of(ended)[0], inputResponses={"1": {}})
        await parked.call(answer, View(), lambda done, _, __: heard.append(("second", done)), second)
    assert heard == [("first", 1), ("second", 2)]
    assert first.noted == [("notifications/message", {"n": 1})]
    assert second.noted == [("notifications/message", {"n": 2})]


async def test_what_is_parked_when_the_gateway_ends_is_cancelled() -> None:
    async with parking() as (parked, carry):
        question_of(await parked.call(asked(), View(), None, AskedClient()))
    assert carry.cancelled == 1


async def test_a_call_that_breaks_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    async def course(call: ToolCall, peer: ClientPeer, progress: Progress | None) -> CallOutcome:
        if call.name == "broken":
            raise ZeroDivisionError
        return await asks(call, peer, progress)

    async with parking(course) as (parked, _):
        state, _ = question_of(await parked.call(asked(), View(), None, AskedClient()))
        with caplog.at_level(logging.ERROR):
            ended = await parked.call(asked("broken"), View(), None, AskedClient())
        assert ended == ProviderFailure("the gateway failed on it, and its log says why", may_have_run=True)
        assert "ZeroDivisionError" in caplog.text
        answer = asked(requestState=state, inputResponses={"1": {}})
        assert await parked.call(answer, View(), None, AskedClient()) == ToolSuccess(b"{}")
