"""The stream of events: a greeting, an event for each topic that changed, and the end when the gateway ends."""

import anyio
import pytest
from tests.support.house import PATIENCE
from tests.surfaces.rest.desk import GITHUB, TOOLS, at_desk, problem

from pegboard import __version__
from pegboard.core.commands.commands import SetSwitch
from pegboard.surfaces.rest import events

pytestmark = pytest.mark.anyio

READ = TOOLS[GITHUB][0].id
HELLO = f'retry: 1000\nevent: hello\ndata: {{"version":"{__version__}"}}\n\n'


def changed_event(topic: str) -> str:
    return f'event: changed\ndata: {{"topic":"{topic}"}}\n\n'


@pytest.mark.behaviour("rest.events")
async def test_an_event_names_the_topic_and_the_stream_ends_with_the_gateway() -> None:
    async with at_desk() as desk:
        told = []

        async def follow() -> None:
            told.append(await desk.ask("GET", "/events"))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow)
                while not desk.house.gateway.changes.subscriber_count:
                    await anyio.lowlevel.checkpoint()
                await desk.house.does(SetSwitch(READ, False, ""))
                await anyio.lowlevel.checkpoint()
                desk.house.board.close()
        (answer,) = told
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert answer.headers["cache-control"] == "no-store"
        changed = [changed_event(topic) for topic in ("board", "servers", "toolsets", "approvals", "policy")]
        assert answer.text == "".join((HELLO, *changed))
        assert desk.house.gateway.changes.subscriber_count == 0


async def test_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.0)
    async with at_desk() as desk:
        stream = events._stream_events(desk.house.gateway.changes)
        told = [await anext(stream) for _ in range(3)]
        await stream.aclose()
    assert told == [HELLO.encode(), b": nothing new\n\n", b": nothing new\n\n"]


async def test_no_more_listen_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_LISTENERS", 0)
    async with at_desk() as desk:
        assert problem(await desk.ask("GET", "/events")) == (
            503,
            "0 listen to events already, and no more may. Close a page, or try again later.",
        )


@pytest.mark.behaviour("rest.saved_queries_ring")
async def test_a_saved_query_rings_when_it_comes_and_when_it_goes() -> None:
    async with at_desk() as desk:
        with anyio.fail_after(PATIENCE), desk.house.gateway.changes.subscribe() as hearing:
            body = {"query": "read a file", "expected": [str(READ)]}
            assert (await desk.ask("PUT", "/search/queries/files", json=body)).status_code == 200
            assert {noun.value for noun in await hearing.wait() or ()} == {"search"}
            assert (await desk.ask("DELETE", "/search/queries/files")).status_code == 200
            assert {noun.value for noun in await hearing.wait() or ()} == {"search"}
            assert (await desk.ask("DELETE", "/search/queries/files")).status_code == 404
