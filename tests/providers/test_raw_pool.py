"""The connections that calls share: few, and taken only by those who still want one."""

import json

import anyio
import pytest
from tests.providers.test_raw_http import echo, failed, never, text, until
from tests.providers.wires import SESSIONS, Heard, calling

from pegboard.providers.mcp.trouble import UNSENT

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
        assert await failed(calls) == (UNSENT, "has 1 calls waiting for a connection. Try again later")
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
    async with calling(never, most=1, within=0.2) as calls:

        async def hang() -> None:
            with pytest.raises(TimeoutError):
                await calls.call()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hang)
            await until(lambda: len(calls.heard) == 1)
            code, why = await failed(calls)
        assert code == UNSENT
        assert why.startswith("had no connection to http://127.0.0.1:")
