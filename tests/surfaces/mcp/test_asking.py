"""Questions on bad days: clients that cannot answer, do not, or go away; two clients at once; too many questions."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult
from tests.surfaces.mcp.inquiry import Person, complaint, inquiry, said
from tests.surfaces.mcp.places import LEGACY, MODERN, MODES
from tests.surfaces.mcp.raw import INITIALIZE, handshake

from pegboard.core.model.server import ProtocolMode

pytestmark = pytest.mark.anyio
SURFACES = ("memory", "http")
TEAL = [{"action": "accept", "content": {"colour": "teal"}}]


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_client_of_the_handshake_era_that_cannot_be_asked_is_told_what_was_asked_for(surface: str) -> None:
    async with inquiry(surface, era=MODERN) as place:
        calls = await place.client(LEGACY)
        told = complaint(await calls.call_tool("ask"))
        assert '"Which colour?"' in told
        assert told.endswith("The client that made the call did not declare the capability 'elicitation'.")
        assert "a text from the client's model." in complaint(await calls.call_tool("sample"))
        assert "the folders that the client works in." in complaint(await calls.call_tool("roots"))


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_server_of_the_handshake_era_hears_at_once_that_the_client_cannot_be_asked(
    surface: str, mode: str
) -> None:
    async with inquiry(surface, era=LEGACY) as place:
        calls = await place.client(mode)
        why = "The client that made the call did not declare the capability 'elicitation'."
        assert said(await calls.call_tool("ask")) == [{"error": {"code": -32601, "message": why}}]


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_server_of_both_eras_asks_in_the_middle_of_a_call_if_the_operator_says_handshake(
    transport: str, mode: str
) -> None:
    async with inquiry("http", transport, MODERN, protocol=ProtocolMode.HANDSHAKE) as place:
        person = Person()
        calls = await place.client(mode, person)
        (answer,) = said(await calls.call_tool("ask"))
        assert (answer["action"], person.asked) == ("accept", ["Which colour?"])


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
async def test_a_server_of_the_newer_era_is_told_what_the_client_can_be_asked_and_nothing_else() -> None:
    async with inquiry(era=MODERN) as place:
        asked = await place.client(LEGACY, Person())
        told = said(await asked.call_tool("told"))
        assert told["can"] == {
            "elicitation": {"form": {}, "url": {}},
            "sampling": {"tools": {}},
            "roots": {"listChanged": True},
        }
        bare = await place.client(MODERN)
        assert said(await bare.call_tool("told"))["can"] == {}


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
@pytest.mark.parametrize("transport", ["stdio", "sse"])
async def test_with_two_clients_at_one_server_neither_is_asked_for_the_other(transport: str) -> None:
    async with inquiry("http", transport, LEGACY) as place:
        one, other = Person(colour="teal"), Person(colour="ochre")
        first, second = await place.client(LEGACY, one), await place.client(LEGACY, other)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.call_tool, "hold")
            await second.call_tool("held", {"count": 1})
            [refused] = said(await second.call_tool("ask"))
            assert refused["error"]["code"] == -32600
            assert "several clients" in refused["error"]["message"]
            await second.call_tool("release")
        assert (one.asked, other.asked) == ([], [])
        assert said(await first.call_tool("ask")) == TEAL
        assert said(await second.call_tool("ask")) == [{"action": "accept", "content": {"colour": "ochre"}}]
        assert (one.asked, other.asked) == (["Which colour?"], ["Which colour?"])


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
async def test_two_calls_of_one_client_are_both_asked_for_at_one_server() -> None:
    async with inquiry("http", "stdio", LEGACY) as place:
        person = Person()
        calls = await place.client(LEGACY, person)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.call_tool, "hold")
            await calls.call_tool("held", {"count": 1})
            assert said(await calls.call_tool("ask")) == TEAL
            await calls.call_tool("release")
        assert person.asked == ["Which colour?"]


@pytest.mark.behaviour("mcp.in.deadline_waits_for_the_answer")
@pytest.mark.parametrize(("surface", "transport"), [("memory", "stdio"), ("http", "http")])
async def test_a_person_may_take_longer_than_a_call_may(surface: str, transport: str) -> None:
    async with inquiry(surface, transport, LEGACY, call=2.0) as place:
        person = Person(may_answer=anyio.Event())
        calls = await place.client(LEGACY, person)
        answers: list[Any] = []

        async def ask() -> None:
            answers.append(said(await calls.call_tool("ask")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await person.was_asked.wait()
            # A call that begins later and takes as long as a call may: then the first one has taken longer.
            assert "did not answer within 2 s" in complaint(await calls.call_tool("hold"))
            assert answers == []
            assert person.may_answer is not None
            person.may_answer.set()
        assert answers == [TEAL]


@pytest.mark.parametrize("era", MODES)
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_client_that_gives_up_while_it_is_asked_ends_the_call_upstream(surface: str, era: str) -> None:
    async with inquiry(surface, "stdio", era) as place:
        person = Person(held=True)
        calls = await place.client(LEGACY, person)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.call_tool, "ask")
            await person.was_asked.wait()
            tasks.cancel_scope.cancel()
        if era == LEGACY:
            other = await place.client(LEGACY)
            assert said(await other.call_tool("given_up", {"count": 1})) == 1
            assert place.ended[0] == "CallCancellation"


async def test_a_client_that_goes_away_while_it_is_asked_leaves_no_call_behind() -> None:
    async with inquiry("http", "stdio", LEGACY) as place:
        opening = {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": {"elicitation": {}}}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask"}}
        async with httpx2.AsyncClient(timeout=60) as http:
            session = await handshake(http, place.url, opening=opening)
            async with http.stream("POST", place.url, json=call, headers=session) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: ") and "elicitation/create" in line:
                        break
        other = await place.client(LEGACY)
        assert said(await other.call_tool("given_up", {"count": 1})) == 1


@pytest.mark.behaviour("mcp.in.questions_end_with_their_call")
@pytest.mark.parametrize(("tool", "answer"), [("ask_in_vain", "taken back"), ("ask_and_leave", "left open")])
@pytest.mark.parametrize(
    ("surface", "transport"), [("memory", "stdio"), ("http", "stdio"), ("http", "http"), ("http", "sse")]
)
async def test_a_question_that_is_over_is_taken_back_from_the_client(
    surface: str, transport: str, tool: str, answer: str
) -> None:
    """Whether the server takes it back or forgets it: before the end of the call, after which the client hears
    nothing."""
    async with inquiry(surface, transport, LEGACY) as place:
        person = Person(held=True)
        calls = await place.client(LEGACY, person)
        answers: list[Any] = []

        async def call() -> None:
            answers.append(said(await calls.call_tool(tool)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await person.was_asked.wait()
            await calls.call_tool("release")
        assert answers == [answer]
        await person.given_up.wait()
        assert person.asked == ["Which colour?"]


@pytest.mark.behaviour("mcp.in.questions_end_with_their_call")
@pytest.mark.parametrize("transport", ["stdio", "sse"])
@pytest.mark.parametrize("surface", ["memory", "http", "long"])
async def test_a_question_that_outlives_the_call_it_was_put_in_is_taken_back_in_the_other(
    surface: str, transport: str
) -> None:
    """Nothing tells whose question it is, so the newer of two calls has it put, and the older one may still want it."""
    async with inquiry(surface, transport, LEGACY) as place:
        person = Person(held=True)
        calls = await place.client(LEGACY, person)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.call_tool, "hold")
            await calls.call_tool("held", {"count": 1})
            async with anyio.create_task_group() as newer:
                newer.start_soon(calls.call_tool, "ask_and_go")
                await person.was_asked.wait()
                await calls.call_tool("go")
            assert not person.given_up.is_set()
            await calls.call_tool("release")
        await person.given_up.wait()
        assert person.asked == ["Which colour?"]


@pytest.mark.behaviour("mcp.in.demands_reach_the_client")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surface", SURFACES)
async def test_what_a_server_demands_of_the_client_keeps_its_code_and_data(surface: str, mode: str) -> None:
    async with inquiry(surface, era=LEGACY) as place:
        calls = await place.client(mode, Person())
        with pytest.raises(MCPError) as demanded:
            await calls.call_tool("demand")
        assert demanded.value.error.model_dump() == {
            "code": -32042,
            "message": "Sign in first.",
            "data": {"elicitations": [{"mode": "url", "message": "Sign in.", "url": "https://there.example/"}]},
        }


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_parked_call_goes_on_once_and_only_as_it_was(surface: str) -> None:
    async with inquiry(surface, era=LEGACY) as place:
        calls = await place.client(MODERN, Person())
        needed = await _first(calls, "ask")
        state, key = needed.request_state, next(iter(needed.input_requests or {}))
        answer: Any = {key: ElicitResult(action="accept", content={"colour": "plum"})}
        for name, arguments, why in (("sample", {}, "belongs to a call of 'ask'"), ("ask", {"count": 2}, "other arg")):
            with pytest.raises(MCPError, match=why) as refused:
                await calls.session.call_tool(name, arguments, input_responses=answer, request_state=state)
            assert refused.value.code == -32602
        with pytest.raises(MCPError, match="The requestState is unknown"):
            await calls.session.call_tool("ask", {}, input_responses=answer, request_state=f"{state}x")
        again = await calls.session.call_tool("ask", {}, request_state=state, allow_input_required=True)
        assert isinstance(again, InputRequiredResult)
        assert again.input_requests == needed.input_requests
        assert again.request_state != state
        with pytest.raises(MCPError, match="it was used already"):
            await calls.session.call_tool("ask", {}, input_responses=answer, request_state=state)
        ended = await calls.session.call_tool("ask", {}, input_responses=answer, request_state=again.request_state)
        assert isinstance(ended, CallToolResult)
        assert said(ended) == [{"action": "accept", "content": {"colour": "plum"}}]
        assert place.ended == ["ToolSuccess"]


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize("surface", SURFACES)
async def test_between_two_of_the_newer_era_the_question_passes_as_it_is(surface: str) -> None:
    async with inquiry(surface, era=MODERN) as place:
        calls = await place.client(MODERN, Person())
        needed = await _first(calls, "ask")
        assert needed.request_state == "[]"
        assert list(needed.input_requests or {}) == ["q"]
        assert said(await calls.call_tool("ask_twice")) == TEAL * 2
        assert place.ended == ["NeedsInput", "NeedsInput", "NeedsInput", "ToolSuccess"]


async def _first(client: Any, tool: str) -> InputRequiredResult:
    needed = await client.session.call_tool(tool, {}, allow_input_required=True)
    assert isinstance(needed, InputRequiredResult)
    return needed


@pytest.mark.behaviour("mcp.out.logging")
@pytest.mark.parametrize("era", MODES)
@pytest.mark.parametrize("surface", SURFACES)
async def test_log_messages_reach_a_client_from_the_level_on_that_it_asked_for(surface: str, era: str) -> None:
    async with inquiry(surface, era=era) as place:
        older, newer, deaf = Person(), Person(), Person()
        calls = await place.client(LEGACY, older)
        with pytest.warns(MCPDeprecationWarning):
            await calls.set_logging_level("info")
        await calls.call_tool("log")
        assert older.heard == [("info", "info 0"), ("error", "error 0")]
        await (await place.client(MODERN, newer, log_level="error")).call_tool("log")
        assert newer.heard == [("error", "error 0")]
        await (await place.client(MODERN, deaf)).call_tool("log")
        assert deaf.heard == []


@pytest.mark.behaviour("mcp.out.logging")
async def test_a_server_of_the_handshake_era_is_asked_for_the_lowest_level_that_anyone_wants() -> None:
    async with inquiry(era=LEGACY) as place:
        levels = []
        for level in ("warning", "debug", "error"):
            calls = await place.client(MODERN, Person(), log_level=level)
            levels.append(said(await calls.call_tool("told"))["level"])
        assert levels == ["warning", "debug", "debug"]


async def test_a_client_that_set_no_level_hears_what_the_server_says_of_its_own_accord() -> None:
    async with inquiry("http", era=LEGACY) as place:
        person = Person()
        await (await place.client(LEGACY, person)).call_tool("log", {"count": 20})
        assert person.heard == [(level, f"{level} {n}") for n in range(20) for level in ("debug", "info", "error")]


async def test_what_a_client_says_beside_a_call_reaches_the_server_but_not_what_is_between_us() -> None:
    async with inquiry(era=LEGACY) as place:
        calls = await place.client(MODERN)
        meta: Any = {"example.org/trace": {"größe": [None]}}
        told = said(await calls.call_tool("told", meta=meta))
        assert told["meta"] == {"example.org/trace": {"größe": [None]}}
        assert "pegboard" not in json.dumps(told["meta"])


@pytest.mark.behaviour("mcp.in.whom_to_ask_is_never_guessed")
@pytest.mark.parametrize("mode", MODES)
async def test_over_http_two_clients_at_one_server_are_each_asked_for_their_own(mode: str) -> None:
    async with inquiry("http", "http", LEGACY) as place:
        one, other = Person(colour="teal", pause=0.2), Person(colour="ochre", pause=0.2)
        answers: dict[str, Any] = {}

        async def ask(person: Person, calls: Client) -> None:
            answers[person.colour] = said(await calls.call_tool("ask_twice"))

        clients = [(person, await place.client(mode, person)) for person in (one, other)]
        async with anyio.create_task_group() as tasks:
            for person, calls in clients:
                tasks.start_soon(ask, person, calls)
        assert answers == {
            colour: [{"action": "accept", "content": {"colour": colour}}] * 2 for colour in ("teal", "ochre")
        }
        assert one.asked == other.asked == ["Which colour?", "And which size?"]
