"""To whom a server's words go while calls are in flight: to the client they are for, or to nobody."""

import math

import anyio
import pytest
from tests.support.asking import AskedClient

from pegboard.core.json.values import JsonObject
from pegboard.ports.providers import PeerRequestError
from pegboard.providers.mcp.in_flight import CallDeadline, CallsInFlight

pytestmark = pytest.mark.anyio
ASK = "elicitation/create"
ACCEPT: JsonObject = {"action": "accept", "content": {"colour": "teal"}}


class Watched:
    """A timer that only counts."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause(self) -> None:
        self.calls.append("hold")

    def resume(self) -> None:
        self.calls.append("run on")


async def test_a_question_on_the_stream_of_a_call_goes_to_its_client_whoever_else_calls() -> None:
    calls, one, other = CallsInFlight(), AskedClient(ACCEPT, connection_key=1), AskedClient(ACCEPT, connection_key=2)
    flight = calls.begin(one)
    calls.begin(other)
    assert await calls.ask(ASK, {"message": "?", "unknown": [1]}, flight) == ACCEPT
    assert one.asked == [(ASK, {"message": "?", "unknown": [1]})]
    assert other.asked == []


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
async def test_a_question_that_belongs_to_no_call_in_particular_goes_to_the_only_client() -> None:
    calls, client, same = CallsInFlight(), AskedClient(ACCEPT), AskedClient(ACCEPT)
    calls.begin(client)
    calls.begin(same)
    assert await calls.ask(ASK, {"message": "?"}) == ACCEPT
    assert client.asked + same.asked == [(ASK, {"message": "?"})]


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
async def test_with_calls_of_several_clients_nobody_is_asked_or_told() -> None:
    calls, one, other = CallsInFlight(), AskedClient(ACCEPT, connection_key=1), AskedClient(ACCEPT, connection_key=2)
    calls.begin(one)
    second = calls.begin(other)
    with pytest.raises(PeerRequestError, match="Calls of several clients") as refused:
        await calls.ask(ASK, {})
    calls.notify("notifications/message", {"level": "info"})
    assert refused.value.code == -32600
    calls.end(second)
    assert await calls.ask(ASK, {}) == ACCEPT
    assert (one.asked, one.noted, other.asked, other.noted) == ([(ASK, {})], [], [], [])


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
async def test_a_call_of_someone_who_cannot_be_asked_counts_as_another_client() -> None:
    calls, client = CallsInFlight(), AskedClient(ACCEPT)
    calls.begin(client)
    calls.begin(None)
    with pytest.raises(PeerRequestError, match="Calls of several clients"):
        await calls.ask(ASK, {})
    assert client.asked == []


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
async def test_nobody_is_asked_in_place_of_someone_else_whose_call_was_given_up() -> None:
    calls, alice, bob = (
        CallsInFlight(patience=0.05),
        AskedClient(ACCEPT, connection_key=1),
        AskedClient(ACCEPT, connection_key=2),
    )
    hers = calls.begin(alice, principal="alice")
    calls.abandon(hers, "peg-1")
    calls.end(hers)
    calls.begin(bob, principal="bob")
    with pytest.raises(PeerRequestError, match="Somebody else's call was given up here"):
        await calls.ask(ASK, {})
    calls.notify("notifications/message", {"level": "info"})
    assert (alice.asked, bob.asked, bob.noted) == ([], [], [])
    assert calls.take_late_answer("peg-1")
    assert not calls.take_late_answer("peg-1")
    assert await calls.ask(ASK, {}) == ACCEPT
    calls.abandon(hers, "peg-2")
    with anyio.fail_after(30):
        while True:
            try:
                assert await calls.ask(ASK, {}) == ACCEPT
                break
            except PeerRequestError:
                await anyio.lowlevel.checkpoint()
    assert bob.asked == [(ASK, {})] * 2


async def test_a_call_of_ones_own_that_was_given_up_stands_in_nobodys_way() -> None:
    calls, client = CallsInFlight(), AskedClient(ACCEPT)
    calls.abandon(calls.begin(client, principal="alice"), "peg-1")
    assert await calls.ask(ASK, {}) == ACCEPT


async def test_without_a_call_or_without_a_client_nobody_is_asked() -> None:
    calls = CallsInFlight()
    with pytest.raises(PeerRequestError, match="No call is in flight"):
        await calls.ask(ASK, {})
    calls.notify("notifications/message", {})
    flight = calls.begin(None)
    with pytest.raises(PeerRequestError, match="cannot be asked anything"):
        await calls.ask(ASK, {})
    calls.notify("notifications/message", {})
    calls.end(flight)
    with pytest.raises(PeerRequestError, match="is over"):
        await calls.ask(ASK, {}, flight)


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
async def test_a_client_is_not_bothered_with_what_it_did_not_declare() -> None:
    calls, client = CallsInFlight(), AskedClient(ACCEPT, capabilities={"roots": {}})
    calls.begin(client)
    with pytest.raises(PeerRequestError, match="did not declare the capability 'elicitation'") as refused:
        await calls.ask(ASK, {})
    assert (refused.value.code, client.asked) == (-32601, [])


async def test_what_the_client_refuses_is_told_as_it_is() -> None:
    calls = CallsInFlight()
    calls.begin(AskedClient(PeerRequestError(-1, "The user said no.")))
    with pytest.raises(PeerRequestError, match=r"\AThe user said no\.\Z") as refused:
        await calls.ask(ASK, {})
    assert refused.value.code == -1


@pytest.mark.behaviour("mcp.in.deadline_waits_for_the_answer")
async def test_a_calls_time_stands_still_while_its_client_is_asked() -> None:
    calls, timer, client = CallsInFlight(), Watched(), AskedClient()
    flight = calls.begin(client, timer)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.ask, ASK, {}, flight)
        await client.was_asked.wait()
        client.was_asked = anyio.Event()
        tasks.start_soon(calls.ask, ASK, {}, flight)
        await client.was_asked.wait()
        assert timer.calls == ["hold"]
        tasks.cancel_scope.cancel()
    assert timer.calls == ["hold", "run on"]
    client.answer = ACCEPT
    await calls.ask(ASK, {}, flight)
    assert timer.calls == ["hold", "run on", "hold", "run on"]


async def test_a_deadline_that_was_held_runs_on_with_what_was_left() -> None:
    deadline = CallDeadline(1_000.0)
    deadline.pause()
    assert deadline.scope.deadline == math.inf
    deadline.resume()
    assert anyio.current_time() + 900 < deadline.scope.deadline <= anyio.current_time() + 1_000


@pytest.mark.behaviour("mcp.in.deadline_waits_for_the_answer")
async def test_a_question_that_nobody_answers_is_given_up_in_time() -> None:
    calls, timer, client = CallsInFlight(patience=0.01), Watched(), AskedClient()
    calls.begin(client, timer)
    with anyio.fail_after(20), pytest.raises(PeerRequestError, match=r"did not answer within 0\.01 seconds") as refused:
        await calls.ask(ASK, {})
    assert client.given_up.is_set()
    assert (refused.value.code, timer.calls) == (-32001, ["hold", "run on"])


async def test_a_question_is_taken_back_when_the_last_call_it_may_belong_to_is_over() -> None:
    calls, client = CallsInFlight(), AskedClient()
    first, second = calls.begin(client), calls.begin(client)
    refused: list[PeerRequestError] = []

    async def ask() -> None:
        try:
            await calls.ask(ASK, {})
        except PeerRequestError as error:
            refused.append(error)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await client.was_asked.wait()
            assert calls.end(second) == ()
            await anyio.lowlevel.checkpoint()
            assert not client.given_up.is_set()
            [question] = calls.end(first)
            await question.closed.wait()
            assert client.given_up.is_set()
    assert [str(error) for error in refused] == ["The call that this was asked for is over."]


@pytest.mark.parametrize("first", ["older", "newer"])
async def test_a_question_is_taken_back_in_the_call_that_ends_last(first: str) -> None:
    calls, older, newer = CallsInFlight(), AskedClient(), AskedClient()
    flights = {"older": calls.begin(older), "newer": calls.begin(newer)}

    async def ask() -> None:
        with pytest.raises(PeerRequestError, match="is over"):
            await calls.ask(ASK, {})

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await newer.was_asked.wait()
            assert calls.end(flights.pop(first)) == ()
            [(name, flight)] = flights.items()
            [question] = calls.end(flight)
            await question.closed.wait()
    assert newer.last is {"older": older, "newer": newer}[name]


async def test_a_server_that_asks_without_end_is_told_to_wait() -> None:
    calls, client = CallsInFlight(most=1), AskedClient()
    calls.begin(client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.ask, ASK, {})
        await client.was_asked.wait()
        with pytest.raises(PeerRequestError, match="1 questions are open already"):
            await calls.ask(ASK, {})
        tasks.cancel_scope.cancel()
