"""The thread that speaks with a worker: what it held is let go at once, and it ends when it is told to."""

import asyncio
import gc
from collections.abc import Iterator
from threading import Event
from weakref import ref

import anyio
import pytest

from pegboard.ports.sandbox import SandboxFunction, SandboxLimits, is_small
from pegboard.providers.sandbox.monty.run import SandboxCalls
from pegboard.providers.sandbox.monty.worker import ConversionLock, WorkerThread
from pegboard.providers.sandbox.plain_values import JsonBudget, NotJsonError, to_json

from .hosts import Answers

pytestmark = pytest.mark.anyio


class Held:
    """As large as a program likes."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Many large values are few objects, so the collector may come by very late."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.behaviour("code.hostile_hour")
@pytest.mark.usefixtures("no_collector")
async def test_what_an_act_held_when_it_failed_is_let_go_with_its_error() -> None:
    kept: list[ref[Held]] = []

    def act() -> None:
        held = Held()
        kept.append(ref(held))
        raise LookupError("no")

    speaker = WorkerThread()
    with pytest.raises(LookupError):
        await speaker.call(act)
    await speaker.call(int)
    speaker.close()
    assert [each() for each in kept] == [None]


@pytest.mark.behaviour("code.hostile_hour")
@pytest.mark.usefixtures("no_collector")
async def test_what_an_act_held_when_it_was_ended_is_let_go() -> None:
    kept: list[ref[Held]] = []
    begun, ended = Event(), Event()

    def act() -> None:
        held = Held()
        kept.append(ref(held))
        begun.set()
        assert ended.wait(30)
        raise LookupError("the worker is gone")

    speaker = WorkerThread()
    speaker.on_kill = ended.set
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speaker.call, act)
        assert await anyio.to_thread.run_sync(begun.wait, 30)
        tasks.cancel_scope.cancel()
    with anyio.fail_after(30):
        await speaker.call(int)
    speaker.close()
    assert [each() for each in kept] == [None]


@pytest.mark.behaviour("code.limits")
async def test_whoever_walks_through_the_arguments_of_a_program_that_was_ended_stops() -> None:
    async with anyio.create_task_group() as tasks:
        calls = SandboxCalls(Answers(), SandboxLimits(), tasks)
        speaker = WorkerThread()
        speaker.on_kill = calls.stop
        calls.register(1, SandboxFunction("srv", "echo"), (), {"x": [1]}, 0)
        speaker.kill()
        with pytest.raises(Exception, match="the argument x"):
            calls.register(2, SandboxFunction("srv", "echo"), (), {"x": [1]}, 0)
        speaker.close()


def test_a_room_that_is_closed_midway_takes_nothing_more() -> None:
    room = JsonBudget(1 << 30)

    class Closes(str):
        def encode(self, *_: str) -> bytes:
            room.close()
            return b""

    with pytest.raises(NotJsonError):
        to_json([Closes(), *range(10)], room)
    room.remaining = 1 << 30
    with pytest.raises(NotJsonError):
        to_json(None, room)


@pytest.mark.behaviour("code.flood")
async def test_between_two_threads_that_walk_through_values_the_event_loop_has_its_turn() -> None:
    walking, loop = ConversionLock(), asyncio.get_running_loop()
    first, second = WorkerThread(), WorkerThread()
    order: list[str] = []

    def walk(name: str) -> None:
        with walking.exclusive(loop) as let_go:
            order.append(name)
            loop.call_soon_threadsafe(order.append, f"turn after {name}")
            let_go()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as both:
            both.start_soon(first.call, lambda: walk("first"))
            both.start_soon(second.call, lambda: walk("second"))
    first.close()
    second.close()
    one, two = order[0], order[2]
    assert {one, two} == {"first", "second"}
    assert order == [one, f"turn after {one}", two, f"turn after {two}"]


@pytest.mark.behaviour("code.flood")
@pytest.mark.parametrize(
    ("value", "small"),
    [
        (None, True),
        ({"a": [1, "b", {"c": 2.5}]}, True),
        ([0] * 1_000, True),
        ([0] * 49_000, False),
        ({"a": [[n] for n in range(1_500)]}, False),
        ({str(n): n for n in range(3_000)}, False),
        ("x" * 10_000, True),
        (["x" * 200_000], False),
    ],
)
def test_what_is_small_is_told_from_what_holds_others_up(value: object, small: bool) -> None:
    assert is_small(value) is small
