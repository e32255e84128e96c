"""The thread that speaks with a worker: what it held is let go at once, and it ends when it is told to."""

import gc
from collections.abc import Iterator
from threading import Event
from weakref import ref

import anyio
import pytest

from pegboard.ports.sandbox import Function, Limits
from pegboard.providers.builtin.sandbox.calls import Calls
from pegboard.providers.builtin.sandbox.plain import NotPlain, Room, plain
from pegboard.providers.builtin.sandbox.threads import Speaker

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

    speaker = Speaker()
    with pytest.raises(LookupError):
        await speaker.do(act)
    await speaker.do(int)
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

    speaker = Speaker()
    speaker.stop = ended.set
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speaker.do, act)
        assert await anyio.to_thread.run_sync(begun.wait, 30)
        tasks.cancel_scope.cancel()
    with anyio.fail_after(30):
        await speaker.do(int)
    speaker.close()
    assert [each() for each in kept] == [None]


@pytest.mark.behaviour("code.limits")
async def test_whoever_walks_through_the_arguments_of_a_program_that_was_ended_stops() -> None:
    async with anyio.create_task_group() as tasks:
        calls = Calls(Answers(), Limits(), tasks)
        speaker = Speaker()
        speaker.stop = calls.stop
        calls.say(1, Function("srv", "echo"), (), {"x": [1]}, 0)
        speaker.kill()
        with pytest.raises(Exception, match="the argument x"):
            calls.say(2, Function("srv", "echo"), (), {"x": [1]}, 0)
        speaker.close()


def test_a_room_that_is_closed_midway_takes_nothing_more() -> None:
    room = Room(1 << 30)

    class Closes(str):
        def encode(self, *_: str) -> bytes:
            room.close()
            return b""

    with pytest.raises(NotPlain):
        plain([Closes(), *range(10)], room)
    room.left = 1 << 30
    with pytest.raises(NotPlain):
        plain(None, room)
