"""The gateway as a program: only messages on its output, an answer to every line, and an end when its input ends."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCRequest
from tests.surfaces.mcp.places import DEADLINE, ROOT, stdio_parameters
from tests.surfaces.mcp.raw import INITIALIZE, modern
from tests.surfaces.mcp.workshop import BENCH, OPEN_TOOLS, Workshop, open_workshop

from pegboard.core.model.catalogue import ProviderStart
from pegboard.core.model.ids import ServerKey
from pegboard.surfaces.mcp.stdio import UnansweredRequests, serve_pipes

pytestmark = pytest.mark.anyio
READY = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def request(id: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


LOCKED = "vault~vault added open_vault; it is locked"
"""How the gateway's word about a tool begins that nobody has approved: it comes as soon as there is time for it."""


async def said_to(spoken: bytes, *arguments: str) -> tuple[list[Any], list[str]]:
    """Every message the program writes to this input until it ends by itself, and the other lines that it says."""
    parameters = stdio_parameters(*arguments)
    with anyio.fail_after(DEADLINE):
        finished = await anyio.run_process([parameters.command, *parameters.args], input=spoken, cwd=ROOT)
    besides = [line for line in finished.stderr.decode().splitlines() if not line.startswith(LOCKED)]
    return [json.loads(line) for line in finished.stdout.splitlines()], besides


async def test_requests_sent_just_before_the_input_ends_are_answered_and_the_program_ends() -> None:
    answers, _ = await said_to(lines(*READY, request(2, "tools/list"), request(3, "tools/call", name="create_file")))
    by_id = {answer["id"]: answer["result"] for answer in answers}
    assert by_id[1]["serverInfo"]["name"] == "pegboard"
    assert [tool["name"] for tool in by_id[2]["tools"]] == OPEN_TOOLS
    assert by_id[3] == {"content": [{"type": "text", "text": "done"}]}


async def test_a_last_line_without_an_end_is_a_line() -> None:
    answers, _ = await said_to(lines(modern("tools/list"))[:-1])
    assert [tool["name"] for tool in answers[0]["result"]["tools"]] == OPEN_TOOLS


async def test_an_input_that_says_nothing_ends_the_program_at_once() -> None:
    assert await said_to(b"") == ([], [])


async def test_lines_that_are_no_messages_are_answered_and_the_conversation_goes_on() -> None:
    bad = b'hello\n\n[]\n{"jsonrpc":"2.0","id":7}\n\xff\n{"x":NaN}\n'
    answers, _ = await said_to(bad + lines(*READY) + bad + lines(request(2, "tools/call", name="create_file")))
    errors = sorted((answer["error"]["code"], answer["id"] or 0) for answer in answers if "error" in answer)
    once = [(PARSE_ERROR, 0), (PARSE_ERROR, 0), (PARSE_ERROR, 0), (INVALID_REQUEST, 0), (INVALID_REQUEST, 7)]
    assert errors == sorted(once * 2)
    assert [answer["result"]["content"] for answer in answers if answer["id"] == 2] == [
        [{"type": "text", "text": "done"}]
    ]


async def test_whatever_else_is_printed_goes_to_the_error_stream() -> None:
    answers, stderr = await said_to(
        lines(*READY, request(2, "tools/call", name="shout"), request(3, "tools/call", name="create_file")), "noisy"
    )
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert stderr == ["a library says hello", "a child says hello"]


class Pipes:
    """A conversation with a gateway of this process over two pipes."""

    def __init__(self) -> None:
        self.source, self.input = os.pipe()
        self.output, self.sink = os.pipe()

    def say(self, *messages: object) -> None:
        os.write(self.input, lines(*messages))

    async def hear(self, count: int) -> list[Any]:
        said = b""
        while said.count(b"\n") < count:
            said += await anyio.to_thread.run_sync(os.read, self.output, 65536, abandon_on_cancel=True)
        return [json.loads(line) for line in said.splitlines()]


async def settled_but(workshop: Workshop, held: ServerKey) -> None:
    """Wait until every other server is up."""
    board = workshop.gateway.board
    with board.changes.subscribe() as bell:
        while any(
            isinstance(word.health, ProviderStart) for key, word in board.catalogue.listings.items() if key != held
        ):
            await bell.wait()


@asynccontextmanager
async def piped(held: bool = False, settle: float = 3.0) -> AsyncIterator[tuple[Workshop, Pipes]]:
    pipes = Pipes()
    with anyio.fail_after(DEADLINE):
        async with open_workshop(held=frozenset({BENCH}) if held else frozenset()) as workshop:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: serve_pipes(workshop.gateway, pipes.source, pipes.sink, settle=settle))
                try:
                    yield workshop, pipes
                finally:
                    os.close(pipes.input)
            os.close(pipes.output)
            os.close(pipes.sink)


@pytest.mark.parametrize("opening", [[], READY])
async def test_the_first_list_waits_for_servers_that_are_starting_and_nothing_else_does(opening: list[object]) -> None:
    listing: Any = request(2, "tools/list") if opening else modern("tools/list", id=2)
    call: Any = request(3, "tools/call", name="create_file")
    call = call if opening else modern("tools/call", id=3, name="create_file")
    async with piped(held=True, settle=DEADLINE) as (workshop, pipes):
        await settled_but(workshop, BENCH)
        pipes.say(*opening, listing, call)
        assert [answer["id"] for answer in await pipes.hear(len(opening[:1]) + 1)] == [*([1] if opening else []), 3]
        workshop.bench.release()
        (answer,) = await pipes.hear(1)
        assert [tool["name"] for tool in answer["result"]["tools"]] == OPEN_TOOLS


async def test_a_server_that_does_not_start_holds_the_first_list_up_only_so_long() -> None:
    async with piped(held=True, settle=0.01) as (_, pipes):
        pipes.say(modern("tools/list"))
        (answer,) = await pipes.hear(1)
        assert [tool["name"] for tool in answer["result"]["tools"]] == OPEN_TOOLS[OPEN_TOOLS.index("create_file") :]


async def test_a_client_that_goes_away_gives_up_its_calls() -> None:
    async with piped() as (workshop, pipes):
        pipes.say(modern("tools/call", name="wait", arguments={}))
        await workshop.bench.started.wait()
    assert (workshop.bench.cancelled, workshop.bench.running) == (1, 0)


async def test_a_client_that_no_longer_reads_ends_the_conversation() -> None:
    pipes = Pipes()
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            os.close(pipes.output)
            pipes.say(modern("tools/list"))
            await serve_pipes(workshop.gateway, pipes.source, pipes.sink)
    os.close(pipes.input)
    os.close(pipes.sink)


async def test_a_client_that_listens_does_not_keep_the_program_from_ending() -> None:
    async with piped() as (_, pipes):
        pipes.say(modern("subscriptions/listen", notifications={"toolsListChanged": True}))
        (answer,) = await pipes.hear(1)
        assert answer["method"] == "notifications/subscriptions/acknowledged"


async def test_a_gateway_that_stops_does_not_wait_for_its_input() -> None:
    pipes = Pipes()
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, anyio.create_task_group() as tasks:
            tasks.start_soon(serve_pipes, workshop.gateway, pipes.source, pipes.sink)
            pipes.say(modern("tools/list"))
            await pipes.hear(1)
            tasks.cancel_scope.cancel()
    for end in (pipes.input, pipes.output, pipes.sink):
        os.close(end)


@pytest.mark.behaviour("supervision.slow_reader")
async def test_a_client_that_sends_without_reading_is_not_read_without_end() -> None:
    unanswered = UnansweredRequests(most=2)
    first, second, third = (JSONRPCRequest(jsonrpc="2.0", id=id, method="ping") for id in (1, "2", 3))
    with anyio.fail_after(DEADLINE):
        await unanswered.add(first)
        await unanswered.add(second)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(unanswered.add, third)
            with anyio.move_on_after(0.01) as waiting:
                await unanswered.wait_until_none()
            assert waiting.cancelled_caught
            unanswered.mark_answered("nobody")
            unanswered.mark_answered(1)
        await unanswered.mark_cancelled("2")
        unanswered.mark_answered(3)
        await unanswered.wait_until_none()
