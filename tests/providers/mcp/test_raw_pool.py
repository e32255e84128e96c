"""The connections that calls share: few, and taken only by those who still want one."""

import json

import anyio
import pytest
from tests.providers.mcp.test_raw_http import echo, failed, never, text, until
from tests.providers.mcp.wires import SESSIONS, Heard, calling

from pegboard.providers.mcp.errors import NOT_SENT

pytestmark = pytest.mark.anyio


async def test_a_hundred_calls_at_once_share_few_connections() -> None:
    answers: dict[int, str] = {}
    async with calling(echo, most=4) as calls:

        async def call(number: int) -> None:
            answers[number] = text(await calls.call({"number": number}))

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(call, number)
        assert answers == {number: json.dumps({"number": number}) for number in range(100)}
        assert calls.most_open == 4


async def test_more_calls_than_may_wait_are_turned_away_at_once() -> None:
    async with calling(never, most=1, queue=1) as calls, anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call)
        await until(lambda: len(calls.heard) == 1)
        tasks.start_soon(calls.call)
        await until(lambda: len(calls.tickets) == 2)
        assert await failed(calls) == (NOT_SENT, "has 1 calls waiting for a connection. Try again later")
        tasks.cancel_scope.cancel()


async def test_a_call_given_up_while_it_waits_for_a_connection_takes_none_and_is_not_sent() -> None:
    go = anyio.Event()

    async def wait(request: Heard) -> None:
        await go.wait()
        request.answer()

    async with calling(wait, version=SESSIONS, most=1) as calls:
        outcomes: list[str] = []

        async def call() -> None:
            outcomes.append(text(await calls.call()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await until(lambda: len(calls.heard) == 1)
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(calls.call)
                await until(lambda: len(calls.tickets) == 2)
                waiting.cancel_scope.cancel()
            tasks.start_soon(call)
            await until(lambda: len(calls.tickets) == 2)
            go.set()
        assert outcomes == ["done", "done"]
        assert [request.message["id"] for request in calls.heard] == ["peg-1", "peg-3"]


async def test_a_call_whose_time_is_up_while_it_waits_for_a_connection_did_not_run() -> None:
    async with calling(never, most=1) as calls, anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call)
        await until(lambda: len(calls.heard) == 1)
        calls.tickets.timeout_s = 0.2
        failures: list[tuple[int, str]] = []

        async def fail() -> None:
            failures.append(await failed(calls))

        async with anyio.create_task_group() as waiting:
            waiting.start_soon(fail)
            await until(lambda: len(calls.tickets) == 2)
            calls.tickets.schedule_sweep(anyio.current_time())
        [(code, why)] = failures
        assert code == NOT_SENT
        assert why.startswith("had no connection to http://127.0.0.1:")
        tasks.cancel_scope.cancel()


async def _echo_and_hang_up(request: Heard) -> None:
    await echo(request)
    request.writer.close()


@pytest.mark.behaviour("wire.servers_that_hang_up")
async def test_no_call_is_lost_at_a_server_that_hangs_up_after_each_answer_unannounced() -> None:
    answers: dict[int, str] = {}
    async with calling(_echo_and_hang_up) as calls:

        async def call(first: int) -> None:
            for number in range(first, first + 30):
                answers[number] = text(await calls.call({"number": number}))

        async with anyio.create_task_group() as tasks:
            for first in range(0, 480, 30):
                tasks.start_soon(call, first)
        assert answers == {number: json.dumps({"number": number}) for number in range(480)}
        assert sorted(calls.connections) == [*range(1, 481)], "each call has a connection of its own"


@pytest.mark.behaviour("wire.servers_that_hang_up")
async def test_a_server_that_keeps_a_connection_again_is_called_on_it_again() -> None:
    closing = True

    async def serve(request: Heard) -> None:
        await echo(request)
        if closing:
            request.writer.close()

    async with calling(serve) as calls:
        assert text(await calls.call()) == "{}"
        await until(lambda: calls.pool.keeps_alive is False)
        closing = False
        assert text(await calls.call()) == "{}"
        await until(lambda: calls.pool.keeps_alive is True)
        assert text(await calls.call()) == "{}"
        assert calls.connections == [1, 2, 2]


async def test_calls_at_once_wait_only_for_the_first_answer_to_see_whether_connections_are_kept() -> None:
    async with calling(echo) as calls:
        assert text(await calls.call()) == "{}"
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(calls.call)
        assert calls.connections[:2] == [1, 1]
        assert text(await calls.call()) == "{}"
        assert max(calls.connections) <= 3
