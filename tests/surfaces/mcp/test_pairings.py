"""What a server asks while a call runs reaches the client of that call, whatever era and transport each of them has."""

import pytest
from tests.surfaces.mcp.inquiry import Inquiry, Person, inquiry, said
from tests.surfaces.mcp.places import LEGACY, MODERN

pytestmark = pytest.mark.anyio

PAIRINGS = [
    pytest.param(
        surface,
        client,
        transport,
        server,
        id=f"{client}-client-over-{surface}-{server}-server-over-{transport}",
        # One of each kind of way is enough for every day.
        marks=[] if (surface, transport) in {("memory", "stdio"), ("http", "http")} else [pytest.mark.slow],
    )
    for surface in ("memory", "http")
    for client in (LEGACY, MODERN)
    for transport in ("stdio", "http", "sse")
    for server in (LEGACY, MODERN)
]
ACCEPTED = {"action": "accept", "content": {"colour": "teal"}}


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize(("surface", "client", "transport", "server"), PAIRINGS)
async def test_a_question_reaches_the_client_and_its_answer_the_server(
    surface: str, client: str, transport: str, server: str
) -> None:
    async with inquiry(surface, transport, server) as place:
        person = Person()
        calls = await place.client(client, person)
        assert said(await calls.call_tool("ask")) == [ACCEPTED]
        assert said(await calls.call_tool("ask_twice")) == [ACCEPTED, ACCEPTED]
        assert said(await calls.call_tool("ask_at_once")) == [ACCEPTED, ACCEPTED]
        assert said(await calls.call_tool("open_page")) == [ACCEPTED]
        assert person.asked[:3] == ["Which colour?", "Which colour?", "And which size?"]
        assert sorted(person.asked[3:5]) == ["first", "second"]
        assert person.asked[5:] == ["Sign in there."]
        person.action = "decline"
        assert said(await calls.call_tool("ask")) == [{"action": "decline"}]
        person.action = "cancel"
        assert said(await calls.call_tool("ask")) == [{"action": "cancel"}]
        await _samples_and_roots(place, calls_mode=client)


async def _samples_and_roots(place: Inquiry, calls_mode: str) -> None:
    person = Person()
    calls = await place.client(calls_mode, person)
    [sampled] = said(await calls.call_tool("sample"))
    assert sampled["content"] == {"type": "text", "text": "Größe 42"}
    assert sampled["model"] == "m-1"
    [with_tools] = said(await calls.call_tool("sample_with_tools"))
    assert with_tools["role"] == "assistant"
    asked, asked_with_tools = person.asked
    assert asked["messages"] == [{"role": "user", "content": {"type": "text", "text": "Größe?"}}]
    assert asked["metadata"] == {"unknown": [None, 1]}
    assert asked_with_tools["tools"] == [{"name": "weather", "inputSchema": {"type": "object"}}]
    assert asked_with_tools["toolChoice"] == {"mode": "auto"}
    assert said(await calls.call_tool("roots")) == [{"roots": [{"uri": "file:///desk/ada", "name": "Ada"}]}]
